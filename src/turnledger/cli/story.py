"""What a person thinks in: turns, messages, operations, each with what happened to it in time.

A story is told from events alone: in which phase its subject was from when to when, and how it
came out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from turnledger import RecordedEvent

Phase = Literal["waiting", "running", "sent", "over"]

_KINDS = {
    "thread_queue": "queued turn",
    "inbox": "message",
    "timer": "timer",
    "coordinator_turn": "turn",
    "operation": "operation",
    "run": "run",
}
_NAMED = {"thread_queue": "queued_turn_id", "inbox": "message_id"}  # else the stream says it
_PHASES: dict[str, Phase] = {
    **dict.fromkeys(("appended", "posted", "begun", "created"), "waiting"),
    **dict.fromkeys(("released", "recovered", "retried", "requeued"), "waiting"),
    **dict.fromkeys(("claimed", "started", "taken_over"), "running"),
    "dispatch_started": "sent",
    **dict.fromkeys(("acked", "failed", "deleted", "cleared", "cancelled"), "over"),
    **dict.fromkeys(("confirmed", "expired", "rejected"), "over"),
    **dict.fromkeys(("completed", "orphaned", "never_claimed", "resolved"), "over"),
    **dict.fromkeys(("finished", "interrupted"), "over"),
}
_OF_ATTEMPT: dict[str, Phase] = {
    "prepared": "waiting",
    "dispatch_started": "sent",
    **dict.fromkeys(("responded", "refused", "rejected", "outcome_unknown", "resolved"), "over"),
}


@dataclass(slots=True)
class Span:
    """A phase from one time to another; it goes on if that is None."""

    phase: Phase
    since: datetime
    until: datetime | None = None


@dataclass(slots=True)
class Story:
    """What happened to one thing.

    Attributes:
        kind: What it is, as people say it.
        id: Its id; of an attempt, its number.
        outcome: How it stands by now.
        facts: Who held it, and what the outcome says.
        spans: Its phases, in order.
        positions: Of its events.
        attempts: The provider turns of a coordinator turn, or the dispatches of a queued turn.
    """

    kind: str
    id: str
    outcome: str = ""
    facts: dict[str, object] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    attempts: list["Story"] = field(default_factory=list)

    def seconds(self, *phases: Phase, now: datetime) -> float:
        """How long it was in some phases, up to now."""
        spans = (one for one in self.spans if one.phase in phases)
        return sum(((one.until or now) - one.since).total_seconds() for one in spans)

    def take(self, event: RecordedEvent, word: str, phase: Phase | None) -> None:
        """The next event about it."""
        self.positions.append(event.position)
        if phase is None:
            return
        self.outcome = word
        if self.spans and self.spans[-1].until is None:
            self.spans[-1].until = event.recorded_at
        if phase == "over":
            self._leave_attempts(event.recorded_at)
        if phase != "over":
            self.spans.append(Span(phase, event.recorded_at))
        elif not self.spans:
            self.spans.append(Span("waiting", event.recorded_at, event.recorded_at))

    def _leave_attempts(self, time: datetime) -> None:
        """It is over: what was prepared isn't sent any more."""
        for span in (one.spans[-1] for one in self.attempts if one.spans):
            if span.until is None and span.phase == "waiting":
                span.until = time

    def as_json(self, now: datetime) -> dict[str, Any]:
        """For programs; times in UTC, durations in seconds up to now."""
        return {
            "kind": self.kind,
            "id": self.id,
            "outcome": self.outcome,
            "facts": self.facts,
            "waited_seconds": self.seconds("waiting", now=now),
            "ran_seconds": self.seconds("running", "sent", now=now),
            "spans": self.spans,
            "attempts": [one.as_json(now) for one in self.attempts],
            "positions": self.positions,
        }


def told(events: Iterable[RecordedEvent]) -> list[Story]:
    """The stories of events that are in order, each at the place of its first event."""
    teller = _Teller()
    for event in events:
        teller.take(event)
    return list(teller.stories.values())


class _Teller:
    """The stories so far, by kind and id."""

    def __init__(self) -> None:
        self.stories: dict[tuple[str, str], Story] = {}

    def take(self, event: RecordedEvent) -> None:
        """The next event; what is about nothing that has a story is left out."""
        category, _, name = event.stream_id.partition(":")
        if category not in _KINDS:
            return
        fields = cast("dict[str, Any]", event.data) if isinstance(event.data, dict) else {}
        word = event.type.rpartition(".")[2]
        for one in self._ids(category, name, word, fields):
            key = (_KINDS[category], one)
            story = self.stories.setdefault(key, Story(*key))
            self._tell(story, event, word, fields)

    def _ids(self, category: str, name: str, word: str, fields: dict[str, Any]) -> list[str]:
        """Which things of a stream an event is about."""
        if category not in _NAMED:
            return [name]
        if word != "cleared":
            named = fields.get(_NAMED[category])
            return [named] if isinstance(named, str) else []
        flying = [fields["in_flight_id"]] if fields.get("in_flight_id") else []
        if category == "thread_queue":
            return [*fields.get("queued_turn_ids", ()), *flying]
        open_ones = (one for kind, one in self.stories if kind == "message")
        return [one for one in open_ones if _is_open(self.stories["message", one])]

    def _tell(self, story: Story, event: RecordedEvent, word: str, fields: dict[str, Any]) -> None:
        attempt = self._attempt(story, word, fields)
        if attempt is not None:
            of_attempt = _OF_ATTEMPT if word in _OF_ATTEMPT else _PHASES
            attempt.take(event, _outcome(word, fields), of_attempt.get(word))
        if story.kind == "turn" and attempt is not None:
            story.positions.append(event.position)
            return
        phase = _PHASES.get(word)
        if fields.get("decision") == "retry":
            phase = "waiting"
        story.take(event, _outcome(word, fields), phase)
        said = {name: fields[name] for name in ("owner", "epoch", "failure") if fields.get(name)}
        story.facts.update(said)

    def _attempt(self, story: Story, word: str, fields: dict[str, Any]) -> Story | None:
        """The attempt or dispatch that an event is about."""
        if story.kind == "turn" and isinstance(fields.get("attempt"), int):
            return _one_of(story, "attempt", str(fields["attempt"]))
        if story.kind != "queued turn":
            return None
        if word == "dispatch_started":
            return _one_of(story, "dispatch", str(fields.get("dispatch_id")))
        ends = _PHASES.get(word) == "over" and story.attempts and _is_open(story.attempts[-1])
        return story.attempts[-1] if ends else None


def _one_of(story: Story, kind: str, name: str) -> Story:
    for one in story.attempts:
        if one.id == name:
            return one
    story.attempts.append(Story(kind, name))
    return story.attempts[-1]


def _is_open(story: Story) -> bool:
    return bool(story.spans) and story.spans[-1].until is None


def _outcome(word: str, fields: dict[str, Any]) -> str:
    """How it stands, in a word or two."""
    if fields.get("outcome_unknown"):
        return f"{word}, outcome unknown"
    more = fields.get("effect") or fields.get("decision")
    return f"{word}, {more}" if isinstance(more, str) else word
