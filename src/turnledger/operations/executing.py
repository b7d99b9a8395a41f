"""Doing an effect at most once: `once`, and what it is made of."""

import inspect
import logging
from collections.abc import Callable
from typing import Any

from turnledger.domain.errors import (
    InvalidPayload,
    LedgerError,
    NoEffect,
    OperationNotFound,
    OperationSettled,
    OutcomeUnknown,
    PayloadTooLarge,
    Unreadable,
)
from turnledger.domain.operation import RecordedOperation, ReplayPolicy
from turnledger.domain.operation.commands import CompletedEffect
from turnledger.domain.payload import shown
from turnledger.domain.run import RunClaim
from turnledger.operations.creating import Creating
from turnledger.operations.looking import Looking
from turnledger.operations.settling import Settling

_log = logging.getLogger(__name__)


class Executing(Creating, Settling, Looking):
    """The part of `ledger.operations` for hosts that want no more than one effect."""

    def once(  # noqa: PLR0913 - all that can be said of an operation
        self,
        run_claim: RunClaim,
        key: str,
        operation_type: str,
        payload: Any,
        body: Callable[[], Any],
        *,
        replay_policy: ReplayPolicy = "never_automatic",
    ) -> Any:
        """Call a body that has an effect outside, once for its key.

        The body is called only if this call claimed the operation. What it returns is the result;
        if it raises, the effect is unknown, unless it raises `NoEffect`. What it raises goes on, in
        any case.

        Args:
            run_claim: A live claim.
            key: The operation's identity.
            operation_type: What kind of effect it is.
            payload: What is wished: JSON.
            body: Does it.
            replay_policy: See `create`.

        Returns:
            The body's result; the stored one, without a call, if it was applied before, and also if
            the body completed the operation itself, or somebody decided on it meanwhile.

        Raises:
            InvalidPayload: The body can't be called, or must be awaited.
            OutcomeUnknown: It runs, or nobody can know whether it took effect; or the run's claim
                was lost while the body ran: what it returned is kept as evidence.
            OperationSettled: It is settled, without effect.
            ClaimLost: The run's claim isn't live.
            IdempotencyConflict: The key is known with other content, or for another run.
            PayloadTooLarge: The result is past its limit. The operation still runs: `complete` it
                with a reference.
        """
        if inspect.iscoroutinefunction(body):
            raise InvalidPayload("body", _AWAIT)
        effect = Once(self, run_claim, key, body)
        if not effect.begin(operation_type, payload, replay_policy):
            return effect.stored_result()
        try:
            result = _at_once(body())
        except BaseException as error:
            effect.raised(error)
            raise
        return effect.returned(result)


class Once:
    """One effect on its way: what is recorded before its body is called, and after it.

    Attributes:
        is_begun: It is claimed, so its body is to be called.
    """

    def __init__(
        self, operations: Executing, run_claim: RunClaim, key: str, body: Callable[[], Any]
    ) -> None:
        """Take where it is recorded, under which claim, its key, and what will be called.

        Raises:
            InvalidPayload: That can't be called.
        """
        if not callable(body):
            raise InvalidPayload("body", f"must be callable, which a {type(body).__name__} isn't")
        self._operations = operations
        self._run_claim = run_claim
        self._key = key
        self.is_begun = False

    def begin(self, operation_type: str, payload: Any, replay_policy: ReplayPolicy) -> bool:
        """Create and claim it. Returns whether the body is to be called.

        Raises:
            InvalidPayload: A transaction is around it: nothing would be recorded before the body.
        """
        self._operations.must_stand_alone()
        claimed = self._operations.create_and_claim(
            self._run_claim,
            self._key,
            operation_type,
            payload,
            replay_policy=replay_policy,
            automatic=False,
        )
        self.is_begun = claimed is not None
        return self.is_begun

    def returned(self, result: Any) -> Any:
        """Record what the body returned, and give it on; or what was settled meanwhile.

        Raises:
            OutcomeUnknown: The run's claim was lost meanwhile.
            OperationSettled: Somebody decided meanwhile that it had no effect.
        """
        if self._operations.complete(self._run_claim, self._key, "applied", result):
            return result
        return self.stored_result()

    def raised(self, error: BaseException) -> None:
        """Record that the body raised; if that can't be, the error says so in a note."""
        try:
            if isinstance(error, NoEffect):
                self._record("failed_no_effect", error.result)
            else:
                self._record("unknown", _text_of(error))
        except LedgerError as failure:
            note = f"operation {self._key} couldn't be completed: {failure}"
            _log.warning("%s", note)
            error.add_note(note)

    def _record(self, effect: CompletedEffect, said: Any) -> None:
        try:
            self._operations.complete(self._run_claim, self._key, effect, said)
        except PayloadTooLarge:
            self._operations.complete(self._run_claim, self._key, effect, _Repr(shown(said)))

    def stored_result(self) -> Any:
        """What came of it before.

        Raises:
            OutcomeUnknown: Nobody can know it, or not yet.
            OperationSettled: It had no effect.
        """
        known = self._operations.get(self._key)
        if known is None:
            raise OperationNotFound(self._key)
        return _result(known)


def _result(known: RecordedOperation) -> Any:
    if known.execution != "quiescent" or known.effect == "unknown":
        raise OutcomeUnknown(known.key, known.execution, known.effect)
    if known.effect != "applied":
        raise OperationSettled(known.key, known.effect)
    if known.unreadable is not None:
        raise Unreadable(f"the result of operation {known.key}", known.unreadable)
    return known.result


class _Repr:
    """No JSON, so that its repr is kept, marked as altered and however low the limit is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


_AWAIT = "must be awaited: use the operations of `open_async`"


def _at_once(result: Any) -> Any:
    """What a body returned, unless it would have to be awaited.

    Raises:
        InvalidPayload: It would.
    """
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise InvalidPayload("body", _AWAIT)
    return result


def _text_of(error: BaseException) -> Any:
    """What an error says; if it can't, its kind."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as fault:  # noqa: BLE001 - it must not block the settling
        return _Repr(f"{type(error).__name__}, whose text raised {type(fault).__name__}")
