"""Unknown outcomes: keeping what came too late, and deciding what became of an attempt."""

from dataclasses import replace
from types import EllipsisType
from typing import Any, get_args

from turnledger.coordinator.desk import CoordinatorDesk, attempt_in, found
from turnledger.domain import evidence
from turnledger.domain.coordinator_turn import Attempt, BegunTurn, ProviderTurn, State
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.guards import must_be_begun
from turnledger.domain.errors import InvalidPayload, InvalidTransition, TurnNotFound
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.domain.payload import settle_text, shown
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.unit_of_work import UnitOfWork

_ANSWERS = ("respond", "late_response")


class Resolving(CoordinatorDesk):
    """The part of `ledger.coordinator` for those who find out what became of a dispatch."""

    def late_response(self, turn_id: str, attempt: int, response: Any) -> ProviderTurn:
        """Keep an answer that came when nobody could use it any more; `resolve` can adopt it.

        It needs no claim, and changes no state. A second one of the same attempt isn't kept.

        Returns:
            The attempt, with its evidence.

        Raises:
            TurnNotFound: There is no such turn.
            InvalidTransition: The attempt was never dispatched.
        """
        check_identifier("turn_id", turn_id)
        number = check_count("attempt", attempt)
        kept, altered = self._settled(self._intake(turn_id), "response", response)

        def keep(unit: UnitOfWork) -> None:
            dispatched = _sent(repository.load(unit, turn_id).state, number)
            if dispatched is None:
                return
            report = evidence.KeepOfTurn(
                turn_id=turn_id,
                attempt=number,
                owner=dispatched.owner,
                epoch=dispatched.epoch,
                kind="late_response",
                value=kept,
                altered=altered,
            )
            self._keep(unit, report)

        def work(unit: UnitOfWork) -> ProviderTurn:
            _must_be_sent(repository.load(unit, turn_id).state, turn_id, number)
            return attempt_in(unit, turn_id, number)

        self._backend.keep(keep)
        return self._backend.transact(work)

    def resolve(  # noqa: PLR0913 - what is decided, by whom, and why
        self,
        turn_id: str,
        attempt: int,
        decision: c.Decision,
        *,
        by: str,
        response: Any | EllipsisType = ...,
        reason: Any = None,
    ) -> BegunTurn:
        """Decide what became of an attempt whose outcome is unknown.

        Args:
            turn_id: The turn.
            attempt: Its attempt.
            decision: adopt (its answer is known), retry (send the same request once more, in the
                next attempt), or cancel.
            by: Who decides.
            response: To adopt; default the last one that came too late.
            reason: Why, as JSON.

        Returns:
            The turn; what goes on in it belongs to its current claim, or to the next one.

        Raises:
            TurnNotFound: There is no such turn.
            InvalidTransition: The attempt's outcome isn't unknown (any more); there is no answer to
                adopt; or the turn is settled, so nothing of it is retried.
        """
        _check_decision(decision)
        who, altered = settle_text("by", by, self._settings.max_result_bytes)
        intake = self._intake(check_identifier("turn_id", turn_id))
        why, why_altered = self._settled(intake, "reason", reason)
        command = c.Resolve(
            turn_id=turn_id,
            attempt=check_count("attempt", attempt),
            decision=decision,
            by=who,
            reason=why,
            altered=altered or why_altered,
        )

        def work(unit: UnitOfWork) -> BegunTurn:
            wished = command
            if decision == "adopt":
                wished = self._adopting(unit, command, response, intake)
            repository.carry_out(unit, wished, self._backend.origin())
            return found(unit, turn_id)

        return self._backend.transact(work, several=True)

    def _adopting(
        self, unit: UnitOfWork, command: c.Resolve, response: Any, intake: Intake
    ) -> c.Resolve:
        """The command with the answer that is to be adopted."""
        must_be_begun(repository.load(unit, command.turn_id).state, command)
        if response is not ...:
            kept, altered = self._settled(intake, "response", response)
        else:
            pieces = repository.reader(unit).evidence(command.turn_id)
            mine = (piece for attempt, piece in pieces if attempt == command.attempt)
            answers = [piece for piece in mine if piece.kind in _ANSWERS]
            if not answers:
                reason = f"no answer of attempt {command.attempt} is known; pass response="
                raise InvalidTransition(command.turn_id, command.NAME, reason, kind="turn")
            kept, altered = answers[-1].value, answers[-1].altered
        return replace(
            command,
            response=kept,
            response_hash=intake.hash(kept),
            altered=command.altered or altered,
        )


def _check_decision(decision: object) -> None:
    if decision not in get_args(c.Decision):
        words = ", ".join(get_args(c.Decision))
        raise InvalidPayload("decision", f"must be one of {words}, not {shown(decision)}")


def _sent(state: State, number: int) -> Attempt | None:
    """An attempt, if it was sent."""
    attempt = state.attempt(number)
    return None if attempt is None or attempt.status == "prepared" else attempt


def _must_be_sent(state: State, turn_id: str, number: int) -> None:
    if state.status is None:
        raise TurnNotFound(turn_id)
    if _sent(state, number) is None:
        reason = f"attempt {number} was never dispatched"
        raise InvalidTransition(turn_id, "late_response", reason, kind="turn")
