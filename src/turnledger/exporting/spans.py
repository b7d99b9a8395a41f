"""What happened, as spans: which events begin one, end one, or happen within one.

A turn is a span from its appending to its end, and so are a dispatch, an attempt, a run
and an operation. The ids are made of the ledger's ids, so that the same history gives the same
spans. Attributes are those of the semantic conventions where there are such; no content is in them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from turnledger.exporting.event import ExportedEvent
from turnledger.exporting.objects import related

INTERNAL, CLIENT, CONSUMER = 1, 3, 5  # SpanKind of OTLP
UNSET, ERROR = 0, 2  # StatusCode of OTLP
_MOST_EVENTS = 128  # of a span, as OpenTelemetry's SDKs keep them


class Rule(NamedTuple):
    """How spans of one kind of object begin and end.

    Attributes:
        kind: SpanKind.
        inside: Of which kind of object's span it is a part; empty if it begins a trace.
        begin: The events that begin one.
        end: The events that end one well.
        failed: Those that end one badly.
    """

    kind: int
    inside: str
    begin: frozenset[str]
    end: frozenset[str]
    failed: frozenset[str]


def _rule(kind: int, inside: str, category: str, *names: str) -> Rule:
    begin, end, failed = (frozenset(f"{category}.{one}" for one in name.split()) for name in names)
    return Rule(kind, inside, begin, end, failed)


RULES = {
    "turn": _rule(
        *(CONSUMER, "", "thread_queue"),
        *("appended retried resolved", "acked resolved deleted cleared", "failed"),
    ),
    "dispatch": _rule(
        *(CLIENT, "turn", "thread_queue"),
        *("dispatch_started", "acked cleared", "failed"),
    ),
    "coordinator_turn": _rule(
        *(CONSUMER, "", "coordinator_turn"),
        *("begun", "acked", "failed cancelled"),
    ),
    "attempt": _rule(
        *(CLIENT, "coordinator_turn", "coordinator_turn"),
        *("prepared", "responded resolved", "refused rejected outcome_unknown"),
    ),
    "run": _rule(INTERNAL, "", "run", "started", "finished", "interrupted"),
    "operation": _rule(
        *(CLIENT, "run", "operation"),
        *("created", "completed resolved", "orphaned never_claimed"),
    ),
}
NAMES = {  # of spans, by the semantic conventions where they have one
    "turn": "process thread_queue",
    "dispatch": "send thread_queue",
    "coordinator_turn": "invoke_agent",
    "attempt": "attempt",
    "run": "run",
    "operation": "execute_tool",
}
ATTRIBUTES = {  # of spans, beside turnledger.* ones
    "turn": {
        "messaging.system": "turnledger",
        "messaging.destination.name": "thread_queue",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
    },
    "dispatch": {
        "messaging.system": "turnledger",
        "messaging.destination.name": "thread_queue",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
    },
    "coordinator_turn": {"gen_ai.operation.name": "invoke_agent"},
    "operation": {"gen_ai.operation.name": "execute_tool"},
}
FIELDS = {  # the fields of events that become attributes of the span
    "owner": "turnledger.owner",
    "epoch": "turnledger.epoch",
    "effect": "turnledger.effect",
    "outcome_unknown": "turnledger.outcome_unknown",
    "operation_type": "gen_ai.tool.name",
    "action_id": "turnledger.action.id",
    "target": "gen_ai.agent.name",
}
WHOLE = {  # the object that a span's conversation is, and how it is called there
    "turn": ("thread", "messaging.message.conversation_id"),
    "dispatch": ("thread", "messaging.message.conversation_id"),
    "coordinator_turn": ("work_item", "gen_ai.conversation.id"),
    "operation": ("work_item", "gen_ai.conversation.id"),
}


@dataclass(slots=True)
class Span:
    """A span, under way or ended; times in microseconds."""

    kind: str
    id: str
    trace_id: str
    span_id: str
    parent_id: str
    begun_at: int
    attributes: dict[str, Any]
    events: list[tuple[int, str]] = field(default_factory=list)
    ended_at: int = 0
    status: int = UNSET


class Spans:
    """Follows events, and gives each span when it ends.

    It remembers the spans that are under way: some hundred bytes for each thing that is open.
    """

    def __init__(self, ledger_id: str) -> None:
        """Take the ledger's id, of which the spans' ids are made."""
        self._ledger_id = ledger_id
        self._open: dict[str, Span] = {}

    def follow(self, event: ExportedEvent) -> Iterator[Span]:
        """Take the next event, and give the spans that end with it."""
        said = event.fields()
        about = related(event, said)
        places = {one.kind: one.id for one in about}
        for one in about:
            rule = RULES.get(one.kind)
            if rule is None or not event.type.startswith(_category(rule)):
                continue
            begins = event.type in rule.begin and said.get("decision") in {None, "retry"}
            if begins:
                self._begin(one.kind, one.id, event, places)
            span = self._open.get(one.id)
            if span is None:
                continue
            _note(span, event, said)
            if event.type in rule.end | rule.failed and not begins:
                yield self._end(span, event, bad=event.type in rule.failed)

    def _begin(self, kind: str, name: str, event: ExportedEvent, places: dict[str, str]) -> None:
        around = places.get(RULES[kind].inside, "")
        parent = self._open.get(around)
        attributes = {**ATTRIBUTES.get(kind, {}), "turnledger.id": name.partition(":")[2]}
        whole, called = WHOLE.get(kind, ("", ""))
        if whole in places:
            attributes[called] = places[whole].partition(":")[2]
        self._open[name] = Span(
            kind,
            name,
            self._id(16, parent.id if parent is not None else around or name),
            self._id(8, f"{name}@{event.position}"),
            "" if parent is None else parent.span_id,
            event.recorded_at,
            attributes,
        )

    def _end(self, span: Span, event: ExportedEvent, *, bad: bool) -> Span:
        span.ended_at = max(span.begun_at, event.recorded_at)  # a clock may have stepped back
        span.status = ERROR if bad else UNSET
        return self._open.pop(span.id)

    def _id(self, size: int, name: str) -> str:
        return sha256(f"{self._ledger_id}\n{name}".encode()).digest()[:size].hex()


def _note(span: Span, event: ExportedEvent, said: dict[str, Any]) -> None:
    for name, attribute in FIELDS.items():
        if said.get(name) is not None:
            span.attributes[attribute] = said[name]
    if len(span.events) < _MOST_EVENTS:
        span.events.append((event.recorded_at, event.type))


def _category(rule: Rule) -> str:
    return next(iter(rule.begin)).partition(".")[0] + "."
