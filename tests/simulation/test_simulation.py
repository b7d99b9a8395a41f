"""A short part of the simulation, and that it isn't blind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.caught import judged
from tests.mutants.mutants import MUTANTS, Misfit, put_in
from tests.simulation.every_crash import crash_everywhere
from turnledger.proving.hunting import hunt, quiet, simulated
from turnledger.proving.rules import Broken
from turnledger.proving.shrinking import shrunk
from turnledger.proving.simulation import Failure, Simulation, compare
from turnledger.proving.world import Tables, World

HISTORIES = 40
CALLS = ("queue.append", "queue.claim_head", "coordinator.begin", "timers.fire_due")


def test_what_is_documented_holds_in_random_histories_that_crash(tmp_path: Path) -> None:
    done = hunt(range(HISTORIES), tmp_path)
    assert done.found is None
    assert done.histories == HISTORIES
    assert done.crashes > HISTORIES


def test_a_seed_gives_the_same_history_again(tmp_path: Path) -> None:
    with quiet(), simulated(tmp_path) as simulation:
        first = simulation.history(7)
        assert simulation.history(8) != first
        assert simulation.history(7) == first


@pytest.mark.parametrize("call", CALLS)
def test_a_crash_at_any_statement_leaves_no_trace(tmp_path: Path, call: str) -> None:
    with quiet(), simulated(tmp_path) as simulation:
        points, _ = crash_everywhere(simulation.world, (call,), call)
        assert points > 2
        assert simulation.world.crashes >= points


def test_a_trace_that_a_crash_left_is_noticed(tmp_path: Path) -> None:
    with quiet(), simulated(tmp_path) as simulation:
        simulation.history(1)
        there = simulation.world.tables()
        with pytest.raises(Broken, match="no trace"):
            compare({**there, "receipts": []}, {**there, "receipts": [("row",)]})


class _Forgetful(World):
    """Every other process that comes after a crash doesn't see the first turn."""

    def tables(self) -> Tables:
        found = super().tables()
        return {**found, "queued_turns": found["queued_turns"][self.crashes % 2 :]}


def test_a_failure_is_made_short_and_stays_the_same(tmp_path: Path) -> None:
    with quiet():
        world = _Forgetful(tmp_path)
        simulation = Simulation(world)
        with pytest.raises(Failure) as caught:
            list(map(simulation.history, range(40)))
        found = caught.value
        short = shrunk(simulation, found, seconds=5)
        world.close()
    assert short.rule == found.rule == "a crash leaves no trace in the tables"
    assert len(short.steps) < len(found.steps)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_fault_still_fits_the_code(mutant: object, tmp_path: Path) -> None:
    [chosen] = [one for one in MUTANTS if one is mutant]
    path = tmp_path / chosen.file
    path.parent.mkdir(parents=True)
    path.write_bytes((Path(__file__).parents[2] / "src" / "turnledger" / chosen.file).read_bytes())
    put_in(chosen, tmp_path)
    assert chosen.new in path.read_text()
    assert chosen.old != chosen.new
    with pytest.raises(Misfit):
        put_in(chosen._replace(old="no such text"), tmp_path)


def test_a_fault_is_found_and_its_seed_is_told() -> None:
    [fault] = [one for one in MUTANTS if one.name == "an expired claim is live"]
    verdict = judged(fault, 60)
    assert verdict.rule is not None
    assert verdict.seed is not None
