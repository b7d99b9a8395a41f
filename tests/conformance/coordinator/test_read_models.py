"""`in_flight_provider_turns` and `coordinator_mailbox`: what they say, and what asking costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain.duration import to_microseconds
from turnledger.infrastructure import turn_repository, turn_rows

if TYPE_CHECKING:
    from tests.conformance.conftest import Store
    from tests.conformance.coordinator.conftest import Office

IN_FLIGHT = """
SELECT coordinator_turn_id, attempt, status, owner, epoch, lease_expires_at
FROM in_flight_provider_turns ORDER BY coordinator_turn_id
"""
MAILBOX = (
    "SELECT turn_id, status FROM coordinator_mailbox WHERE work_item_id = ? ORDER BY turn_order"
)


def in_flight(store: Store) -> list[tuple[Any, ...]]:
    return store.rows(IN_FLIGHT)


def test_the_columns_are_those_of_the_page(office: Office, store: Store) -> None:
    office.dispatching()
    [row] = store.rows("SELECT * FROM in_flight_provider_turns")
    now, lease = to_microseconds(office.clock.now), office.turn().expires_at
    assert lease is not None
    assert row == (
        *("turn/1", "turn", "item", 1, "dispatching", office.attempt().request_hash, "one", 1),
        *(to_microseconds(lease), now, now),
    )
    assert store.columns("in_flight_provider_turns") == {
        *("provider_turn_id", "coordinator_turn_id", "work_item_id", "attempt", "status"),
        *("request_hash", "owner", "epoch", "lease_expires_at", "prepared_at", "dispatched_at"),
    }


def test_a_turn_that_is_settled_leaves_only_what_isnt_over(office: Office, store: Store) -> None:
    for status in ("prepared", "responded", "dispatching"):
        office.coordinator.ack(getattr(office, status)(f"acked {status}"))
        getattr(office, status)(f"cancelled {status}")
        office.coordinator.cancel(f"cancelled {status}", "no")
    assert in_flight(store) == [
        ("acked dispatching", 1, "dispatching", "one", 1, None),
        ("cancelled dispatching", 1, "unknown", "one", 1, None),
    ]
    office.coordinator.recover()
    for turn_id in ("acked dispatching", "cancelled dispatching"):
        office.coordinator.resolve(turn_id, 1, "adopt", by="me", response="found")
    assert in_flight(store) == []


def test_what_is_refused_rejected_or_cancelled_is_over(office: Office, store: Store) -> None:
    office.coordinator.refuse(office.dispatching("a"), 1, "no", retryable=False)
    office.coordinator.reject(office.responded("b"), 1, "bad")
    office.unknown("c")
    office.coordinator.resolve("c", 1, "cancel", by="me")
    assert in_flight(store) == []


def test_a_lease_is_shown_as_long_as_its_claim_is_current(office: Office, store: Store) -> None:
    claim = office.prepared()
    renewed = office.coordinator.renew(claim, 90)
    assert renewed.expires_at is not None
    lease = to_microseconds(renewed.expires_at)
    assert in_flight(store) == [("turn", 1, "prepared", "one", 1, lease)]
    office.coordinator.release(renewed)
    assert in_flight(store) == [("turn", 1, "prepared", "one", 1, None)]
    again = office.claim(owner="two")
    assert again.expires_at is not None
    lease = to_microseconds(again.expires_at)
    assert in_flight(store) == [("turn", 1, "prepared", "two", 2, lease)]
    office.coordinator.start_dispatch(again, 1)
    office.clock.advance(60)
    office.claim(owner="three")
    assert in_flight(store) == [("turn", 1, "dispatching", "two", 2, None)]
    office.coordinator.recover()
    assert in_flight(store) == [("turn", 1, "unknown", "two", 2, None)]


def test_a_retry_takes_the_place_of_what_was_unknown(office: Office, store: Store) -> None:
    office.unknown()
    office.coordinator.resolve("turn", 1, "retry", by="me")
    assert in_flight(store) == [("turn", 2, "prepared", "one", 1, None)]
    claim = office.claim(owner="two")
    office.coordinator.start_dispatch(claim, 2)
    assert [row[:5] for row in in_flight(store)] == [("turn", 2, "dispatching", "two", 2)]
    assert store.rows("SELECT provider_turn_id FROM in_flight_provider_turns") == [("turn/2",)]


def test_the_mailbox_has_every_turn_with_its_status(office: Office, store: Store) -> None:
    office.begin("a", "b", "c", "d")
    office.claim("b")
    office.coordinator.complete(office.claim("c"), "done")
    office.coordinator.cancel("d", "no")
    assert store.rows(MAILBOX, "item") == [
        ("a", "pending"),
        ("b", "claimed"),
        ("c", "acked"),
        ("d", "cancelled"),
    ]


def test_a_damaged_message_holds_up_no_other_turn(
    office: Office, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    office.begin("bad", "good")
    bad = next(event for event in store.events() if event.stream_id == "coordinator_turn:bad")
    original, position = bad.data, bad.position
    store.damage("UPDATE events SET data = ? WHERE position = ?", '{"x": 1}', position)
    claim = office.coordinator.claim_next("item", owner="one")
    assert claim is not None
    assert claim.turn_id == "good"
    assert "turn bad" in caplog.text
    listed = office.coordinator.list("item")
    assert [turn.turn_id for turn in listed] == ["bad", "good"]
    assert [turn.unreadable is None for turn in listed] == [False, True]
    assert listed[0].message is None
    store.damage("UPDATE events SET data = ? WHERE position = ?", original, position)


@pytest.mark.parametrize(
    ("what", "index"),
    [
        (turn_rows.READY_OF_WORK_ITEM, "coordinator_mailbox_waiting"),
        (turn_rows.READY, "coordinator_mailbox_oldest"),
        (turn_rows.RECOVERABLE, "coordinator_mailbox_oldest"),
        (turn_rows.STALE, "coordinator_mailbox_claimed"),
        (turn_rows.STALE, "in_flight_provider_turns_dispatching"),
    ],
)
def test_a_search_reads_an_index_of_what_isnt_settled(
    office: Office, what: Any, index: str
) -> None:
    """Whatever number of settled turns there is: they aren't in it."""
    given = {"work_item_id": "item", "order": -1, "created_at": 0, "turn_id": "", "limit": 1}
    given |= {"after": "", "now": 1, "latest": 2}

    def plan(unit: Any) -> str:
        if unit.dialect == "postgresql":  # with so few rows it would read them all
            unit.cursor.execute("SET LOCAL enable_seqscan = off")
        prefix = "EXPLAIN QUERY PLAN " if unit.dialect == "sqlite" else "EXPLAIN "
        ready = what[unit.dialect]
        return str(unit.cursor.execute(prefix + ready.sql, ready.arguments(given)).fetchall())

    found = office.ledger._backend.look(plan)
    assert index in found


def test_what_a_look_needs_is_said_once(office: Office) -> None:
    """The same look answers what can be claimed, and what can be recovered."""
    office.begin("a", "b")
    backend = office.ledger._backend
    named = backend.transact(lambda unit: list(turn_repository.ready(unit, None)), several=True)
    assert named == [turn.turn_id for turn in office.coordinator.recoverable()]
