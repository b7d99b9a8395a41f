"""Reports of lost claims stay as evidence, once, also if the block around them is undone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.conformance.transactions.conftest import Undo, failing
from turnledger import ClaimLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Claim, Ledger

    Report = Callable[[Ledger, Claim], None]


def ack(ledger: Ledger, claim: Claim) -> None:
    ledger.queue.ack(claim)


def fail(ledger: Ledger, claim: Claim) -> None:
    ledger.queue.fail(claim, {"status": 503})


def ack_dispatch(ledger: Ledger, claim: Claim) -> None:
    """It says False of a dispatch that was recovered."""
    assert not ledger.queue.ack_dispatch(claim.thread_id, "dispatch")
    raise ClaimLost(claim.thread_id, claim.owner, claim.epoch, "it was recovered")


REPORTS: list[Report] = [ack, fail, ack_dispatch]
every_report = pytest.mark.parametrize("report", REPORTS)


@pytest.fixture
def lost(host: Host, clock: Clock) -> Claim:
    """The claim of an owner that slept while it dispatched the thread's head."""
    host.append("head", "next")
    claim = host.dispatch("dispatch", "sleeper")
    clock.advance(60)
    host.ledger.queue.recover()
    return claim


def kept(host: Host, claim: Claim) -> list[str]:
    return [one.kind for one in host.turn(str(claim.queued_turn_id), claim.thread_id).evidence]


def report_and_catch(ledger: Ledger, claim: Claim, report: Report) -> None:
    with pytest.raises(ClaimLost):
        report(ledger, claim)


@every_report
def test_evidence_is_kept_once_if_the_refusal_is_caught_and_the_block_is_committed(
    ledger: Ledger, host: Host, lost: Claim, store: Store, report: Report
) -> None:
    before = store.events()
    with ledger.transaction():
        host.append("before", thread="other")
        report_and_catch(ledger, lost, report)
        assert kept(host, lost) == [report.__name__]
        host.append("after", thread="other")
    assert kept(host, lost) == [report.__name__]
    found = [event.type for event in store.events()[len(before) :]]
    assert found == ["thread_queue.appended", "evidence.kept", "thread_queue.appended"]
    assert ledger.verify().findings == ()


@every_report
def test_evidence_stays_if_the_refusal_undoes_the_block(
    ledger: Ledger, host: Host, lost: Claim, store: Store, report: Report
) -> None:
    before = store.events()
    with failing(ledger, ClaimLost):
        host.append("undone", thread="other")
        report(ledger, lost)
    assert kept(host, lost) == [report.__name__]
    assert [event.type for event in store.events()[len(before) :]] == ["evidence.kept"]
    assert ledger.verify().findings == ()


@every_report
def test_evidence_stays_if_something_else_undoes_the_block_later(
    ledger: Ledger, host: Host, lost: Claim, store: Store, report: Report
) -> None:
    before = store.events()
    with failing(ledger, Undo):
        report_and_catch(ledger, lost, report)
        host.append("undone", thread="other")
        raise Undo
    assert kept(host, lost) == [report.__name__]
    assert [event.type for event in store.events()[len(before) :]] == ["evidence.kept"]


def inner_block_that_fails(ledger: Ledger, host: Host, claim: Claim, report: Report) -> None:
    with failing(ledger, Undo):
        report_and_catch(ledger, claim, report)
        host.append("inner", thread="other")
        raise Undo
    assert kept(host, claim) == [report.__name__]


@every_report
def test_evidence_of_an_inner_block_that_is_undone_is_committed_with_the_outer_one(
    ledger: Ledger, host: Host, lost: Claim, store: Store, report: Report
) -> None:
    before = store.events()
    with ledger.transaction():
        host.append("outer", thread="other")
        inner_block_that_fails(ledger, host, lost, report)
    assert kept(host, lost) == [report.__name__]
    added = [event.type for event in store.events()[len(before) :]]
    assert added == ["thread_queue.appended", "evidence.kept"]
    assert ledger.verify().findings == ()


@every_report
def test_evidence_of_an_inner_block_that_is_undone_stays_though_the_outer_one_is_undone_too(
    ledger: Ledger, host: Host, lost: Claim, store: Store, report: Report
) -> None:
    before = store.events()
    with failing(ledger, Undo):
        host.append("outer", thread="other")
        inner_block_that_fails(ledger, host, lost, report)
        raise Undo
    assert kept(host, lost) == [report.__name__]
    assert [event.type for event in store.events()[len(before) :]] == ["evidence.kept"]
    assert ledger.verify().findings == ()


def test_evidence_of_an_inner_block_that_ended_well_stays_though_the_outer_one_is_undone(
    ledger: Ledger, host: Host, lost: Claim
) -> None:
    with failing(ledger, Undo):
        with ledger.transaction():
            report_and_catch(ledger, lost, ack)
        with ledger.transaction():
            report_and_catch(ledger, lost, fail)
        raise Undo
    assert kept(host, lost) == ["ack", "fail"]
    assert ledger.verify().findings == ()


