"""Many dispatches are acked in one transaction; which claims were lost is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.transactions.conftest import Undo, failing
from turnledger import ClaimLost, InvalidInput, InvalidTransition

if TYPE_CHECKING:
    from tests.conformance.conftest import Host, Store
    from turnledger import Claim, Ledger

THREADS = [f"thread {number}" for number in range(6)]


@pytest.fixture
def claims(host: Host) -> list[Claim]:
    """Dispatches of many threads."""
    for thread in THREADS:
        host.append("text", thread=thread)
    return [host.dispatch(thread=thread) for thread in THREADS]


def states(host: Host, claims: list[Claim]) -> list[str]:
    return [host.turn(str(claim.queued_turn_id), claim.thread_id).state for claim in claims]


def kept(host: Host, claim: Claim) -> list[str]:
    turn = host.turn(str(claim.queued_turn_id), claim.thread_id)
    return [one.kind for one in turn.evidence]


def test_all_of_many_claims_are_acked(ledger: Ledger, host: Host, claims: list[Claim]) -> None:
    assert ledger.queue.ack_many(claims) == []
    assert states(host, claims) == ["acked"] * len(claims)
    assert ledger.verify().findings == ()


def test_no_claims_are_acked_at_once(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.ack_many([]) == []
    assert ledger.queue.ack_many(()) == []
    assert store.events() == []


def test_lost_claims_come_back_and_the_others_are_acked(
    ledger: Ledger, host: Host, claims: list[Claim]
) -> None:
    lost = [claims[1], claims[4]]
    for claim in lost:
        ledger.queue.recover(claim.thread_id, owner="worker")
    assert ledger.queue.ack_many(claims) == lost
    assert [kept(host, claim) for claim in claims] == [[], ["ack"], [], [], ["ack"], []]
    expected = ["acked", "failed", "acked", "acked", "failed", "acked"]
    assert states(host, claims) == expected
    assert ledger.verify().findings == ()


def test_the_report_of_a_lost_claim_is_kept_once_however_often_it_is_given(
    ledger: Ledger, host: Host, claims: list[Claim], store: Store
) -> None:
    ledger.queue.recover(claims[0].thread_id, owner="worker")
    assert ledger.queue.ack_many(claims[:2]) == claims[:1]
    before = store.events()
    assert ledger.queue.ack_many(claims[:1]) == claims[:1]
    assert store.events() == before
    assert kept(host, claims[0]) == ["ack"]


def test_if_no_dispatch_has_started_for_one_none_is_acked(
    ledger: Ledger, host: Host, claims: list[Claim]
) -> None:
    for thread in ("another", "z"):
        host.append("text", thread=thread)
    undispatched = [host.claim(thread=thread) for thread in ("another", "z")]
    for claim in undispatched:
        with pytest.raises(InvalidTransition):
            ledger.queue.ack_many([*claims, claim])
        assert states(host, [*claims, claim]) == ["dispatching"] * len(claims) + ["claimed"]
    assert ledger.queue.ack_many(claims) == []


def test_evidence_of_a_lost_claim_stays_though_none_is_acked(
    ledger: Ledger, host: Host, claims: list[Claim]
) -> None:
    ledger.queue.recover(claims[0].thread_id, owner="worker")
    host.append("text", thread="z")
    with pytest.raises(InvalidTransition):
        ledger.queue.ack_many([*claims, host.claim(thread="z")])
    assert kept(host, claims[0]) == ["ack"]
    assert states(host, claims[1:]) == ["dispatching"] * (len(claims) - 1)


def test_it_is_part_of_a_block_around_it(ledger: Ledger, host: Host, claims: list[Claim]) -> None:
    ledger.queue.recover(claims[0].thread_id, owner="worker")
    with failing(ledger, Undo):
        assert ledger.queue.ack_many(claims) == claims[:1]
        assert states(host, claims[1:]) == ["acked"] * (len(claims) - 1)
        raise Undo
    assert states(host, claims[1:]) == ["dispatching"] * (len(claims) - 1)
    assert kept(host, claims[0]) == ["ack"]


def test_claims_of_an_older_generation_are_lost(
    ledger: Ledger, host: Host, claims: list[Claim]
) -> None:
    ledger._backend.renew()
    assert ledger.queue.ack_many(claims) == claims
    with pytest.raises(ClaimLost):
        ledger.queue.ack(claims[0])
    assert states(host, claims) == ["dispatching"] * len(claims)


@pytest.mark.parametrize("wrong", [None, 5, ["claim"], [None], [{"thread_id": "thread"}]], ids=repr)
def test_what_are_no_claims_is_refused_in_the_ledgers_words(
    ledger: Ledger, host: Host, claims: list[Claim], wrong: Any
) -> None:
    with pytest.raises(InvalidInput):
        ledger.queue.ack_many(wrong)
    if isinstance(wrong, list):
        with pytest.raises(InvalidInput):
            ledger.queue.ack_many([*claims, *wrong])
    assert states(host, claims) == ["dispatching"] * len(claims)
