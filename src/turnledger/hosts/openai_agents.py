"""The OpenAI Agents SDK (extra `openai-agents`): a session in the ledger, and tools called once.

A session's items are recorded as coordinator turns that are begun and completed in one transaction,
so that its history is a part of the ledger's: who added what, and what was taken away again.
"""

import hashlib
from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import uuid4

from agents import FunctionTool
from agents.memory.session import SessionABC

from turnledger.asynchronous import AsyncLedger
from turnledger.domain.run import RunClaim
from turnledger.infrastructure.owner import new_owner

_TARGET = "openai-agents-session"
_ADD, _POP, _CLEAR = "items-added", "item-popped", "cleared"


class LedgerSession(SessionABC):
    """A conversation of the SDK's, kept in the ledger under a thread's name.

    Several processes may use it at the same time. Reading it takes longer with its history.
    """

    session_settings = None

    def __init__(self, ledger: AsyncLedger, thread_id: str) -> None:
        """Take where it is kept, and under which name."""
        self.session_id = thread_id
        self._ledger = ledger
        self._owner = new_owner()
        self._item = f"session:{thread_id}"

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The conversation's items, the oldest first; of a limit, the latest ones."""
        items: list[Any] = []
        for turn in await self._ledger.coordinator.list(self._item):
            if turn.target != _TARGET or turn.status != "acked":
                continue
            if turn.kind == _ADD:
                items += turn.message
            elif turn.kind == _POP:
                items = items[:-1]
            elif turn.kind == _CLEAR:
                items = []
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[Any]) -> None:
        """Put items behind the others."""
        if items:
            await self._record(_ADD, list(items))

    async def pop_item(self) -> Any:
        """Take the latest item away; None if there is none."""
        async with self._ledger.transaction():
            items = await self.get_items(1)
            if not items:
                return None
            await self._record(_POP, None)
        return items[0]

    async def clear_session(self) -> None:
        """Begin anew; what was stays in the history."""
        await self._record(_CLEAR, None)

    async def _record(self, kind: str, message: Any) -> None:
        async with self._ledger.transaction():
            begun = await self._ledger.coordinator.begin(
                self._item,
                message,
                kind=kind,
                target=_TARGET,
                turn_id=f"{self._item}:{uuid4()}"[-256:],
                owner=self._owner,
            )
            if begun.claim is not None:
                await self._ledger.coordinator.complete(begun.claim, None)


class OnceTools:
    """Makes tools that are called once in a run, also if a later process goes through it again.

    A call's identity is the run, the tool, its arguments, and how many such calls came before. One
    that is running elsewhere, or of unknown outcome, raises `OutcomeUnknown` out of the run.
    """

    def __init__(self, ledger: AsyncLedger, run_claim: RunClaim) -> None:
        """Take where the calls are recorded, and under which run."""
        self._ledger = ledger
        self._run = run_claim
        self._counts: Counter[str] = Counter()

    def once(self, tool: FunctionTool) -> FunctionTool:
        """The same tool, each of whose calls is an operation."""

        async def invoke(context: Any, arguments: str) -> Any:
            key = self._key(tool.name, arguments)
            payload = {"tool": tool.name, "arguments": arguments}
            return await self._ledger.operations.once(
                self._run, key, "tool", payload, lambda: tool.on_invoke_tool(context, arguments)
            )

        return replace(tool, on_invoke_tool=invoke)

    def _key(self, name: str, arguments: str) -> str:
        digest = hashlib.sha256(f"{name}\n{arguments}".encode()).hexdigest()[:32]
        self._counts[digest] += 1
        return f"{self._run.run_id[:180]}/{digest}/{self._counts[digest]}"
