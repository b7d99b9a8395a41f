"""Random damage to what a ledger has stored: is all of it found, and named?

    python tests/damage/damage.py --places 10000                 a ledger of its own, of all kinds
    python tests/damage/damage.py --places 20 --ledger FILE      a copy of a large one

A place is a flipped bit, a row that is taken away, put in or swapped: of the events, of the read
models, of the head rows and of the receipts. It is damaged in a transaction, beside turnledger;
`verify` looks, and the transaction is rolled back.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, NoReturn

import psycopg
from rich.console import Console
from rich.progress import track

import turnledger
from turnledger import Checkpoint, Ledger, Settings, StoreError, Verification
from turnledger.infrastructure.schema import TABLES, streams

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.audit.conftest import Host
from tests.damage.raw import EVENT, Raw, RawOnPostgresql, Row

MODELS = {table.name: table for table in (*TABLES, streams)}
REFUSED = (sqlite3.Error, psycopg.Error, StoreError, OverflowError)  # by a constraint, say
ACTS = 220


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Expected(NamedTuple):
    """What ought to be found.

    Attributes:
        position: The first bad one; None if no event is bad.
        earliest: From which position on a rule between streams may be broken before.
        rows: The rows that are named: the table, and the key.
        by_order: Only the order of the log differs, which a checkpoint alone may tell.
    """

    position: int | None = None
    earliest: int | None = None
    rows: frozenset[tuple[str, str]] = frozenset()
    by_order: bool = False


class Miss(NamedTuple):
    """Damage that wasn't found, or not named."""

    what: str
    expected: Expected
    found: str


class NothingToDo(Exception):
    """There is no such place; another one is looked for."""


class Undone(Exception):
    """The damage is to be rolled back."""


Damage = Callable[["Damaging"], tuple[str, Expected]]


class Damaging:
    """Damages a ledger at random places, one after the other."""

    def __init__(self, ledger: Ledger, random: Random, checkpoint: Checkpoint) -> None:
        self.random = random
        self._ledger = ledger
        self._store = ledger._backend.store
        self._checkpoint = checkpoint
        kind = RawOnPostgresql if self._store.dialect == "postgresql" else Raw
        self._kind = kind
        with self._store.writing() as cursor:
            kind(cursor).let()
            self.last = kind(cursor).last()
        self.raw = kind(None)
        self.found: Counter[str] = Counter()
        self.misses: list[Miss] = []
        self.is_whole = False  # what is left at the end

    def places(self, count: int, kinds: Sequence[Damage], *, quiet: bool = False) -> None:
        """Damage so many places, each after the one before was put back."""
        every = track(range(count), "damaging", console=Console(stderr=True), disable=quiet)
        for _ in every:
            while not self._placed(self.random.choice(kinds)):
                pass

    def _placed(self, damage: Damage) -> bool:
        """Damage a place, look, and put all back; False if there is no such place."""
        try:
            with suppress(Undone), self._store.writing() as cursor:
                self.raw = self._kind(cursor)
                self._look(*damage(self))
        except (NothingToDo, *REFUSED):
            return False
        return True

    def _look(self, what: str, expected: Expected) -> NoReturn:
        """Look at what was damaged, and have it undone."""
        try:
            missed = self._missed(expected, self._ledger.verify())
        except Exception as error:  # noqa: BLE001 - whatever it raises, it ought not to
            missed = f"{type(error).__name__}: {error}"
        if missed is None:
            self.found[what] += 1
        else:
            self.misses.append(Miss(what, expected, missed))
        raise Undone

    def _missed(self, expected: Expected, found: Verification) -> str | None:
        positions = [one.position for one in found.findings if one.position is not None]
        if expected.by_order and not positions:
            checked = self._ledger.check(self._checkpoint)
            return None if checked.reason == "changed" else "nothing; the checkpoint holds"
        named = {(one.where, str(one.row)) for one in found.findings}
        if found.ok and not _is_noted(expected, found):
            return "nothing"
        if expected.position is not None:
            earliest = expected.earliest or expected.position
            if not positions or not earliest <= positions[0] <= expected.position:
                return f"first bad position {positions[:1]}"
        lacking = set() if found.ok else expected.rows - named
        return f"{sorted(lacking)} not named" if lacking else None


def _is_noted(expected: Expected, found: Verification) -> bool:
    """Whether a head row is said to be of an older form: its state is made anew."""
    heads = [row for name, row in expected.rows if name == "streams"]
    known = {f"the head row of {head} is of an older release's form" for head in heads}
    return not known.isdisjoint(found.notes)


# --- damage to events


def flip(at: Damaging) -> tuple[str, Expected]:
    """A bit of an event."""
    position = at.random.randint(1, at.last)
    column = at.random.choice(EVENT)
    at.raw.change(position, column, at.raw.flipped(at.random, at.raw.event(position)[column]))
    return f"a bit of an event's {column}", Expected(position)


def move(at: Damaging) -> tuple[str, Expected]:
    """A bit of an event's position."""
    position = at.random.randint(1, at.last - 1)
    at.raw.move(position, at.raw.flipped(at.random, position))
    return "a bit of an event's position", Expected(position + 1)


def delete(at: Damaging) -> tuple[str, Expected]:
    """An event that is gone; of the last one, its head row tells."""
    position = at.random.randint(1, at.last)
    stream_id = at.raw.event(position)["stream_id"]
    at.raw.delete(position)
    if position < at.last:
        return "an event gone", Expected(position + 1)
    return "the last event gone", Expected(rows=frozenset({("streams", stream_id)}))


def insert(at: Damaging) -> tuple[str, Expected]:
    """An event that was put in: a copy of another one, with another version."""
    position = at.random.randint(1, at.last + 1)
    row = at.raw.event(at.random.randint(1, at.last))
    at.raw.make_room(position)
    at.raw.put(position, {**row, "version": row["version"] + at.random.randint(1, 1_000)})
    return "an event put in", Expected(position)


