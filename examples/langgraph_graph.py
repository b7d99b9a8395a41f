"""A graph of LangGraph's behind the queue, whose node has its effect once.

python examples/langgraph_graph.py agents.db
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

import turnledger
from turnledger.hosts.langgraph import graph_worker, once


class State(TypedDict, total=False):
    """What the graph works on."""

    text: str
    sent: bool


async def main(path: str, send: Callable[[str], Any] = print, clock: Any = None) -> None:
    """Do every queued turn, until nothing is left to do."""
    async with turnledger.open_async(path, clock=clock) as ledger:

        def sending(state: State) -> State:
            send(state["text"])
            return {"sent": True}

        async def answer(turn: turnledger.AsyncTurnInHand) -> None:
            where = (turn.queued_turn_id, turn.thread_id, "graph")
            run = await ledger.runs.start(*where, owner=turn.owner, lease=600)
            if run is None:
                raise turnledger.NoEffect("another process is at it")
            await ledger.operations.recover()
            graph: Any = StateGraph(State)
            graph.add_node("send", once(ledger, run, "send", sending))
            graph.add_edge(START, "send")
            graph.add_edge("send", END)
            await graph_worker(graph.compile())(turn)
            await ledger.runs.finish(run, None)

        await turnledger.AsyncWorker(ledger, answer).run(once=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
