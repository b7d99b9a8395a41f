"""The twin of `ledger.operations`: bodies are awaited."""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from turnledger.asynchronous.twin import Twin, awaited, commanded
from turnledger.domain.errors import NoEffect, StoreError
from turnledger.domain.operation import ReplayPolicy
from turnledger.domain.run import RunClaim
from turnledger.operations import Operations
from turnledger.operations.executing import Once


class AsyncOperations(Twin[Operations]):
    """The commands and queries of `ledger.operations`, awaited; see `Operations`."""

    create = commanded(Operations.create)
    claim = commanded(Operations.claim)
    create_and_claim = commanded(Operations.create_and_claim)
    complete = commanded(Operations.complete)
    request_cancel = commanded(Operations.request_cancel)
    recover = awaited(Operations.recover)
    resolve = commanded(Operations.resolve)

    get = awaited(Operations.get)
    list = awaited(Operations.list)
    safe_to_proceed = awaited(Operations.safe_to_proceed)

    async def once(  # noqa: PLR0913 - all that can be said of an operation
        self,
        run_claim: RunClaim,
        key: str,
        operation_type: str,
        payload: Any,
        body: Callable[[], Any],
        *,
        replay_policy: ReplayPolicy = "never_automatic",
    ) -> Any:
        """See `Operations.once`. What the body returns is awaited, if it can be.

        If the task is cancelled in the body, the effect is unknown; before it, there is none.
        """
        effect, crew = Once(self._service, run_claim, key, body), self._crew
        try:
            await crew.run(effect.begin, operation_type, payload, replay_policy)
        except asyncio.CancelledError:
            if effect.is_begun:
                await self._raised(effect, NoEffect("cancelled before it was called"))
            raise
        if not effect.is_begun:
            return await crew.run(effect.stored_result)
        try:
            result = body()
            if inspect.isawaitable(result):
                result = await result
        except BaseException as error:
            await self._raised(effect, error)
            raise
        return await crew.run_always(effect.returned, result)

    async def _raised(self, effect: Once, error: BaseException) -> None:
        """Record that the body raised; what it raised goes on also if the ledger was closed."""
        with suppress(StoreError):
            await self._crew.run_always(effect.raised, error)
