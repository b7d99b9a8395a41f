"""Which statements each event leads to, over all read models, compiled once for a store."""

from collections.abc import Callable, Hashable
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, cast

from sqlalchemy.engine import Dialect

from turnledger.domain.duration import to_microseconds
from turnledger.domain.event import Metadata, Receipt
from turnledger.domain.payload import encode
from turnledger.projections import (
    attachments,
    coordinator_mailbox,
    dispatches,
    due_timers,
    in_flight_provider_turns,
    inbox_messages,
    operations,
    queued_turns,
    receipts,
    runs,
)
from turnledger.projections.schema import Parameters, Reactions

READ_MODELS: tuple[Reactions, ...] = (
    queued_turns.ON,
    dispatches.ON,
    inbox_messages.ON,
    due_timers.ON,
    coordinator_mailbox.ON,
    in_flight_provider_turns.ON,
    attachments.ON,
    runs.ON,
    operations.ON,
)
TABLES = (
    queued_turns.queued_turns,
    dispatches.dispatches,
    inbox_messages.inbox_messages,
    due_timers.due_timers,
    coordinator_mailbox.coordinator_mailbox,
    in_flight_provider_turns.in_flight_provider_turns,
    attachments.attachments,
    runs.runs,
    operations.operations,
    receipts.receipts,
)

Arguments = tuple[Any, ...]
Execute = Callable[[str, Arguments], object]


class Compiled(NamedTuple):
    """A statement as the driver takes it: SQL text, and how to order its parameters."""

    sql: str
    arguments: Callable[[Parameters], Arguments]
    rows: Callable[[Any, Parameters], list[Parameters]] | None = None


def compiled(statement: Any, dialect: Dialect) -> Compiled:
    """Compile a statement for a driver that takes positional parameters."""
    result = statement.compile(dialect=dialect)
    names = list(result.positiontup or ())
    constants = {name: bind.value for name, bind in result.binds.items() if not bind.required}
    if not names:
        return Compiled(str(result), lambda _given: ())
    if len(names) == 1:
        return Compiled(str(result), lambda given: (given[names[0]],))
    in_order = itemgetter(*names)
    if not constants:
        return Compiled(str(result), in_order)
    return Compiled(str(result), lambda given: in_order(constants | given))


class Plan:
    """The statements of all read models, by event class."""

    def __init__(self, dialect: Dialect) -> None:
        """Compile them."""
        self._receipt = compiled(receipts.INSERT, dialect)
        self._steps: dict[type[Any], list[Compiled]] = {}
        for reactions in READ_MODELS:
            for kind, steps in reactions.items():
                ready = [compiled(s.statement, dialect)._replace(rows=s.rows) for s in steps]
                self._steps.setdefault(kind, []).extend(ready)

    def run(
        self, execute: Execute, stream_id: str, version: int, event: Any, recorded_at: int
    ) -> None:
        """Do to the read models what an event does to them.

        Args:
            execute: Runs a statement in the transaction.
            stream_id: Where the event stands; likewise its version.
            version: The event's version.
            event: The event.
            recorded_at: In microseconds.
        """
        steps = self._steps.get(type(event))
        if steps is None:
            return
        given = parameters(event)
        given["target"] = about = target(stream_id)
        given.setdefault("thread_id", about)
        given["version"] = version
        given["recorded_at"] = recorded_at
        for sql, arguments, rows in steps:
            if rows is None:
                execute(sql, arguments(given))
                continue
            for row in rows(event, given):
                execute(sql, arguments(row))

    def keep(
        self, execute: Execute, receipt: Receipt, stream_id: str, version: int, recorded_at: int
    ) -> None:
        """Keep the receipt of the command whose first event this is."""
        place = {"stream_id": stream_id, "version": version, "recorded_at": recorded_at}
        execute(self._receipt.sql, self._receipt.arguments({**receipt._asdict(), **place}))


@cache
def plan_for(dialect: Dialect) -> Plan:
    """The statements for a store, compiled once in a process."""
    return Plan(dialect)


def target(stream_id: str) -> str:
    """What a stream is about, a thread or an operation, say: it stands behind its categories."""
    category, _, rest = stream_id.partition(":")
    return rest.partition(":")[2] if category == "evidence" else rest


def parameters(event: Any) -> Parameters:
    """An event's fields as they are stored: times as microseconds, JSON as text."""
    given = dict(event.__dict__)
    for name, convert in _conversions(cast("Hashable", type(event))):
        given[name] = convert(given[name])
    return given


@cache
def _conversions(kind: Hashable) -> list[tuple[str, Callable[[Any], object]]]:
    found: list[tuple[str, Callable[[Any], object]]] = []
    for name, field in cast("Any", kind).model_fields.items():
        if field.annotation in (Any, dict[str, Any]):
            found.append((name, encode))
        elif name.endswith(("_at", "_before")):
            found.append((name, _stored_time))
    return found


def _stored_time(time: datetime | None) -> int | None:
    return None if time is None else to_microseconds(time)


def receipt_in(metadata: Metadata) -> Receipt | None:
    """The receipt in an event's metadata, if it says of one."""
    if "receipt" not in metadata:
        return None
    said, command = metadata["receipt"], metadata["command"]
    key, name = metadata["idempotency_key"], command["name"]
    return Receipt(said["scope"], key, name, command["id"], said["content_hash"])
