"""Where each queued turn stands, event by event."""

from __future__ import annotations

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
STARTED = ThreadQueue.DispatchStarted(queued_turn_id="a", dispatch_id="d", **HELD)
ACKED = ThreadQueue.Acked(queued_turn_id="a", dispatch_id="d", epoch=1)
FAILED = ThreadQueue.Failed(queued_turn_id="a", epoch=1, failure={"code": 400})
UNKNOWN = FAILED.model_copy(update={"outcome_unknown": True})
RETRIED = ThreadQueue.Retried(queued_turn_id="a")
DELETED = ThreadQueue.Deleted(queued_turn_id="a")


def test_an_appended_turn_waits(given: type[Given], expect: Expect) -> None:
    given(A, B).then(visible_queue=[expect.waiting("a", 0, at=1), expect.waiting("b", 1, at=2)])


def test_times_and_json_are_stored_exactly(given: type[Given], expect: Expect) -> None:
    submission = {"z": 2**70, "a": "\x00\u00e9\U0001f600", "f": [1.0, -0.0, 5e-324, {}]}
    later = datetime(2030, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
    made = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    text = '{"z":1180591620717411303424,"a":"\\u0000\u00e9\U0001f600","f":[1.0,-0.0,5e-324,{}]}'
    times = {"not_before": 1_893_456_000_123_456, "created_at": -1}
    given(appended("a", 7, submission=submission, not_before=later, created_at=made)).then(
        visible_queue=[expect.waiting("a", 7, submission=text, **times)]
    )


def test_an_edited_turn_has_another_text_at_the_same_place(
    given: type[Given], expect: Expect
) -> None:
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={"text": "new"})
    new: dict[str, Any] = {"submission": '{"text":"new"}', "submission_version": 3, "last": 3}
    given(A, B, edited).then(
        visible_queue=[expect.waiting("a", 0, **new), expect.waiting("b", 1, at=2)]
    )


