"""PydanticAI: what was asked and paid for isn't asked again; tools are called once."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import turnledger
from tests.hosts.libraries.conftest import Example
from turnledger import OutcomeUnknown
from turnledger.hosts.pydantic_ai import DispatchedModel, OnceToolset


class World:
    """A model that calls the tool once, and a tool; both count, and may break."""

    def __init__(self) -> None:
        self.asked = self.called = 0
        self.breaks: set[str] = set()

    def answer(self, messages: list[Any], info: AgentInfo) -> ModelResponse:
        del info
        self.asked += 1
        if f"model {self.asked}" in self.breaks:
            raise ConnectionError
        if isinstance(messages[-1].parts[0], ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"told {messages[-1].parts[0].content}")])
        return ModelResponse(parts=[ToolCallPart("send", {"text": "hi"}, tool_call_id="call")])

    def send(self, text: str) -> str:
        """Send a text."""
        self.called += 1
        if "tool" in self.breaks:
            raise ConnectionError
        return text.upper()

    async def run(self, path: Path, owner: str = "worker") -> Any:
        async with turnledger.open_async(path) as ledger:
            run = await ledger.runs.start("run", "thread", "agent", owner=owner, lease=0.001)
            assert run is not None
            run = await ledger.runs.start("run", "thread", "agent", owner=owner, lease=600) or run
            await ledger.operations.recover()
            model = DispatchedModel(ledger, run, FunctionModel(self.answer))
            tools = OnceToolset(FunctionToolset([self.send]), ledger, run)
            return (await Agent(model, toolsets=[tools]).run("please")).output


async def expire(path: Path) -> None:
    """The worker's leases end."""
    async with turnledger.open_async(path) as ledger:
        run = await ledger.runs.get("run")
        assert run is not None
        claim = turnledger.RunClaim(
            run_id="run", owner=str(run.owner), epoch=run.epoch, generation=ledger.generation
        )
        await ledger.runs.renew(claim, 0.001)
        for turn in await ledger.coordinator.list():
            if turn.status == "claimed":
                held = turnledger.TurnClaim(
                    turn_id=turn.turn_id,
                    owner=str(turn.owner),
                    epoch=turn.epoch,
                    generation=ledger.generation,
                )
                await ledger.coordinator.renew(held, 0.001)


@pytest.fixture
def world() -> World:
    return World()


def test_a_run_that_is_gone_through_again_asks_and_calls_nothing(
    tmp_path: Path, world: World
) -> None:
    path = tmp_path / "agents.db"
    assert asyncio.run(world.run(path)) == "told HI"
    assert (world.asked, world.called) == (2, 1)
    asyncio.run(expire(path))
    assert asyncio.run(world.run(path, "another")) == "told HI"
    assert (world.asked, world.called) == (2, 1)
    with turnledger.open(path) as ledger:
        requests = [turn.attempts[0] for turn in ledger.coordinator.list("run:run")]
        assert [attempt.status for attempt in requests] == ["responded", "responded"]
        assert requests[0].request[0]["parts"][0]["content"] == "please"
        assert ledger.verify().ok


@pytest.mark.parametrize(("broken", "asked"), [("model 1", 1), ("model 2", 2), ("tool", 1)])
def test_what_broke_in_the_middle_is_a_question_and_not_done_again(
    tmp_path: Path, world: World, broken: str, asked: int
) -> None:
    path = tmp_path / "agents.db"
    world.breaks = {broken}
    with pytest.raises(ConnectionError):
        asyncio.run(world.run(path))
    world.breaks = set()
    asyncio.run(expire(path))
    with pytest.raises(OutcomeUnknown):
        asyncio.run(world.run(path, "another"))
    assert (world.asked, world.called) == (asked, 0 if broken == "model 1" else 1)


def test_the_example_is_killed_in_its_tool(example: Callable[[str], Example]) -> None:
    example("pydantic_ai_agent.py").is_done_again_after_a_kill_without_a_second_effect()
