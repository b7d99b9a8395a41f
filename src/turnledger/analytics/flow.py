"""`ledger.flow`: which ways things went, and how long each step of them took.

The graph of what follows directly on what (a directly-follows graph), and the variants: whole ways
from the beginning to the end, and how many went each. A way is kept as a node of a tree of ways, so
that the memory doesn't grow with the things that went the same one.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from turnledger.analytics.life import Places
from turnledger.analytics.reading import Reading, Seen
from turnledger.analytics.stats import checked_range
from turnledger.analytics.tally import percentile
from turnledger.domain.errors import InvalidPayload

Of = Literal["queued_turns", "coordinator_turns", "operations", "messages"]
Step = tuple[str, str]

_SECOND = 1e6
_ROOT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStep:
    """What followed directly on what.

    Attributes:
        source: What happened, in a word or two, such as `claimed`.
        target: What happened next to the same thing.
        count: How often.
        median: Of the time between them, in seconds (nearest rank); likewise p95.
    """

    source: str
    target: str
    count: int
    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A whole way, and those that went it.

    Attributes:
        steps: What happened, in order.
        count: How many went it.
        share: Of all that are over; from 0 to 1.
        median: Of the time from the beginning to the end, in seconds; likewise p95.
    """

    steps: tuple[str, ...]
    count: int
    share: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The ways that things of one kind went.

    Attributes:
        of: Their kind.
        over: How many came to their end in the range of time.
        unfinished: How many that are known to have begun haven't come to their end.
        happened: How often what happened, in the range.
        steps: What followed directly on what, the most frequent first.
        variants: The ways of those that are over, the most frequent first.
        events: How many events were read.
        unread: How many of them couldn't be read: of a newer release, or damaged.
    """

    of: Of
    over: int
    unfinished: int
    happened: dict[str, int]
    steps: tuple[FlowStep, ...]
    variants: tuple[Variant, ...]
    events: int
    unread: int


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a kind is told by.

    Attributes:
        category: Of its streams.
        named: The field that says which one of the stream an event is about; None if the stream is
            of one alone.
        begins: The word with which one begins.
        ends: Those with which one is over.
        words: What else happens on the way.
    """

    category: str
    named: str | None
    begins: str
    ends: frozenset[str]
    words: tuple[str, ...]

    def types(self) -> dict[str, str]:
        """The word of each type of event."""
        plain = {end.partition(",")[0] for end in self.ends}
        words = {self.begins, *self.words, *plain}
        return {f"{self.category}.{word}": word for word in words}


_KINDS: dict[Of, _Kind] = {
    "queued_turns": _Kind(
        "thread_queue",
        "queued_turn_id",
        "appended",
        frozenset({"acked", "deleted", "cleared", "resolved, acked"}),
        ("claimed", "released", "recovered", "dispatch_started", "failed", "retried"),
    ),
    "coordinator_turns": _Kind(
        "coordinator_turn",
        None,
        "begun",
        frozenset({"acked", "acked, completed", "failed", "cancelled"}),
        (
            *("claimed", "released", "recovered", "prepared", "dispatch_started", "responded"),
            *("refused", "rejected", "outcome_unknown", "resolved"),
        ),
    ),
    "operations": _Kind(
        "operation",
        None,
        "created",
        frozenset(
            f"{word}, {effect}"
            for word in ("completed", "resolved")
            for effect in ("applied", "not_applied", "failed_no_effect")
        )
        | {"never_claimed"},
        ("claimed", "cancel_requested", "orphaned"),
    ),
    "messages": _Kind(
        "inbox",
        "message_id",
        "posted",
        frozenset({"confirmed", "deleted", "cleared"}),
        ("claimed", "released", "recovered", "expired", "rejected", "requeued"),
    ),
}


class _Way:
    """Where something is on its way.

    Attributes:
        node: Of the tree of ways.
        word: What happened last; microseconds: when, and when it began.
    """

    __slots__ = ("at", "began", "node", "word")

    def __init__(self, at: int) -> None:
        self.node, self.word = _ROOT, ""
        self.at = self.began = at


