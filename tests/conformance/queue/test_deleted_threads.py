"""A deleted thread: everything in it ends, and only reads answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, IdempotencyConflict, ThreadDeleted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Claim, Ledger


@pytest.fixture
def ended(ledger: Ledger, host: Host) -> tuple[list[str], Claim]:
    """A deleted thread that had a turn in flight, a failed one and a pending one."""
    failed, flying, pending = host.append("failed", "flying", "pending")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.reorder("thread", [flying, failed, pending])
    claim = host.dispatch("dispatch")
    ledger.threads.delete("thread")
    return [failed, flying, pending], claim


def test_everything_in_it_ends(ledger: Ledger, host: Host) -> None:
    failed, flying, pending = host.append("failed", "flying", "pending")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.reorder("thread", [flying, failed, pending])
    host.claim()
    summary = ledger.threads.delete("thread")
    assert (summary.thread_id, summary.in_flight) == ("thread", 1)
    states = [host.turn(turn).state for turn in (failed, flying, pending)]
    assert states == ["deleted", "deleted", "deleted"]


def test_reads_are_empty_and_get_answers(
    ledger: Ledger, host: Host, ended: tuple[list[str], Claim]
) -> None:
    turns, _ = ended
    assert ledger.queue.list("thread") == []
    assert ledger.queue.why_blocked("thread") == "deleted"
    texts = [host.text(host.turn(turn)) for turn in turns]
    assert texts == ["failed", "flying", "pending"]
    assert ledger.queue.get("thread", "never") is None


@pytest.mark.usefixtures("ended")
def test_it_gives_out_no_claims(ledger: Ledger) -> None:
    assert ledger.queue.claim_next("worker", limit=10) == []
    assert ledger.queue.recover() == []


@pytest.mark.usefixtures("ended")
def test_a_claim_on_it_gives_none_and_why_blocked_says_deleted(ledger: Ledger) -> None:
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.why_blocked("thread") == "deleted"


def test_commands_with_a_claim_are_told_that_it_is_lost(
    ledger: Ledger, host: Host, ended: tuple[list[str], Claim]
) -> None:
    (_, flying, _), claim = ended
    queue = ledger.queue
    commands: tuple[Callable[[], object], ...] = (
        lambda: queue.renew(claim),
        lambda: queue.release(claim),
        lambda: queue.start_dispatch(claim, "dispatch"),
        lambda: queue.ack(claim),
        lambda: queue.fail(claim, "late"),
    )
    for command in commands:
        with pytest.raises(ClaimLost):
            command()
    kept = [(one.owner, one.epoch, one.kind) for one in host.turn(flying).evidence]
    assert kept == [("worker", claim.epoch, "ack"), ("worker", claim.epoch, "fail")]


def test_what_a_dispatch_led_to_is_kept_though_its_thread_is_deleted(
    ledger: Ledger, host: Host, ended: tuple[list[str], Claim]
) -> None:
    (_, flying, _), claim = ended
    for _ in range(2):
        with pytest.raises(ThreadDeleted):
            ledger.queue.ack_dispatch("thread", "dispatch")
    kept = [(one.owner, one.epoch, one.kind) for one in host.turn(flying).evidence]
    assert kept == [("worker", claim.epoch, "ack_dispatch")]


def test_all_other_commands_are_refused(
    ledger: Ledger, store: Store, ended: tuple[list[str], Claim]
) -> None:
    (turn, _, _), _ = ended
    before, queue = store.events(), ledger.queue
    commands: tuple[Callable[[], object], ...] = (
        lambda: queue.append("thread", {}),
        lambda: queue.append("thread", {}, idempotency_key="new", queued_turn_id="new"),
        lambda: queue.append_many("thread", [{}]),
        lambda: queue.clear("thread"),
        lambda: queue.edit("thread", turn, {}),
        lambda: queue.delete("thread", turn),
        lambda: queue.reorder("thread", []),
        lambda: queue.retry("thread", turn),
        lambda: queue.resolve("thread", turn, "acked", by="me"),
        lambda: queue.recover("thread"),
        lambda: queue.fail_in_flight("thread", "restart"),
        lambda: queue.ack_dispatch("thread", "never"),
        lambda: queue.pause("thread", "by hand"),
        lambda: queue.resume("thread"),
        lambda: ledger.threads.archive("thread"),
        lambda: ledger.threads.unarchive("thread"),
        lambda: ledger.threads.fork("thread", "new"),
        lambda: ledger.threads.fork("other", "thread"),
    )
    for command in commands:
        with pytest.raises(ThreadDeleted) as refusal:
            command()
        assert vars(refusal.value)["thread_id"] == "thread"
    assert store.events() == before


@pytest.mark.usefixtures("ended")
def test_deleting_it_again_is_nothing(ledger: Ledger, store: Store) -> None:
    before = store.events()
    ledger.threads.delete("thread")
    assert store.events() == before


def test_it_stays_deleted_after_a_restart(
    ledger: Ledger, ended: tuple[list[str], Claim], open_ledger: Callable[..., Ledger]
) -> None:
    _, claim = ended
    ledger.close()
    queue = open_ledger().queue
    assert queue.list("thread") == []
    with pytest.raises(ThreadDeleted):
        queue.append("thread", {})
    with pytest.raises(ClaimLost):
        queue.renew(claim)


def test_an_archived_thread_can_be_deleted(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    ledger.threads.archive("thread")
    ledger.threads.delete("thread")
    assert ledger.queue.why_blocked("thread") == "deleted"
    assert host.turn(only).state == "deleted"


@pytest.mark.parametrize("other", ["paused", "in_flight", "expired_claim", "failed_head"])
def test_deleted_comes_before(ledger: Ledger, host: Host, clock: Clock, other: str) -> None:
    host.append("only")
    if other == "paused":
        ledger.queue.pause("thread", "by hand")
    else:
        claim = host.claim()
        if other == "failed_head":
            ledger.queue.fail(claim, "no")
        clock.advance(60 if other == "expired_claim" else 0)
    assert ledger.queue.why_blocked("thread") == other
    ledger.threads.delete("thread")
    assert ledger.queue.why_blocked("thread") == "deleted"


def test_other_threads_are_not_touched(ledger: Ledger, host: Host) -> None:
    host.append("there", thread="other")
    claim = host.claim(thread="other")
    host.append("behind", thread="other")
    host.append("only")
    ledger.threads.delete("thread")
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.ack(claim)
    assert host.texts("other") == ["behind"]


def test_a_key_is_checked_before_the_deletion(ledger: Ledger) -> None:
    queue = ledger.queue
    first = queue.append("thread", {"n": 1}, idempotency_key="key")
    queue.append("thread", {"n": 1}, queued_turn_id="mine")
    ledger.threads.delete("thread")
    again = queue.append("thread", {"n": 1}, idempotency_key="key")
    assert (again.duplicate, again.queued_turn_id) == (True, first.queued_turn_id)
    assert again.state == "pending"
    assert queue.append("thread", {"n": 1}, queued_turn_id="mine").duplicate is True
    with pytest.raises(IdempotencyConflict):
        queue.append("thread", {"n": 2}, idempotency_key="key")
    with pytest.raises(IdempotencyConflict):
        queue.append("thread", {"n": 2}, queued_turn_id="mine")


@pytest.mark.usefixtures("ended")
def test_the_history_remains(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.list("thread") == []
    history = "".join(event.data for event in store.events())
    assert all(text in history for text in ("failed", "flying", "pending"))


def test_it_is_deleted_in_one_transaction(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("first", "second")
    host.dispatch()
    before = store.events()[-1].position
    ledger.threads.delete("thread")
    events = store.events(after=before)
    assert len(events) >= 1
    assert len({event.recorded_at for event in events}) == 1
    assert store.rows("SELECT * FROM visible_queue") == []
    assert store.rows("SELECT * FROM in_flight_turns") == []
