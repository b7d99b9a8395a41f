"""What the parts of `ledger.coordinator` share: carrying out one command, what is lost, what is."""

from collections.abc import Sequence
from typing import Any

from turnledger.claiming import checked_claim, claimed_id, keep_evidence, shown
from turnledger.domain import coordinator_turn, evidence
from turnledger.domain.coordinator_turn import (
    BegunTurn,
    CoordinatorTurn,
    ProviderTurn,
    TurnClaim,
)
from turnledger.domain.coordinator_turn.commands import TurnCommand
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.payload import decode
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.attachment_folder import AttachmentFolder
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.turn_rows import MESSAGE
from turnledger.infrastructure.unit_of_work import UnitOfWork


class CoordinatorDesk:
    """Loads, decides and saves."""

    def __init__(self, backend: Backend, folder: AttachmentFolder | None) -> None:
        """Take what the ledger's services share, and where attachments lie."""
        self._backend = backend
        self._settings = backend.settings
        self._folder = folder

    def _done(self, command: TurnCommand) -> Sequence[Event]:
        """Carry out one command in a transaction of its own."""

        def work(unit: UnitOfWork) -> Sequence[Event]:
            return repository.carry_out(unit, command, self._backend.origin())[0]

        return self._backend.transact(work, several=True)

    def _turn(self, command: TurnCommand) -> BegunTurn:
        """Likewise; returns the turn after it."""

        def work(unit: UnitOfWork) -> BegunTurn:
            repository.carry_out(unit, command, self._backend.origin())
            return found(unit, command.turn_id)

        return self._backend.transact(work, several=True)

    def _shown(self, claim: TurnClaim) -> dict[str, Any]:
        return shown(self._backend, claim, TurnClaim)

    def _intake(self, turn_id: str) -> Intake:
        """What comes in about a turn's work item."""

        def work_item_id() -> str | None:
            row = self._backend.look(lambda unit: repository.reader(unit).row(turn_id))
            return None if row is None else str(row.work_item_id)

        return self._backend.contents.of_work_item_of(work_item_id)

    def _claimed(self, claim: TurnClaim) -> Intake:
        """Likewise, about a claimed turn's.

        Raises:
            InvalidInput: It is no claim.
        """
        return self._intake(checked_claim(claim, TurnClaim)[1])

    def _settled(self, intake: Intake, name: str, value: Any) -> tuple[Any, bool]:
        return intake.settled(name, value, self._settings.max_result_bytes)

    def _given_out(self, unit: UnitOfWork, turn_id: str, work_item_id: str) -> TurnClaim:
        """A claim on a turn, but for whose it is.

        Raises:
            Unreadable: The stored message is damaged.
        """
        given = {"stream_id": coordinator_turn.stream_id(turn_id), "first": 1}
        with repository.saying_unreadable(f"the message of turn {turn_id}"):
            row = unit.run(MESSAGE, given).fetchone()
            begun = CoordinatorTurn.Begun.model_validate(decode(row[0]))
        self._backend.contents.must_be_there(f"the message of turn {turn_id}", begun.message)
        return TurnClaim(
            turn_id=turn_id,
            owner="",
            epoch=0,
            generation=self._backend.generation,
            work_item_id=work_item_id,
            message=begun.message,
            kind=begun.kind,
            target=begun.target,
            attachments=begun.attachments,
        )

    def _keep_lost(
        self,
        claim: TurnClaim,
        kind: str,
        value: Any,
        *,
        attempt: int | None = None,
        altered: bool = False,
    ) -> None:
        """Keep a result whose claim is lost, if that claim was ever given out.

        It has a transaction of its own, committed before the refusal goes on to the caller.
        """
        stream_id = coordinator_turn.stream_id(claim.turn_id)

        def work(unit: UnitOfWork) -> None:
            if claimed_id(unit, stream_id, CoordinatorTurn.Claimed, "owner", claim) is None:
                return
            state = repository.load(unit, claim.turn_id).state
            if attempt is not None and state.attempt(attempt) is None:
                return
            report = evidence.KeepOfTurn(
                turn_id=claim.turn_id,
                attempt=attempt,
                owner=claim.owner,
                epoch=claim.epoch,
                kind=kind,
                value=value,
                altered=altered,
            )
            self._keep(unit, report)

        self._backend.keep(work)

    def _keep(self, unit: UnitOfWork, report: evidence.KeepOfTurn) -> None:
        with repository.saying_unreadable(f"the evidence of turn {report.turn_id}"):
            pieces = repository.reader(unit).evidence(report.turn_id)
        known = [piece for attempt, piece in pieces if attempt == report.attempt]
        stream_id = coordinator_turn.stream_id(report.turn_id)
        keep_evidence(self._backend, unit, stream_id, known, report)


def found(unit: UnitOfWork, turn_id: str) -> BegunTurn:
    """A turn that is known to be there."""
    reader = repository.reader(unit)
    row = reader.row(turn_id)
    if row is None:
        raise Unreadable(f"turn {turn_id}", "its row is missing")
    return reader.turn(row)


def attempt_in(unit: UnitOfWork, turn_id: str, number: int) -> ProviderTurn:
    """An attempt that is known to be there.

    Raises:
        Unreadable: An event of its turn is damaged.
    """
    with repository.saying_unreadable(f"turn {turn_id}"):
        return repository.reader(unit).attempt(turn_id, number)
