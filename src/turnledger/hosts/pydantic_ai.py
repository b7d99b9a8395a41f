"""PydanticAI (extra `pydantic-ai`): a model request is a dispatch, a tool call an operation.

A run that a later process goes through again, under the same run id, is given the answers that
were paid for, and the results of tools that were called. Where it isn't known whether a request or
a call took effect, `OutcomeUnknown` is raised: somebody must decide.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import ModelMessagesTypeAdapter, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import WrapperToolset

from turnledger.asynchronous import AsyncLedger
from turnledger.domain.coordinator_turn import BegunTurn, TurnClaim
from turnledger.domain.errors import OutcomeUnknown
from turnledger.domain.run import RunClaim

_RESPONSE: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)


class DispatchedModel(WrapperModel):
    """A model whose requests are recorded before they are sent, and their answers after.

    Make one for each run: its requests are numbered. Streams aren't recorded.
    """

    def __init__(self, ledger: AsyncLedger, run_claim: RunClaim, wrapped: Model | str) -> None:
        """Take where it is recorded, under which run, and the model that is asked."""
        super().__init__(wrapped)
        self._ledger = ledger
        self._run = run_claim
        self._number = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask the model, unless this very request of the run was answered before.

        Raises:
            OutcomeUnknown: It was sent, and nobody knows what became of it.
        """
        self._number += 1
        coordinator, turn_id = self._ledger.coordinator, f"{self._run.run_id}/{self._number}"
        begun = await coordinator.begin(
            f"run:{self._run.run_id}",
            self._number,
            kind="model-request",
            target="pydantic-ai",
            turn_id=turn_id,
            owner=self._run.owner,
        )
        claim = begun.claim
        if begun.duplicate or claim is None:
            known, claim = await self._known(turn_id)
            if known is not None:
                return known
        if claim is None:
            raise OutcomeUnknown(turn_id, "running", "pending")
        prepared = await coordinator.prepare(claim, self._as_json(messages), attempt=None)
        await coordinator.start_dispatch(claim, prepared.attempt)
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        stored = _RESPONSE.dump_python(response, mode="json")
        await coordinator.respond(claim, prepared.attempt, prepared.request_hash, stored)
        await coordinator.complete(claim, None)
        return response

    async def _known(self, turn_id: str) -> tuple[ModelResponse | None, TurnClaim | None]:
        """The answer of a request that was begun before; or a claim, if it was never sent."""
        coordinator = self._ledger.coordinator
        turn = await coordinator.get(turn_id)
        if turn is not None and turn.status == "acked":
            return _answer(turn), None
        await coordinator.recover()
        found = await coordinator.resume(turn_id, self._run.owner)
        if found is None:
            return None, None
        if found.step == "use_response":
            await coordinator.complete(found.claim, None)
            return _RESPONSE.validate_python(found.response), None
        if found.step == "resolve_unknown":
            await coordinator.release(found.claim)
            raise OutcomeUnknown(turn_id, "hazardous_orphan", "unknown")
        return None, found.claim

    def _as_json(self, messages: list[ModelMessage]) -> Any:
        return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


def _answer(turn: BegunTurn) -> ModelResponse:
    """The stored answer.

    Raises:
        OutcomeUnknown: There is none: the turn was settled otherwise.
    """
    for attempt in reversed(turn.attempts):
        if attempt.response_hash is not None:
            return _RESPONSE.validate_python(attempt.response)
    raise OutcomeUnknown(turn.turn_id, "quiescent", "unknown")


@dataclass
class OnceToolset(WrapperToolset[Any]):
    """A toolset each of whose calls happens at most once in a run.

    Attributes:
        wrapped: The tools.
        ledger: Where the calls are recorded.
        run_claim: Under which run.
    """

    ledger: AsyncLedger
    run_claim: RunClaim

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any
    ) -> Any:
        """Call a tool, unless this very call was made before: then its stored result."""
        key = f"{self.run_claim.run_id}/{ctx.tool_call_id or name}"
        payload = {"tool": name, "arguments": tool_args}
        wrapped = self.wrapped
        return await self.ledger.operations.once(
            self.run_claim,
            key,
            "tool",
            payload,
            lambda: wrapped.call_tool(name, tool_args, ctx, tool),
        )