def test_evidence_stays_through_blocks_three_deep_that_are_all_undone(
    ledger: Ledger, host: Host, lost: Claim, store: Store
) -> None:
    before = store.events()
    with failing(ledger, ClaimLost), ledger.transaction(), ledger.transaction():
        host.append("undone", thread="other")
        ack(ledger, lost)
    assert kept(host, lost) == ["ack"]
    assert len(store.events()) == len(before) + 1


def test_evidence_of_several_lost_claims_stays(ledger: Ledger, host: Host, clock: Clock) -> None:
    for thread in "abc":
        host.append("text", thread=thread)
    claims = [host.dispatch(thread=thread) for thread in "abc"]
    clock.advance(60)
    ledger.queue.recover()
    with failing(ledger, Undo):
        for claim, report in zip(claims, REPORTS, strict=True):
            report_and_catch(ledger, claim, report)
        raise Undo
    assert [kept(host, claim) for claim in claims] == [["ack"], ["fail"], ["ack_dispatch"]]


def test_the_same_report_before_in_and_after_a_block_is_kept_once(
    ledger: Ledger, lost: Claim, store: Store
) -> None:
    report_and_catch(ledger, lost, ack)
    before = store.events()
    with failing(ledger, Undo):
        for _ in range(2):
            report_and_catch(ledger, lost, ack)
        raise Undo
    report_and_catch(ledger, lost, ack)
    assert store.events() == before


def test_evidence_that_outlives_its_block_says_on_whose_behalf_it_was_given(
    ledger: Ledger, lost: Claim, store: Store
) -> None:
    with failing(ledger, Undo):
        with ledger.acting_as(actor="alice", correlation_id="request 5"):
            report_and_catch(ledger, lost, ack)
        raise Undo
    [*_, event] = ledger.log.read()
    assert event.type == "evidence.kept"
    assert event.metadata["actor"] == "alice"
    assert event.metadata["correlation_id"] == "request 5"
    assert len(store.events()) == event.position


def test_evidence_that_outlives_its_block_isnt_given_in_the_name_of_who_opened_that(
    ledger: Ledger, lost: Claim
) -> None:
    """The block's own name holds around it, and is the one in force when it is undone."""

    def block() -> None:
        with ledger.acting_as(actor="bob"), ledger.transaction():
            with ledger.acting_as(actor="alice"):
                report_and_catch(ledger, lost, ack)
            raise Undo

    with pytest.raises(Undo):
        block()
    [*_, event] = ledger.log.read()
    assert (event.type, event.metadata["actor"]) == ("evidence.kept", "alice")


def test_a_claim_that_was_given_out_and_lost_in_an_undone_block_leaves_no_evidence(
    ledger: Ledger, host: Host, store: Store
) -> None:
    """Its epoch was never given out: the next claim has it."""
    host.append("only")
    before = store.events()
    with failing(ledger, ClaimLost):
        claim = host.claim()
        ledger.queue.release(claim)
        ledger.queue.ack(claim)
    assert store.events() == before
    assert host.claim("next").epoch == claim.epoch


def test_a_turn_that_was_appended_in_an_undone_block_takes_its_evidence_with_it(
    ledger: Ledger, host: Host, store: Store
) -> None:
    with failing(ledger, ClaimLost):
        host.append("only")
        claim = host.dispatch()
        ledger.queue.recover(owner="worker")
        ledger.queue.fail(claim, "late")
    assert store.events() == []


def test_evidence_stays_though_the_turn_was_deleted_in_the_undone_block(
    ledger: Ledger, host: Host, lost: Claim
) -> None:
    with failing(ledger, ClaimLost):
        ledger.threads.delete("thread")
        ledger.queue.ack(lost)
    assert kept(host, lost) == ["ack"]
    assert host.turn(str(lost.queued_turn_id)).state == "failed"


def test_a_result_that_isnt_json_stays_as_its_repr(ledger: Ledger, host: Host, lost: Claim) -> None:
    with failing(ledger, ClaimLost):
        ledger.queue.fail(lost, {"raw": b"bytes"})
    [one] = host.turn(str(lost.queued_turn_id)).evidence
    assert (one.value, one.altered) == (repr({"raw": b"bytes"}), True)


def test_evidence_on_another_ledger_is_no_concern_of_the_block(
    ledger: Ledger, other_ledger: Ledger, host: Host, lost: Claim
) -> None:
    with failing(other_ledger, Undo):
        report_and_catch(ledger, lost, ack)
        assert kept(host, lost) == ["ack"]
        raise Undo
    assert kept(host, lost) == ["ack"]


@pytest.mark.parametrize("settle", [ack, fail])
def test_a_command_with_no_result_leaves_no_evidence_in_a_block_either(
    ledger: Ledger, lost: Claim, store: Store, settle: Report
) -> None:
    before = store.events()
    with failing(ledger, ClaimLost):
        for command in (ledger.queue.renew, ledger.queue.release):
            with pytest.raises(ClaimLost):
                command(lost)
        ledger.queue.start_dispatch(lost, "late")
    assert store.events() == before
    report_and_catch(ledger, lost, partial(settle))
    assert len(store.events()) == len(before) + 1
