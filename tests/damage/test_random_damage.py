"""Damage at random places is found, and named; see damage.py, which also makes the long runs."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import turnledger
from tests.conformance.stores import (
    empty_database,
    empty_ledger,
    fresh_store,
    kind,
    postgresql_server,
)
from tests.damage.damage import MODELS, damaged, lived
from turnledger import StoreDamaged, StoreError

__all__ = ["empty_database", "empty_ledger", "fresh_store", "kind", "postgresql_server"]

SEED = 20_260_105
PLACES = {"sqlite": 80, "postgresql": 40}
CUTS, BYTES = 3, 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a ledger in which things of all kinds have happened."""
    path = tmp_path_factory.mktemp("damage") / "ledger.db"
    lived(path, SEED)
    return path


def test_what_is_damaged_at_random_is_found_and_named(
    fresh_store: Callable[[str], str], kind: str
) -> None:
    url = fresh_store("damaged")
    lived(url, SEED, 100)
    at = damaged(url, SEED, PLACES[kind], quiet=True)
    assert at.misses == []
    assert at.found.total() == PLACES[kind]
    assert at.is_whole


def test_an_end_that_was_cut_off_with_all_that_follows_from_it_shows_against_a_checkpoint(
    whole: Path, tmp_path: Path
) -> None:
    random, path = Random(SEED), tmp_path / "cut.db"
    for _ in range(CUTS):
        shutil.copy(whole, path)
        with turnledger.open(path) as ledger:
            checkpoint = ledger.checkpoint()
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DROP TRIGGER events_no_delete")
            left = random.randrange(checkpoint.size)
            database.execute("DELETE FROM events WHERE position > ?", (left,))
        with turnledger.open(path) as ledger:
            assert not ledger.verify().ok
            ledger.rebuild()
            assert ledger.verify().ok, "the control: without a checkpoint nothing is missing"
            assert ledger.check(checkpoint).reason == "cut"


def test_a_bit_anywhere_in_the_file_is_found_or_means_nothing(whole: Path, tmp_path: Path) -> None:
    random, path, stored = Random(SEED), tmp_path / "flipped.db", whole.read_bytes()
    rows = everything(whole)
    found = 0
    for _ in range(BYTES):
        changed, place = bytearray(stored), random.randrange(len(stored))
        changed[place] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        if is_found(path):
            found += 1
        else:
            assert everything(path) == rows, place
    assert found > BYTES / 5  # the rest is free space, mostly


def test_a_schema_that_is_no_text_any_more_is_said_to_be_damaged(
    whole: Path, tmp_path: Path
) -> None:
    path, name = tmp_path / "schema.db", b"indexstreams_readystreams"
    stored = whole.read_bytes()
    assert stored.count(name) == 1
    path.write_bytes(stored.replace(name, name.replace(b"ready", b"r\xe1ady")))
    with pytest.raises(StoreDamaged):
        turnledger.open(path, read_only=True)


def is_found(path: Path) -> bool:
    """Whether turnledger finds that a file isn't as it ought to be, and says so in its words."""
    try:
        with turnledger.open(path, read_only=True) as ledger:
            return not ledger.verify().ok
    except StoreDamaged:
        return True
    except StoreError as error:
        return "malformed" in str(error)


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of which verify speaks: not the schema's text, nor which ledger it is."""
    names = ("events", *MODELS)
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = bytes
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}
