"""The diagrams of runs and operations say what decide really allows."""

from __future__ import annotations

from typing import Any

from tests.domain.test_lifecycle_diagram import NONE, Transition, compare, drawn
from tests.domain.test_operation import (
    COMMANDS,
    HISTORIES,
    RUN_COMMANDS,
    RUNS,
    run_when,
    state,
    when,
)
from turnledger.domain import operation, run
from turnledger.domain.operation import commands as c
from turnledger.domain.run import commands as run_commands


def steps() -> Any:
    """Every command on every history and every run, early and late: the states around it."""
    for history in HISTORIES:
        for of_run in RUNS:
            before = state(*history, of_run=of_run)
            for command in COMMANDS:
                for seconds in (0, 60):
                    events = when(command, *history, of_run=of_run, seconds=seconds)
                    if isinstance(events, list) and events:
                        yield command, before, operation.fold(events, before)


def test_the_diagram_of_the_execution_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for command, before, after in steps():
        allowed.add((before.execution or NONE, command.NAME, after.execution))
    compare("An operation: execution", drawn("An operation: execution"), allowed)


def test_the_diagram_of_the_effect_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for command, before, after in steps():
        was = NONE if before.execution is None else before.effect
        if was != after.effect:
            allowed.add((was, command.NAME, after.effect))
    compare("An operation: effect", drawn("An operation: effect"), allowed)


def test_the_diagram_of_the_run_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for history in RUNS:
        before = run.fold(history)
        for command in RUN_COMMANDS:
            for seconds in (0, 60):
                events = run_when(command, *history, seconds=seconds)
                if isinstance(events, list) and events:
                    after = str(run.fold(events, before).status)
                    allowed.add((before.status or NONE, command.NAME, after))
    compare("A run", drawn("A run"), allowed)


def test_every_command_of_runs_and_operations_was_tried() -> None:
    for module, tried in ((c, COMMANDS), (run_commands, RUN_COMMANDS)):
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
        assert set(map(type, tried)) == {kind for kind in kinds if "NAME" in vars(kind)}
