"""Replaying the log into memory: the same projections, on a database of its own.

What comes out is what the read models and the head rows ought to be. A stream with an event that
this release can't read is left out, and named.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy.schema import CreateTable

from turnledger.domain import (
    coordinator_turn,
    evidence,
    inbox,
    operation,
    run,
    thread,
    thread_queue,
    timer,
    work_item,
)
from turnledger.domain.event import Envelope, Unknown
from turnledger.domain.payload import encode
from turnledger.infrastructure.inbox_replay import InboxReplay
from turnledger.infrastructure.mapper import NO_HASH
from turnledger.infrastructure.operation_replay import OperationReplay
from turnledger.infrastructure.queue_replay import QueueReplay
from turnledger.infrastructure.rows import NOTHING_READY, StoredState
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Row
from turnledger.infrastructure.timer_replay import TimerReplay
from turnledger.infrastructure.turn_replay import TurnReplay
from turnledger.infrastructure.unread import UnreadStreams
from turnledger.projections.plan import TABLES, plan_for, receipt_in, target

_QUEUE_PREFIX = thread_queue.stream_id("")
_READING_PREFIX = inbox.stream_id("")  # these are folded on rows, so all before is projected
_UNTOUCHED = thread.State()
_WRONG = (ValueError, KeyError, sqlite3.Error)


class Broken(NamedTuple):
    """A rule that a history breaks."""

    position: int
    message: str


Placed = tuple[int, Envelope, bytes]  # an event with its position and its hash
Last = tuple[int, int, bytes]  # a stream's last event: its version, recorded_at and hash

_NO_EVENT: Last = (0, 0, NO_HASH)


class Aggregate(NamedTuple):
    """How the streams of a category are replayed."""

    take: Callable[[str, Any, int], None]
    stored: Callable[[str], StoredState]


class Replay(UnreadStreams):
    """Folds events, in the order of their positions.

    Attributes:
        broken: The rules that the history breaks.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        super().__init__()
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        for table in TABLES:
            self._database.execute(str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])))
        self._database.execute("BEGIN")  # once: a transaction for each statement takes its time
        self._execute = self._database.cursor().execute
        self._plan = plan_for(DIALECTS[SQLITE])
        self.broken: list[Broken] = []
        self._folded: list[Placed] = []  # and not projected yet
        self._queues = QueueReplay(self._life)
        self._inboxes = InboxReplay(self._database)
        self._timers = TimerReplay(self._database)
        self._turns = TurnReplay(self._database)
        self._operations = OperationReplay(self.unread)
        self._lives: dict[str, thread.State] = {}
        self._evidence: set[tuple[str, str, str, int, str]] = set()
        self._last: dict[str, Last] = {}
        turns, operations = self._turns, self._operations
        self._aggregates = {
            thread_queue.CATEGORY: Aggregate(self._queues.folded, self._queues.stored),
            inbox.CATEGORY: Aggregate(self._take_inbox, self._inboxes.stored),
            timer.CATEGORY: Aggregate(self._take_timer, self._timers.stored),
            thread.CATEGORY: Aggregate(self._take_life, self._stored_life),
            evidence.CATEGORY: Aggregate(self._keep, _stored_evidence),
            coordinator_turn.CATEGORY: Aggregate(_timeless(turns.folded), turns.stored),
            work_item.CATEGORY: Aggregate(_timeless(turns.folded_item), turns.stored_item),
            run.CATEGORY: Aggregate(_timeless(operations.folded_run), operations.stored_run),
            operation.CATEGORY: Aggregate(_timeless(operations.folded), operations.stored),
        }

    def add(self, position: int, envelope: Envelope, chained: bytes) -> None:
        """Take the next event."""
        self.add_all(((position, envelope, chained),))

    def add_all(self, events: Iterable[Placed]) -> None:
        """Take the next events: first all are folded, then all are projected.

        To do the same with many takes a quarter less than one after the other.
        """
        for placed in events:
            position, envelope, _ = placed
            stream_id, _, event, recorded_at, _ = envelope
            if self._folded and stream_id.startswith(_READING_PREFIX):
                self._project()
            if type(event) is Unknown:
                self._project()
                self.unread.setdefault(stream_id, event.reason)
                self._timers.unread(stream_id, event)
            elif stream_id not in self.unread:
                try:
                    self._aggregate(stream_id).take(stream_id, event, recorded_at)
                except _WRONG as error:
                    self._project()
                    self._break(position, envelope, error)
                else:
                    self._folded.append(placed)
        self._project()

    def _project(self) -> None:
        """Do to the read models what those events do to them that were folded."""
        run, keep, execute, unread = self._plan.run, self._plan.keep, self._execute, self.unread
        for position, envelope, chained in self._folded:
            stream_id, version, event, recorded_at, metadata = envelope
            if stream_id in unread:
                continue
            try:
                run(execute, stream_id, version, event, recorded_at)
                if metadata and (receipt := receipt_in(metadata)) is not None:
                    keep(execute, receipt, stream_id, version, recorded_at)
            except _WRONG as error:
                self._break(position, envelope, error)
            else:
                self._last[stream_id] = (version, recorded_at, chained)
        self._folded.clear()

    def _break(self, position: int, envelope: Envelope, error: Exception) -> None:
        """Note that an event breaks a rule, unless one before it did."""
        stream_id, topic = envelope.originator_id, getattr(envelope.event, "TOPIC", "")
        if stream_id not in self.unread:
            self.broken.append(Broken(position, f"{topic}: {error}"))
            self.unread[stream_id] = f"{topic} can't follow what came before it"

    def rows(self, table: str, key: str) -> Iterator[Row]:
        """A read model's rows, in the order of its key."""
        yield from self._database.execute(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608

    def rows_of_heads(self) -> Iterator[Row]:
        """What the head rows ought to be, by their streams."""
        for stream_id in sorted(self._queues_without_events() | set(self._last)):
            yield self._row_of_head(stream_id)

    def row_of_head(self, stream_id: str) -> Row | None:
        """What a stream's head row ought to be, if there ought to be one."""
        known = stream_id in self._last or self._is_met_upon(stream_id)
        return self._row_of_head(stream_id) if known else None

    def _is_met_upon(self, stream_id: str) -> bool:
        """Whether it is the queue of a thread of which something else is known."""
        thread_id = target(stream_id)
        return stream_id.startswith(_QUEUE_PREFIX) and (
            thread_id in self._lives
            or thread_id in self._timers.threads
            or inbox.stream_id(thread_id) in self._inboxes.states
        )

    def _queues_without_events(self) -> set[str]:
        """The queues of threads of which something else is known, on whose row commands meet."""
        threads = (*self._lives, *map(target, self._inboxes.states), *self._timers.threads)
        return {thread_queue.stream_id(thread_id) for thread_id in threads}

    def _row_of_head(self, stream_id: str) -> Row:
        version, recorded_at, chained = self._last.get(stream_id, _NO_EVENT)
        stored = self._aggregate(stream_id).stored(stream_id)
        state = (stream_id, version, *stored, recorded_at)
        if not stream_id.startswith(_QUEUE_PREFIX):
            return (*state, "active", *NOTHING_READY, chained)
        life = self._life(target(stream_id))
        return (*state, life, *self._queues.columns(stream_id, life), chained)

    def close(self) -> None:
        """Let the memory go."""
        self._database.close()

    def _aggregate(self, stream_id: str) -> Aggregate:
        category = stream_id.partition(":")[0]
        known = self._aggregates.get(category)
        if known is None:
            msg = f"no aggregate has streams of the category {category!r}"
            raise ValueError(msg)
        return known

    def _take_inbox(self, stream_id: str, event: Any, _recorded_at: int) -> None:
        self._inboxes.folded(stream_id, event, self._life(target(stream_id)))

    def _take_timer(self, stream_id: str, event: Any, _recorded_at: int) -> None:
        life = self._life(self._timers.thread_of(stream_id, event))
        self._timers.folded(stream_id, event, life)

    def _take_life(self, stream_id: str, event: Any, _recorded_at: int) -> None:
        thread_id = target(stream_id)
        life = self._lives.get(thread_id, _UNTOUCHED)
        _must(life.lifecycle != "deleted", "a deleted thread is deleted for ever")
        begun = life.is_used and isinstance(event, thread.Thread.Forked)
        _must(not begun, "a thread is forked before anything else")
        self._lives[thread_id] = thread.evolve(life, event)

    def _stored_life(self, stream_id: str) -> StoredState:
        life = self._lives[target(stream_id)]
        return StoredState(0, thread.STATE_FORM, encode(life.stored()))

    def _life(self, thread_id: str) -> thread.Lifecycle:
        """The life of a thread, so far."""
        return self._lives.get(thread_id, _UNTOUCHED).lifecycle

    def _keep(self, stream_id: str, event: Any, _recorded_at: int) -> None:
        about = stream_id.partition(":")[2]
        state = (
            self._queues.state(about)
            or self._inboxes.states.get(about)
            or self._turns.states.get(about)
        )
        given = self._operations.given.get(about, 0) if state is None else state.epoch
        names = ("queued_turn_id", "message_id", "attempt")
        target_id = str(next((getattr(event, one) for one in names if hasattr(event, one)), ""))
        piece = (stream_id, target_id, event.owner, event.epoch, event.kind)
        _must(piece not in self._evidence, "the same evidence is kept once")
        _must(0 < event.epoch <= given, "evidence is of an epoch that was given out")
        self._evidence.add(piece)


def _timeless(take: Callable[[str, Any], None]) -> Callable[[str, Any, int], None]:
    """Of an aggregate that needs no times."""
    return lambda stream_id, event, _recorded_at: take(stream_id, event)


def _stored_evidence(_stream_id: str) -> StoredState:
    return StoredState(0, evidence.STATE_FORM, "{}")


def _must(holds: bool, rule: str) -> None:  # noqa: FBT001 - what holds, and its name
    if not holds:
        raise ValueError(rule)
