"""F1 to F3: the host is killed with a turn in its hands: nothing is lost, or goes out twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host
    from tests.conformance.processes.conftest import Outbox, Worker
    from turnledger import Ledger

EXPIRED = "outcome unknown after the claim expired"
WORDS = ["claiming", "claimed", "dispatched", "sent"]
LEASE = 60
Decision = Literal["acked", "retry"]


@pytest.mark.parametrize("word", ["dispatched", "sent"])
def test_f1_a_turn_whose_host_was_killed_is_failed_and_never_goes_out_again_by_itself(
    host: Host,
    clock: Clock,
    outbox: Outbox,
    begin: Callable[..., Worker],
    word: str,
) -> None:
    first, second = host.append("first", "second")
    worker = begin("deliver", "killed", outbox.path, stop=word)
    worker.until(word)
    worker.kill()
    assert host.turn(first).submission == {"text": "first"}
    assert host.ledger.queue.recover() == []
    clock.advance(LEASE)
    [turn] = host.ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state, turn.submission) == (
        first,
        "failed",
        {"text": "first"},
    )
    assert (turn.failure, turn.outcome_unknown) == (EXPIRED, True)
    assert host.ledger.queue.claim_next("next") == []
    assert outbox.sent() == (["first"] if word == "sent" else [])
    assert [host.turn(one).state for one in (first, second)] == ["failed", "pending"]


@pytest.mark.parametrize("word", WORDS)
def test_f1_a_kill_at_any_instant_leaves_the_ledger_whole(
    host: Host,
    clock: Clock,
    outbox: Outbox,
    begin: Callable[..., Worker],
    word: str,
) -> None:
    """The worker goes on while the signal is on its way, so the instant is any after the word."""
    [only] = host.append("only")
    worker = begin("deliver", "killed", outbox.path)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    host.ledger.queue.recover()
    turn, sent = host.turn(only), outbox.sent()
    assert turn.submission == {"text": "only"}
    assert turn.state in (
        ("pending", "failed", "acked") if word in WORDS[:2] else ("failed", "acked")
    )
    assert turn.outcome_unknown is (turn.state == "failed")
    assert sent == ([] if turn.state == "pending" else sent[:1])
    assert host.ledger.verify().findings == ()
    assert len(host.ledger.queue.claim_next("next")) == (turn.state == "pending")


def test_f1_workers_that_are_killed_again_and_again_send_everything_once_in_order(
    host: Host, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    """Each decision about an unknown outcome is made by what the world outside saw."""
    texts = [f"text {number}" for number in range(4)]
    host.append(*texts)
    for number, word in enumerate(("claimed", "dispatched", "sent", "acked")):
        worker = begin("deliver", f"worker {number}", outbox.path, stop=word)
        worker.until(word)
        worker.kill()
        clock.advance(LEASE)
        for turn in host.ledger.queue.recover():
            if turn.outcome_unknown:
                arrived = host.text(turn) in outbox.sent()
                decision: Decision = "acked" if arrived else "retry"
                host.ledger.queue.resolve("thread", turn.queued_turn_id, decision, by="test")
    begin("deliver", "the last", outbox.path).finish()
    assert outbox.sent() == texts
    assert host.texts() == []
    assert host.ledger.verify().findings == ()


def test_f2_a_death_before_the_turn_was_removed_doesnt_deliver_it_twice(
    host: Host, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    first, second = host.append("first", "second")
    worker = begin("deliver", "killed", outbox.path, stop="sent")
    worker.until("sent")
    worker.kill()
    assert host.ledger.queue.claim_next("too early") == []
    clock.advance(LEASE)
    said = begin("deliver", "restarted", outbox.path).finish()
    assert said == [("recovered", [first]), ("claiming", None)]
    assert outbox.sent() == ["first"]
    host.ledger.queue.resolve("thread", first, "acked", by="the operator")
    assert host.turn(first).state == "acked"
    assert host.claim("after the decision").queued_turn_id == second


def test_f3_a_turn_that_its_host_hadnt_dispatched_is_back_in_its_place(
    host: Host, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    first, _, _ = host.append("first", "second", "third")
    worker = begin("deliver", "killed", outbox.path, stop="claimed")
    worker.until("claimed")
    worker.kill()
    assert (host.turn(first).state, host.turn(first).owner) == ("claimed", "killed")
    clock.advance(LEASE)
    [turn] = host.ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state, turn.failure) == (first, "pending", None)
    assert host.texts() == ["first", "second", "third"]
    assert host.text(host.claim("restarted")) == "first"
    assert outbox.sent() == []


def test_f3_a_host_that_knows_its_former_self_neednt_wait_for_the_lease(
    host: Host, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    first, _ = host.append("first", "second")
    worker = begin("deliver", "killed", outbox.path, stop="claimed")
    worker.until("claimed")
    worker.kill()
    assert [turn.queued_turn_id for turn in host.ledger.queue.recover(owner="killed")] == [first]
    assert host.texts() == ["first", "second"]
    assert host.claim("restarted").queued_turn_id == first


def test_f3_a_host_that_ends_in_good_order_loses_nothing_either(
    host: Host, ledger: Ledger, clock: Clock, begin: Callable[..., Worker]
) -> None:
    ledger.queue.append("thread 0", {"text": "first"})
    worker = begin("claim", "ended", "1")
    worker.until("ready")
    worker.go()
    assert worker.finish() == [("claimed", {"text": "first"})]
    clock.advance(LEASE)
    ledger.queue.recover()
    assert host.texts("thread 0") == ["first"]
    assert ledger.queue.why_blocked("thread 0") is None