def test_an_edited_failure_stays_failed(given: type[Given], expect: Expect) -> None:
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={})
    changed: dict[str, Any] = {"submission": "{}", "submission_version": 5, "last": 5, "claims": 0}
    failed: dict[str, Any] = {"state": "failed", "failure": '{"code":400}', "dispatch_id": "d"}
    given(A, CLAIMED, STARTED, FAILED, edited).then(
        visible_queue=[expect.waiting("a", **changed, **failed)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_deleted_turn_is_settled_without_its_text(given: type[Given], expect: Expect) -> None:
    given(A, B, DELETED).then(
        visible_queue=[expect.waiting("b", 1, at=2)],
        settled_turns=[expect.settled("a", state="deleted", last=3)],
    )


def test_a_cleared_queue_is_settled(given: type[Given], expect: Expect) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=("b", "c"), in_flight_id="a")
    given(A, B, C, CLAIMED, cleared).then(
        settled_turns=[
            expect.settled("a", 0, at=1, state="deleted", claims=1, last=5),
            expect.settled("b", 1, at=2, state="deleted", last=5),
            expect.settled("c", 2, at=3, state="deleted", last=5),
        ]
    )


def test_clearing_ends_what_is_alone_in_flight(given: type[Given], expect: Expect) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=(), in_flight_id="a")
    given(A, CLAIMED, STARTED, cleared).then(
        settled_turns=[expect.settled("a", state="deleted", dispatch_id="d", last=4)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_other_threads_are_not_touched(
    given: type[Given], expect: Expect, recorded: type[Recorded]
) -> None:
    cleared = ThreadQueue.Cleared(queued_turn_ids=("a", "b"))
    there = [recorded(event, {}, thread="there") for event in (A, B, CLAIMED)]
    rows = given(*there, A, B, cleared).rows
    here = {row["thread_id"] for row in rows["settled_turns"]}
    elsewhere = {row["thread_id"] for row in rows["visible_queue"] + rows["in_flight_turns"]}
    assert (here, elsewhere) == ({"thread"}, {"there"})
    assert expect.waiting("b", 1, at=2, thread_id="there") in rows["visible_queue"]


def test_reordered_turns_take_new_orders(given: type[Given], expect: Expect) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("c", "a", "b"), first_order=3)
    given(A, B, C, moved).then(
        visible_queue=[
            expect.waiting("c", 3, at=3, last=4),
            expect.waiting("a", 4, at=1, last=4),
            expect.waiting("b", 5, at=2, last=4),
        ]
    )


def test_a_claimed_turn_is_in_flight(given: type[Given], expect: Expect) -> None:
    given(A, B, CLAIMED).then(
        visible_queue=[expect.waiting("b", 1, at=2)],
        in_flight_turns=[expect.flying("a", last=3)],
    )


def test_a_claim_says_whose_it_is_and_until_when(given: type[Given], expect: Expect) -> None:
    end = datetime(2030, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    held: dict[str, Any] = {"owner": "me", "epoch": 9, "claims": 4}
    claimed = ThreadQueue.Claimed(queued_turn_id="a", expires_at=end, **held)
    flying = expect.flying("a", last=2, expires_at=1_893_456_000_000_001, **held)
    given(A, claimed).then(in_flight_turns=[flying])


def test_a_renewed_claim_has_another_end(given: type[Given], expect: Expect) -> None:
    renewed = ThreadQueue.Renewed(queued_turn_id="a", epoch=1, expires_at=NOW)
    flying = expect.flying("a", last=3, expires_at=1_767_603_600_000_000)
    given(A, CLAIMED, renewed).then(in_flight_turns=[flying])


@pytest.mark.parametrize("kind", [ThreadQueue.Released, ThreadQueue.Recovered])
def test_a_turn_that_is_given_back_waits_at_its_place(
    given: type[Given], expect: Expect, kind: Any
) -> None:
    back = kind(queued_turn_id="a", epoch=1)
    given(A, B, CLAIMED, back).then(
        visible_queue=[expect.waiting("a", claims=1, last=4), expect.waiting("b", 1, at=2)]
    )


def test_a_turn_that_is_dispatched_says_under_which_id(given: type[Given], expect: Expect) -> None:
    dispatching: dict[str, Any] = {"state": "dispatching", "dispatch_id": "d", "claims": 0}
    given(A, CLAIMED, STARTED).then(
        in_flight_turns=[expect.flying("a", last=3, **dispatching)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_an_acked_turn_is_settled(given: type[Given], expect: Expect) -> None:
    given(A, CLAIMED, STARTED, ACKED).then(
        settled_turns=[expect.settled("a", state="acked", dispatch_id="d", last=4)],
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
    failed = ThreadQueue.Failed(queued_turn_id="a", epoch=1, **said)
    row = expect.waiting("a", state="failed", dispatch_id="d", last=5, **columns)
    given(A, B, CLAIMED, STARTED, failed).then(
        visible_queue=[row, expect.waiting("b", 1, at=2)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_turn_that_failed_before_its_dispatch_has_none(
    given: type[Given], expect: Expect
) -> None:
    row = expect.waiting("a", state="failed", failure='{"code":400}', claims=1, last=3)
    given(A, CLAIMED, FAILED).then(visible_queue=[row])


def test_a_retried_turn_is_as_new_but_for_its_attempts(given: type[Given], expect: Expect) -> None:
    given(A, CLAIMED, STARTED, FAILED, RETRIED).then(
        visible_queue=[expect.waiting("a", attempts=1, last=5)],
        dispatches=[expect.dispatched("a", "d")],
    )
    twice = given(A, CLAIMED, FAILED, RETRIED, CLAIMED, FAILED, RETRIED)
    twice.then(visible_queue=[expect.waiting("a", attempts=2, last=7)])


def test_a_turn_that_did_not_happen_is_retried(given: type[Given], expect: Expect) -> None:
    resolved = ThreadQueue.Resolved(queued_turn_id="a", decision="retry", by="me")
    given(A, CLAIMED, STARTED, UNKNOWN, resolved).then(
        visible_queue=[expect.waiting("a", attempts=1, last=5)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_a_turn_that_did_happen_is_settled(given: type[Given], expect: Expect) -> None:
    resolved = ThreadQueue.Resolved(queued_turn_id="a", decision="acked", by="me")
    was: dict[str, Any] = {"dispatch_id": "d"}
    given(A, B, CLAIMED, STARTED, UNKNOWN, resolved).then(
        visible_queue=[expect.waiting("b", 1, at=2)],
        settled_turns=[expect.settled("a", state="acked", last=6, **was)],
        dispatches=[expect.dispatched("a", "d")],
    )


def test_pausing_and_a_threads_life_are_not_in_the_rows(given: type[Given], expect: Expect) -> None:
    paused, resumed = ThreadQueue.Paused(reason="by hand"), ThreadQueue.Resumed()
    life = (Thread.Archived(), Thread.Unarchived(), Thread.Deleted())
    given(A, paused, resumed, *life).then(visible_queue=[expect.waiting("a")])


def test_an_event_that_cannot_be_read_changes_nothing(given: type[Given], expect: Expect) -> None:
    newer = Unknown("thread_queue.moved", 1, '{"queued_turn_id":"a"}', "newer")
    given(A, newer).then(visible_queue=[expect.waiting("a")])


def test_every_event_of_the_queue_is_tried_here() -> None:
    source = Path(__file__).read_text()
    assert [kind for kind in EVENTS if f"ThreadQueue.{kind.__name__}" not in source] == []
