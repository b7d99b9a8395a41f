"""A worker's loop in a process of its own; loop.py begins it.

It says what it does, a word and JSON on each line; the world outside is a file, into which it
writes what it sends.
"""

import asyncio
import faulthandler
import json
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import turnledger
from turnledger import (
    AsyncTurnInHand,
    AsyncWorker,
    ClaimLost,
    Settings,
    TurnInHand,
    Worker,
)

GIVE_UP_SECONDS = 300
CONCURRENCY = 8


def say(word: str, value: Any = None) -> None:
    print(f"{word} {json.dumps(value)}\n", end="", flush=True)  # whole, from whatever thread


def send(outbox: str, turn: TurnInHand | AsyncTurnInHand) -> None:
    """The hand-over that can't be taken back: one write."""
    descriptor = os.open(outbox, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{turn.queued_turn_id}\n".encode())
    os.close(descriptor)


def deliver(turn: TurnInHand, outbox: str) -> None:
    turn.dispatch()
    send(outbox, turn)
    turn.ack()
    say("acked", turn.queued_turn_id)


def linger(turn: TurnInHand, outbox: str) -> None:
    """Not come back after the dispatch."""
    turn.dispatch()
    send(outbox, turn)
    say("dispatched", turn.queued_turn_id)
    threading.Event().wait()


def hesitate(turn: TurnInHand, outbox: str) -> None:
    """Never come to a dispatch."""
    del outbox
    say("hesitating", turn.queued_turn_id)
    threading.Event().wait()


def finish(turn: TurnInHand, outbox: str) -> None:
    """Be in the middle of it when the signal comes, and finish it all the same."""
    turn.dispatch()
    say("dispatched", turn.queued_turn_id)
    sys.stdin.readline()
    send(outbox, turn)
    turn.ack()
    say("acked", turn.queued_turn_id)


def sleep(turn: TurnInHand, outbox: str) -> None:
    """Wake up after its lease, and try to write all the same."""
    turn.dispatch()
    say("dispatched", turn.queued_turn_id)
    sys.stdin.read()
    send(outbox, turn)
    try:
        turn.ack()
    except ClaimLost as error:
        say("lost", str(error))


ROLES = {one.__name__: one for one in (deliver, linger, hesitate, finish, sleep)}


class Given(NamedTuple):
    """How a loop works."""

    url: str
    owner: str
    lease: float
    grace: float
    role: str
    outbox: str


def loop(given: Given) -> None:
    with turnledger.open(given.url, settings=Settings(synchronous="NORMAL")) as ledger:
        turns = ledger.turns(
            given.owner, lease=given.lease, stop_on=signal.SIGTERM, grace=given.grace
        )
        say("ready")
        for turn in turns:
            with turn:
                ROLES[given.role](turn, given.outbox)
    say("ended")


async def loop_in_tasks(given: Given) -> None:
    async def work(turn: AsyncTurnInHand) -> None:
        async with turn:
            await turn.dispatch()
            await asyncio.to_thread(send, given.outbox, turn)
            await turn.ack()
            say("acked", turn.queued_turn_id)

    settings = Settings(synchronous="NORMAL")
    async with (
        turnledger.open_async(given.url, settings=settings) as ledger,
        asyncio.TaskGroup() as tasks,
    ):
        turns = ledger.turns(
            given.owner,
            lease=given.lease,
            limit=CONCURRENCY,
            stop_on=signal.SIGTERM,
            grace=given.grace,
        )
        say("ready")
        async for turn in turns:
            tasks.create_task(work(turn))
    say("ended")


def call_function(given: Given) -> None:
    def function(turn: TurnInHand) -> None:
        send(given.outbox, turn)
        turn.ack()
        say("acked", turn.queued_turn_id)

    with turnledger.open(given.url, settings=Settings(synchronous="NORMAL")) as ledger:
        worker = Worker(
            ledger, function, owner=given.owner, lease=given.lease, concurrency=CONCURRENCY
        )
        say("ready")
        worker.run(stop_on=signal.SIGTERM, grace=given.grace)
    say("ended")


async def await_coroutine(given: Given) -> None:
    async def function(turn: AsyncTurnInHand) -> None:
        await asyncio.to_thread(send, given.outbox, turn)
        await turn.ack()
        say("acked", turn.queued_turn_id)

    settings = Settings(synchronous="NORMAL")
    async with turnledger.open_async(given.url, settings=settings) as ledger:
        worker = AsyncWorker(
            ledger, function, owner=given.owner, lease=given.lease, concurrency=CONCURRENCY
        )
        say("ready")
        await worker.run(stop_on=signal.SIGTERM, grace=given.grace)
    say("ended")


def begin(hears: Connection, says: Connection, errors: str, arguments: list[str]) -> None:
    """Be a loop, as a program of its own would: URL OWNER LEASE GRACE ROLE OUTBOX."""
    os.dup2(hears.fileno(), 0)
    os.dup2(says.fileno(), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    for copied in (hears, says):
        copied.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True, file=2)
    url, owner, lease, grace, role, outbox = arguments
    given = Given(url, owner, float(lease), float(grace), role, outbox)
    Path(outbox).touch()
    if role == "tasks":
        asyncio.run(loop_in_tasks(given))
    elif role == "coroutine":
        asyncio.run(await_coroutine(given))
    elif role == "function":
        call_function(given)
    else:
        loop(given)
