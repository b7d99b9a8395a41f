"""What commands are decided on, as it was before each: all states, folded from the events."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from turnledger.domain import coordinator_turn, evidence, operation, run, timer, work_item
from turnledger.domain.event import Event
from turnledger.infrastructure.deciding import threads
from turnledger.infrastructure.deciding.kinds import UNKNOWN, Known
from turnledger.infrastructure.deciding.threads import ThreadStates

_TARGETS = ("queued_turn_id", "message_id", "attempt")


class States:
    """The states of all streams, by the aggregates' own `evolve`: nothing of them is stored."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.threads = ThreadStates()
        self._turns: dict[str, coordinator_turn.State] = {}
        self._items: dict[str, work_item.State] = {}
        self._runs: dict[str, run.State] = {}
        self._operations: dict[str, operation.State] = {}
        self._created: dict[str, Event] = {}  # of operations that haven't begun
        self._evidence: defaultdict[tuple[str, str], set[tuple[str, int, str]]] = defaultdict(set)

    def before(self, stream_id: str, event: Event) -> Any:
        """What the command was decided on that led to an event which isn't folded yet."""
        category = stream_id.partition(":")[0]
        match category:
            case coordinator_turn.CATEGORY:
                return self._turns.get(stream_id, coordinator_turn.State())
            case work_item.CATEGORY:
                return self._items.get(stream_id, work_item.State())
            case run.CATEGORY:
                return self._runs.get(stream_id, run.State())
            case operation.CATEGORY:
                state = self._operations.get(stream_id, operation.State())
                about = run.stream_id(self._run_of(stream_id, event))
                return state._replace(run=self._runs.get(about, run.State()))
            case evidence.CATEGORY:
                return frozenset(self._evidence[stream_id, _target(event)])
            case _:
                return self.threads.before(stream_id, event)

    def fold(self, stream_id: str, event: Event, recorded_at: int) -> None:
        """Take an event.

        Args:
            stream_id: Where it is.
            event: What happened.
            recorded_at: When, in microseconds since 1970.

        Raises:
            ValueError: It can't follow what came before it; also KeyError, IndexError, TypeError.
        """
        category = stream_id.partition(":")[0]
        if category in threads.CATEGORIES:
            self.threads.fold(stream_id, event, recorded_at)
        elif category == evidence.CATEGORY:
            said: Any = event
            piece = (said.owner, said.epoch, said.kind)
            self._evidence[stream_id, _target(event)].add(piece)
        else:
            self._fold_work(category, stream_id, event)

    def known(self, stream_id: str, state: Any) -> Known:
        """What is in no record of a command.

        Args:
            stream_id: Where its first event is, which isn't folded yet.
            state: What it was decided on.
        """
        if isinstance(state, timer.State):
            return Known(thread_id=state.thread_id)
        created = self._created.get(stream_id)
        return UNKNOWN if created is None else Known(earlier=(created,))

    def depends_on(self, stream_id: str, event: Event) -> Iterator[str]:
        """The other streams on which a decision depends, before its first event is folded."""
        category = stream_id.partition(":")[0]
        if category in threads.CATEGORIES:
            yield from self.threads.depends_on(stream_id, event)
        elif category == operation.CATEGORY:
            yield run.stream_id(self._run_of(stream_id, event))

    def _fold_work(self, category: str, stream_id: str, event: Event) -> None:
        match category:
            case coordinator_turn.CATEGORY:
                turn = self._turns.get(stream_id, coordinator_turn.State())
                self._turns[stream_id] = coordinator_turn.evolve(turn, event)
            case work_item.CATEGORY:
                item = self._items.get(stream_id, work_item.State())
                self._items[stream_id] = work_item.evolve(item, event)
            case run.CATEGORY:
                held = self._runs.get(stream_id, run.State())
                self._runs[stream_id] = run.evolve(held, event)
            case operation.CATEGORY:
                effect = self._operations.get(stream_id, operation.State())
                self._operations[stream_id] = effect = operation.evolve(effect, event)
                if isinstance(event, operation.Operation.Created):
                    self._created[stream_id] = event
                elif effect.execution != "not_started":
                    self._created.pop(stream_id, None)
            case _:
                msg = f"no aggregate has streams of the category {category!r}"
                raise ValueError(msg)

    def _run_of(self, stream_id: str, event: Event) -> str:
        """The run that an operation belongs to: what created it says so."""
        known = self._operations.get(stream_id)
        return str(getattr(event, "run_id", "")) if known is None else known.run_id


def _target(event: Event) -> str:
    """What a piece of evidence is about, within the stream."""
    return str(next((getattr(event, one) for one in _TARGETS if hasattr(event, one)), ""))
