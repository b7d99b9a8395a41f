"""Histories that another system with the same duties recorded: ours must answer the same.

`--traces DIR` replays those of another folder. On PostgreSQL some of them are replayed, chosen by
their names; with `--traces` all of them are.
"""

import random
from pathlib import Path

import pytest

from tests.conformance.traces.replaying import Facts, Replayer, Step, steps_in

GOLDEN = Path(__file__).with_name("golden")
ON_POSTGRESQL = 12
SEED = 20_260_105


def files(config: pytest.Config, kind: str) -> list[Path]:
    """The histories that are replayed on a store."""
    given = config.getoption("--traces", default=None)
    found = sorted(Path(given or GOLDEN).glob("*.jsonl"))
    assert found, f"there are no histories in {given}"
    if kind == "sqlite" or given:
        return found
    return sorted(random.Random(SEED).sample(found, ON_POSTGRESQL))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "history" not in metafunc.fixturenames:
        return
    config = metafunc.config
    pairs = [(kind, path) for kind in ("sqlite", "postgresql") for path in files(config, kind)]
    names = [f"{kind} {path.stem}" for kind, path in pairs]
    metafunc.parametrize(("kind", "history"), pairs, ids=names)


def test_a_history_is_replayed_without_a_difference(history: Path, store_url: str) -> None:
    with Replayer(store_url) as replayer:
        assert replayer.replay(steps_in(history)) == []


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("name", ["0005", "0095", "0133", "0146"])
def test_no_answer_changes_if_a_ledger_is_opened_anew_between_two_steps(
    store_url: str, name: str
) -> None:
    chance = random.Random(SEED)
    with Replayer(store_url) as replayer:
        for step in steps_in(GOLDEN / f"{name}.jsonl"):
            if chance.random() < 0.2:
                replayer.reopen(chance.choice("ab"))
            assert replayer.replay([step]) == []


# --- the control: a replay that finds no difference would find one


def recorded(*names: str) -> list[Step]:
    """The first history of those that has every call."""
    for path in sorted(GOLDEN.glob("*.jsonl")):
        steps = steps_in(path)
        if set(names) <= set(map(said, steps)):
            return steps
    raise AssertionError(names)


def said(step: Step) -> str:
    return f"{step.call} {step.expect['outcome']}"


def changed(steps: list[Step], what: str, expect: Facts) -> list[Step]:
    """A history in which the first such step is said to have ended otherwise."""
    number = next(n for n, step in enumerate(steps) if said(step) == what)
    step = steps[number]
    other = step._replace(expect={**step.expect, **expect})
    return [*steps[:number], other, *steps[number + 1 :]]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    ("what", "expect"),
    [
        ("op_create ok", {"outcome": "duplicate"}),
        ("op_claim ok", {"execution_epoch": 2}),
        ("op_claim ok", {"owner": "boot-x"}),
        ("op_complete true", {"effect": "pending"}),
        ("op_complete false", {"outcome": "true"}),
        ("run_start ok", {"lease_expires_at_ms": 1}),
        ("run_renew refused", {"outcome": "ok"}),
        ("begin ok", {"epoch": 7}),
        ("claim ok", {"lease_expires_at_ms": 1}),
        ("claim none", {"outcome": "ok"}),
        ("prepare ok", {"request_hash": "0" * 64}),
        ("prepare changed", {"outcome": "refused"}),
        ("respond ok", {"response_hash": "0" * 64}),
        ("start_dispatch refused", {"outcome": "ok"}),
        ("recover ok", {"attempts_unknown": 9}),
        ("state ok", {"turns": None}),
    ],
)
def test_a_changed_history_is_found_out(store_url: str, what: str, expect: Facts) -> None:
    steps = changed(recorded(what), what, expect)
    with Replayer(store_url) as replayer:
        found = replayer.replay(steps)
    call, [name] = what.split(maxsplit=1)[0], expect
    assert [(one.call, one.path) for one in found] == [(call, f".{name}")]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_step_that_is_left_out_is_found_out(store_url: str) -> None:
    steps = recorded("op_complete true", "op_create ok", "state ok")
    number = next(n for n, step in enumerate(steps) if step.expect["outcome"] == "true")
    with Replayer(store_url) as replayer:
        found = replayer.replay([*steps[:number], *steps[number + 1 :]])
    assert found != []
    assert all(one.step > steps[number].step for one in found)
