"""`ledger.rebuild`: the read models made anew out of the events, and put right where they differ.

Beside the live ones, which keep serving and being written: made anew in a private database, caught
up, compared in one snapshot; then, in one transaction, caught up to its end, and every row that
differs is replaced. So readers see the whole of the old or the whole of the new, whoever is killed
in the middle has changed nothing, and where all is well nothing is written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Boolean, Table, bindparam, insert, select

from turnledger.domain.errors import InvalidPayload
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.head_shadow import HeadShadow
from turnledger.infrastructure.merging import merged
from turnledger.infrastructure.schema import TABLES, events, streams
from turnledger.infrastructure.shadow import Key, Shadow, Source
from turnledger.infrastructure.statement import (
    EVERYTHING,
    POSTGRESQL,
    Cursor,
    Row,
    Statement,
    run,
    statement,
)
from turnledger.infrastructure.unit_of_work import UnitOfWork

_PAGE = 2_000
_e = events.c
_EVENTS = statement(
    select(events)
    .where(_e.position > bindparam("after"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)
_UNNUMBERED = statement(  # events of the last moments, on PostgreSQL
    select(events).where(_e.position.is_(None)).order_by(_e.recorded_at, _e.stream_id, _e.version)
)
_BY_NAME = {table.name: table for table in (*TABLES, streams)}

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltTable:
    """What was put right in a read model.

    Attributes:
        name: Of the read model.
        added: Rows that were missing.
        removed: Rows that no event accounted for.
        changed: Rows that said something else than the events.
    """

    name: str
    added: int = 0
    removed: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild came to.

    Attributes:
        events: How many events the read models were made of.
        tables: What was put right in each.
        unread: The streams that can't be read, with the reason; rows about them stay as they are.
    """

    events: int
    tables: tuple[RebuiltTable, ...]
    unread: dict[str, str]

    @property
    def mended(self) -> int:
        """How many rows were put right."""
        return sum(one.added + one.removed + one.changed for one in self.tables)


def rebuild(backend: Backend, names: Sequence[str], progress: Progress | None = None) -> Rebuilt:
    """Make read models anew.

    Args:
        backend: The ledger's.
        names: Of the read models, or streams for the head rows; none means all.
        progress: Is told how many events have been taken, every so often.

    Raises:
        InvalidPayload: There is no read model of such a name.
    """
    unknown = [name for name in names if name not in _BY_NAME]
    if unknown:
        raise InvalidPayload("projection", f"must be one of {', '.join(_BY_NAME)}: {unknown[0]}")
    wished = [table for name, table in _BY_NAME.items() if not names or name in names]
    read_models = [table for table in wished if table is not streams]
    parts: list[Rebuilt] = []
    if read_models:
        parts.append(_rebuilt(backend, Shadow(REGISTRY), read_models, progress))
    if streams in wished:
        parts.append(_rebuilt(backend, HeadShadow(REGISTRY), [streams], progress))
    return Rebuilt(
        events=parts[-1].events,
        tables=tuple(table for part in parts for table in part.tables),
        unread={name: reason for part in parts for name, reason in part.unread.items()},
    )


def _rebuilt(
    backend: Backend, shadow: Source, tables: list[Table], progress: Progress | None
) -> Rebuilt:
    try:
        _take_all(backend, shadow, progress)
        differing = _compared(backend, shadow, tables)
        shadow.watch(tables)
        backend.store.number()
        return backend.transact(lambda unit: _mend(unit, shadow, differing), several=True)
    finally:
        shadow.close()


def _take_all(backend: Backend, shadow: Source, progress: Progress | None) -> None:
    """The events, page by page: no snapshot is held while they are taken."""
    store = backend.store
    store.number()
    while True:
        given = {"after": shadow.position, "limit": _PAGE}
        with store.reading(damaged=True) as cursor:
            page = run(cursor, store.dialect, _EVENTS, given).fetchall()
        for row in page:
            shadow.take(row)
        if progress is not None:
            progress(shadow.seen)
        if len(page) < _PAGE:
            return


