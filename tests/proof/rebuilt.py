"""Rebuilt rows against live ones, byte for byte, after random histories."""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from turnledger.proving.hunting import quiet, simulated
from turnledger.proving.rules import Broken
from turnledger.proving.simulation import Simulation, compare
from turnledger.rebuild import rebuild

DAMAGE = (
    "UPDATE queued_turns SET attempts = attempts + 1",
    "DELETE FROM inbox_messages",
    "UPDATE operations SET effect = 'applied'",
    "DELETE FROM receipts",
    "UPDATE streams SET version = version + 1",
)


def _whole(simulation: Simulation) -> bool:
    """Whether nothing differs after a rebuild, of the sound rows and of damaged ones."""
    world = simulation.world
    live = world.tables()
    backend = world.ledger._backend
    rebuild(backend, (), None)
    try:
        compare(world.tables(), live)
        for statement in DAMAGE:
            _damage(world._path, statement)
        rebuild(backend, (), None)
        compare(world.tables(), live)
    except Broken:
        return False
    return True


def _damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def _noticed(simulation: Simulation) -> bool:
    """The control: a row that differs is noticed."""
    live = simulation.world.tables()
    _damage(simulation.world._path, DAMAGE[-1])
    try:
        compare(simulation.world.tables(), live)
    except Broken:
        return True
    return False


def rebuilt(histories: int, seed: int) -> dict[str, Any]:
    """So many histories, each rebuilt twice."""
    same = rows = 0
    with quiet(), simulated(Path(gettempdir())) as simulation:
        for number in range(seed, seed + histories):
            simulation.history(number)
            rows += sum(map(len, simulation.world.tables().values()))
            same += _whole(simulation)
        noticed = _noticed(simulation)
    said = {"histories": histories, "same bytes": same, "rows": rows}
    return {
        **said,
        "control: a changed row is noticed": noticed,
        "good": noticed and same == histories,
    }
