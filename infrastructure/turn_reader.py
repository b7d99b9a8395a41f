"""What stands in a coordinator turn's events: its message, and the payloads of its attempts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import bindparam, select

from turnledger.domain import coordinator_turn, evidence
from turnledger.domain.claim import Evidence
from turnledger.domain.coordinator_turn import (
    BegunTurn,
    CoordinatorTurn,
    ProviderTurn,
    State,
)
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Envelope, Event, Unknown
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.queue_rows import UNKNOWN_TIME
from turnledger.infrastructure.rows import as_notification
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Cursor, run, statement
from turnledger.infrastructure.turn_rows import LIST, LIST_ALL, TURN, MailboxRow
from turnledger.projections.in_flight_provider_turns import provider_turn_id

UNKNOWN = "dispatch outcome is unknown"

_MAPPER = LedgerMapper(REGISTRY)
_STREAM = statement(
    select(events).where(events.c.stream_id == bindparam("stream_id")).order_by(events.c.version)
)

Pieces = list[tuple[int | None, Evidence]]  # of which attempt, or of the turn itself


class TurnReader:
    """Reads coordinator turns as a transaction sees them."""

    def __init__(self, cursor: Cursor, dialect: str) -> None:
        """Take where to look."""
        self._cursor = cursor
        self._dialect = dialect

    def row(self, turn_id: str) -> MailboxRow | None:
        """Where a turn stands; None if it never was."""
        row = run(self._cursor, self._dialect, TURN, {"turn_id": turn_id}).fetchone()
        return None if row is None else MailboxRow(*row)

    def rows(self, work_item_id: str | None, status: str | None) -> list[MailboxRow]:
        """The turns of a work item, or of all, in the order in which they were begun."""
        given = {"work_item_id": work_item_id, "status": status}
        what = LIST_ALL if work_item_id is None else LIST
        found = run(self._cursor, self._dialect, what, given).fetchall()
        return [MailboxRow(*row) for row in found]

    def turn(self, row: MailboxRow) -> BegunTurn:
        """A turn with all that its events say."""
        story = _Story(row.turn_id)
        unreadable: str | None = None
        try:
            story.take_all(self._envelopes(coordinator_turn.stream_id(row.turn_id)))
            pieces = self.evidence(row.turn_id)
        except Unreadable as error:
            unreadable, pieces = str(error.facts["reason"]), []
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            unreadable, pieces = f"damaged: {error}", []
        return _as_turn(row, story, pieces, unreadable)

    def attempt(self, turn_id: str, number: int) -> ProviderTurn:
        """One attempt, which is there.

        Raises:
            Unreadable: An event of the turn can't be read.
        """
        story = _Story(turn_id)
        story.take_all(self._envelopes(coordinator_turn.stream_id(turn_id)))
        return story.attempts(self.evidence(turn_id))[number - 1]

    def evidence(self, turn_id: str) -> Pieces:
        """What was kept of a turn and of its attempts."""
        stream_id = evidence.stream_id(coordinator_turn.stream_id(turn_id))
        return [
            (envelope.event.attempt, _as_evidence(envelope.event, envelope.recorded_at))
            for envelope in self._envelopes(stream_id)
            if isinstance(envelope.event, evidence.Evidence.KeptOfTurn)
        ]

    def _envelopes(self, stream_id: str) -> list[Envelope]:
        found = run(self._cursor, self._dialect, _STREAM, {"stream_id": stream_id}).fetchall()
        return [cast("Envelope", _MAPPER.to_domain_event(as_notification(row))) for row in found]


class _Story:
    """What the events of a turn say, folded one after the other."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._attempts: list[dict[str, Any]] = []
        self.state = State()
        self.said: dict[str, Any] = {"message": None}

    def take_all(self, envelopes: Iterable[Envelope]) -> None:
        """Take the events in order.

        Raises:
            Unreadable: One of them can't be read.
        """
        for envelope in envelopes:
            if isinstance(envelope.event, Unknown):
                place = f"version {envelope.originator_version} of turn {self._turn_id}"
                raise Unreadable(place, envelope.event.reason)
            self._take(envelope.event, envelope.recorded_at)

    def attempts(self, pieces: Pieces) -> tuple[ProviderTurn, ...]:
        """The attempts so far."""
        told = zip(self._attempts, self.state.attempts, strict=True)
        return tuple(
            ProviderTurn(
                provider_turn_id=provider_turn_id(self._turn_id, number),
                turn_id=self._turn_id,
                attempt=number,
                **known._asdict(),
                **said,
                evidence=tuple(piece for which, piece in pieces if which == number),
            )
            for number, (said, known) in enumerate(told, 1)
        )

    def _take(self, event: Event, recorded_at: int) -> None:
        self.state = coordinator_turn.evolve(self.state, event)
        at = from_microseconds(recorded_at)
        match event:
            case CoordinatorTurn.Begun():
                self.said |= {"message": event.message, "attachments": event.attachments}
            case CoordinatorTurn.Acked():
                self.said |= {"result": event.result, "altered": event.altered}
            case CoordinatorTurn.Failed():
                self.said |= {"error": event.error, "altered": event.altered}
            case CoordinatorTurn.Cancelled():
                self.said |= {"reason": event.reason, "altered": event.altered}
                self._lose_latest()
            case CoordinatorTurn.Prepared():
                self._attempts.append({"request": event.request, "prepared_at": at})
            case CoordinatorTurn.Resolved():
                self._resolve(event, at)
            case _:
                self._take_of_attempt(event, at)

    def _take_of_attempt(self, event: Event, at: Any) -> None:
        match event:
            case CoordinatorTurn.DispatchStarted():
                changes: dict[str, Any] = {"dispatched_at": at}
            case CoordinatorTurn.Responded():
                changes = event.model_dump(include={"response", "response_hash", "altered"})
            case CoordinatorTurn.Refused():
                changes = event.model_dump(include={"error", "retryable", "altered"})
            case CoordinatorTurn.Rejected():
                changes = event.model_dump(include={"error", "altered"})
            case CoordinatorTurn.OutcomeUnknown():
                changes = {"error": UNKNOWN}
            case _:
                return
        self._attempts[event.attempt - 1] |= changes

    def _lose_latest(self) -> None:
        latest = self.state.latest
        if latest is not None and latest.status == "unknown":
            self._attempts[-1]["error"] = UNKNOWN

    def _resolve(self, event: CoordinatorTurn.Resolved, at: Any) -> None:
        attempt = self._attempts[event.attempt - 1]
        attempt["resolved_by"] = event.by
        attempt["altered"] = event.altered
        if event.decision == "adopt":
            answer = {"response": event.response, "response_hash": event.response_hash}
            attempt.update(answer, error=None)
            return
        attempt["error"] = event.reason
        if event.decision == "retry":
            self._attempts.append({"request": attempt["request"], "prepared_at": at})