def _compared(backend: Backend, shadow: Source, tables: list[Table]) -> dict[str, list[Key]]:
    """The keys of the rows that differ, all of them seen at one moment."""
    store = backend.store
    differing: dict[str, list[Key]] = {}
    with store.reading(snapshot=True, damaged=True) as cursor:
        given = {"after": shadow.position, "limit": EVERYTHING}
        for row in run(cursor, store.dialect, _EVENTS, given).fetchall():
            shadow.take(row)
        for table in tables:
            differing[table.name] = list(_differing(cursor, shadow, table))
    return differing


def _differing(cursor: Cursor, shadow: Source, table: Table) -> Iterator[Key]:
    columns = list(table.columns)
    key = [columns.index(column) for column in table.primary_key.columns]
    order = ", ".join(columns[place].name for place in key)
    stored = cursor.execute(f"SELECT * FROM {table.name} ORDER BY {order}")  # noqa: S608
    for place, was, ought in merged(iter(stored), shadow.rows(table), key):
        if was != ought:
            yield place


def _mend(unit: UnitOfWork, shadow: Source, differing: dict[str, list[Key]]) -> Rebuilt:
    """Catch up to the end, and replace what differs; nobody else writes to the tables meanwhile."""
    tables = [_BY_NAME[name] for name in differing]
    if unit.dialect == POSTGRESQL:
        names = ", ".join(sorted(differing))
        unit.cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
    rest = {"after": shadow.position, "limit": EVERYTHING}
    for row in unit.run(_EVENTS, rest).fetchall():
        shadow.take(row)
    if unit.dialect == POSTGRESQL:
        for row in unit.run(_UNNUMBERED, {}).fetchall():
            shadow.take(row)
    results = [_mended(unit, shadow, table, differing[table.name]) for table in tables]
    return Rebuilt(events=shadow.seen, tables=tuple(results), unread=dict(shadow.unread))


def _mended(unit: UnitOfWork, shadow: Source, table: Table, differing: list[Key]) -> RebuiltTable:
    """First what is wrong goes, and then what ought to be comes: places may have been swapped."""
    pairs: list[tuple[Row | None, Row | None]] = []
    for key in dict.fromkeys((*differing, *shadow.touched(table))):
        was, ought = _live(unit, table, key), shadow.row(table, key)
        if was != ought and not shadow.is_unknown(table, was or ought or ()):
            pairs.append((was, ought))
            if was is not None:
                _remove(unit, table, key)
    there = [ought for _, ought in pairs if ought is not None]
    for row in there:
        _add(unit, table, row)
    return RebuiltTable(
        name=table.name,
        added=sum(was is None for was, _ in pairs),
        removed=sum(ought is None for _, ought in pairs),
        changed=sum(was is not None and ought is not None for was, ought in pairs),
    )


def _mark(unit: UnitOfWork) -> str:
    return "%s" if unit.dialect == POSTGRESQL else "?"


def _where(unit: UnitOfWork, table: Table) -> str:
    mark = _mark(unit)
    return " AND ".join(f"{column.name} = {mark}" for column in table.primary_key.columns)


def _live(unit: UnitOfWork, table: Table, key: Key) -> Row | None:
    where = _where(unit, table)
    row: Row | None
    row = unit.cursor.execute(f"SELECT * FROM {table.name} WHERE {where}", key).fetchone()  # noqa: S608
    return row


def _remove(unit: UnitOfWork, table: Table, key: Key) -> None:
    unit.cursor.execute(f"DELETE FROM {table.name} WHERE {_where(unit, table)}", key)  # noqa: S608


def _add(unit: UnitOfWork, table: Table, row: Row) -> None:
    given = {
        column.name: bool(value) if isinstance(column.type, Boolean) else value
        for column, value in zip(table.columns, row, strict=True)
    }
    unit.run(_INSERTS[table.name], given)


_INSERTS: dict[str, Statement] = {
    table.name: statement(
        insert(table).values({column.name: bindparam(column.name) for column in table.columns})
    )
    for table in _BY_NAME.values()
}
