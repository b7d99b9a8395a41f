"""`open_operations` and what is behind it: what they say, and what asking costs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.infrastructure import operation_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Store
    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger

OPEN = "SELECT key, execution, effect, owner, run_epoch FROM open_operations ORDER BY key"


def test_only_what_isnt_settled_with_a_known_effect_is_open(
    workshop: Workshop, store: Store
) -> None:
    workshop.orphaned("orphaned", "lost")
    claim = workshop.start()
    workshop.create("waiting")
    workshop.running(claim, "running", "unknown", "applied")
    workshop.operations.complete(claim, "unknown", "unknown")
    workshop.operations.complete(claim, "applied", "applied")
    assert store.rows(OPEN) == [
        ("orphaned", "hazardous_orphan", "unknown", "one", 1),
        ("running", "running", "pending", "one", 1),
        ("unknown", "quiescent", "unknown", "one", 1),
        ("waiting", "not_started", "pending", None, None),
    ]
    for key in ("orphaned", "unknown"):
        workshop.operations.resolve(key, "confirm_applied", by="me", evidence=None)
    workshop.operations.complete(claim, "running", "failed_no_effect")
    assert [row[0] for row in store.rows(OPEN)] == ["waiting"]
    workshop.runs.interrupt("run")
    workshop.operations.recover()
    assert store.rows(OPEN) == []


def test_the_columns_are_those_of_an_operation(workshop: Workshop, store: Store) -> None:
    workshop.orphaned()
    assert store.columns("open_operations") == {
        *("work_item_id", "key", "run_id", "action_id", "operation_type", "replay_policy"),
        *("execution", "effect", "execution_epoch", "owner", "run_epoch", "reason"),
        *("evidence", "created_at", "updated_at"),
    }


def test_a_payload_is_stored_once(workshop: Workshop, store: Store) -> None:
    marks = {"payload": "a certain payload", "result": "a certain result"}
    claim = workshop.start()
    workshop.running(claim, "key", payload=marks["payload"])
    workshop.operations.complete(claim, "key", "applied", marks["result"])
    rows = [*store.rows("SELECT * FROM operations"), *store.rows("SELECT state FROM streams")]
    text = json.dumps([event.data + event.metadata for event in store.events()])
    for mark in marks.values():
        assert mark not in repr(rows)
        assert text.count(mark) == 1


@pytest.mark.parametrize(
    ("what", "index"),
    [
        (operation_rows.STALE, "operations_running"),
        (operation_rows.STALE, "operations_waiting"),
        (operation_rows.BLOCKING, "operations_open"),
        (operation_rows.OF_WORK_ITEM, "operations_of_work_item"),
    ],
)
def test_a_search_reads_an_index_of_what_isnt_settled(
    workshop: Workshop, what: Any, index: str
) -> None:
    """Whatever number of settled operations there is: they aren't in it."""
    given = {"work_item_id": "item", "after": "", "now": 1, "latest": 2, "limit": 1}

    def plan(unit: Any) -> str:
        if unit.dialect == "postgresql":  # with so few rows it would read them all
            unit.cursor.execute("SET LOCAL enable_seqscan = off")
        prefix = "EXPLAIN QUERY PLAN " if unit.dialect == "sqlite" else "EXPLAIN "
        ready = what[unit.dialect]
        return str(unit.cursor.execute(prefix + ready.sql, ready.arguments(given)).fetchall())

    assert index in workshop.ledger._backend.look(plan)


@pytest.mark.parametrize("stream_id", ["run:run", "operation:key"])
def test_a_head_row_of_another_form_is_made_anew_at_its_first_use(
    workshop: Workshop, store: Store, open_ledger: Callable[..., Ledger], stream_id: str
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    change = f"UPDATE streams SET form = ?, state = ? WHERE stream_id = '{stream_id}'"
    store.damage(change, 0, "{}")
    again = open_ledger()
    assert again.operations.complete(claim, "key", "applied", "result") is True
    again.runs.renew(claim)
    assert again.verify().ok


def test_a_damaged_payload_is_shown_as_what_it_is(workshop: Workshop, store: Store) -> None:
    claim = workshop.start()
    workshop.running(claim, "bad", "good")
    workshop.operations.complete(claim, "good", "applied", "result")
    change = "UPDATE events SET data = ? WHERE position = ?"
    bad = next(event for event in store.events() if event.stream_id == "operation:bad")
    store.damage(change, '{"x": 1', bad.position)
    found = {one.key: one for one in workshop.operations.list("item")}
    assert (found["bad"].payload, found["bad"].execution) == (None, "running")
    assert found["bad"].unreadable is not None
    assert (found["good"].payload, found["good"].unreadable) == ({"n": 1}, None)
    store.damage(change, bad.data, bad.position)
