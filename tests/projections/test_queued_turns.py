"""Where each queued turn stands, event by event."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain.event import Event, Unknown
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import EVENTS, ThreadQueue

if TYPE_CHECKING:
    from tests.projections.conftest import Expect, Given, Recorded

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def appended(turn: str, order: int, **said: Any) -> Event:
    place = {"queued_turn_id": turn, "queue_order": order, "submission": {"text": turn}}
    return ThreadQueue.Appended(**{**place, "created_at": NOW, **said})


A, B, C = appended("a", 0), appended("b", 1), appended("c", 2)
MINUTE = timedelta(seconds=60)
HELD: dict[str, Any] = {"owner": "worker", "epoch": 1}
CLAIMED = ThreadQueue.Claimed(queued_turn_id="a", expires_at=NOW + MINUTE, claims=1, **HELD)
RENEWED = ThreadQueue.Renewed(queued_turn_id="a", epoch=1, expires_at=NOW)
RELEASED = ThreadQueue.Released(queued_turn_id="a", epoch=1)
STARTED = ThreadQueue.DispatchStarted(queued_turn_id="a", dispatch_id="d", **HELD)
ACKED = ThreadQueue.Acked(queued_turn_id="a", dispatch_id="d", epoch=1)
EARLY = ThreadQueue.Failed(queued_turn_id="a", epoch=1, failure={"code": 400})
FAILED = EARLY.model_copy(update={"dispatch_id": "d"})
UNKNOWN = FAILED.model_copy(update={"outcome_unknown": True})
RETRIED = ThreadQueue.Retried(queued_turn_id="a")
DELETED = ThreadQueue.Deleted(queued_turn_id="a")
WAS_FAILED: dict[str, Any] = {"state": "failed", "failure": '{"code":400}', "dispatch_id": "d"}


def test_an_appended_turn_waits(given: type[Given], expect: Expect) -> None:
    given(A, B).then(queued_turns=[expect.turn("a", 0, at=1), expect.turn("b", 1, at=2)])


def test_times_and_json_are_stored_exactly(given: type[Given], expect: Expect) -> None:
    failure = {"z": 2**70, "a": "\x00\u00e9\U0001f600", "f": [1.0, -0.0, 5e-324, {}]}
    later = datetime(2030, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
    made = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    failed = EARLY.model_copy(update={"failure": failure})
    text = '{"z":1180591620717411303424,"a":"\\u0000\u00e9\U0001f600","f":[1.0,-0.0,5e-324,{}]}'
    times = {"not_before": 1_893_456_000_123_456, "created_at": -1}
    row = expect.turn("a", 7, state="failed", failure=text, last=3, **times)
    new = appended("a", 7, not_before=later, created_at=made)
    given(new, CLAIMED, failed).then(queued_turns=[row])


def test_an_edited_turn_has_its_text_in_another_event_at_the_same_place(
    given: type[Given], expect: Expect
) -> None:
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={"text": "new"})
    changed = expect.turn("a", 0, submission_version=3, last=3)
    given(A, B, edited).then(queued_turns=[changed, expect.turn("b", 1, at=2)])


def test_an_edited_failure_stays_failed(given: type[Given], expect: Expect) -> None:
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={})
    given(A, CLAIMED, STARTED, FAILED, edited).then(
        queued_turns=[expect.turn("a", submission_version=5, last=5, **WAS_FAILED)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_deleted_turn_stays_known(given: type[Given], expect: Expect) -> None:
    given(A, B, DELETED).then(
        queued_turns=[expect.turn("a", state="deleted", last=3), expect.turn("b", 1, at=2)]
    )


def test_a_queued_turn_is_one_row_for_ever(given: type[Given]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        given(A, DELETED, appended("a", 1))


def test_a_place_is_of_one_turn_that_is_not_settled(given: type[Given]) -> None:
    assert len(given(A, DELETED, appended("b", 0)).rows["queued_turns"]) == 2
    for events in ((A,), (A, CLAIMED), (A, CLAIMED, STARTED, FAILED)):
        with pytest.raises(sqlite3.IntegrityError):
            given(*events, appended("b", 0))


def test_a_cleared_queue_is_settled(given: type[Given], expect: Expect) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=("b", "c"), in_flight_id="a")
    given(A, B, C, CLAIMED, cleared).then(
        queued_turns=[
            expect.turn("a", 0, at=1, state="deleted", last=5),
            expect.turn("b", 1, at=2, state="deleted", last=5),
            expect.turn("c", 2, at=3, state="deleted", last=5),
        ]
    )


def test_clearing_ends_what_is_alone_in_flight(given: type[Given], expect: Expect) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=(), in_flight_id="a", dispatch_id="d")
    given(A, CLAIMED, STARTED, cleared).then(
        queued_turns=[expect.turn("a", state="deleted", dispatch_id="d", last=4)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_clearing_leaves_each_turn_its_own_dispatch(given: type[Given], expect: Expect) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("b", "a", "c"), first_order=3)
    second: dict[str, Any] = {"queued_turn_id": "b", "epoch": 2}
    claimed = CLAIMED.model_copy(update=second)
    started = STARTED.model_copy(update={**second, "dispatch_id": "e"})
    cleared = ThreadQueue.Cleared(queued_turn_ids=("a", "c"), in_flight_id="b", dispatch_id="e")
    gone: dict[str, Any] = {"state": "deleted", "last": 10}
    given(A, B, C, CLAIMED, STARTED, FAILED, moved, claimed, started, cleared).then(
        queued_turns=[
            expect.turn("a", 4, **{**WAS_FAILED, **gone}),
            expect.turn("b", 3, at=2, dispatch_id="e", **gone),
            expect.turn("c", 5, at=3, **gone),
        ],
        dispatches=[expect.dispatched("a", "d"), expect.dispatched("b", "e", epoch=2)],
    )


def test_clearing_changes_no_turn_that_was_settled_before(
    given: type[Given], expect: Expect
) -> None:
    deleted = ThreadQueue.Deleted(queued_turn_id="b")
    cleared = ThreadQueue.Cleared(queued_turn_ids=("c",))
    given(A, B, C, CLAIMED, STARTED, ACKED, deleted, cleared).then(
        queued_turns=[
            expect.turn("a", 0, state="acked", dispatch_id="d", last=6),
            expect.turn("b", 1, at=2, state="deleted", last=7),
            expect.turn("c", 2, at=3, state="deleted", last=8),
        ],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_other_threads_are_not_touched(
    given: type[Given], expect: Expect, recorded: type[Recorded]
) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=("a", "b"))
    there = [recorded(event, {}, thread="there") for event in (A, B, CLAIMED)]
    rows = given(*there, A, B, cleared).rows["queued_turns"]
    assert rows == [
        expect.turn("a", 0, at=1, thread_id="there"),
        expect.turn("b", 1, at=2, thread_id="there"),
        expect.turn("a", 0, at=1, state="deleted", version=3, updated_at=6_000),
        expect.turn("b", 1, at=2, state="deleted", version=3, updated_at=6_000),
    ]


def test_reordered_turns_take_new_orders(given: type[Given], expect: Expect) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("c", "a", "b"), first_order=3)
    given(A, B, C, moved).then(
        queued_turns=[
            expect.turn("a", 4, at=1, last=4),
            expect.turn("b", 5, at=2, last=4),
            expect.turn("c", 3, at=3, last=4),
        ]
    )


def test_what_is_in_flight_does_not_show_in_its_row(given: type[Given], expect: Expect) -> None:
    rows = [expect.turn("a", 0, at=1), expect.turn("b", 1, at=2)]
    given(A, B, CLAIMED).then(queued_turns=rows)
    given(A, B, CLAIMED, RENEWED).then(queued_turns=rows)
    given(A, B, CLAIMED, RENEWED, STARTED).then(
        queued_turns=rows, dispatches=[expect.dispatched("a", "d")]
    )


@pytest.mark.parametrize("kind", [ThreadQueue.Released, ThreadQueue.Recovered])
def test_a_turn_that_is_given_back_waits_at_its_place(
    given: type[Given], expect: Expect, kind: Any
) -> None:
    back = kind(queued_turn_id="a", epoch=1)
    given(A, B, CLAIMED, back).then(
        queued_turns=[expect.turn("a", claims=1, last=4), expect.turn("b", 1, at=2)]
    )
    again = CLAIMED.model_copy(update={"claims": 2, "epoch": 2})
    given(A, CLAIMED, back, again, back).then(queued_turns=[expect.turn("a", claims=2, last=5)])


def test_an_acked_turn_is_settled(given: type[Given], expect: Expect) -> None:
    given(A, CLAIMED, STARTED, ACKED).then(
        queued_turns=[expect.turn("a", state="acked", dispatch_id="d", last=4)],
        dispatches=[expect.dispatched("a", "d")],
    )


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        ({"failure": None}, {"failure": "null"}),
        ({"failure": "no"}, {"failure": '"no"'}),
        ({"failure": [2**64]}, {"failure": "[18446744073709551616]"}),
        ({"failure": "\ufffd", "altered": True}, {"failure": '"\ufffd"', "altered": 1}),
        ({"failure": 1, "outcome_unknown": True}, {"failure": "1", "outcome_unknown": 1}),
    ],
)
def test_a_failed_turn_stands_at_its_place_with_its_failure(
    given: type[Given], expect: Expect, said: dict[str, Any], columns: dict[str, Any]
) -> None:
    failed = ThreadQueue.Failed(queued_turn_id="a", epoch=1, dispatch_id="d", **said)
    row = expect.turn("a", state="failed", dispatch_id="d", last=5, **columns)
    given(A, B, CLAIMED, STARTED, failed).then(
        queued_turns=[row, expect.turn("b", 1, at=2)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_turn_that_failed_before_its_dispatch_has_none(
    given: type[Given], expect: Expect
) -> None:
    row = expect.turn("a", state="failed", failure='{"code":400}', last=3)
    given(A, CLAIMED, EARLY).then(queued_turns=[row])


def test_a_failed_turn_was_not_given_back(given: type[Given], expect: Expect) -> None:
    again = CLAIMED.model_copy(update={"claims": 2, "epoch": 2})
    row = expect.turn("a", state="failed", failure='{"code":400}', last=5)
    given(A, CLAIMED, RELEASED, again, EARLY).then(queued_turns=[row])


def test_a_retried_turn_is_as_new_but_for_its_attempts(given: type[Given], expect: Expect) -> None:
    given(A, CLAIMED, STARTED, FAILED, RETRIED).then(
        queued_turns=[expect.turn("a", attempts=1, last=5)],
        dispatches=[expect.dispatched("a", "d")],
    )
    twice = given(A, CLAIMED, EARLY, RETRIED, CLAIMED, EARLY, RETRIED)
    twice.then(queued_turns=[expect.turn("a", attempts=2, last=7)])


def test_a_turn_that_did_not_happen_is_retried(given: type[Given], expect: Expect) -> None:
    resolved = ThreadQueue.Resolved(queued_turn_id="a", decision="retry", by="me")
    given(A, CLAIMED, STARTED, UNKNOWN, resolved).then(
        queued_turns=[expect.turn("a", attempts=1, last=5)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_turn_that_did_happen_is_settled(given: type[Given], expect: Expect) -> None:
    resolved = ThreadQueue.Resolved(queued_turn_id="a", decision="acked", by="me")
    was: dict[str, Any] = {"dispatch_id": "d"}
    given(A, B, CLAIMED, STARTED, UNKNOWN, resolved).then(
        queued_turns=[expect.turn("a", state="acked", last=6, **was), expect.turn("b", 1, at=2)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_pausing_and_a_threads_life_are_not_in_the_rows(given: type[Given], expect: Expect) -> None:
    paused, resumed = ThreadQueue.Paused(reason="by hand"), ThreadQueue.Resumed()
    life = (Thread.Archived(), Thread.Unarchived(), Thread.Deleted())
    given(A, paused, resumed, *life).then(queued_turns=[expect.turn("a")])


def test_an_event_that_cannot_be_read_changes_nothing(given: type[Given], expect: Expect) -> None:
    newer = Unknown("thread_queue.moved", 1, '{"queued_turn_id":"a"}', "newer")
    given(A, newer).then(queued_turns=[expect.turn("a")])


def test_every_event_of_the_queue_is_tried_here() -> None:
    source = Path(__file__).read_text()
    assert [kind for kind in EVENTS if f"ThreadQueue.{kind.__name__}" not in source] == []
