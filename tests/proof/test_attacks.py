"""A short part of each attack of ./prove, with its control."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import fuzz
from tests.power.cut import cut
from tests.power.recording import DELETE_EXTRA, WAL_FULL, WAL_LATE, WAL_NORMAL, Setting
from tests.proof.fences import fences
from tests.proof.prove import ITEMS
from tests.proof.rebuilt import rebuilt
from turnledger.proving.kills import kill_rounds
from turnledger.proving.linear import Op, in_log_order, is_linearizable
from turnledger.proving.races import CALLS, CLIENTS, races

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("setting", [WAL_FULL, DELETE_EXTRA], ids=lambda one: one.name)
def test_a_power_cut_loses_nothing_acknowledged(setting: Setting) -> None:
    assert cut(setting, 40, seed=1) == (40, 0, 0)


@pytest.mark.parametrize("setting", [WAL_NORMAL, WAL_LATE], ids=lambda one: one.name)
def test_a_power_cut_takes_what_was_written_carelessly(setting: Setting) -> None:
    assert cut(setting, 40, seed=1).lost > 0


def test_kill_9_loses_nothing_acknowledged(tmp_path: Path) -> None:
    done = kill_rounds(str(tmp_path), 2)
    assert done.rounds == 2
    assert done.killed >= 4


def test_claims_of_many_processes_are_as_if_given_out_one_by_one(tmp_path: Path) -> None:
    done = races(str(tmp_path), 20)
    assert (done.histories, done.calls) == (20, 20 * CLIENTS * CALLS)
    assert done.noticed == done.corrupted > 0


def test_two_owners_of_one_claim_are_no_single_callers_history() -> None:
    first, second = (Op("claim", owner, 0, 1, 0.0, 1.0) for owner in "ab")
    assert is_linearizable([first], turns=1)
    assert not is_linearizable([first, second], turns=1)
    assert is_linearizable([first, second._replace(answer=0)], turns=1)


def test_a_lost_answer_may_have_been_a_claim_or_none() -> None:
    lost = Op("claim", "a", 0, None, 0.0, float("inf"))
    assert is_linearizable([lost, Op("claim", "b", 0, 0, 2.0, 3.0)], turns=1)
    assert is_linearizable([lost, Op("claim", "b", 0, 1, 2.0, 3.0)], turns=1)
    assert not is_linearizable([lost, Op("claim", "b", 0, 2, 2.0, 3.0)], turns=1)


def test_a_call_that_ended_before_another_began_takes_effect_before_it() -> None:
    released = Op("release", "a", 1, 1, 2.0, 3.0)
    late, early = (Op("renew", "a", 1, 1, start, start + 1) for start in (4.0, 1.0))
    claimed = Op("claim", "a", 0, 1, 0.0, 0.5)
    assert not is_linearizable([claimed, released, late], turns=1)
    assert is_linearizable([claimed, early, released], turns=1)


def test_two_events_in_the_wrong_order_are_noticed() -> None:
    history = [Op("claim", "a", 0, 1, 0.0, 1.0), Op("release", "a", 1, 1, 2.0, 3.0)]
    log = [("claim", 1), ("release", 1)]
    assert in_log_order(history, log)
    assert not in_log_order(history, log[::-1])


def test_a_lost_claim_changes_nothing_whatever_the_clocks_say() -> None:
    done = fences(1)
    assert done["tried"] == done["refused"] > 50
    assert done["good"]


def test_rebuilt_rows_are_the_live_ones() -> None:
    assert rebuilt(2, seed=5)["good"]


def test_what_is_put_in_is_taken_or_refused_in_our_own_words() -> None:
    assert fuzz.run(2_000, seed=3)["bad"] == []


def test_an_order_to_a_terminal_would_be_noticed() -> None:
    assert fuzz.control()
    with pytest.raises(AssertionError):
        fuzz.assert_clean("\u202e")


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.program)
def test_every_attack_has_its_program(item: object) -> None:
    [chosen] = [one for one in ITEMS if one is item]
    program = chosen.command(short=True, seed=0).split()[1]
    assert (ROOT / program).exists() or chosen.number == 15  # its program comes with the damage
