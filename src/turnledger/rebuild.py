"""`ledger.rebuild`: the read models made anew out of the events, and put right where they differ.

Beside the live ones, which keep serving and being written: made anew in a private database, caught
up, compared in one snapshot; then, in one transaction, caught up to its end, and every row that
differs is replaced. So readers see the whole of the old or the whole of the new, whoever is killed
in the middle has changed nothing, and where all is well nothing is written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Table

from turnledger.domain.errors import InvalidPayload, StoreReadOnly
from turnledger.infrastructure import pages
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.enclosing import enclosing
from turnledger.infrastructure.head_shadow import HeadShadow
from turnledger.infrastructure.keys import Key, batches, values_of
from turnledger.infrastructure.mending import mended
from turnledger.infrastructure.merging import merged
from turnledger.infrastructure.rows import BEHIND, UNNUMBERED
from turnledger.infrastructure.schema import TABLES, streams
from turnledger.infrastructure.shadow import Shadow, Source
from turnledger.infrastructure.statement import (
    EVERYTHING,
    POSTGRESQL,
    Cursor,
    Row,
    run,
)
from turnledger.infrastructure.unit_of_work import UnitOfWork

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
        InvalidPayload: There is no read model of such a name; or this thread is in a transaction.
        StoreReadOnly: The ledger was opened read-only.
    """
    if enclosing(backend) is not None:
        reason = (
            "can't be made in a transaction: what isn't committed would count as having happened"
        )
        raise InvalidPayload("rebuild", reason)
    if backend.store.read_only:
        raise StoreReadOnly(backend.store.url, "it was opened read-only")
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
        shadow.watch(tables)
        _compare(backend, shadow, tables)
        backend.store.number()
        return backend.alone(lambda unit: _mend(backend, unit, shadow, tables), several=True)
    finally:
        shadow.close()


def _take_all(backend: Backend, shadow: Source, progress: Progress | None) -> None:
    """The events, page by page: no snapshot is held while they are taken."""
    store = backend.store
    store.number()
    while True:
        page = pages.page_behind(store, shadow.position)
        for row in page:
            shadow.take(row)
        if progress is not None:
            progress(shadow.seen)
        if len(page) < pages.PAGE:
            return


def _compare(backend: Backend, shadow: Source, tables: list[Table]) -> None:
    """Note the rows that differ, all of them seen at one moment."""
    store = backend.store
    with store.reading(snapshot=True, damaged=True) as cursor:
        given = {"after": shadow.position, "limit": EVERYTHING}
        for row in run(cursor, store.dialect, BEHIND, given).fetchall():
            shadow.take(row)
        for table in tables:
            for keys in batches(_differing(cursor, store.dialect, shadow, table)):
                shadow.note(table, keys)


def _differing(cursor: Cursor, dialect: str, shadow: Source, table: Table) -> Iterator[Key]:
    columns = list(table.columns)
    key = [columns.index(column) for column in table.primary_key.columns]
    for place, was, ought in merged(_stored(cursor, dialect, table), shadow.rows(table), key):
        if was != ought:
            yield place


def _stored(cursor: Cursor, dialect: str, table: Table) -> Iterator[Row]:
    """A live table's rows, in the order of its key, some at a time."""
    columns = list(table.columns)
    key = [columns.index(column) for column in table.primary_key.columns]
    names = ", ".join(columns[place].name for place in key)
    after, given = "", ()
    while True:
        query = f"SELECT * FROM {table.name}{after} ORDER BY {names} LIMIT {pages.PAGE}"  # noqa: S608
        page: list[Row] = cursor.execute(query, given).fetchall()
        yield from page
        if len(page) < pages.PAGE:
            return
        last = tuple(page[-1][place] for place in key)
        marks, given = values_of([last], "%s" if dialect == POSTGRESQL else "?")
        after = f" WHERE ({names}) > {marks}"


def _mend(backend: Backend, unit: UnitOfWork, shadow: Source, tables: list[Table]) -> Rebuilt:
    """Catch up to the end, and replace what differs; nobody else writes to the tables meanwhile."""
    with backend.store.reading(damaged=True) as cursor:
        rest: list[Row] = []
        if unit.dialect == POSTGRESQL:
            names = ", ".join(sorted(table.name for table in tables))
            cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
            rest = unit.run(UNNUMBERED, {}).fetchall()  # first: some may be given a position now
        behind = {"after": shadow.position, "limit": EVERYTHING}
        for row in (*unit.run(BEHIND, behind).fetchall(), *rest):
            shadow.take(row)
        counts = [mended(cursor, unit.dialect, shadow, table) for table in tables]
    return Rebuilt(
        events=shadow.seen,
        tables=tuple(
            RebuiltTable(name=table.name, added=one.added, removed=one.removed, changed=one.changed)
            for table, one in zip(tables, counts, strict=True)
        ),
        unread=dict(shadow.unread),
    )
