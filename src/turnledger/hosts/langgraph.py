"""LangGraph (extra `langgraph`): nodes that happen once, and a queue in front of a graph."""

import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig

from turnledger.asynchronous import AsyncLedger, AsyncTurnInHand
from turnledger.domain.run import RunClaim

Node = Callable[[Any], Any]


def once(ledger: AsyncLedger, run_claim: RunClaim, name: str, node: Node) -> Callable[..., Any]:
    """A node that does its effect at most once at its step of a run.

    What it returns, JSON, is recorded, and given back if a later process comes to the same step of
    the same run. `OutcomeUnknown` is raised where nobody knows whether it took effect.

    Args:
        ledger: Where it is recorded.
        run_claim: Under which run.
        name: The node's.
        node: Takes the graph's state, and returns what changes; awaited, if it can be.
    """

    async def call(state: Any, config: RunnableConfig) -> Any:
        step = config.get("metadata", {}).get("langgraph_step", 0)
        key = f"{run_claim.run_id}/{name}/{step}"

        async def body() -> Any:
            result = node(state)
            return await result if inspect.isawaitable(result) else result

        return await ledger.operations.once(run_claim, key, "node", {"node": name}, body)

    call.__name__ = name
    return call


def graph_worker(graph: Any, **config: Any) -> Callable[[AsyncTurnInHand], Any]:
    """A function for `AsyncWorker` that runs a compiled graph on each queued turn.

    The submission is the graph's input; the thread of the ledger is the graph's thread.

    Args:
        graph: Compiled.
        config: More of its configuration.
    """

    async def run(turn: AsyncTurnInHand) -> None:
        configurable = {**config.get("configurable", {}), "thread_id": turn.thread_id}
        await graph.ainvoke(turn.submission, config={**config, "configurable": configurable})

    return run
