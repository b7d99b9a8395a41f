"""A worker for asyncio, whole: it works on many threads at a time. See worker.py.

    python examples/async_worker.py agents.db

Put work in from anywhere: `turnledger --db agents.db queue append thread-1 '{"text": "hi"}'`.
"""

import asyncio
import signal
import sys
from typing import Any

import turnledger


async def call_model(submission: dict[str, Any]) -> None:
    """Hand the submission over: the effect that can't be taken back."""
    print("to the model:", submission)


async def work(turn: turnledger.AsyncTurnInHand) -> None:
    """Do one turn."""
    try:
        async with turn:
            await turn.dispatch()  # recorded before it is made
            await call_model(turn.submission)
            await turn.ack()
    except Exception as error:  # noqa: BLE001 - what is known is recorded: go on
        print(f"{turn.thread_id} needs a look:", error)


async def main(path: str) -> None:
    """Work until SIGTERM."""
    async with turnledger.open_async(path) as ledger, asyncio.TaskGroup() as tasks:
        async for turn in ledger.turns(limit=100, stop_on=signal.SIGTERM, grace=20):
            tasks.create_task(work(turn))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
