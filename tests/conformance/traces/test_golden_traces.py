"""Histories that another system with the same duties recorded: ours must answer the same.

`--traces DIR` replays those of another folder. On PostgreSQL some of them are replayed, chosen by
their names; with `--traces` all of them are.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.traces.replaying import (
    WHOLE,
    Facts,
    Replayer,
    Step,
    changed,
    differences,
    steps_in,
)
from turnledger import RunClaim

GOLDEN = Path(__file__).with_name("golden")
ON_POSTGRESQL = 12
SEED = 20_260_105


def files(given: str | None, kind: str) -> list[Path]:
    """The histories that are replayed on a store."""
    found = sorted(Path(GOLDEN if given is None else given).glob("*.jsonl"))
    if not found:
        message = f"there are no histories (*.jsonl) in {given!r}"
        raise pytest.UsageError(message)
    if kind == "sqlite" or given:
        return found
    return sorted(random.Random(SEED).sample(found, ON_POSTGRESQL))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "history" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--traces", default=None)
    pairs = [(kind, path) for kind in ("sqlite", "postgresql") for path in files(given, kind)]
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


def altered(steps: list[Step], what: str, expect: Facts) -> list[Step]:
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
    steps = altered(recorded(what), what, expect)
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


def mutants(value: Any, path: str = "", *, whole: bool = False) -> Iterator[tuple[str, Any]]:
    """Every way in which a value is changed in one place: the place, and what it becomes."""
    if isinstance(value, dict):
        for name, inner in value.items():
            inside = mutants(inner, f"{path}.{name}", whole=whole or name in WHOLE)
            yield from ((where, {**value, name: other}) for where, other in inside)
            if whole:
                rest = {key: kept for key, kept in value.items() if key != name}
                yield f"{path} without a name", rest
        yield f"{path} with a name", {**value, "more": None}
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            inside = mutants(inner, f"{path}[]", whole=whole)
            yield from ((w, [*value[:number], o, *value[number + 1 :]]) for w, o in inside)
            yield f"{path}[] without one", [*value[:number], *value[number + 1 :]]
        yield f"{path}[] with one", [*value, None]
    else:
        yield path, another(value)
        yield f"{path} of another kind", {"was": value}


def another(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    return "something" if value is None else value + type(value)(1)


def kinds_in(path: Path) -> set[tuple[str, str]]:
    """The kinds of what is recorded in a file: the step and its outcome, and the place in it."""
    return {(said(step), where) for step in steps_in(path) for where, _ in mutants(step.expect)}


def enough() -> list[Path]:
    """Few histories in which every kind of thing is recorded that is recorded in any of them."""
    kinds = {path: kinds_in(path) for path in sorted(GOLDEN.glob("*.jsonl"))}
    missing: set[tuple[str, str]] = set().union(*kinds.values())
    chosen: list[Path] = []
    while missing:
        chosen.append(max(kinds, key=lambda path: len(kinds[path] & missing)))
        missing -= kinds[chosen[-1]]
    return chosen


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_change_of_anything_that_is_recorded_is_found_out(
    fresh_store: Callable[[str], str],
) -> None:
    """One change at a time, in every place of every step."""
    overlooked: list[tuple[str, int, str]] = []
    for path in enough():
        with Replayer(fresh_store(path.stem)) as replayer:
            for step in steps_in(path):
                actual = replayer.do(step)
                assert [*differences(step.expect, actual)] == []
                overlooked += (
                    (path.stem, step.step, where)
                    for where, expect in mutants(step.expect)
                    if not [*differences(expect, actual)]
                )
    assert overlooked == []


# --- folders that hold no histories


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_folder_without_histories_is_a_mistake(tmp_path: Path, kind: str) -> None:
    (tmp_path / "README.md").write_text("nothing")
    for folder in ("", str(tmp_path), str(tmp_path / "missing")):
        with pytest.raises(pytest.UsageError, match="no histories"):
            files(folder, kind)


GOOD = '{"step": 1, "at_ms": 0, "store": "a", "call": "state", "args": {}, "expect": {}}'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "numbered"),
        (f"{GOOD}\n{GOOD}\n", "numbered"),
        (f"{GOOD}\n{GOOD[:-9]}\n", "line 2"),
        (f"{GOOD}\n\n", "line 2"),
        ('{"step": 1}', "line 1"),
        ("[]", "line 1"),
    ],
)
def test_a_damaged_history_is_a_failure_that_says_where(
    tmp_path: Path, text: str, where: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=where):
        steps_in(path)


def test_a_wrong_epoch_of_a_run_is_wrong_whatever_its_number() -> None:
    claim = RunClaim(run_id="run", owner="one", epoch=2, generation="x")
    for epoch in (1, 2, 3):
        assert changed(claim, {"epoch": epoch}).epoch != 2
    assert changed(claim, {"owner": "boot-x"}).epoch == 2
