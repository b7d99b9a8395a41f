"""`ledger.verify`: is the ledger whole?

Positions and versions without gaps, the hash chain, the rules that always hold, and every read
model and head row equal, row by row, to a replay of the events. Nothing is called, nothing changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from sqlalchemy import Table

from turnledger.bundled import Bundled, bundled
from turnledger.infrastructure import pages
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.mapper import LedgerMapper, damaged
from turnledger.infrastructure.merging import merged
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.rows import BEHIND, UNNUMBERED
from turnledger.infrastructure.schema import TABLES, streams
from turnledger.infrastructure.statement import EVERYTHING, POSTGRESQL, SQLITE, Cursor, Row, run
from turnledger.infrastructure.store import Store

_AT_ONCE = 200  # events, for each of which the same is done before what comes next

_MOST_OF_FILE = 20  # findings

_FORM = list(streams.columns).index(streams.c.form)
_MAPPER = LedgerMapper(REGISTRY)

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that isn't as it ought to be.

    Attributes:
        where: events, or the table; or the bundle; or the file, for what SQLite finds in it.
        position: Of the event, if it is one.
        row: The key of the row, if it is one.
    """

    where: str
    position: int | None = None
    row: str | None = None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was looked at, and what was found.

    Attributes:
        ok: Whether nothing was found.
        findings: Bad events in the order of their positions, then bad rows.
        notes: What couldn't be looked at, and why: events of a newer release; and what a bundle is.
        events: How many events were looked at; likewise streams, and rows of the read models.
    """

    ok: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    events: int
    streams: int
    rows: int


def verify(store: Store, progress: Progress | None = None) -> Verification:
    """Look at everything; inside a transaction of this thread, also at what that wrote.

    Args:
        store: The ledger's.
        progress: Is told how many events have been looked at, every so often.
    """
    inspection = _Inspection(bundled(store))
    try:
        for page in _pages(store):
            inspection.events(page)
            if progress is not None:
                progress(inspection.chain.seen)
        with store.reading(snapshot=True, damaged=True) as cursor:
            rest = {"after": inspection.chain.position, "limit": EVERYTHING}
            dialect = store.dialect
            inspection.events(run(cursor, dialect, BEHIND, rest).fetchall())
            if dialect == POSTGRESQL:
                inspection.events(run(cursor, dialect, UNNUMBERED, {}).fetchall())
            inspection.read_models(cursor, dialect)
        return inspection.result()
    finally:
        inspection.replay.close()


def _pages(store: Store) -> Iterator[list[Row]]:
    """The full pages of events; the rest is looked at together with the read models."""
    store.number()
    page = pages.page_behind(store, 0)
    while len(page) == pages.PAGE:
        yield page
        page = pages.page_behind(store, page[-1][0])


class _Inspection:
    """What has been seen and found so far."""

    def __init__(self, of_bundle: Bundled | None) -> None:
        self.replay = Replay()
        self.chain = Chain(gaps=of_bundle is not None)
        self.rows = 0
        self._bundled = of_bundle
        self._findings: list[Finding] = []
        self._notes: list[str] = [of_bundle.note] if of_bundle else []

    def events(self, page: list[Row]) -> None:
        """The next events, in the order of their positions."""
        for start in range(0, len(page), _AT_ONCE):
            rows = page[start : start + _AT_ONCE]
            followed = [self._followed(row) for row in rows]
            self.replay.add_all(
                [
                    (
                        position,
                        _MAPPER.to_replay(row) if is_event else damaged(position, row),
                        row[-1],
                    )
                    for row, (position, is_event) in zip(rows, followed, strict=True)
                ]
            )

    def _followed(self, row: Row) -> tuple[int, bool]:
        """Look at what an event has to follow; its position, and whether it is an event."""
        is_event, flaws = self.chain.follow(row)
        position = self.chain.position
        for flaw in flaws:
            self._bad(position, flaw)
        if self._bundled is not None:
            for flaw in self._bundled.flaws(position, str(row[1]), row[-1]):
                self._bad(position, flaw)
        return position, is_event

    def _bad(self, position: int, message: str) -> None:
        self._findings.append(Finding(where="events", position=position, message=message))

    def read_models(self, cursor: Cursor, dialect: str) -> None:
        """The rows as they are against the rows as they ought to be."""
        for table in TABLES:
            columns = list(table.columns)
            key = [columns.index(column) for column in table.primary_key.columns]
            order = ", ".join(columns[place].name for place in key)
            query = f"SELECT * FROM {table.name} ORDER BY {order}"  # noqa: S608
            stored = iter(cursor.execute(query))
            replayed = self.replay.rows(table.name, order)
            for place, was, ought in merged(*self._unlike(stored, replayed), key):
                if not self.replay.is_unread(table.name, was or ought or ()):
                    self._row(table, place, was, ought)
        self._heads(cursor)
        if dialect == SQLITE:
            self._file(cursor)

    def _unlike(
        self, stored: Iterator[Row], replayed: Iterator[Row]
    ) -> tuple[Iterator[Row], Iterator[Row]]:
        """The two from where they differ on; that much is quicker to see by pages than by rows."""
        while not self.replay.unread:
            was, ought = list(islice(stored, pages.PAGE)), list(islice(replayed, pages.PAGE))
            if was != ought or not was:
                return chain(was, stored), chain(ought, replayed)
            self.rows += len(was)
        return stored, replayed

    def _heads(self, cursor: Cursor) -> None:
        replayed = self.replay.rows_of_heads()
        stored = cursor.execute("SELECT * FROM streams ORDER BY stream_id")
        for place, was, ought in merged(stored, replayed, [0]):
            if str((was or ought or ("",))[0]) in self.replay.unread:
                continue
            if was and ought and was[_FORM] < ought[_FORM]:
                self._notes.append(f"the head row of {place[0]} is of an older release's form")
                anew = slice(_FORM, _FORM + 2)  # that, and the state: at its first use
                was = (*was[: anew.start], *ought[anew], *was[anew.stop :])  # noqa: PLW2901
            self._row(streams, place, was, ought)

    def _file(self, cursor: Cursor) -> None:
        """What SQLite itself finds: an index that no longer leads to the rows, say."""
        for (message,) in cursor.execute(f"PRAGMA integrity_check({_MOST_OF_FILE})"):
            if message != "ok":
                found = Finding(where="file", row="integrity_check", message=message)
                self._findings.append(found)

    def _row(self, table: Table, place: Row, was: Row | None, ought: Row | None) -> None:
        self.rows += was is not None
        if was == ought:
            return
        if was is None or ought is None:
            message = "it is missing" if was is None else "no event accounts for it"
        else:
            names = [column.name for column in table.columns]
            differ = [n for n, a, b in zip(names, was, ought, strict=True) if a != b]
            message = f"{', '.join(differ)} isn't what the events say"
        row = ", ".join(map(str, place))
        self._findings.append(Finding(where=table.name, row=row, message=message))

    def _beside_events(self) -> None:
        """What of a bundle is of no single event that is there."""
        for position, message in self._bundled.rest(self.chain.last) if self._bundled else ():
            if position is None:
                self._findings.append(Finding(where="bundle", row="contents", message=message))
            else:
                self._bad(position, message)

    def result(self) -> Verification:
        """What was found."""
        self._beside_events()
        broken = [
            Finding(where="events", position=position, message=message)
            for position, message in self.replay.broken
        ]
        events = sorted(broken + self._of_events(), key=lambda finding: finding.position or 0)
        rows = [finding for finding in self._findings if finding.position is None]
        unread = self.replay.unread.items()
        notes = (*self._notes, *(f"{name} wasn't replayed: {reason}" for name, reason in unread))
        findings = (*events, *rows)
        return Verification(
            ok=not findings,
            findings=findings,
            notes=notes,
            events=self.chain.seen,
            streams=len(self.chain.last),
            rows=self.rows,
        )

    def _of_events(self) -> list[Finding]:
        return [finding for finding in self._findings if finding.position is not None]
