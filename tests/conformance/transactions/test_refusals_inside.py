"""A command that is refused in a block undoes itself alone, if the refusal is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.transactions.conftest import Undo, failing
from turnledger import (
    ClaimLost,
    IdempotencyConflict,
    InvalidIdentifier,
    InvalidPayload,
    InvalidTransition,
    LedgerError,
    QueuedTurnNotFound,
    QueueFull,
    ReorderMismatch,
    ThreadArchived,
    ThreadDeleted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger

LIMIT = 3


def archived(ledger: Ledger) -> None:
    ledger.threads.archive("gone")
    ledger.queue.append("gone", {})


def deleted(ledger: Ledger) -> None:
    ledger.threads.delete("gone")
    ledger.queue.append("gone", {})


def lost(ledger: Ledger) -> None:
    claim = ledger.queue.claim_head("claimed", "worker")
    assert claim is not None
    ledger.queue.release(claim)
    ledger.queue.start_dispatch(claim, "late")


def another_key(ledger: Ledger) -> None:
    ledger.queue.append("keyed", {"a": 1}, idempotency_key="key")
    ledger.queue.append("keyed", {"a": 2}, idempotency_key="key")


def released(ledger: Ledger) -> None:
    claim = ledger.queue.claim_head("claimed", "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.release(claim)


REFUSALS: dict[type[LedgerError], Callable[[Ledger], object]] = {
    QueueFull: lambda own: own.queue.append_many("many", [{}] * (LIMIT + 1)),
    ThreadArchived: archived,
    ThreadDeleted: deleted,
    ClaimLost: lost,
    IdempotencyConflict: another_key,
    InvalidTransition: released,
    InvalidIdentifier: lambda own: own.queue.append("", {}),
    InvalidPayload: lambda own: own.queue.append("thread", {"a": float("nan")}),
    QueuedTurnNotFound: lambda own: own.queue.edit("thread", "never", {}),
    ReorderMismatch: lambda own: own.queue.reorder("thread", ["never"]),
}


@pytest.mark.parametrize("kind", REFUSALS, ids=lambda kind: kind.__name__)
def test_a_refusal_that_is_caught_leaves_the_rest_of_the_block_as_it_is(
    open_ledger: Callable[..., Ledger], kind: type[LedgerError]
) -> None:
    ledger = open_ledger(max_visible_turns=LIMIT)
    ledger.queue.append("claimed", {})
    with ledger.transaction():
        ledger.queue.append("thread", {"text": "before"})
        with pytest.raises(kind):
            REFUSALS[kind](ledger)
        ledger.queue.append("thread", {"text": "after"})
    found = [turn.submission for turn in ledger.queue.list("thread")]
    assert found == [{"text": "before"}, {"text": "after"}]
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("kind", REFUSALS, ids=lambda kind: kind.__name__)
def test_a_refusal_that_nobody_catches_comes_through_and_undoes_the_block(
    open_ledger: Callable[..., Ledger], store: Store, kind: type[LedgerError]
) -> None:
    ledger = open_ledger(max_visible_turns=LIMIT)
    ledger.queue.append("claimed", {})
    before = store.events()
    with failing(ledger, kind) as caught:
        ledger.queue.append("thread", {"text": "before"})
        REFUSALS[kind](ledger)
    assert type(caught.value) is kind
    assert store.events() == before
    assert ledger.verify().findings == ()


def test_a_full_queue_counts_what_the_block_has_appended(
    open_ledger: Callable[..., Ledger],
) -> None:
    ledger = open_ledger(max_visible_turns=LIMIT)
    with ledger.transaction():
        for number in range(LIMIT):
            ledger.queue.append("thread", {"n": number})
        for _ in range(2):
            with pytest.raises(QueueFull):
                ledger.queue.append("thread", {})
        with pytest.raises(QueueFull):
            ledger.queue.append_many("thread", [{}, {}])
    assert len(ledger.queue.list("thread")) == LIMIT


def test_a_place_that_an_undone_block_had_taken_is_free_again(
    open_ledger: Callable[..., Ledger],
) -> None:
    ledger = open_ledger(max_visible_turns=1)
    with failing(ledger, QueueFull):
        ledger.queue.append("thread", {"n": 1})
        ledger.queue.append("thread", {"n": 2})
    assert ledger.queue.append("thread", {"n": 3}).queue_order == 0


def test_a_claim_that_was_given_out_in_an_undone_block_is_lost(host: Host, ledger: Ledger) -> None:
    [only] = host.append("only")
    with failing(ledger, Undo):
        claim = host.claim()
        raise Undo
    for command in (ledger.queue.renew, ledger.queue.release, ledger.queue.ack):
        with pytest.raises(ClaimLost):
            command(claim)
    assert host.turn(only).evidence == ()
    assert host.claim("next").epoch == 1


def test_one_lost_claim_of_many_can_be_passed_over(
    host: Host, ledger: Ledger, clock: Clock
) -> None:
    for thread in "abc":
        host.append("text", thread=thread)
    claims = [host.dispatch(thread=thread) for thread in "abc"]
    clock.advance(61)
    ledger.queue.recover("b")
    lost_claims = []
    with ledger.transaction():
        for claim in claims:
            try:
                ledger.queue.ack(claim)
            except ClaimLost:
                lost_claims.append(claim.thread_id)
    assert lost_claims == ["b"]
    assert [ledger.queue.why_blocked(thread) for thread in "abc"] == [
        "empty",
        "failed_head",
        "empty",
    ]
