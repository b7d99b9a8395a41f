"""Rule 4: what the owner of a lost claim knew is kept, and shown with the turn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import ClaimLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Claim, Ledger


def report(ledger: Ledger, claim: Claim, failure: Any = None) -> None:
    """Report a success, or a failure if there is one, whose claim is lost."""
    settle = ledger.queue.ack if failure is None else partial(ledger.queue.fail, failure=failure)
    with pytest.raises(ClaimLost):
        settle(claim)


def kinds(host: Host, queued_turn_id: str) -> list[tuple[str, int, str]]:
    return [(one.owner, one.epoch, one.kind) for one in host.turn(queued_turn_id).evidence]


@pytest.fixture
def lost(host: Host, clock: Clock) -> Claim:
    """The claim of an owner that slept while it dispatched the thread's head."""
    host.append("head", "next")
    claim = host.dispatch("dispatch", "sleeper")
    clock.advance(60)
    host.ledger.queue.recover()
    return claim


def test_a_lost_ack_is_kept(ledger: Ledger, host: Host, clock: Clock, lost: Claim) -> None:
    clock.advance(7)
    report(ledger, lost)
    [turn, _] = ledger.queue.list("thread")
    [one] = turn.evidence
    assert (one.owner, one.epoch, one.kind) == ("sleeper", lost.epoch, "ack")
    assert one.recorded_at == clock.now
    assert turn.state == "failed"
    assert host.turn(turn.queued_turn_id).evidence == turn.evidence


def test_a_lost_failure_is_kept_with_its_value(ledger: Ledger, lost: Claim) -> None:
    report(ledger, lost, {"status": 503, "big": 2**53 + 1})
    [turn, _] = ledger.queue.list("thread")
    [one] = turn.evidence
    assert (one.kind, one.value) == ("fail", {"status": 503, "big": 2**53 + 1})
    assert turn.failure == "outcome unknown after the claim expired"


def test_the_same_report_is_kept_once(ledger: Ledger, lost: Claim, store: Store) -> None:
    report(ledger, lost, "the first")
    before = store.events()
    report(ledger, lost, "the second")
    assert store.events() == before
    [turn, _] = ledger.queue.list("thread")
    assert [one.value for one in turn.evidence] == ["the first"]


def test_each_kind_of_report_is_kept(ledger: Ledger, host: Host, lost: Claim) -> None:
    report(ledger, lost, "no")
    report(ledger, lost)
    [turn, _] = ledger.queue.list("thread")
    assert kinds(host, turn.queued_turn_id) == [("sleeper", 1, "fail"), ("sleeper", 1, "ack")]


