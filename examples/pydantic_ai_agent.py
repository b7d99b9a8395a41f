"""An agent of PydanticAI's behind the queue: requests are dispatches, tool calls operations.

    python examples/pydantic_ai_agent.py agents.db

Its model is one of PydanticAI's own that needs no network; put yours in its place.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.models.test import TestModel

import turnledger
from turnledger.hosts.pydantic_ai import DispatchedModel, OnceToolset


async def main(path: str, send: Callable[[str], Any] = print, clock: Any = None) -> None:
    """Do every queued turn, until nothing is left to do."""
    async with turnledger.open_async(path, clock=clock) as ledger:

        async def answer(turn: turnledger.AsyncTurnInHand) -> None:
            where = (turn.queued_turn_id, turn.thread_id, "agent")
            run = await ledger.runs.start(*where, owner=turn.owner, lease=600)
            if run is None:
                raise turnledger.NoEffect("another process is at it")
            await ledger.operations.recover()
            tools = OnceToolset(FunctionToolset([send]), ledger, run)
            agent = Agent(DispatchedModel(ledger, run, TestModel()), toolsets=[tools])
            result = await agent.run(turn.submission["text"])
            await ledger.runs.finish(run, result.output)

        await turnledger.AsyncWorker(ledger, answer).run(once=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
