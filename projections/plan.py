"""Which statements each event leads to, over all read models, compiled once for a store."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from pydantic_core import PydanticUndefined
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
    names: frozenset[str] = frozenset()
    rows: Callable[[Any, Parameters], list[Parameters]] | None = None


def compiled(statement: Any, dialect: Dialect) -> Compiled:
    """Compile a statement for a driver that takes positional parameters."""
    result = statement.compile(dialect=dialect)
    names = list(result.positiontup or ())
    constants = {name: bind.value for name, bind in result.binds.items() if not bind.required}
    given = frozenset(names) - constants.keys()
    if not names:
        return Compiled(str(result), lambda _given: ())
    if len(names) == 1:
        return Compiled(str(result), lambda given: (given[names[0]],), given)
    in_order = itemgetter(*names)
    if not constants:
        return Compiled(str(result), in_order, given)
    return Compiled(str(result), lambda given: in_order(given | constants), given)


class Field(NamedTuple):
    """A field of an event that a statement needs.

    Attributes:
        of_event: What is stored of the event's value; None for the value itself.
        of_json: Likewise of its JSON.
        default: Where the JSON doesn't say it.
    """

    name: str
    of_event: Callable[[Any], object] | None
    of_json: Callable[[Any], object] | None
    default: Any


class Reaction(NamedTuple):
    """What an event does to all read models.

    Attributes:
        kind: Its class.
        converted: The fields of which something else is stored than the event's value, and what.
        is_plain: No statement needs more than fields, so that the event's JSON is enough.
    """

    kind: type[Any]
    steps: tuple[Compiled, ...]
    fields: tuple[Field, ...]
    converted: tuple[tuple[str, Callable[[Any], object]], ...]
    is_plain: bool


class Plan:
    """The statements of all read models, by event class."""

    def __init__(self, dialect: Dialect) -> None:
        """Compile them."""
        self._receipt = compiled(receipts.INSERT, dialect)
        steps: dict[type[Any], list[Compiled]] = defaultdict(list)
        for reactions in READ_MODELS:
            for kind, each in reactions.items():
                steps[kind] += [compiled(s.statement, dialect)._replace(rows=s.rows) for s in each]
        self._reactions = {kind: _reaction(kind, ready) for kind, ready in steps.items()}
        self._by_name = {
            (kind.TOPIC, kind.SCHEMA_VERSION): one for kind, one in self._reactions.items()
        }

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
        reaction = self._reactions.get(type(event))
        if reaction is None:
            return
        given: Parameters = event.__dict__.copy()
        for name, convert in reaction.converted:
            given[name] = convert(given[name])
        _run(execute, reaction, event, given, (stream_id, version, recorded_at))

    def run_stored(
        self, execute: Execute, kind: tuple[str, int], said: Any, place: tuple[str, int, int]
    ) -> None:
        """Likewise, of a stored event's JSON; where that is enough, no event is made of it.

        Args:
            execute: Runs a statement.
            kind: The event's type and schema version.
            said: Its data.
            place: Its stream, its version, and when it was recorded.

        Raises:
            ValueError: The data isn't of such an event.
        """
        reaction = self._by_name.get(kind)
        if reaction is None:
            return
        if not reaction.is_plain:
            stream_id, version, recorded_at = place
            event = reaction.kind.model_validate(said)
            self.run(execute, stream_id, version, event, recorded_at)
            return
        given: Parameters = {}
        for name, _, convert, default in reaction.fields:
            value = said.get(name, default)
            if value is PydanticUndefined:
                msg = f"{kind[0]} has no {name}"
                raise ValueError(msg)
            given[name] = value if convert is None else convert(value)
        _run(execute, reaction, None, given, place)

    def keep(
        self, execute: Execute, receipt: Receipt, stream_id: str, version: int, recorded_at: int
    ) -> None:
        """Keep the receipt of the command whose first event this is."""
        place = {"stream_id": stream_id, "version": version, "recorded_at": recorded_at}
        execute(self._receipt.sql, self._receipt.arguments({**receipt._asdict(), **place}))


def _run(
    execute: Execute,
    reaction: Reaction,
    event: Any,
    given: Parameters,
    place: tuple[str, int, int],
) -> None:
    stream_id, given["version"], given["recorded_at"] = place
    given["target"] = about = target(stream_id)
    given.setdefault("thread_id", about)
    for sql, arguments, _, rows in reaction.steps:
        if rows is None:
            execute(sql, arguments(given))
            continue
        for row in rows(event, given):
            execute(sql, arguments(row))


def _reaction(kind: type[Any], steps: list[Compiled]) -> Reaction:
    wanted = frozenset(("thread_id",)).union(*(step.names for step in steps))
    fields = tuple(
        Field(name, _of_event(name, field), _of_json(name, field), field.default)
        for name, field in kind.model_fields.items()
        if name in wanted
    )
    converted = tuple((one.name, one.of_event) for one in fields if one.of_event is not None)
    is_plain = all(step.rows is None for step in steps)
    return Reaction(kind, tuple(steps), fields, converted, is_plain)


@cache
def plan_for(dialect: Dialect) -> Plan:
    """The statements for a store, compiled once in a process."""
    return Plan(dialect)


def target(stream_id: str) -> str:
    """What a stream is about, a thread or an operation, say: it stands behind its categories."""
    category, _, rest = stream_id.partition(":")
    return rest.partition(":")[2] if category == "evidence" else rest


def _is_json(field: Any) -> bool:
    return field.annotation in (Any, dict[str, Any])


def _is_time(name: str) -> bool:
    return name.endswith(("_at", "_before"))


def _of_event(name: str, field: Any) -> Callable[[Any], object] | None:
    """How a value is stored: times as microseconds, JSON as text."""
    if _is_json(field):
        return encode
    return _stored_time if _is_time(name) else None


def _of_json(name: str, field: Any) -> Callable[[Any], object] | None:
    if _is_json(field):
        return encode
    return _stored_text if _is_time(name) else None


def _stored_time(time: datetime | None) -> int | None:
    return None if time is None else to_microseconds(time)


def _stored_text(text: str | None) -> int | None:
    return None if text is None else to_microseconds(datetime.fromisoformat(text))


def receipt_in(metadata: Metadata) -> Receipt | None:
    """The receipt in an event's metadata, if it says of one."""
    if "receipt" not in metadata:
        return None
    said, command = metadata["receipt"], metadata["command"]
    key, name = metadata["idempotency_key"], command["name"]
    return Receipt(said["scope"], key, name, command["id"], said["content_hash"])