def swap(at: Damaging) -> tuple[str, Expected]:
    """Two events, each at the other's position: neighbours, or far from each other."""
    early = at.random.randint(1, at.last - 1)
    late = early + 1 if at.random.random() < 1 / 3 else at.random.randint(early + 1, at.last)
    expected = _of_order(at.raw, early, late)
    at.raw.move(early, 0)
    at.raw.move(late, early)
    at.raw.move(0, late)
    return (
        ("events swapped in the log's order alone", expected)
        if expected.by_order
        else ("events swapped", expected)
    )


def _of_order(raw: Raw, early: int, late: int) -> Expected:
    """Where the order of the events of their streams is broken, if it is."""
    first, second = (raw.event(position)["stream_id"] for position in (early, late))
    between = raw.rows(
        "SELECT position, stream_id FROM events WHERE position > {} AND position < {} "
        "AND stream_id IN ({}, {}) ORDER BY position",
        early,
        late,
        first,
        second,
    )
    if first == second or any(row["stream_id"] == second for row in between):
        return Expected(early)
    if between:
        return Expected(between[0]["position"], early)
    return Expected(late, early, by_order=True)


# --- damage to rows


def _row(at: Damaging) -> tuple[str, Row]:
    """A row of some table that isn't empty."""
    name = at.random.choice(list(MODELS))
    [count] = at.raw.rows(f"SELECT count(*) AS rows FROM {name}")
    if not count["rows"]:
        raise NothingToDo
    key = ", ".join(column.name for column in MODELS[name].primary_key.columns)
    chosen = at.random.randrange(count["rows"])
    [row] = at.raw.rows(f"SELECT * FROM {name} ORDER BY {key} LIMIT 1 OFFSET {{}}", chosen)
    return name, row


def _where(name: str, row: Row) -> tuple[str, list[Any]]:
    keys = [column.name for column in MODELS[name].primary_key.columns]
    return " AND ".join(f"{key} = {{}}" for key in keys), [row[key] for key in keys]


def _named(name: str, row: Row) -> tuple[str, str]:
    """How a finding names a row."""
    parts = [row[column.name] for column in MODELS[name].primary_key.columns]
    return name, ", ".join(
        one.decode(errors="surrogateescape") if isinstance(one, bytearray) else str(one)
        for one in parts
    )


def change_row(at: Damaging) -> tuple[str, Expected]:
    """A bit of a row; of its key, it is another row then."""
    name, row = _row(at)
    column = at.random.choice(list(row))
    changed = {**row, column: at.raw.flipped(at.random, row[column])}
    where, key = _where(name, row)
    at.raw.run(f"UPDATE {name} SET {column} = {{}} WHERE {where}", changed[column], *key)
    rows = frozenset({_named(name, row), _named(name, changed)})
    return f"a bit of a row of {name}", Expected(rows=rows)


def delete_row(at: Damaging) -> tuple[str, Expected]:
    """A row that is gone."""
    name, row = _row(at)
    where, key = _where(name, row)
    at.raw.run(f"DELETE FROM {name} WHERE {where}", *key)
    return f"a row of {name} gone", Expected(rows=frozenset({_named(name, row)}))


def insert_row(at: Damaging) -> tuple[str, Expected]:
    """A row that was put in: a copy of another one, with another key."""
    name, row = _row(at)
    column = at.random.choice(list(MODELS[name].primary_key.columns)).name
    copy = {**row, column: at.raw.flipped(at.random, row[column])}
    names, marks = ", ".join(copy), ", ".join("{}" for _ in copy)
    at.raw.run(f"INSERT INTO {name} ({names}) VALUES ({marks})", *copy.values())
    return f"a row of {name} put in", Expected(rows=frozenset({_named(name, copy)}))


EVENTS: tuple[Damage, ...] = (flip, flip, flip, move, delete, insert, swap)
ROWS: tuple[Damage, ...] = (change_row, change_row, change_row, delete_row, insert_row)


# --- the ledger


def lived(url: str | Path, seed: int, acts: int = ACTS) -> None:
    """Make a ledger in which things of all kinds have happened."""
    clock = Clock()
    with turnledger.open(url, clock=clock, settings=Settings(synchronous="NORMAL")) as ledger:
        host = Host(ledger, clock, seed)  # type: ignore[arg-type] - another clock of the same kind
        for _ in range(acts):
            host.act()


def damaged(url: str | Path, seed: int, places: int, *, quiet: bool = False) -> Damaging:
    """Damage a ledger at so many places, half of them events; it is as it was at the end."""
    with turnledger.open(url, settings=Settings(synchronous="NORMAL")) as ledger:
        at = Damaging(ledger, Random(seed), ledger.checkpoint())
        at.places(places - places // 2, EVENTS, quiet=quiet)
        at.places(places // 2, ROWS, quiet=quiet)
        at.is_whole = ledger.verify().ok
    return at


def main() -> None:
    """Read the arguments, damage, print what was found as JSON; exit 1 if something wasn't."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--places", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="a copy of it is damaged")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.ledger.parent if given.ledger else None
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder))) / "ledger.db"
        if given.ledger:
            shutil.copy(given.ledger, place)
        else:
            lived(place, given.seed)
        at = damaged(place, given.seed, given.places)
    found = dict(sorted(at.found.items()))
    said = {"seed": given.seed, "events": at.last, "found": at.found.total(), "by_kind": found}
    print(json.dumps({**said, "missed": [str(miss) for miss in at.misses]}, indent=1))
    sys.exit(bool(at.misses) or not at.is_whole)


if __name__ == "__main__":
    main()
