"""Commands on an inbox within `with ledger.transaction():`: all or nothing, but evidence stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.transactions.conftest import failing
from turnledger import ClaimLost, MessageClaim, ThreadArchived, ThreadDeleted

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Store
    from tests.conformance.inbox.conftest import Box


@pytest.fixture
def late(box: Box, clock: Clock) -> MessageClaim:
    """The claim of an owner that slept while it delivered; its message waits again."""
    box.post("one")
    claim = box.claim("sleeper")
    clock.advance(60)
    box.inbox.recover("thread", mode="at_least_once")
    return claim


def kept(box: Box, claim: MessageClaim) -> list[tuple[str, str]]:
    return [(one.owner, one.kind) for one in box.message(claim.message_id).evidence]


def test_a_whole_life_in_a_block_is_there_after_it(box: Box, clock: Clock) -> None:
    with box.ledger.transaction():
        one, _ = box.post("one", "two")
        box.inbox.release(box.claim())
        box.claim()
        clock.advance(60)
        box.inbox.recover("thread")
        assert box.undelivered() == ["one"]
        box.inbox.requeue("thread", one)
        box.inbox.confirm(box.claim())
        assert box.texts() == ["two"]
    assert (box.texts(), box.state(one)) == (["two"], "confirmed")


def test_nothing_of_an_undone_block_is_there(box: Box, store: Store) -> None:
    box.post("one")
    before = store.events()
    with failing(box.ledger, ThreadArchived):
        box.post("two", idempotency_key="k", message_id="m")
        box.inbox.confirm(box.claim())
        box.ledger.threads.archive("thread")
        box.post("three")
    assert store.events() == before
    assert (box.texts(), box.inbox.get("thread", "m")) == (["one"], None)
    assert box.post("another", idempotency_key="k", message_id="m") == ["m"]


def test_evidence_of_a_lost_confirmation_stays_though_its_refusal_undoes_the_block(
    box: Box, late: MessageClaim
) -> None:
    with failing(box.ledger, ClaimLost):
        box.post("two")
        box.inbox.confirm(late)
    assert box.texts() == ["one"]
    assert kept(box, late) == [("sleeper", "confirm")]


def test_evidence_of_a_lost_confirmation_stays_once_though_something_else_undoes_the_block(
    box: Box, late: MessageClaim
) -> None:
    with failing(box.ledger, ThreadDeleted):
        for _ in range(2):
            with pytest.raises(ClaimLost):
                box.inbox.confirm(late)
        box.ledger.threads.delete("thread")
        box.post("two")
    with pytest.raises(ClaimLost):
        box.inbox.confirm(late)
    assert box.texts() == ["one"]
    assert kept(box, late) == [("sleeper", "confirm")]


def test_a_claim_that_was_given_out_in_an_undone_block_is_lost_without_evidence(box: Box) -> None:
    (one,) = box.post("one")
    with failing(box.ledger, ThreadDeleted):
        claim = box.claim()
        box.ledger.threads.delete("thread")
        box.post("two")
    with pytest.raises(ClaimLost):
        box.inbox.confirm(claim)
    assert (box.state(one), kept(box, claim)) == ("pending", [])