def _as_turn(row: MailboxRow, story: _Story, pieces: Pieces, unreadable: str | None) -> BegunTurn:
    times = (row.created_at, row.updated_at, row.lease_expires_at, row.not_before)
    known, damage = _times(times)
    try:
        attempts = story.attempts(pieces)
    except ValueError:  # the event that can't be read was one of an attempt's
        attempts = ()
    return BegunTurn(
        turn_id=row.turn_id,
        work_item_id=row.work_item_id,
        turn_order=row.turn_order,
        kind=row.kind,
        target=row.target,
        status=row.status,
        created_at=known[0] or UNKNOWN_TIME,
        updated_at=known[1] or UNKNOWN_TIME,
        outcome=row.outcome,
        **story.said,
        attempts=attempts,
        owner=row.owner,
        epoch=row.epoch,
        expires_at=known[2],
        not_before=known[3],
        evidence=tuple(piece for which, piece in pieces if which is None),
        unreadable=unreadable or damage,
    )


def _times(stored: Sequence[int | None]) -> tuple[list[datetime | None], str | None]:
    """Stored times, and what is wrong with them: then none of them is told."""
    try:
        return [None if one is None else from_microseconds(one) for one in stored], None
    except (TypeError, OverflowError) as error:
        return [None] * len(stored), f"damaged: {error}"


def _as_evidence(event: evidence.Evidence.KeptOfTurn, recorded_at: int) -> Evidence:
    said = event.model_dump(include={"owner", "epoch", "kind", "value", "altered"})
    return Evidence(**said, recorded_at=from_microseconds(recorded_at))
