"""What a rebuild is asked for, what it refuses, and what it leaves as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import turnledger
from tests.conformance.rebuild.conftest import ALL, Live, put_right
from tests.conformance.stores import store_at
from turnledger import InvalidPayload, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turnledger import Ledger

NEWER = "UPDATE events SET schema_version = 99, data = ? WHERE position = ?"
CHANGED = "UPDATE events SET data = ? WHERE position = ?"
POSTED = "thread_queue.appended"


def test_names_that_no_read_model_has_are_refused_in_words(ledger: Ledger) -> None:
    with pytest.raises(InvalidPayload, match=r"must be one of queued_turns, .*: events$"):
        ledger.rebuild("queued_turns", "events")


def test_an_empty_ledger_has_nothing_to_put_right(new_store_url: str) -> None:
    with turnledger.open(new_store_url) as ledger:
        found = ledger.rebuild()
        assert (found.events, found.mended, found.unread) == (0, 0, {})
        assert {one.name for one in found.tables} == set(ALL)
        assert ledger.verify().ok


def test_in_a_transaction_it_is_refused_since_its_events_may_be_undone(ledger: Ledger) -> None:
    refused = pytest.raises(InvalidPayload, match="can't be made in a transaction")
    with refused, ledger.transaction():
        ledger.rebuild()
    assert ledger.verify().ok


def test_a_ledger_opened_read_only_refuses_before_anything_is_read(live: Live) -> None:
    told: list[int] = []
    with turnledger.open(live.url, read_only=True) as ledger, pytest.raises(StoreReadOnly):
        ledger.rebuild(progress=told.append)
    assert told == []


def test_a_bundle_refuses(ledger: Ledger, tmp_path: Path) -> None:
    ledger.bundle(tmp_path / "bundle", thread_id="busy")
    opened = turnledger.open(tmp_path / "bundle", read_only=True)
    with opened as bundle, pytest.raises(StoreReadOnly):
        bundle.rebuild()


def test_it_says_how_many_events_it_has_taken(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnledger.infrastructure.pages.PAGE", 50)
    told: list[int] = []
    found = ledger.rebuild("queued_turns", progress=told.append)
    assert told[0] == 50
    assert told == sorted(told)
    assert told[-1] == found.events == len(ledger.log.read(limit=10_000))


def test_tables_longer_than_a_page_are_compared_to_their_end(
    ledger: Ledger, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnledger.infrastructure.pages.PAGE", 2)
    before = live.everything()
    for table, rows in before.items():
        live.delete(table, rows[-1])
    assert put_right(ledger.rebuild()) == dict.fromkeys(ALL, (1, 0, 0))
    assert live.everything() == before


@pytest.mark.parametrize("statement", [NEWER, CHANGED], ids=["of a newer release", "damaged"])
@pytest.mark.parametrize("data", ['{"shape":"of tomorrow"}', "", "null", '{"text": "cut o'])
def test_what_is_about_a_stream_that_cant_be_read_stays_and_is_named(
    ledger: Ledger, live: Live, statement: str, data: str
) -> None:
    """Rows about others are put right all the same."""
    store = store_at(live.url)
    [position, *_] = [
        event.position
        for event in store.events()
        if (event.type, event.stream_id) == (POSTED, "thread_queue:busy")
    ]
    store.damage(statement, data, position)
    rows = live.rows("queued_turns")
    busy = [row for row in rows if row["thread_id"] == "busy"]
    flying = [row for row in rows if row["thread_id"] == "flying"]
    live.change("queued_turns", busy[0], state="strange")
    live.change("queued_turns", flying[0], state="strange")
    live.delete("queued_turns", flying[1])
    found = ledger.rebuild()
    assert put_right(found) == {"queued_turns": (1, 0, 1)}
    assert "thread_queue:busy" in found.unread  # and what was late there can't follow it
    assert set(found.unread) <= {"thread_queue:busy", "evidence:thread_queue:busy"}
    assert live.rows("queued_turns") == [
        row | {"state": "strange"} if row == busy[0] else row for row in rows
    ]


@pytest.mark.parametrize("columns", ["version = 99", "version = 99, data = '{'"])
def test_a_stream_with_a_version_that_is_missing_is_left_as_it_is(
    ledger: Ledger, live: Live, columns: str
) -> None:
    store = store_at(live.url)
    [*_, position] = [e.position for e in store.events() if e.stream_id == "thread_queue:paused"]
    store.damage(f"UPDATE events SET {columns} WHERE position = ?", position)
    before = live.everything()
    found = ledger.rebuild()
    assert (found.mended, live.everything()) == (0, before)
    assert list(found.unread) == ["thread_queue:paused"]
    assert "version 99 comes where" in found.unread["thread_queue:paused"]


def test_a_field_of_a_wrong_type_counts_as_damage(ledger: Ledger, live: Live) -> None:
    store = store_at(live.url)
    event = next(event for event in store.events() if event.type == POSTED)
    told = event.data.replace('"queue_order":', '"queue_order":"x","was":')
    store.damage(CHANGED, told, event.position)
    assert list(ledger.rebuild("queued_turns").unread) == [event.stream_id]


def test_a_rebuild_beside_a_rebuild_puts_right_what_is_left(
    live: Live, ledger: Ledger, open_beside: Callable[[], Ledger]
) -> None:
    before = live.everything()
    live.empty("queued_turns")
    other = open_beside()
    found = ledger.rebuild("queued_turns", progress=lambda _: other.rebuild() and None)
    assert (found.mended, live.everything()) == (0, before)