def test_each_epoch_may_report(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    claims = []
    for owner in ("a", "a", "b"):
        claims.append(host.claim(owner))
        ledger.queue.release(claims[-1])
    for claim in claims:
        report(ledger, claim)
    assert kinds(host, only) == [("a", 1, "ack"), ("a", 2, "ack"), ("b", 3, "ack")]


def test_an_epoch_that_was_never_given_out_leaves_no_evidence(
    ledger: Ledger, host: Host, store: Store
) -> None:
    host.append("only")
    ledger.queue.release(host.claim("worker"))
    before = store.events()
    for owner, epoch, thread in (
        ("worker", 2, "thread"),
        ("worker", 0, "thread"),
        ("worker", -1, "thread"),
        ("stranger", 1, "thread"),
        ("worker", 1, "other"),
    ):
        report(ledger, host.hand_made(owner, epoch, thread))
        report(ledger, host.hand_made(owner, epoch, thread), "no")
    assert store.events() == before


def test_evidence_moves_no_version_of_its_target(
    ledger: Ledger, host: Host, lost: Claim, store: Store
) -> None:
    targets = {event.stream_id for event in store.events()}
    before = store.events()
    report(ledger, lost)
    report(ledger, lost, "no")
    after = store.events()
    assert [event for event in after if event.stream_id in targets] == before
    assert len(after) == len(before) + 2
    assert host.texts() == ["head", "next"]


def test_evidence_goes_with_the_turn_that_the_claim_was_for(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    first, second = host.append("first", "second")
    old = host.claim("old")
    clock.advance(60)
    ledger.queue.recover()
    ledger.queue.ack(host.dispatch("one", "new"))
    host.dispatch("two", "new")
    report(ledger, old, "late")
    assert kinds(host, first) == [("old", 1, "fail")]
    assert kinds(host, second) == []
    assert host.turn(first).state == "acked"


def test_evidence_is_kept_for_a_turn_that_another_holds(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    old = host.claim("old")
    ledger.queue.release(old)
    new = host.dispatch("dispatch", "new")
    report(ledger, old, "late")
    assert kinds(host, only) == [("old", 1, "fail")]
    ledger.queue.ack(new)
    assert kinds(host, only) == [("old", 1, "fail")]


def delete_turn(host: Host) -> None:
    [turn, _] = host.ledger.queue.list("thread")
    assert host.ledger.queue.delete("thread", turn.queued_turn_id)


def clear_thread(host: Host) -> None:
    host.ledger.queue.clear("thread")


def resolve_turn(host: Host) -> None:
    [turn, _] = host.ledger.queue.list("thread")
    host.ledger.queue.resolve("thread", turn.queued_turn_id, "acked", by="me")


@pytest.mark.parametrize("end", [delete_turn, clear_thread, resolve_turn])
def test_evidence_is_kept_for_a_turn_that_is_gone(
    ledger: Ledger, host: Host, lost: Claim, end: Callable[[Host], None]
) -> None:
    end(host)
    report(ledger, lost, "late")
    assert lost.queued_turn_id is not None
    turn = host.turn(lost.queued_turn_id)
    assert [(one.kind, one.value) for one in turn.evidence] == [("fail", "late")]
    assert turn.state in ("deleted", "acked")


def test_evidence_is_kept_of_a_claim_that_was_cleared(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    claim = host.dispatch()
    ledger.queue.clear("thread")
    report(ledger, claim)
    assert kinds(host, only) == [("worker", 1, "ack")]


def test_evidence_stays_through_edit_retry_and_the_next_run(
    ledger: Ledger, host: Host, lost: Claim
) -> None:
    assert lost.queued_turn_id is not None
    report(ledger, lost, "late")
    ledger.queue.resolve("thread", lost.queued_turn_id, "retry", by="me")
    ledger.queue.edit("thread", lost.queued_turn_id, {"text": "edited"})
    ledger.queue.ack(host.dispatch("again", "new"))
    assert kinds(host, lost.queued_turn_id) == [("sleeper", 1, "fail")]


def test_a_command_without_a_result_leaves_no_evidence(
    ledger: Ledger, lost: Claim, store: Store
) -> None:
    before = store.events()
    for command in (ledger.queue.renew, ledger.queue.release):
        with pytest.raises(ClaimLost):
            command(lost)
    with pytest.raises(ClaimLost):
        ledger.queue.start_dispatch(lost, "late")
    assert store.events() == before


def test_a_result_that_isnt_json_is_kept_as_its_repr(ledger: Ledger, lost: Claim) -> None:
    report(ledger, lost, {"raw": b"bytes"})
    [turn, _] = ledger.queue.list("thread")
    [one] = turn.evidence
    assert (one.value, one.altered) == (repr({"raw": b"bytes"}), True)


def test_the_ack_of_a_recovered_dispatch_is_kept(
    ledger: Ledger, host: Host, lost: Claim, store: Store
) -> None:
    assert lost.queued_turn_id is not None
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    assert kinds(host, lost.queued_turn_id) == [("sleeper", lost.epoch, "ack_dispatch")]
    assert host.turn(lost.queued_turn_id).state == "failed"
    before = store.events()
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    assert store.events() == before


def test_the_ack_of_a_recovered_dispatch_is_kept_while_another_runs(
    ledger: Ledger, host: Host, lost: Claim
) -> None:
    assert lost.queued_turn_id is not None
    ledger.queue.resolve("thread", lost.queued_turn_id, "retry", by="me")
    host.dispatch("again", "new")
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    assert kinds(host, lost.queued_turn_id) == [("sleeper", 1, "ack_dispatch")]
    assert host.turn(lost.queued_turn_id).state == "dispatching"


def test_the_ack_of_a_recovered_dispatch_is_kept_after_the_turn_was_resolved_as_acked(
    ledger: Ledger, host: Host, lost: Claim
) -> None:
    assert lost.queued_turn_id is not None
    ledger.queue.resolve("thread", lost.queued_turn_id, "acked", by="me")
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    assert kinds(host, lost.queued_turn_id) == [("sleeper", 1, "ack_dispatch")]
    assert host.turn(lost.queued_turn_id).state == "acked"


def test_the_ack_of_a_dispatch_that_never_was_leaves_no_evidence(
    ledger: Ledger, host: Host, lost: Claim, store: Store
) -> None:
    host.append("there", thread="other")
    before = store.events()
    assert ledger.queue.ack_dispatch("thread", "never") is False
    assert ledger.queue.ack_dispatch("other", "dispatch") is False
    assert ledger.queue.ack_dispatch("never", "dispatch") is False
    assert store.events() == before
    assert lost.epoch == 1


def test_evidence_survives_a_restart(
    ledger: Ledger, lost: Claim, open_ledger: Callable[..., Ledger]
) -> None:
    report(ledger, lost, "late")
    ledger.close()
    [turn, _] = open_ledger().queue.list("thread")
    assert [one.value for one in turn.evidence] == ["late"]
