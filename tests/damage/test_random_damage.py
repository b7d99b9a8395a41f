"""Whatever is changed behind the ledger's back is found, and named.

`pytest tests/damage --damages 10000 --damage-seed 7` is the long run.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import turnledger
from tests.conformance.audit.conftest import Host
from tests.conformance.conftest import Clock
from tests.damage.damaging import Damaging, Expected
from turnledger import Finding, Verification

EVENTS = 250


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger at rest, in which all kinds of things have happened."""
    path, clock = tmp_path_factory.mktemp("whole") / "ledger.db", Clock()
    with turnledger.open(path, clock=clock) as ledger:
        host = Host(ledger, clock, 21)
        while ledger.wait_for_change(0, 0) < EVENTS:
            host.act()
    return path


def verified(path: Path) -> Verification:
    with turnledger.open(path, read_only=True) as ledger:
        return ledger.verify()


def names(found: Finding, expected: Expected) -> bool:
    if expected.position is not None:
        return found.position == expected.position
    return (found.where, found.row) == (expected.table, expected.key)


def test_each_damage_is_found_and_named(
    whole: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    damages: int = pytestconfig.getoption("--damages")
    first: int = pytestconfig.getoption("--damage-seed")
    with turnledger.open(whole, read_only=True) as ledger:
        assert ledger.verify().ok
        checkpoint = ledger.checkpoint()
    path = tmp_path / "damaged.db"
    for seed in range(first, first + damages):
        shutil.copy(whole, path)
        expected = Damaging(path, seed).once()
        told = f"seed {seed}: {expected.what}"
        if expected.by_checkpoint:
            with turnledger.open(path, read_only=True) as ledger:
                assert ledger.check(checkpoint).reason == "changed", told
            continue
        findings = verified(path).findings
        assert findings, told
        if expected.position is not None:
            assert names(findings[0], expected), (told, findings[0])
        else:
            assert any(names(one, expected) for one in findings), (told, findings)


@pytest.mark.parametrize("seed", range(5))
def test_a_cut_end_is_found_by_a_checkpoint_and_by_nothing_else(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "cut.db"
    shutil.copy(whole, path)
    with turnledger.open(path) as ledger:
        checkpoint = ledger.checkpoint()
    left = Random(seed).randrange(1, checkpoint.size)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_no_delete")
        connection.execute("DELETE FROM events WHERE position > ?", (left,))
    assert not verified(path).ok
    with turnledger.open(path) as ledger:
        ledger.rebuild()  # so that nothing but the end is missing
        assert ledger.verify().ok
        checked = ledger.check(checkpoint)
    assert (checked.ok, checked.reason) == (False, "cut")
