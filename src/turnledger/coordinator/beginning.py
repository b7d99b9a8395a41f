"""Beginning turns: each waits behind the others of its work item."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from turnledger.claiming import MINUTE, Seconds, claimer
from turnledger.coordinator.desk import CoordinatorDesk
from turnledger.domain import coordinator_turn
from turnledger.domain.coordinator_turn import BegunTurn, CoordinatorTurn, TurnClaim
from turnledger.domain.coordinator_turn.commands import Begin
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import IdempotencyConflict, InvalidPayload
from turnledger.domain.event import Envelope, Event
from turnledger.domain.identifier import check_identifier
from turnledger.domain.payload import canonical_hash
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.attachment_folder import contents_of, hold
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.receipts import Idempotency, first_events

Attachment = str | os.PathLike[str] | bytes


class Beginning(CoordinatorDesk):
    """The part of `ledger.coordinator` for those who have something to be answered."""

    def begin(  # noqa: PLR0913 - all that can be said of a turn
        self,
        work_item_id: str,
        message: Any,
        *,
        kind: str = "message",
        target: str = "coordinator",
        turn_id: str | None = None,
        idempotency_key: str | None = None,
        owner: str | None = None,
        lease: Seconds = MINUTE,
        attachments: Iterable[Attachment] = (),
    ) -> BegunTurn:
        """Let a turn wait, behind the others of its work item; or begin and claim it in one step.

        Args:
            work_item_id: What it is about; it comes to be with its first turn.
            message: JSON, opaque to turnledger.
            kind: message, recovery, or another word of the host's.
            target: Who is to answer it.
            turn_id: Unique in the ledger, and a key as well. Default: a UUIDv7.
            idempotency_key: The same again with the same arguments gives the first result.
            owner: Who claims it at once.
            lease: For how long, as seconds or a timedelta.
            attachments: Files, by their paths, or bytes. They are stored before the commit.

        Returns:
            The turn; its `claim` is the owner's, or None for a duplicate.

        Raises:
            IdempotencyConflict: The key or the id was used for something else.
        """
        check_identifier("work_item_id", work_item_id)
        chosen = None if turn_id is None else check_identifier("turn_id", turn_id)
        intake = self._backend.contents.of_work_item(work_item_id)
        contents = self._contents(attachments, intake)
        command = Begin(
            turn_id=chosen or self._backend.new_id(),
            work_item_id=work_item_id,
            turn_order=0,
            message=intake.payload("message", message, self._settings.max_payload_bytes),
            kind=check_identifier("kind", kind),
            target=check_identifier("target", target),
            attachments=tuple(contents),
            **({} if owner is None else claimer(self._settings, owner, lease)),
        )
        idempotency = _idempotency(command, idempotency_key, chosen, intake)
        return self._create(command, idempotency, chosen, contents)

    def _create(
        self,
        command: Begin,
        idempotency: Idempotency | None,
        chosen: str | None,
        contents: dict[str, bytes],
    ) -> BegunTurn:
        def work(unit: UnitOfWork) -> BegunTurn:
            known: Sequence[Envelope] | None = None
            if idempotency is not None:
                known = first_events(self._backend, unit, idempotency)
            if not known and chosen is not None:
                known = self._begun_before(command)
            if known:
                return _first_result(known)
            if contents and self._folder is not None:
                hold(unit, alone=False)
                self._folder.keep(contents, self._seconds())
            origin = self._backend.origin()
            return self._begin(unit, command, idempotency.marked(origin) if idempotency else origin)

        return self._backend.transact(work, several=True)

    def _begin(self, unit: UnitOfWork, command: Begin, origin: Origin) -> BegunTurn:
        events, context = repository.begin(unit, command, origin)
        turn = _as_begun(command.turn_id, events, context.recorded_at)
        if turn.status == "pending":
            return turn
        claim = TurnClaim(
            turn_id=turn.turn_id,
            owner=str(turn.owner),
            epoch=turn.epoch,
            generation=self._backend.generation,
            work_item_id=turn.work_item_id,
            expires_at=turn.expires_at,
            message=turn.message,
            kind=turn.kind,
            target=turn.target,
            attachments=turn.attachments,
        )
        return replace(turn, claim=claim)

    def _begun_before(self, command: Begin) -> Sequence[Envelope] | None:
        """The events that began a turn with the id that the caller chose, if it is known."""
        stream_id = coordinator_turn.stream_id(command.turn_id)
        first = next(self._backend.application.envelopes(stream_id, until=1), None)
        if first is None:
            return None
        event = first.event
        same = isinstance(event, CoordinatorTurn.Begun) and canonical_hash(
            _content(event)
        ) == canonical_hash(_content(command))
        if not same:
            raise IdempotencyConflict("the ledger", command.turn_id, command.NAME)
        return [first]

    def _contents(self, attachments: Iterable[Attachment], intake: Intake) -> dict[str, bytes]:
        """The contents by their hash, as they are stored; written before the transaction begins.

        Raises:
            InvalidPayload: One can't be read, or there is no folder to put it in.
        """
        if isinstance(attachments, str | bytes) or not isinstance(attachments, Iterable):
            raise InvalidPayload("attachments", "must be a list of paths or bytes")
        given = list(attachments)
        if not given:
            return {}
        if self._folder is None:
            reason = "need a folder: turnledger.open(..., attachments=FOLDER)"
            raise InvalidPayload("attachments", reason)
        contents = dict(map(intake.file, contents_of(given)))
        self._folder.keep(contents, self._seconds())
        return contents

    def _seconds(self) -> float:
        return self._backend.clock().timestamp()


def _idempotency(
    command: Begin, key: str | None, chosen: str | None, intake: Intake
) -> Idempotency | None:
    said = {**_content(command), "turn_id": chosen}
    return Idempotency.of_work_item(command.work_item_id, key, command.NAME, said, intake)


def _content(what: Any) -> dict[str, Any]:
    """All that a caller says of a turn, but its names, and who claims it."""
    return {
        "work_item_id": what.work_item_id,
        "message": what.message,
        "kind": what.kind,
        "target": what.target,
        "attachments": list(what.attachments),
    }


def _as_begun(turn_id: str, events: Sequence[Event], recorded_at: Any) -> BegunTurn:
    begun = cast("CoordinatorTurn.Begun", events[0])
    turn = BegunTurn(
        turn_id=turn_id,
        work_item_id=begun.work_item_id,
        turn_order=begun.turn_order,
        message=begun.message,
        kind=begun.kind,
        target=begun.target,
        status="pending",
        created_at=begun.created_at,
        updated_at=recorded_at,
        attachments=begun.attachments,
    )
    claimed = events[1] if len(events) > 1 else None
    if not isinstance(claimed, CoordinatorTurn.Claimed):
        return turn
    facts = claimed.model_dump(include={"owner", "epoch", "expires_at"})
    return replace(turn, status="claimed", **facts)


def _first_result(known: Sequence[Envelope]) -> BegunTurn:
    turn_id = known[0].originator_id.partition(":")[2]
    events = [cast("Event", envelope.event) for envelope in known]
    first = _as_begun(turn_id, events, from_microseconds(known[0].recorded_at))
    return replace(first, duplicate=True)
