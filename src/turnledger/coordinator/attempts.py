"""Provider turns: preparing a request, recording that it is sent, keeping what comes back."""

from datetime import datetime
from typing import Any

from turnledger.coordinator.desk import CoordinatorDesk, attempt_in
from turnledger.domain.coordinator_turn import ProviderTurn, TurnClaim
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.duration import check_time
from turnledger.domain.errors import ClaimLost
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.unit_of_work import UnitOfWork


class Attempts(CoordinatorDesk):
    """The part of `ledger.coordinator` for those who call a model provider."""

    def prepare(
        self, claim: TurnClaim, request: Any, *, attempt: int | None = None
    ) -> ProviderTurn:
        """Fix the request of an attempt, before it is sent.

        Args:
            claim: A live claim.
            request: JSON. What is stored is what a successor sends.
            attempt: Its number; default the latest one that isn't settled, else a new one.

        Returns:
            The attempt; if it was prepared before, as it is.

        Raises:
            ClaimLost: The claim isn't live.
            RequestChanged: The attempt was prepared with another request.
            InvalidTransition: It belongs to a claim before this one, or another one isn't settled.
            AttemptsExhausted: The retry policy allows no more attempts.
        """
        number = None if attempt is None else check_count("attempt", attempt)
        intake = self._claimed(claim)
        checked = intake.payload("request", request, self._settings.max_payload_bytes)
        command = c.Prepare(
            **self._shown(claim),
            request=checked,
            request_hash=intake.hash(checked),
            attempt=number,
        )

        def work(unit: UnitOfWork) -> ProviderTurn:
            _, state = repository.carry_out(unit, command, self._backend.origin())
            return attempt_in(unit, command.turn_id, number or len(state.attempts))

        return self._backend.transact(work, several=True)

    def start_dispatch(self, claim: TurnClaim, attempt: int) -> ProviderTurn:
        """Record that the request is about to be sent. Call this BEFORE sending it.

        Args:
            claim: A live claim, the attempt's own.
            attempt: Prepared, and never dispatched before.

        Raises:
            ClaimLost: The claim isn't live: send nothing.
            InvalidTransition: It was dispatched before, or isn't the claim's: send nothing.
        """
        return self._changed(c.StartDispatch(**self._own(claim, attempt)))

    def respond(
        self, claim: TurnClaim, attempt: int, request_hash: str, response: Any
    ) -> ProviderTurn:
        """Keep the provider's answer.

        Args:
            claim: A live claim, the attempt's own.
            attempt: The one that was dispatched.
            request_hash: Of the request that is answered.
            response: JSON, null too; what isn't JSON is kept as its repr.

        Raises:
            ClaimLost: The claim isn't live. The answer is kept as evidence of the attempt.
            RequestChanged: Another request was sent.
            InvalidTransition: It isn't being dispatched, or isn't the claim's.
            PayloadTooLarge: The answer is past its limit; answer with a reference.
        """
        check_identifier("request_hash", request_hash)
        intake = self._claimed(claim)
        kept, altered = self._settled(intake, "response", response)
        try:
            command = c.Respond(
                **self._own(claim, attempt),
                request_hash=request_hash,
                response=kept,
                response_hash=intake.hash(kept),
                altered=altered,
            )
            return self._changed(command)
        except ClaimLost:
            self._keep_lost(claim, "respond", kept, attempt=attempt, altered=altered)
            raise

    def refuse(
        self,
        claim: TurnClaim,
        attempt: int,
        error: Any,
        *,
        retryable: bool,
        retry_at: datetime | None = None,
    ) -> ProviderTurn:
        """Record that the provider said no, so that nothing happened: 401, 429, and the like.

        The turn stays claimed: give it back, or complete or fail it.

        Args:
            claim: A live claim, the attempt's own.
            attempt: The one that was dispatched.
            error: Why, as JSON; what isn't JSON is kept as its repr.
            retryable: Another attempt may help, from `retry_at` on.
            retry_at: Default by the retry policy.

        Raises:
            ClaimLost: The claim isn't live. The error is kept as evidence of the attempt.
            InvalidTransition: It isn't being dispatched, or isn't the claim's.
        """
        again = None if retry_at is None else check_time("retry_at", retry_at)
        kept, altered = self._settled(self._claimed(claim), "error", error)
        try:
            own = self._own(claim, attempt)
            facts: dict[str, Any] = {"error": kept, "altered": altered}
            command = c.Refuse(**own, **facts, retryable=bool(retryable), retry_at=again)
            return self._changed(command)
        except ClaimLost:
            self._keep_lost(claim, "refuse", kept, attempt=attempt, altered=altered)
            raise

    def reject(self, claim: TurnClaim, attempt: int, error: Any) -> ProviderTurn:
        """Say that an answer is no good. It is kept; the next `prepare` makes another attempt.

        Args:
            claim: A live claim, the attempt's own.
            attempt: The one that was answered.
            error: Why, as JSON; what isn't JSON is kept as its repr.

        Raises:
            ClaimLost: The claim isn't live.
            InvalidTransition: It isn't answered, or isn't the claim's.
        """
        kept, altered = self._settled(self._claimed(claim), "error", error)
        return self._changed(c.Reject(**self._own(claim, attempt), error=kept, altered=altered))

    def _own(self, claim: TurnClaim, attempt: int) -> dict[str, Any]:
        number = check_count("attempt", attempt)
        return {**self._shown(claim), "attempt": number}

    def _changed(self, command: c.AttemptCommand) -> ProviderTurn:
        def work(unit: UnitOfWork) -> ProviderTurn:
            repository.carry_out(unit, command, self._backend.origin())
            return attempt_in(unit, command.turn_id, command.attempt)

        return self._backend.transact(work, several=True)
