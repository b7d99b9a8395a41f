"""An archived thread takes and starts no work; what is under way can be settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from turnledger import IdempotencyConflict, ThreadArchived

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Claim, Ledger


def test_an_archived_thread_takes_no_work(ledger: Ledger, host: Host, store: Store) -> None:
    failed, pending = host.append("failed", "pending")
    ledger.queue.fail(host.claim(), "no")
    ledger.threads.archive("thread")
    before, queue = store.events(), ledger.queue
    requests: tuple[Callable[[], object], ...] = (
        lambda: queue.append("thread", {}),
        lambda: queue.append("thread", {}, idempotency_key="key", queued_turn_id="mine"),
        lambda: queue.append_many("thread", [{}, {}]),
        lambda: queue.edit("thread", pending, {}),
        lambda: queue.reorder("thread", [pending, failed]),
        lambda: queue.retry("thread", failed),
    )
    for request in requests:
        with pytest.raises(ThreadArchived) as refusal:
            request()
        assert vars(refusal.value)["thread_id"] == "thread"
    assert store.events() == before


def test_an_archived_thread_gives_out_no_claims(ledger: Ledger, host: Host) -> None:
    host.append("only")
    host.append("there", thread="other")
    ledger.threads.archive("thread")
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.why_blocked("thread") == "archived"
    claims = ledger.queue.claim_next("worker", limit=10)
    assert [claim.thread_id for claim in claims] == ["other"]


def test_no_dispatch_is_started_in_an_archived_thread(
    ledger: Ledger, host: Host, store: Store
) -> None:
    [only] = host.append("only")
    claim = host.claim()
    ledger.threads.archive("thread")
    before = store.events()
    with pytest.raises(ThreadArchived):
        ledger.queue.start_dispatch(claim, "dispatch")
    assert store.events() == before
    assert host.turn(only).state == "claimed"


def test_a_claim_of_an_archived_thread_is_renewed_and_released(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [only] = host.append("only")
    claim = host.claim()
    ledger.threads.archive("thread")
    clock.advance(30)
    ledger.queue.renew(claim)
    clock.advance(59)
    ledger.queue.release(claim)
    assert host.turn(only).state == "pending"


def ack(ledger: Ledger, claim: Claim) -> None:
    ledger.queue.ack(claim)


def ack_dispatch(ledger: Ledger, _claim: Claim) -> None:
    assert ledger.queue.ack_dispatch("thread", "dispatch") is True


def fail(ledger: Ledger, claim: Claim) -> None:
    ledger.queue.fail(claim, "no")


def recover(ledger: Ledger, claim: Claim) -> None:
    assert len(ledger.queue.recover(owner=claim.owner)) == 1


@pytest.mark.parametrize(
    ("settle", "state"),
    [(ack, "acked"), (ack_dispatch, "acked"), (fail, "failed"), (recover, "failed")],
)
def test_a_dispatch_of_an_archived_thread_is_settled(
    ledger: Ledger, host: Host, settle: Callable[[Ledger, Claim], None], state: str
) -> None:
    [only] = host.append("only")
    claim = host.dispatch("dispatch")
    ledger.threads.archive("thread")
    settle(ledger, claim)
    assert host.turn(only).state == state


def test_an_undispatched_turn_of_an_archived_thread_is_recovered(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [only] = host.append("only")
    host.claim()
    ledger.threads.archive("thread")
    clock.advance(60)
    [turn] = ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state) == (only, "pending")
    assert ledger.queue.why_blocked("thread") == "archived"


@pytest.mark.parametrize("failed", [False, True])
def test_a_turn_of_an_archived_thread_is_deleted(
    ledger: Ledger, host: Host, *, failed: bool
) -> None:
    [only] = host.append("only")
    if failed:
        ledger.queue.fail(host.claim(), "no")
    ledger.threads.archive("thread")
    assert ledger.queue.delete("thread", only) is True
    assert ledger.queue.delete("thread", only) is False


def test_an_unknown_outcome_in_an_archived_thread_is_resolved(ledger: Ledger, host: Host) -> None:
    states = []
    decisions: list[tuple[str, Literal["acked", "retry"]]] = [("a", "acked"), ("b", "retry")]
    for thread, decision in decisions:
        [turn] = host.append("only", thread=thread)
        ledger.queue.fail(host.dispatch(thread=thread), "no answer", outcome_unknown=True)
        ledger.threads.archive(thread)
        ledger.queue.resolve(thread, turn, decision, by="me")
        states.append(host.turn(turn, thread).state)
    assert states == ["acked", "pending"]
    assert ledger.queue.claim_next("worker", limit=2) == []


def test_an_archived_thread_is_read(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    ledger.threads.archive("thread")
    assert host.texts() == ["only"]
    assert host.turn(only).state == "pending"


def test_an_unarchived_thread_is_as_it_was(ledger: Ledger, host: Host) -> None:
    failed, second, third = host.append("failed", "second", "third")
    ledger.queue.fail(host.claim(), "no")
    before = ledger.queue.list("thread")
    ledger.threads.archive("thread")
    ledger.threads.unarchive("thread")
    assert ledger.queue.list("thread") == before
    assert ledger.queue.why_blocked("thread") == "failed_head"
    ledger.queue.reorder("thread", [second, third, failed])
    host.append("fourth")
    assert [claim.thread_id for claim in ledger.queue.claim_next("worker")] == ["thread"]


def test_a_claim_goes_on_when_its_thread_is_unarchived(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    claim = host.claim()
    ledger.threads.archive("thread")
    ledger.threads.unarchive("thread")
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.ack(claim)
    assert host.turn(only).state == "acked"


def test_a_paused_thread_is_paused_when_it_is_unarchived(ledger: Ledger, host: Host) -> None:
    host.append("only")
    ledger.queue.pause("thread", "by hand")
    ledger.threads.archive("thread")
    assert ledger.queue.why_blocked("thread") == "archived"
    ledger.threads.unarchive("thread")
    assert ledger.queue.why_blocked("thread") == "paused"


@pytest.mark.parametrize("other", ["failed_head", "in_flight", "expired_claim", "empty"])
def test_archived_comes_before(ledger: Ledger, host: Host, clock: Clock, other: str) -> None:
    if other != "empty":
        host.append("only")
        claim = host.claim()
        if other == "failed_head":
            ledger.queue.fail(claim, "no")
        clock.advance(60 if other == "expired_claim" else 0)
    ledger.threads.archive("thread")
    assert ledger.queue.why_blocked("thread") == "archived"
    ledger.threads.unarchive("thread")
    assert ledger.queue.why_blocked("thread") == other


def test_archiving_is_one_event_and_again_is_nothing(
    ledger: Ledger, host: Host, store: Store
) -> None:
    host.append("only")
    before = len(store.events())
    ledger.threads.archive("thread")
    assert len(store.events()) == before + 1
    ledger.threads.archive("thread")
    assert len(store.events()) == before + 1


def test_an_archive_survives_a_restart(
    ledger: Ledger, host: Host, open_ledger: Callable[..., Ledger]
) -> None:
    host.append("only")
    ledger.threads.archive("thread")
    ledger.close()
    queue = open_ledger().queue
    assert queue.why_blocked("thread") == "archived"
    assert queue.claim_next("worker") == []
    with pytest.raises(ThreadArchived):
        queue.append("thread", {})


def test_a_key_is_checked_before_the_archive(ledger: Ledger) -> None:
    queue = ledger.queue
    queue.append("thread", {"n": 1}, idempotency_key="key")
    queue.append("thread", {"n": 1}, queued_turn_id="mine")
    queue.append_many("thread", [{"n": 1}], idempotency_key="many")
    ledger.threads.archive("thread")
    assert queue.append("thread", {"n": 1}, idempotency_key="key").duplicate
    assert queue.append("thread", {"n": 1}, queued_turn_id="mine").duplicate
    assert queue.append_many("thread", [{"n": 1}], idempotency_key="many")[0].duplicate
    with pytest.raises(IdempotencyConflict):
        queue.append("thread", {"n": 2}, idempotency_key="key")
    with pytest.raises(IdempotencyConflict):
        queue.append("thread", {"n": 2}, queued_turn_id="mine")


def test_a_refusal_by_an_archive_has_no_receipt(ledger: Ledger) -> None:
    ledger.threads.archive("thread")
    with pytest.raises(ThreadArchived):
        ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
    ledger.threads.unarchive("thread")
    assert ledger.queue.append("thread", {"n": 2}, idempotency_key="key").duplicate is False


def test_other_threads_are_not_touched_by_an_archive(ledger: Ledger, host: Host) -> None:
    host.append("there", thread="other")
    ledger.threads.archive("thread")
    host.append("more", thread="other")
    assert host.texts("other") == ["there", "more"]
