"""Every command says what it is for."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

from turnledger.cli import main
from turnledger.cli.command import LedgerCommand

Call = Any


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


ALL = sorted(commands(main, ()))


def found(path: tuple[str, ...]) -> LedgerCommand:
    command: Any = main
    for name in path:
        command = command.commands[name]
    assert isinstance(command, LedgerCommand)
    return command


def test_there_is_a_command_for_every_service() -> None:
    names = {" ".join(path) for path in ALL}
    queue = (
        "append append-many list get edit delete clear reorder claim claim-next renew dispatch "
        "release ack ack-dispatch fail retry resolve pause resume recover fail-in-flight"
    )
    thread = "archive unarchive delete fork list show"
    inbox = "post list get delete undelivered requeue claim confirm release recover"
    timer = "create list get update pause resume delete due fire history"
    turn = (
        "begin list get cancel recover recoverable receipt touch work-item claim claim-next resume "
        "renew release complete fail ack sweep"
    )
    attempt = "prepare start-dispatch respond refuse reject late-response resolve"
    run = "start renew finish interrupt get"
    operation = (
        "create list get request-cancel recover resolve safe-to-proceed claim create-and-claim "
        "complete"
    )
    assert names == {
        *(f"queue {name}" for name in queue.split()),
        *(f"thread {name}" for name in thread.split()),
        *(f"inbox {name}" for name in inbox.split()),
        *(f"timer {name}" for name in timer.split()),
        *(f"turn {name}" for name in turn.split()),
        *(f"attempt {name}" for name in attempt.split()),
        *(f"run {name}" for name in run.split()),
        *(f"operation {name}" for name in operation.split()),
        *("why", "log", "doctor", "verify", "rebuild", "backup", "restore", "copy", "migrate"),
        *("purge",),
        *("history", "show", "state", "diff", "demo", "run-timers", "replay", "work"),
        *("checkpoint", "check", "bundle", "export", "metrics", "stats", "flow", "plot"),
        *("selftest",),
    }


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_a_purpose_an_example_and_the_exit_statuses(
    call: Call, path: tuple[str, ...]
) -> None:
    answer = call(*path, "--help")
    assert (answer.status, answer.err) == (0, "")
    purpose = found(path).help
    assert purpose is not None
    assert "\n" not in purpose
    assert f"  turnledger {' '.join(path)}" in answer.out
    for part in ("Usage:", "Example:", "Exit status:", "--db", "--json"):
        assert part in answer.out
    assert ("Arguments:" in answer.out) == (len(arguments(path)) > 0)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_explains_every_argument_and_option(path: tuple[str, ...]) -> None:
    assert set(found(path).needs) == arguments(path)
    options = [one for one in found(path).params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help and not one.hidden] == []


def arguments(path: tuple[str, ...]) -> set[str]:
    """The names that the usage line shows for the arguments."""
    parameters = found(path).params
    given = [one for one in parameters if isinstance(one, click.Argument)]
    return {(one.metavar or str(one.name).upper()).strip("[].") for one in given}


@pytest.mark.parametrize("group", [(), ("queue",), ("inbox",), ("timer",), ("thread",)])
def test_a_group_lists_its_commands_with_their_purpose(call: Call, group: tuple[str, ...]) -> None:
    answer = call(*group, "--help")
    assert answer.status == 0
    assert "..." not in answer.out.split("Commands:")[1]
