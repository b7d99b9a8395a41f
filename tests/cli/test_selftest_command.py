"""selftest: the attacks beside a ledger, which isn't touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turnledger.cli.selftest_command import _told
from turnledger.proving.selftest import Attack

Call = Any


def test_selftest_attacks_beside_the_ledger_and_leaves_nothing(call: Call, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    answer = call("selftest", "--minutes", "0.02", "--db", place / "mine.db", "--json")
    assert (answer.status, answer.err) == (0, "")
    names = [(one["name"], one["broken"]) for one in answer.json]
    assert names == [("simulation", None), ("kill -9", None), ("races", None)]
    assert list(place.iterdir()) == []


def test_selftest_takes_some_time(call: Call) -> None:
    assert call("selftest", "--minutes", "0").status == 2


def test_what_broke_is_told_without_orders_to_the_terminal() -> None:
    about = {"name": "races", "claim": "all is well", "figures": "", "seed": 7, "seconds": 1.0}
    assert _told(Attack(**about)).startswith("held    races: all is well (; 1 s, seed 7)")
    said = _told(Attack(**about, broken="it isn't\nstep \x1b[31m1"))
    assert said == "BROKEN  races: it isn't\n        step [31m1 (1 s, seed 7)"
