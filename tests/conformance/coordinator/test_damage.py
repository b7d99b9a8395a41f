"""What is damaged of one turn stops no other: not `recover`, not `claim_next`, not a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import Ledger, LedgerError, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.conftest import Store as DatabaseStore

FAR = 2**62  # microseconds: no date is as late
MAILBOX = "UPDATE coordinator_mailbox SET {} = ? WHERE turn_id = 'bad'"
HEAD = "UPDATE streams SET {} = ? WHERE stream_id = 'coordinator_turn:bad'"
DAMAGES = [
    (MAILBOX.format("created_at"), FAR),
    (MAILBOX.format("updated_at"), FAR),
    (MAILBOX.format("not_before"), -FAR),
    (MAILBOX.format("lease_expires_at"), FAR),
    (HEAD.format("recorded_at"), FAR),
    (HEAD.format("epoch"), 2**63 - 1),
    (HEAD.format("hash"), b"short"),
    (HEAD.format("state"), '["item","claimed","one",5,5,[["dispatching",1,"one","h"]]]'),
    (HEAD.format("state"), '["item","claimed","one",5,5,[["dispatching"]]]'),
    (HEAD.format("state"), '["item","unheard of",7,5,5,[5]]'),
]


@pytest.fixture
def dispatching(ledger: Ledger, clock: Clock) -> Ledger:
    """A ledger whose turns "bad" and "good" were being dispatched under claims that are over."""
    for turn_id in ("bad", "good"):
        claim = ledger.coordinator.begin("item", turn_id, turn_id=turn_id, owner="one").claim
        assert claim is not None
        ledger.coordinator.prepare(claim, "request")
        ledger.coordinator.start_dispatch(claim, 1)
    clock.advance(60)
    return ledger


@pytest.mark.parametrize(("damage", "value"), DAMAGES)
def test_one_damaged_turn_stops_no_other(
    dispatching: Ledger, store: DatabaseStore, clock: Clock, damage: str, value: object
) -> None:
    store.damage(damage, value)
    coordinator = dispatching.coordinator
    assert "good" in [turn.turn_id for turn in coordinator.recoverable()]
    assert [turn.turn_id for turn in coordinator.list("item")] == ["bad", "good"]
    assert coordinator.recover().attempts_unknown >= 1
    found = coordinator.get("good")
    assert found is not None
    assert (found.status, found.attempts[0].status) == ("pending", "unknown")
    claims = [coordinator.claim_next("item", owner=owner) for owner in ("two", "three")]
    assert "good" in [claim.turn_id for claim in claims if claim is not None]
    clock.advance(60)
    assert dispatching.recovery.run_once().turns_pending >= 1


@pytest.mark.parametrize(("damage", "value"), DAMAGES)
@pytest.mark.parametrize(
    "command",
    [
        lambda coordinator: coordinator.get("bad"),
        lambda coordinator: coordinator.claim("bad", "two"),
        lambda coordinator: coordinator.resume("bad", "two"),
        lambda coordinator: coordinator.late_response("bad", 1, "late"),
        lambda coordinator: coordinator.resolve("bad", 1, "cancel", by="somebody"),
        lambda coordinator: coordinator.cancel("bad", "no"),
    ],
)
def test_a_damaged_turn_is_refused_in_words(
    dispatching: Ledger,
    store: DatabaseStore,
    damage: str,
    value: object,
    command: Callable[..., object],
) -> None:
    store.damage(damage, value)
    try:
        command(dispatching.coordinator)
    except LedgerError as refusal:
        assert refusal.code in {"unreadable", "invalid_transition"}  # noqa: PT017 - both are well


def test_a_damaged_row_is_listed_as_what_it_is(dispatching: Ledger, store: DatabaseStore) -> None:
    store.damage(MAILBOX.format("created_at"), FAR)
    [bad, good] = dispatching.coordinator.list("item")
    assert (bad.unreadable is None, good.unreadable is None) == (False, True)
    assert (bad.status, bad.message) == ("claimed", "bad")


@pytest.mark.parametrize("column", ["recorded_at"])
def test_a_damaged_work_item_is_refused_in_words(
    dispatching: Ledger, store: DatabaseStore, column: str
) -> None:
    store.damage(f"UPDATE streams SET {column} = ? WHERE stream_id = 'work_item:item'", FAR)
    with pytest.raises(Unreadable, match="work item item"):
        dispatching.coordinator.begin("item", "hi")
    with pytest.raises(Unreadable, match="work item item"):
        dispatching.coordinator.touch("item")
    assert dispatching.coordinator.begin("another", "hi").status == "pending"
