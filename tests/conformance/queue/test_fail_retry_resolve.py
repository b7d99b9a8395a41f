"""`fail`, `retry` and `resolve`: what went wrong, and going on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any, Literal

import pytest

from turnledger import ClaimLost, InvalidInput, InvalidTransition, Refusal

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger

Decision = Literal["acked", "retry"]


def unknown(host: Host, *texts: str) -> str:
    """A thread whose head is failed with outcome unknown."""
    head, *_ = host.append(*texts)
    host.ledger.queue.fail(host.dispatch("lost"), "no answer", outcome_unknown=True)
    return head


@pytest.mark.parametrize("dispatching", [False, True])
def test_a_failed_turn_blocks_at_its_old_place(
    ledger: Ledger, host: Host, *, dispatching: bool
) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    ledger.queue.fail(host.dispatch("d") if dispatching else host.claim(), {"status": 400})
    turn, _ = ledger.queue.list("thread")
    assert (turn.queued_turn_id, turn.queue_order, turn.state) == (first, order, "failed")
    assert (turn.failure, turn.outcome_unknown) == ({"status": 400}, False)
    assert turn.dispatch_id == ("d" if dispatching else None)
    assert ledger.queue.why_blocked("thread") == "failed_head"


@pytest.mark.parametrize("failure", ["text", "", None, 0, False, [], {}, {"a": [1, None]}, 1.5])
def test_a_failure_is_any_json(ledger: Ledger, host: Host, failure: Any) -> None:
    [only] = host.append("only")
    ledger.queue.fail(host.claim(), failure)
    turn = host.turn(only)
    assert turn.failure == failure
    assert type(turn.failure) is type(failure)
    assert turn.altered is False


def test_an_outcome_can_be_said_to_be_unknown(ledger: Ledger, host: Host) -> None:
    head = unknown(host, "head")
    [turn] = ledger.queue.list("thread")
    assert (turn.queued_turn_id, turn.state, turn.failure) == (head, "failed", "no answer")
    assert (turn.outcome_unknown, turn.dispatch_id) == (True, "lost")


def test_a_retried_turn_waits_at_the_same_place(ledger: Ledger, host: Host) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    ledger.queue.fail(host.dispatch(), "no")
    ledger.queue.retry("thread", first)
    turn = host.turn(first)
    assert (turn.state, turn.queue_order) == ("pending", order)
    assert host.texts() == ["first", "second"]
    assert host.text(host.claim()) == "first"


def test_the_count_of_attempts_grows_with_each_retry(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    attempts = [host.turn(only).attempts]
    for number in range(3):
        ledger.queue.fail(host.dispatch(str(number)), "no")
        ledger.queue.retry("thread", only)
        attempts.append(host.turn(only).attempts)
    first = attempts[0]
    assert attempts == [first, first + 1, first + 2, first + 3]


def test_the_earlier_failure_stays_in_the_history(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    ledger.queue.fail(host.dispatch(), "the earlier failure")
    ledger.queue.retry("thread", only)
    ledger.queue.ack(host.dispatch("again"))
    assert "the earlier failure" in "".join(event.data for event in store.events())


def test_what_isnt_failed_cant_be_retried(ledger: Ledger, host: Host, store: Store) -> None:
    acked, deleted, claimed, pending = host.append("acked", "deleted", "claimed", "pending")
    ledger.queue.ack(host.dispatch())
    ledger.queue.delete("thread", deleted)
    host.claim()
    before = store.events()
    for turn in (acked, deleted, claimed, pending):
        with pytest.raises(InvalidTransition):
            ledger.queue.retry("thread", turn)
    assert store.events() == before


def test_what_never_was_cant_be_retried_or_resolved(
    ledger: Ledger, host: Host, store: Store
) -> None:
    elsewhere = unknown(host, "head")
    before = store.events()
    for thread, turn in (("thread", "never"), ("other", elsewhere)):
        with pytest.raises(Refusal):
            ledger.queue.retry(thread, turn)
        with pytest.raises(Refusal):
            ledger.queue.resolve(thread, turn, "acked", by="me")
    assert store.events() == before


def test_an_unknown_outcome_cant_be_retried_without_a_decision(
    ledger: Ledger, host: Host, store: Store
) -> None:
    head = unknown(host, "head")
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.retry("thread", head)
    assert store.events() == before


def test_a_turn_that_did_happen_is_gone(ledger: Ledger, host: Host) -> None:
    head = unknown(host, "head", "next")
    ledger.queue.resolve("thread", head, "acked", by="me")
    assert host.turn(head).state == "acked"
    assert host.texts() == ["next"]
    assert host.text(host.claim()) == "next"


def test_a_turn_that_didnt_happen_waits_at_the_same_place(ledger: Ledger, host: Host) -> None:
    head = unknown(host, "head", "next")
    ledger.queue.resolve("thread", head, "retry", by="me")
    turn = host.turn(head)
    assert (turn.state, turn.outcome_unknown) == ("pending", False)
    assert host.texts() == ["head", "next"]
    ledger.queue.ack(host.dispatch("again"))
    assert host.turn(head).state == "acked"


def test_who_decided_and_on_what_grounds_is_recorded(
    ledger: Ledger, host: Host, store: Store
) -> None:
    head = unknown(host, "head")
    ledger.queue.resolve("thread", head, "acked", by="the operator", evidence={"seen in": "a log"})
    history = "".join(event.data for event in store.events())
    assert "the operator" in history
    assert "seen in" in history


@pytest.mark.parametrize("decision", ["acked", "retry"])
@pytest.mark.parametrize("again", ["acked", "retry"])
def test_a_decision_is_made_once(
    ledger: Ledger, host: Host, store: Store, decision: Decision, again: Decision
) -> None:
    head = unknown(host, "head")
    ledger.queue.resolve("thread", head, decision, by="me")
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.resolve("thread", head, again, by="another")
    assert store.events() == before


def test_one_of_many_concurrent_decisions_wins(ledger: Ledger, host: Host) -> None:
    head = unknown(host, "head")
    barrier = Barrier(8)

    def decide(number: int) -> bool:
        barrier.wait()
        try:
            ledger.queue.resolve("thread", head, "retry" if number % 2 else "acked", by=str(number))
        except InvalidTransition:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(decide, range(8))) == 1


def test_only_an_unknown_outcome_can_be_resolved(ledger: Ledger, host: Host, store: Store) -> None:
    failed, pending = host.append("failed", "pending")
    ledger.queue.fail(host.dispatch(), "no")
    [claimed] = host.append("claimed", thread="other")
    host.claim(thread="other")
    before = store.events()
    for thread, turn in (("thread", failed), ("thread", pending), ("other", claimed)):
        with pytest.raises(InvalidTransition):
            ledger.queue.resolve(thread, turn, "acked", by="me")
    assert store.events() == before


@pytest.mark.parametrize("decision", ["adopt", "", None, "ACKED"])
def test_an_unknown_decision_is_refused(ledger: Ledger, host: Host, decision: Any) -> None:
    head = unknown(host, "head")
    with pytest.raises(InvalidInput):
        ledger.queue.resolve("thread", head, decision, by="me")
    assert host.turn(head).state == "failed"


def test_a_late_report_is_shown_beside_an_unknown_outcome(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("head")
    claim = host.dispatch("dispatch", "sleeper")
    clock.advance(60)
    ledger.queue.recover()
    with pytest.raises(ClaimLost):
        ledger.queue.ack(claim)
    [turn] = ledger.queue.list("thread")
    assert (turn.state, turn.outcome_unknown) == ("failed", True)
    assert [(one.owner, one.kind) for one in turn.evidence] == [("sleeper", "ack")]
    ledger.queue.resolve("thread", turn.queued_turn_id, "acked", by="me")
    assert host.turn(turn.queued_turn_id).evidence == turn.evidence
