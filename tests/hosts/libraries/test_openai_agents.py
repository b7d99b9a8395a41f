"""The OpenAI Agents SDK: a session that is a history, and tools that are called once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from agents.memory import Session

import turnledger
from tests.hosts.libraries.conftest import Example
from turnledger.hosts.openai_agents import LedgerSession


def test_a_session_keeps_what_it_is_given_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with turnledger.open_async(tmp_path / "agents.db") as ledger:
            session, other = LedgerSession(ledger, "a"), LedgerSession(ledger, "b")
            assert isinstance(session, Session)
            items = [{"role": "user", "content": str(n)} for n in range(4)]
            await session.add_items(items[:3])
            await session.add_items([])
            await other.add_items(items[3:])
            assert await session.get_items() == items[:3]
            assert await session.get_items(2) == items[1:3]
            assert await session.pop_item() == items[2]
            assert await session.get_items() == items[:2]
            await session.clear_session()
            assert await session.get_items() == []
            assert await session.pop_item() is None
            assert await other.get_items() == items[3:]
            assert len(await ledger.history(work_item_id="session:a")) > 4
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_a_session_is_there_for_the_next_process(tmp_path: Path) -> None:
    async def add(content: str) -> list[str]:
        async with turnledger.open_async(tmp_path / "agents.db") as ledger:
            session = LedgerSession(ledger, "a")
            await session.add_items([{"role": "user", "content": content}])
            return [str(item["content"]) for item in await session.get_items()]

    asyncio.run(add("first"))
    assert asyncio.run(add("second")) == ["first", "second"]


def test_the_example_does_a_turn_and_keeps_its_session(
    example: Callable[[str], Example],
) -> None:
    one = example("openai_agent.py")
    assert one.run() == 0
    assert (one.turn().state, one.sent()) == ("acked", ["hi"])

    async def items() -> list[str]:
        async with turnledger.open_async(one.path) as ledger:
            found = await LedgerSession(ledger, "thread").get_items()
            return [str(item.get("type", item.get("role"))) for item in found]

    assert asyncio.run(items()) == ["user", "function_call", "function_call_output", "message"]


def test_the_example_is_killed_in_its_tool(example: Callable[[str], Example]) -> None:
    example("openai_agent.py").is_done_again_after_a_kill_without_a_second_effect()
