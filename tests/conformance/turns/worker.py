"""A worker's loop in a process of its own: worker.py URL OWNER LEASE GRACE ROLE OUTBOX.

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
from pathlib import Path
from typing import Any, NamedTuple

import turnledger
from turnledger import AsyncTurnInHand, ClaimLost, Settings, TurnInHand

GIVE_UP_SECONDS = 300


def say(word: str, value: Any = None) -> None:
    print(word, json.dumps(value), flush=True)


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
            given.owner, lease=given.lease, limit=8, stop_on=signal.SIGTERM, grace=given.grace
        )
        say("ready")
        async for turn in turns:
            tasks.create_task(work(turn))
    say("ended")


def main(url: str, owner: str, lease: str, *rest: str) -> None:
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    grace, role, outbox = rest
    given = Given(url, owner, float(lease), float(grace), role, outbox)
    Path(outbox).touch()
    if role == "tasks":
        asyncio.run(loop_in_tasks(given))
    else:
        loop(given)


if __name__ == "__main__":
    main(*sys.argv[1:])
