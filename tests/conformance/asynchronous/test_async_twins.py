"""The ledger for asyncio has the names and the arguments of the other one, and no more."""

import inspect
from contextlib import AbstractContextManager
from typing import Any

import pytest

import turnledger
from turnledger import AsyncLedger, Ledger
from turnledger.asynchronous.coordinating import AsyncCoordinator
from turnledger.asynchronous.log import AsyncLog
from turnledger.asynchronous.operations import AsyncOperations
from turnledger.asynchronous.recovery import AsyncRecovery
from turnledger.asynchronous.services import (
    AsyncAttachments,
    AsyncInbox,
    AsyncQueue,
    AsyncRuns,
    AsyncThreads,
    AsyncTimers,
)
from turnledger.attachments import AttachmentStore
from turnledger.coordinator import Coordinator
from turnledger.inbox import Inbox
from turnledger.log import Log
from turnledger.operations import Operations
from turnledger.queue import Queue
from turnledger.recovery import Recovery
from turnledger.runs import Runs
from turnledger.threads import Threads
from turnledger.timers import Timers

TWINS: dict[type, type] = {
    Ledger: AsyncLedger,
    Queue: AsyncQueue,
    Inbox: AsyncInbox,
    Threads: AsyncThreads,
    Timers: AsyncTimers,
    Coordinator: AsyncCoordinator,
    AttachmentStore: AsyncAttachments,
    Runs: AsyncRuns,
    Operations: AsyncOperations,
    Recovery: AsyncRecovery,
    Log: AsyncLog,
}
FOR_NEIGHBOURS = {  # what `why` and the twins call
    *("as_event", "find", "page", "start"),  # of Log
    "must_stand_alone",  # of Operations
    "end",  # of Recovery
}
BLOCKING = {"scheduler"}  # of Timers: it runs in a thread, or a process, of its own
# Blocks, iterators, a setting.
NOT_AWAITED = {"acting_as", "transaction", "as_of", "follow", "turns", "steering", "observe"}


def public(kind: type) -> dict[str, Any]:
    """The public members of a service."""
    return {
        name: member
        for name, member in inspect.getmembers_static(kind)
        if not name.startswith("_") and name not in FOR_NEIGHBOURS | BLOCKING
    }


def parameters(method: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())


@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.__name__)
def test_a_twin_has_the_same_names(kind: type) -> None:
    assert list(public(TWINS[kind])) == list(public(kind))


@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.__name__)
def test_a_twin_has_the_same_arguments_results_and_words(kind: type) -> None:
    for name, method in public(kind).items():
        twin = public(TWINS[kind])[name]
        if isinstance(method, property):
            assert isinstance(twin, property), name
            assert inspect.get_annotations(twin.fget) == inspect.get_annotations(method.fget)
            continue
        assert parameters(twin) == parameters(method), name
        assert name == twin.__name__
        awaited = inspect.iscoroutinefunction(twin)
        assert awaited is (name not in NOT_AWAITED), name
        if awaited:
            results = [inspect.signature(one).return_annotation for one in (twin, method)]
            assert results[0] == results[1], name


@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.__name__)
def test_each_method_of_a_twin_says_what_it_does(kind: type) -> None:
    for name, method in public(kind).items():
        twin = public(TWINS[kind])[name]
        said = f"See `{kind.__name__}.{name}`"
        same = twin.__doc__ == method.__doc__ or twin.__doc__.startswith(said)
        assert same or name == "close", name


IN_HAND = {  # of workers: names that only one of two twins has
    "plan",  # of Turns
    *("cancel_bodies", "cancel_body", "end_signal", "is_stopping"),  # for the loop's signals
}


@pytest.mark.parametrize(
    ("kind", "twin"),
    [
        (turnledger.TurnInHand, turnledger.AsyncTurnInHand),
        (turnledger.Turns, turnledger.AsyncTurns),
        (turnledger.Worker, turnledger.AsyncWorker),
    ],
)
def test_what_workers_have_in_hand_has_a_twin_with_the_same_names(kind: type, twin: type) -> None:
    assert public(kind).keys() - IN_HAND == public(twin).keys() - IN_HAND
    for name in public(kind).keys() - IN_HAND:
        method, other = public(kind)[name], public(twin)[name]
        if callable(method) and name != "stop_on":
            named = [parameter.name for parameter in parameters(method)]
            assert [parameter.name for parameter in parameters(other)] == named, name


def test_both_doors_take_the_same(tmp_path: Any) -> None:
    assert parameters(turnledger.open_async) == parameters(turnledger.open)
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        parts = {name for name in vars(ledger) if not name.startswith("_")}
    assert parts == {
        *("attachments", "coordinator", "inbox", "log", "operations", "queue", "recovery", "runs"),
        *("settings", "threads", "timers"),
    }
    hint = inspect.signature(AsyncLedger.acting_as).return_annotation
    assert hint == AbstractContextManager[None]
