"""Which statements each event leads to, over all read models, compiled once for a store."""

from collections.abc import Callable, Hashable
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, cast

from sqlalchemy.engine import Dialect

from turnledger.domain.event import Envelope, Metadata, Unknown
from turnledger.domain.payload import encode
from turnledger.projections import dispatches, queued_turns, receipts
from turnledger.projections.schema import Parameters, Reactions, to_microseconds

READ_MODELS: tuple[Reactions, ...] = (queued_turns.ON, dispatches.ON)
TABLES = (
    queued_turns.visible_queue,
    queued_turns.in_flight_turns,
    queued_turns.settled_turns,
    dispatches.dispatches,
    receipts.receipts,
)

Arguments = tuple[Any, ...]


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

    def run(self, execute: Callable[[str, Arguments], object], envelope: Envelope) -> None:
        """Do to the read models what an event does to them.

        Args:
            execute: Runs a statement in the transaction.
            envelope: The event with its place and metadata.
        """
        stream_id, version, event, recorded_at, metadata = envelope
        steps = self._steps.get(type(event), ())
        if steps or "receipt" in metadata:
            given = {} if isinstance(event, Unknown) else parameters(event)
            given["thread_id"] = target(stream_id)
            given["version"] = version
            given["recorded_at"] = recorded_at
            for sql, arguments, rows in steps:
                for row in rows(event, given) if rows else (given,):
                    execute(sql, arguments(row))
            if "receipt" in metadata:
                receipt = _receipt(metadata, given, stream_id)
                execute(self._receipt.sql, self._receipt.arguments(receipt))


@cache
def plan_for(dialect: Dialect) -> Plan:
    """The statements for a store, compiled once in a process."""
    return Plan(dialect)


def target(stream_id: str) -> str:
    """The thread that a stream is about: what stands behind the category, or categories."""
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


def _receipt(metadata: Metadata, given: Parameters, stream_id: str) -> Parameters:
    receipt, command = metadata["receipt"], metadata["command"]
    return {
        "scope": receipt["scope"],
        "idempotency_key": metadata["idempotency_key"],
        "command": command["name"],
        "command_id": command["id"],
        "content_hash": receipt["content_hash"],
        "stream_id": stream_id,
        "version": given["version"],
        "recorded_at": given["recorded_at"],
    }
