"""What is in flight stands in the head row of its thread's queue, and in no row of its turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import ClaimLost

if TYPE_CHECKING:
    from tests.projections.conftest import Row, Work

NINE = 1_767_603_600_000_000
THREAD = "a thread: thread_queue:\u00e9"
FLYING = ("in_flight_id", "dispatch_id", "owner", "expires_at", "in_flight_at")
NOTHING: dict[str, Any] = dict.fromkeys(("ready_at", "not_before", *FLYING))


def head(work: Work) -> Row:
    """What the head row says to readers."""
    columns, stream_id = ", ".join(NOTHING), f"thread_queue:{THREAD}"
    [row] = work.rows(f"SELECT {columns} FROM streams WHERE stream_id = ?", stream_id)
    return row


def turns(work: Work) -> list[Row]:
    return work.rows("SELECT * FROM queued_turns")


def flying(**said: Any) -> dict[str, Any]:
    """The columns of a turn that was claimed at nine for a minute, but for what is said."""
    held = {"in_flight_id": "a", "owner": "worker", "expires_at": NINE + 60_000_000}
    assert set(said) <= set(NOTHING)
    return {**NOTHING, **held, "in_flight_at": NINE, **said}


def test_a_queue_of_which_nothing_is_in_flight_says_what_waits(work: Work) -> None:
    assert head(work) == {**NOTHING, "ready_at": NINE}


def test_a_claimed_turn_is_in_flight(work: Work) -> None:
    work.claim()
    assert head(work) == flying()


def test_a_claim_says_whose_it_is_and_until_when(work: Work) -> None:
    work.clock.after(7, 1)
    lease = timedelta(seconds=1, microseconds=234_567)
    assert work.queue.claim_head(THREAD, "m\u00e9", lease) is not None
    times = {"expires_at": NINE + 8_234_568, "in_flight_at": NINE + 7_000_001}
    assert head(work) == flying(owner="m\u00e9", **times)


def test_a_renewed_claim_has_another_end(work: Work) -> None:
    claim = work.claim()
    work.clock.after(3)
    work.queue.renew(claim, 10)
    times = {"expires_at": NINE + 13_000_000, "in_flight_at": NINE + 3_000_000}
    assert head(work) == flying(**times)


def test_a_turn_that_is_dispatched_says_under_which_id(work: Work) -> None:
    claim = work.claim()
    work.clock.after(3)
    work.queue.start_dispatch(claim, "d")
    assert head(work) == flying(dispatch_id="d", in_flight_at=NINE + 3_000_000)
    work.clock.after(4)
    work.queue.renew(claim, 10)
    times = {"expires_at": NINE + 14_000_000, "in_flight_at": NINE + 4_000_000}
    assert head(work) == flying(dispatch_id="d", **times)


def test_the_next_flight_says_nothing_of_the_last_one(work: Work) -> None:
    work.queue.ack(work.dispatched())
    work.clock.after(5)
    assert work.queue.claim_head(THREAD, "other", 1) is not None
    times = {"expires_at": NINE + 6_000_000, "in_flight_at": NINE + 5_000_000}
    assert head(work) == flying(in_flight_id="b", owner="other", **times)


BESIDE: dict[str, Callable[[Work], object]] = {
    "append": lambda work: work.queue.append(THREAD, {}),
    "edit": lambda work: work.queue.edit(THREAD, "b", {}),
    "delete": lambda work: work.queue.delete(THREAD, "b"),
    "pause": lambda work: work.queue.pause(THREAD, "by hand"),
    "archive": lambda work: work.ledger.threads.archive(THREAD),
    "reorder": lambda work: (
        work.queue.append(THREAD, {}, queued_turn_id="c"),
        work.queue.reorder(THREAD, ["c", "b"]),
    ),
}


@pytest.mark.parametrize("command", BESIDE)
def test_commands_beside_a_flight_change_nothing_of_it(work: Work, command: str) -> None:
    work.dispatched()
    work.clock.after(5)
    BESIDE[command](work)
    assert head(work) == flying(dispatch_id="d")


@pytest.mark.parametrize("command", ["append", "pause", "archive"])
def test_commands_beside_a_flight_behind_which_nothing_waits_change_nothing_of_it(
    work: Work, command: str
) -> None:
    work.queue.delete(THREAD, "b")
    work.dispatched()
    work.clock.after(5)
    BESIDE[command](work)
    assert head(work) == flying(dispatch_id="d")


def test_evidence_changes_nothing_of_a_flight(work: Work) -> None:
    lost = work.claim()
    work.queue.release(lost)
    claim = work.queue.claim_head(THREAD, "other")
    before, [row, *others] = head(work), turns(work)
    assert claim == replace(lost, owner="other", epoch=2)
    assert before == flying(owner="other")
    work.clock.after(5)
    with pytest.raises(ClaimLost):
        work.queue.fail(lost, "late")
    assert head(work) == before
    kept, *rest = turns(work)
    assert kept != row
    assert {**kept, "evidence": row["evidence"]} == row
    assert rest == others


READY = {**NOTHING, "ready_at": NINE}
ENDS: dict[str, tuple[Callable[[Work], object], dict[str, Any], str]] = {
    "released": (lambda work: work.queue.release(work.claim()), READY, "pending"),
    "recovered": (
        lambda work: (work.claim(), work.queue.recover(THREAD, owner="worker")),
        READY,
        "pending",
    ),
    "failed": (lambda work: work.queue.fail(work.claim(), "no"), NOTHING, "failed"),
    "failed when dispatched": (
        lambda work: work.queue.fail(work.dispatched(), "no"),
        NOTHING,
        "failed",
    ),
    "recovered when dispatched": (
        lambda work: (work.dispatched(), work.queue.recover(THREAD, owner="worker")),
        NOTHING,
        "failed",
    ),
    "failed by the host": (
        lambda work: (work.dispatched(), work.queue.fail_in_flight(THREAD, "no")),
        NOTHING,
        "failed",
    ),
    "acked": (lambda work: work.queue.ack(work.dispatched()), READY, "acked"),
    "cleared": (lambda work: (work.claim(), work.queue.clear(THREAD)), NOTHING, "deleted"),
    "deleted with its thread": (
        lambda work: (work.dispatched(), work.ledger.threads.delete(THREAD)),
        NOTHING,
        "deleted",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_when_a_flight_ends_nothing_of_it_is_left_in_the_head_row(work: Work, end: str) -> None:
    carry_out, ought, state = ENDS[end]
    carry_out(work)
    assert head(work) == ought
    turn = work.queue.get(THREAD, "a")
    assert turn is not None
    assert (turn.state, turn.owner, turn.epoch, turn.expires_at) == (state, None, None, None)


def test_a_claim_a_renewal_and_a_dispatch_change_no_turns_row(work: Work) -> None:
    before = turns(work)
    claim = work.claim()
    assert turns(work) == before
    work.clock.after(1)
    work.queue.renew(claim)
    assert turns(work) == before
    work.queue.start_dispatch(claim, "d")
    assert turns(work) == before
    seen = work.queue.get(THREAD, "a")
    assert seen is not None
    assert (seen.state, seen.dispatch_id, seen.updated_at) == ("dispatching", "d", work.clock.now)
