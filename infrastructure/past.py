"""Making a ledger as it was: the events up to a position, replayed into memory."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from turnledger.infrastructure import ledger_row
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.mapper import NO_HASH, LedgerMapper
from turnledger.infrastructure.past_store import PastStore, empty_database
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.rows import NOTHING_READY
from turnledger.infrastructure.schema import TABLES, events, streams
from turnledger.infrastructure.statement import EVERYTHING, SQLITE, Row, run, statement
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.subject import Subject, streams_of

_PAGE = 2_000
_MAPPER = LedgerMapper(REGISTRY)
_FORM = list(streams.columns).index(streams.c.form)
_FORM_UNKNOWN = 0  # of no release: whoever wants the state asks the events for it
_e = events.c
_EVENTS = statement(
    select(events)
    .where(_e.position > bindparam("after"), _e.position <= bindparam("until"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)
_LAST = statement(
    select(_e.position, _e.recorded_at)
    .where(_e.position <= bindparam("until"))
    .order_by(_e.position.desc())
    .limit(bindparam("limit"))
)
_FIRST_LATER = statement(
    select(_e.position)
    .where(_e.recorded_at > bindparam("time"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)


class Moment(NamedTuple):
    """A place in a ledger's history.

    Attributes:
        position: Of the last event that belongs to it; 0 if there is none.
        now: What the clock showed then, in microseconds.
    """

    position: int
    now: int


def moment_of(store: Store, position: int) -> Moment:
    """When a position was: at the time of its event, or when the ledger was made."""
    with store.reading() as cursor:
        given = {"until": position, "limit": 1}
        found = run(cursor, store.dialect, _LAST, given).fetchone() if position else None
        if found is not None:
            return Moment(position, found[1])
        ledger = ledger_row.known(cursor)
        return Moment(position, 0 if ledger is None else ledger.created_at)


def moment_at(store: Store, time: int) -> Moment:
    """The last position up to which every event is no later than a time in microseconds."""
    last = store.last_position()
    with store.reading() as cursor:
        given = {"time": time, "limit": 1}
        found = run(cursor, store.dialect, _FIRST_LATER, given).fetchone()
    return Moment(last if found is None else min(last, found[0] - 1), time)


class Replayed(NamedTuple):
    """What a ledger was.

    Attributes:
        store: With its events, its read models and its head rows.
        unread: The streams that couldn't be replayed to the end, with the reason.
    """

    store: PastStore
    unread: dict[str, str]


def replayed(origin: Store, position: int, subject: Subject | None) -> Replayed:
    """Replay a ledger into memory.

    Args:
        origin: Where its events are. Nothing is changed there.
        position: The last event that is replayed.
        subject: Only the streams about this; None for all.
    """
    replaying = _Replaying()
    try:
        for page in _pages(origin, position, subject):
            replaying.take(page)
        with origin.reading() as cursor:
            ledger = ledger_row.known(cursor)
        return replaying.result(origin.url, position, ledger)
    except BaseException:
        replaying.database.close()
        raise
    finally:
        replaying.replay.close()


def _pages(origin: Store, position: int, subject: Subject | None) -> Iterator[list[Row]]:
    """The events, page by page: no snapshot is held while they are replayed."""
    dialect = origin.dialect
    if subject is None:
        after = 0
        while after < position:
            given = {"after": after, "until": position, "limit": _PAGE}
            with origin.reading(damaged=True) as cursor:
                page: list[Row] = run(cursor, dialect, _EVENTS, given).fetchall()
            if not page:
                return
            yield page
            after = page[-1][0]
        return
    with origin.reading(snapshot=True) as cursor:
        names = streams_of(cursor, dialect, subject)
        bounds = {"after": 0, "until": position, "limit": EVERYTHING}
        found = positions_in(cursor, dialect, names, **bounds)
    for start in range(0, len(found), _PAGE):
        with origin.reading(damaged=True) as cursor:
            page = list(rows_at(cursor, dialect, found[start : start + _PAGE]))
        yield page


def _marks(count: int, mark: str = "?") -> str:
    return ", ".join([mark] * count)


_WIDTH = len(events.columns)
_INSERT = f"INSERT INTO events VALUES ({_marks(_WIDTH)})"  # noqa: S608 - marks
_INSERT_DAMAGED = (
    "INSERT INTO events VALUES (?, CAST(? AS TEXT), ?, CAST(? AS TEXT), ?, "
    "CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
)


class _Replaying:
    """What has been replayed so far."""

    def __init__(self) -> None:
        self.replay = Replay()
        self.database = empty_database()
        self._chain = Chain(gaps=True)  # others may be between two positions

    def take(self, page: list[Row]) -> None:
        """The next events."""
        self.database.execute("BEGIN")
        for row in page:
            self._take(row)
        self.database.execute("COMMIT")

    def _take(self, row: Row) -> None:
        _, flaws = self._chain.follow(row)
        if not flaws:
            self.database.execute(_INSERT, row)
            self.replay.add(row[0], _MAPPER.to_replay(row), row[-1])
            return
        self.database.execute(_INSERT_DAMAGED, tuple(map(_storable, row)))
        self.replay.unread.setdefault(str(row[1]), f"event {row[0]} is damaged: {flaws[0]}")

    def result(self, url: str, position: int, ledger: ledger_row.LedgerRow | None) -> Replayed:
        """Fill the database with what came out."""
        execute, replay = self.database.execute, self.replay
        execute("BEGIN")
        for table in TABLES:
            key = ", ".join(column.name for column in table.primary_key.columns)
            marks = _marks(len(table.columns))
            sql = f"INSERT INTO {table.name} VALUES ({marks})"  # noqa: S608 - names of our own
            self.database.executemany(sql, replay.rows(table.name, key))
        doubtful = self._heads()
        if ledger is not None:
            ledger_row.enter(self.database, SQLITE, ledger)
        execute("COMMIT")
        return Replayed(PastStore(url, position, self.database, doubtful), dict(replay.unread))

    def _heads(self) -> dict[str, str]:
        """Write the head rows. Returns the streams whose state isn't known, with the reason."""
        unread = self.replay.unread
        sql = f"INSERT INTO streams VALUES ({_marks(len(streams.columns))})"  # noqa: S608
        missing, doubtful = set(unread), dict(unread)
        for row in self.replay.rows_of_heads():
            stream_id = str(row[0])
            missing.discard(stream_id)
            if self.replay.is_unread_stream(stream_id):
                reason = "it is of a thread of which not every stream can be replayed"
                doubtful.setdefault(stream_id, reason)
                self.database.execute(sql, _of_no_form(row))
            else:
                self.database.execute(sql, row)
        for stream_id in sorted(missing):
            row = (stream_id, 0, 0, 0, "{}", 0, "active", *NOTHING_READY, NO_HASH)
            self.database.execute(sql, row)
        return doubtful


def _of_no_form(row: Sequence[Any]) -> Row:
    """A head row whose state nobody may take for what it was."""
    return (*row[:_FORM], _FORM_UNKNOWN, *row[_FORM + 1 :])


def _storable(value: object) -> object:
    """Text with bytes that aren't UTF-8, as these bytes."""
    if not isinstance(value, str):
        return value
    return value.encode(errors="surrogateescape")


def unread_lines(unread: dict[str, str]) -> list[str]:
    """What to say of streams that couldn't be replayed, a line each."""
    return [f"{stream_id} isn't known to its end: {reason}" for stream_id, reason in unread.items()]
