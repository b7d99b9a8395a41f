"""An agent of the OpenAI Agents SDK behind the queue: its session in the ledger, its tools once.

    python examples/openai_agent.py agents.db

Its model is a small one that needs no network; leave it out, and the SDK asks its own.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import turnledger
from turnledger.hosts.openai_agents import LedgerSession, OnceTools


class SmallModel(Model):
    """Calls the tool for what the user says, and then says that it is done."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Answer the last item."""
        given = args[1] if len(args) > 1 else kwargs["input"]
        last = given[-1] if isinstance(given, list) else {"content": given}
        output: Any
        if last.get("type") == "function_call_output":
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            arguments = json.dumps({"text": last["content"]})
            output = ResponseFunctionToolCall(
                call_id="c", name="send", arguments=arguments, type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """It doesn't."""
        del args, kwargs
        raise TypeError("this model doesn't stream")


async def main(path: str, send: Callable[[str], Any] = print, clock: Any = None) -> None:
    """Do every queued turn, until nothing is left to do."""

    async def call(text: str) -> str:
        """Send a text.

        Args:
            text: Which one.
        """
        send(text)
        return "sent"

    tool = function_tool(call, name_override="send", failure_error_function=None)
    quiet = RunConfig(tracing_disabled=True)
    async with turnledger.open_async(path, clock=clock) as ledger:

        async def answer(turn: turnledger.AsyncTurnInHand) -> None:
            where = (turn.queued_turn_id, turn.thread_id, "agent")
            run = await ledger.runs.start(*where, owner=turn.owner, lease=600)
            if run is None:
                raise turnledger.NoEffect("another process is at it")
            await ledger.operations.recover()
            tools = [OnceTools(ledger, run).once(tool)]
            agent: Agent[Any] = Agent(name="agent", model=SmallModel(), tools=list(tools))
            session, text = LedgerSession(ledger, turn.thread_id), turn.submission["text"]
            result = await Runner.run(agent, text, session=session, run_config=quiet)
            await ledger.runs.finish(run, result.final_output)

        await turnledger.AsyncWorker(ledger, answer).run(once=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
