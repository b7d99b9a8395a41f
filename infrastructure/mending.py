"""Rows of a live table replaced by those that the events give, in one transaction."""

from dataclasses import dataclass

from sqlalchemy import Boolean, Table, bindparam, insert

from turnledger.infrastructure.keys import Key, values_of
from turnledger.infrastructure.schema import TABLES, streams
from turnledger.infrastructure.shadow import Source
from turnledger.infrastructure.statement import POSTGRESQL, Cursor, Row, Statement, run, statement

Wrong = tuple[Key, Row | None, Row | None]  # the key, the row that is there, the one that ought


@dataclass(slots=True)
class Counts:
    """How many rows were put right, and how."""

    added: int = 0
    removed: int = 0
    changed: int = 0


def mended(cursor: Cursor, dialect: str, shadow: Source, table: Table) -> Counts:
    """Replace the rows that were noted and differ; nobody else may write to the table meanwhile.

    First what is wrong goes, and then what ought to be comes: places may have been swapped.

    Args:
        cursor: Of the transaction; it reads text that isn't UTF-8 any more as well.
        dialect: The live store's.
        shadow: What the rows ought to be, and which have to be looked at.
        table: A read model, or the head rows.
    """
    counts = Counts()
    shadow.lack(table, None)
    for keys in shadow.noted(table):
        wrong = _wrong(cursor, dialect, shadow, table, keys)
        _remove(cursor, dialect, table, [key for key, was, _ in wrong if was is not None])
        shadow.lack(table, [key for key, _, ought in wrong if ought is not None])
        counts.added += sum(was is None for _, was, _ in wrong)
        counts.removed += sum(ought is None for _, _, ought in wrong)
        counts.changed += sum(was is not None and ought is not None for _, was, ought in wrong)
    for row in shadow.lacking(table):
        _add(cursor, dialect, table, row)
    return counts


def _wrong(
    cursor: Cursor, dialect: str, shadow: Source, table: Table, keys: list[Key]
) -> list[Wrong]:
    """Those rows that differ, and of which is known what they ought to be."""
    places = [list(table.columns).index(column) for column in table.primary_key.columns]
    statement, given = _about(dialect, "SELECT *", table, keys)
    live = {
        tuple(row[place] for place in places): row
        for row in cursor.execute(statement, given).fetchall()
    }
    all_of_them = ((key, live.get(key), shadow.row(table, key)) for key in keys)
    return [
        (key, was, ought)
        for key, was, ought in all_of_them
        if was != ought
        and not any(shadow.is_unknown(table, row) for row in (was, ought) if row is not None)
    ]


def _about(dialect: str, verb: str, table: Table, keys: list[Key]) -> tuple[str, Row]:
    """A statement about the rows of some keys, and its parameters."""
    names = ", ".join(column.name for column in table.primary_key.columns)
    values, given = values_of(keys, "%s" if dialect == POSTGRESQL else "?")
    return f"{verb} FROM {table.name} WHERE ({names}) IN (VALUES {values})", given


def _remove(cursor: Cursor, dialect: str, table: Table, keys: list[Key]) -> None:
    if keys:
        cursor.execute(*_about(dialect, "DELETE", table, keys))


def _add(cursor: Cursor, dialect: str, table: Table, row: Row) -> None:
    given = {
        column.name: bool(value) if isinstance(column.type, Boolean) else value
        for column, value in zip(table.columns, row, strict=True)
    }
    run(cursor, dialect, _INSERTS[table.name], given)


_INSERTS: dict[str, Statement] = {
    table.name: statement(
        insert(table).values({column.name: bindparam(column.name) for column in table.columns})
    )
    for table in (*TABLES, streams)
}
