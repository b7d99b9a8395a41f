"""Whatever is wrong with the read models and head rows: it is found, put right, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.rebuild.conftest import ALL, Live, another, put_right
from turnledger.projections.schema import metadata

if TYPE_CHECKING:
    from turnledger import Ledger

each_table = pytest.mark.parametrize("table", sorted(ALL))


def keys(table: str) -> list[str]:
    return [column.name for column in ALL[table].primary_key.columns]


def text_keys(table: str) -> list[str]:
    return [c.name for c in ALL[table].primary_key.columns if c.type.python_type is str]


def found_in(ledger: Ledger) -> set[str]:
    """Where verify finds something."""
    return {finding.where for finding in ledger.verify().findings}


def is_whole(ledger: Ledger, live: Live, before: dict[str, Any]) -> None:
    """All is as it was, verify is green, and there is nothing left to put right."""
    assert live.everything() == before
    assert ledger.verify().findings == ()
    assert ledger.rebuild().mended == 0


@each_table
def test_a_row_that_is_gone_comes_back(ledger: Ledger, live: Live, table: str) -> None:
    before = live.everything()
    live.delete(table, before[table][0])
    assert found_in(ledger) == {table}
    assert put_right(ledger.rebuild()) == {table: (1, 0, 0)}
    is_whole(ledger, live, before)


@each_table
def test_a_row_that_nothing_accounts_for_goes(ledger: Ledger, live: Live, table: str) -> None:
    before = live.everything()
    name = "thread_queue:invented" if table == "streams" else "invented"
    live.insert(table, before[table][0] | dict.fromkeys(text_keys(table), name))
    assert found_in(ledger) == {table}
    assert put_right(ledger.rebuild()) == {table: (0, 1, 0)}
    is_whole(ledger, live, before)


@each_table
def test_a_row_of_which_any_column_says_something_else_is_replaced(
    ledger: Ledger, live: Live, table: str
) -> None:
    before = live.everything()
    row = before[table][-1]
    for column in row.keys() - set(keys(table)):
        live.change(table, row, **{column: another(row[column])})
        found = ledger.rebuild(table)
        assert (column, put_right(found)) == (column, {table: (0, 0, 1)})
    is_whole(ledger, live, before)


@each_table
def test_a_row_under_anothers_key_is_put_in_its_place(
    ledger: Ledger, live: Live, table: str
) -> None:
    before = live.everything()
    row = before[table][-1]
    live.change(table, row, **dict.fromkeys(text_keys(table), "~"))
    assert found_in(ledger) == {table}
    assert put_right(ledger.rebuild()) == {table: (1, 1, 0)}
    is_whole(ledger, live, before)


@each_table
def test_two_rows_that_were_swapped_change_places(ledger: Ledger, live: Live, table: str) -> None:
    """Also where no two rows may ever say the same."""
    before = live.everything()
    one, other = before[table][0], before[table][-1]
    names = keys(table)
    mine, theirs = ({name: row[name] for name in names} for row in (one, other))
    between = dict.fromkeys(text_keys(table), "~")
    live.change(table, one, **between)
    live.change(table, other, **mine)
    live.change(table, mine | between, **theirs)
    swapped = [one | theirs != other, other | mine != one]
    found = put_right(ledger.rebuild())
    assert found == ({table: (0, 0, 2)} if all(swapped) else {})
    is_whole(ledger, live, before)


@pytest.mark.parametrize(
    ("table", "place", "group"),
    [
        ("queued_turns", "queue_order", "thread_id"),
        ("inbox_messages", "arrival", "thread_id"),
        ("coordinator_mailbox", "turn_order", "work_item_id"),
    ],
)
def test_two_that_changed_places_in_their_queue_are_put_in_order(
    ledger: Ledger, live: Live, table: str, place: str, group: str
) -> None:
    before = live.everything()
    last = before[table][-1]
    one, other = [row for row in before[table] if row[group] == last[group]][-2:]
    live.change(table, one, **{place: 1_000})
    live.change(table, other, **{place: one[place]})
    live.change(table, one, **{place: other[place]})
    assert found_in(ledger) == {table}
    assert put_right(ledger.rebuild()) == {table: (0, 0, 2)}
    is_whole(ledger, live, before)


@each_table
def test_a_table_that_is_empty_is_filled_again(ledger: Ledger, live: Live, table: str) -> None:
    before = live.everything()
    live.empty(table)
    assert found_in(ledger) == {table}
    assert put_right(ledger.rebuild()) == {table: (len(before[table]), 0, 0)}
    is_whole(ledger, live, before)


def test_all_tables_at_once_are_filled_again(ledger: Ledger, live: Live) -> None:
    before = live.everything()
    for table in ALL:
        live.empty(table)
    assert found_in(ledger) == set(ALL)
    found = ledger.rebuild()
    assert put_right(found) == {table: (len(rows), 0, 0) for table, rows in before.items()}
    assert found.mended == sum(map(len, before.values()))
    is_whole(ledger, live, before)


def test_one_projection_alone_leaves_the_others(ledger: Ledger, live: Live) -> None:
    before = live.everything()
    for table in ("queued_turns", "inbox_messages", "streams"):
        live.delete(table, before[table][0])
    assert put_right(ledger.rebuild("queued_turns")) == {"queued_turns": (1, 0, 0)}
    assert found_in(ledger) == {"inbox_messages", "streams"}
    assert put_right(ledger.rebuild("streams")) == {"streams": (1, 0, 0)}
    assert found_in(ledger) == {"inbox_messages"}
    ledger.rebuild("inbox_messages", "queued_turns")
    is_whole(ledger, live, before)


def test_every_read_model_is_rebuilt_and_none_has_no_rows_here(live: Live) -> None:
    others = {"events", "ledger", "tracking"}
    assert set(metadata.tables) - others == set(ALL) - others
    assert [table for table, rows in live.everything().items() if len(rows) < 2] == []
