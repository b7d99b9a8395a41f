"""The views: the visible queue and what is in flight, put together for whoever reads the file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.projections.conftest import Row, Work

NINE = 1_767_603_600_000_000
THREAD = "a thread: thread_queue:\u00e9"


def visible(work: Work, thread: str = THREAD) -> list[Row]:
    query = "SELECT * FROM visible_queue WHERE thread_id = ? ORDER BY queue_order"
    return work.rows(query, thread)


def waiting(turn: str, order: int, **said: Any) -> Row:
    """A row of the visible queue, of a turn that was appended at nine."""
    row: Row = {
        "thread_id": THREAD,
        "queue_order": order,
        "queued_turn_id": turn,
        "submission": f'{{"text":"{turn}"}}',
        "state": "pending",
        "failure": None,
        "altered": 0,
        "outcome_unknown": 0,
        "dispatch_id": None,
        "evidence": "[]",
        "attempts": 0,
        "not_before": None,
        "created_at": NINE,
        "updated_at": NINE,
    }
    assert set(said) <= set(row)
    return {**row, **said}


def test_the_view_of_what_is_in_flight_shows_every_threads_claim(work: Work) -> None:
    work.dispatched()
    assert work.queue.claim_head("beside", "other", 1) is not None
    assert work.rows("SELECT * FROM in_flight_turns ORDER BY thread_id") == [
        {
            "thread_id": THREAD,
            "queued_turn_id": "a",
            "dispatch_id": "d",
            "owner": "worker",
            "epoch": 1,
            "expires_at": NINE + 60_000_000,
        },
        {
            "thread_id": "beside",
            "queued_turn_id": "a",
            "dispatch_id": None,
            "owner": "other",
            "epoch": 1,
            "expires_at": NINE + 1_000_000,
        },
    ]
    work.queue.clear(THREAD)
    assert [row["thread_id"] for row in work.rows("SELECT * FROM in_flight_turns")] == ["beside"]


def test_the_view_of_the_visible_queue_shows_what_waits_with_its_text(work: Work) -> None:
    submission = {"z": 2**70, "a": "\x00\u00e9\U0001f600", "f": [1.0, -0.0, 5e-324, {}]}
    text = '{"z":1180591620717411303424,"a":"\\u0000\u00e9\U0001f600","f":[1.0,-0.0,5e-324,{}]}'
    later = datetime(2030, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
    work.queue.append(THREAD, submission, queued_turn_id="c", not_before=later)
    last = waiting("c", 2, submission=text, not_before=1_893_456_000_123_456)
    assert visible(work) == [waiting("a", 0), waiting("b", 1), last]
    assert json.loads(text) == submission
    work.clock.after(1)
    work.queue.edit(THREAD, "b", {"text": "new"})
    new = waiting("b", 1, submission='{"text":"new"}', updated_at=NINE + 1_000_000)
    assert visible(work) == [waiting("a", 0), new, last]


def test_the_view_of_the_visible_queue_shows_nothing_that_is_in_flight_or_settled(
    work: Work,
) -> None:
    claim = work.dispatched()
    assert visible(work) == [waiting("b", 1)]
    work.clock.after(1)
    work.queue.fail(claim, {"code": 400}, outcome_unknown=True)
    was: dict[str, Any] = {"state": "failed", "failure": '{"code":400}', "outcome_unknown": 1}
    failed = waiting("a", 0, **was, dispatch_id="d", updated_at=NINE + 1_000_000)
    assert visible(work) == [failed, waiting("b", 1)]
    work.queue.resolve(THREAD, "a", "acked", by="me")
    assert visible(work) == [waiting("b", 1)]
    work.queue.delete(THREAD, "b")
    assert visible(work) == []
    beside = visible(work, "beside")
    assert beside == [waiting("a", 0, thread_id="beside"), waiting("b", 1, thread_id="beside")]
