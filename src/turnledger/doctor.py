"""`ledger.doctor`: is the place where the ledger lives a safe one?"""

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import text

from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.infrastructure import bundle_file
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.migration import HEAD
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import run, statement
from turnledger.infrastructure.unit_of_work import CLOCK_STEP_MICROSECONDS
from turnledger.infrastructure.write_ahead_log import LARGEST_LOG_BYTES

Status = Literal["ok", "note", "problem"]

_FIXED = (3, 51, 3)  # the WAL-reset bug is mended from here on,
_BACKPORTS = ((3, 50, 7), (3, 44, 6))  # and in these older lines
_SCARCE_BYTES = 1024**3
_STEPS = statement(
    text("""
        SELECT position FROM (
            SELECT position, recorded_at, lag(recorded_at) OVER (ORDER BY position) AS earlier
            FROM events WHERE position IS NOT NULL
        ) AS event WHERE earlier - recorded_at > :step ORDER BY position DESC LIMIT 1
    """)
)
_STALE = statement(
    text("""
        SELECT count(*) FROM in_flight_turns
        WHERE expires_at <= :now OR expires_at > :latest
    """)
)
_IN_DOUBT = statement(text("SELECT count(*) FROM open_operations WHERE effect = 'unknown'"))


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Status
    message: str


def doctor(backend: Backend) -> tuple[Check, ...]:
    """Look at the database's build, its settings, its disk and its clock."""
    store = backend.store
    if bundle_file.is_one(store):
        checks = [_build(), _bundle()]
    elif isinstance(store, SqliteStore):
        checks = [_build(), _journal(store), _log(store), _disk(store)]
    else:
        checks = [Check(*facts) for facts in store.examined()]
    return (
        _schema(backend),
        *_encryption(backend),
        *checks,
        *_clock(backend),
        _claims(backend),
        _operations(backend),
    )


def is_exposed(version: tuple[int, int, int]) -> bool:
    """Whether a build of SQLite has the WAL-reset bug (3.7.0 to 3.51.2, but for the backports)."""
    mended = any(version[:2] == fix[:2] and version >= fix for fix in _BACKPORTS)
    return (3, 7, 0) <= version < _FIXED and not mended


def _schema(backend: Backend) -> Check:
    message = f"schema {HEAD}, ledger {backend.ledger_id}, generation {backend.generation}"
    return Check(name="ledger", status="ok", message=message)


def _encryption(backend: Backend) -> Iterator[Check]:
    """What is said of the keys, if there should be any."""
    contents = backend.contents
    if contents.is_encrypted and contents.place is None:
        message = "contents are encrypted, and their keys aren't here: they can't be read"
        yield Check(name="keys", status="note", message=message)
    elif contents.is_encrypted:
        message = f"contents are encrypted; their keys are in {contents.place}: back them up apart"
        yield Check(name="keys", status="ok", message=message)


def _bundle() -> Check:
    message = "evidence of a part of a ledger, to be read only; `turnledger verify` tests it"
    return Check(name="bundle", status="ok", message=message)


def _build() -> Check:
    version = sqlite3.sqlite_version
    if not is_exposed(sqlite3.sqlite_version_info):
        return Check(name="sqlite", status="ok", message=f"SQLite {version}")
    message = (
        f"SQLite {version} can corrupt a database when a checkpoint races a writer (mended in "
        "3.51.3). turnledger's own checkpoints can't; don't open the file for writing with other "
        "programs on this build"
    )
    return Check(name="sqlite", status="note", message=message)


def _journal(store: SqliteStore) -> Check:
    if store.shared:
        message = f"a rollback journal, as {store.shared} can't hold a write-ahead log: slow"
        return Check(name="journal", status="note", message=message)
    with store.reading() as cursor:
        mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        mapped = cursor.execute("PRAGMA mmap_size").fetchone()
    durability = "" if store.read_only else f", synchronous={store.settings.synchronous}"
    fine = mode == "wal" and (not mapped or not mapped[0])
    message = f"journal_mode={mode}{durability}, memory-mapping off"
    return Check(name="journal", status="ok" if fine else "problem", message=message)


def _log(store: SqliteStore) -> Check:
    size = store.log.bytes()
    message = f"the write-ahead log has {size:,} bytes"
    if size <= 2 * LARGEST_LOG_BYTES:
        return Check(name="log", status="ok", message=message)
    reason = "more than it should; a reader may be holding an old snapshot"
    return Check(name="log", status="problem", message=f"{message}, {reason}")


def _disk(store: SqliteStore) -> Check:
    free = shutil.disk_usage(store.path.parent).free
    message = f"{free / 1024**3:,.1f} GiB free"
    return Check(name="disk", status="ok" if free > _SCARCE_BYTES else "problem", message=message)


def _clock(backend: Backend) -> Iterator[Check]:
    backend.store.number()
    with backend.store.reading() as cursor:
        newest = cursor.execute("SELECT max(recorded_at) FROM events").fetchone()[0]
        given = {"step": CLOCK_STEP_MICROSECONDS}
        step = run(cursor, backend.store.dialect, _STEPS, given).fetchone()
    behind = 0 if newest is None else newest - to_microseconds(backend.clock())
    if newest is not None and behind > CLOCK_STEP_MICROSECONDS:
        message = f"the clock is behind the last event, of {_date(newest)}"
        yield Check(name="clock", status="problem", message=message)
    elif step:
        message = f"the clock stepped back by more than a minute before event {step[0]}"
        yield Check(name="clock", status="note", message=message)
    else:
        yield Check(name="clock", status="ok", message="it has never stepped back by a minute")


def _date(stored: int) -> str:
    try:
        return from_microseconds(stored).isoformat()
    except OverflowError:  # the column was damaged
        return f"{stored} microseconds after 1970, which is no date"


def _claims(backend: Backend) -> Check:
    now = backend.clock()
    latest = to_microseconds(now + backend.settings.max_lease)
    bounds = {"now": to_microseconds(now), "latest": latest}
    with backend.store.reading() as cursor:
        stale = run(cursor, backend.store.dialect, _STALE, bounds).fetchone()[0]
    if not stale:
        return Check(name="claims", status="ok", message="no claim is over")
    claims = "1 claim is" if stale == 1 else f"{stale} claims are"
    message = f"{claims} over; `turnledger queue recover` gives the turns back"
    return Check(name="claims", status="note", message=message)


def _operations(backend: Backend) -> Check:
    with backend.store.reading() as cursor:
        in_doubt = run(cursor, backend.store.dialect, _IN_DOUBT, {}).fetchone()[0]
    if not in_doubt:
        return Check(name="operations", status="ok", message="no operation is in doubt")
    operations = "1 operation is" if in_doubt == 1 else f"{in_doubt} operations are"
    message = f"{operations} in doubt; `turnledger operation resolve` settles them"
    return Check(name="operations", status="note", message=message)