class _Ways:
    """The ways so far."""

    def __init__(self, kind: _Kind, within: Callable[[int], bool]) -> None:
        self.open: dict[tuple[str, str], _Way] = {}
        self.places = Places()
        self.happened: dict[str, int] = {}
        self.steps: dict[Step, array[float]] = {}
        self.variants: dict[int, array[float]] = {}
        self._kind, self._within = kind, within
        self._nodes: dict[tuple[int, str], int] = {}
        self._parents: list[tuple[int, str]] = [(_ROOT, "")]

    def take(self, event: Seen, word: str) -> None:
        """The next event."""
        named = self._kind.named
        if word == "cleared":
            for key in self.places.of(event.name):
                self._go(key, word, event.recorded_at)
            return
        key = (event.name, event.fields[named] if named else "")
        if word == self._kind.begins:
            self.open[key] = _Way(event.recorded_at)
            self.places.add(key)
        if key in self.open:
            self._go(key, _label(word, event), event.recorded_at)

    def _go(self, key: tuple[str, str], word: str, at: int) -> None:
        way, counts = self.open[key], self._within(at)
        if counts:
            self.happened[word] = self.happened.get(word, 0) + 1
            if way.word:
                step = self.steps.setdefault((way.word, word), array("d"))
                step.append(max(at - way.at, 0) / _SECOND)
        way.node, way.word, way.at = self._node(way.node, word), word, at
        if word in self._kind.ends:
            del self.open[key]
            self.places.remove(key)
            if counts:
                whole = self.variants.setdefault(way.node, array("d"))
                whole.append(max(at - way.began, 0) / _SECOND)

    def _node(self, parent: int, word: str) -> int:
        node = self._nodes.get((parent, word))
        if node is None:
            node = self._nodes[parent, word] = len(self._parents)
            self._parents.append((parent, word))
        return node

    def words(self, node: int) -> tuple[str, ...]:
        """The whole way to a node."""
        words: list[str] = []
        while node != _ROOT:
            node, word = self._parents[node]
            words.append(word)
        return tuple(reversed(words))


def _label(word: str, event: Seen) -> str:
    """What happened, in a word or two."""
    fields = event.fields
    if fields.get("outcome_unknown"):
        return f"{word}, outcome unknown"
    if fields.get("completed"):
        return f"{word}, completed"
    more = fields.get("effect") or fields.get("decision")
    return f"{word}, {more}" if isinstance(more, str) else word


def flow(reading: Reading, of: Of, *, since: datetime | None, until: datetime | None) -> Flow:
    """Read the events, and follow each thing; see `Ledger.flow`."""
    begin, end = checked_range(since, until)
    if of not in get_args(Of):
        raise InvalidPayload("of", f"must be one of {', '.join(get_args(Of))}, not {of!r}")

    def within(at: int) -> bool:
        return (begin is None or at >= begin) and (end is None or at < end)

    kind = _KINDS[of]
    types, ways = kind.types(), _Ways(kind, within)
    for event in reading.seen(types):
        if end is None or event.recorded_at < end:
            try:
                ways.take(event, types[event.type])
            except (KeyError, TypeError):
                reading.unread += 1
    over = sum(map(len, ways.variants.values()))
    return Flow(
        of=of,
        over=over,
        unfinished=len(ways.open),
        happened=dict(sorted(ways.happened.items(), key=lambda one: (-one[1], one[0]))),
        steps=_steps(ways),
        variants=_variants(ways, over),
        events=reading.events,
        unread=reading.unread,
    )


def _steps(ways: _Ways) -> tuple[FlowStep, ...]:
    found: list[FlowStep] = []
    for (source, target), lasted in ways.steps.items():
        median, p95 = _median_and_p95(lasted)
        found.append(
            FlowStep(source=source, target=target, count=len(lasted), median=median, p95=p95)
        )
    return tuple(sorted(found, key=lambda step: (-step.count, step.source, step.target)))


def _variants(ways: _Ways, over: int) -> tuple[Variant, ...]:
    found: list[Variant] = []
    for node, lasted in ways.variants.items():
        median, p95 = _median_and_p95(lasted)
        count = len(lasted)
        way = ways.words(node)
        found.append(Variant(steps=way, count=count, share=count / over, median=median, p95=p95))
    return tuple(sorted(found, key=lambda variant: (-variant.count, variant.steps)))


def _median_and_p95(lasted: "array[float]") -> tuple[float, float]:
    ordered = sorted(lasted)
    return percentile(ordered, 50), percentile(ordered, 95)
