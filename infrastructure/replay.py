"""Replaying the log into memory: the same projections, on a database of its own.

What comes out is what the read models and the head rows ought to be. A stream with an event that
this release can't read is left out, and named.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Table
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
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.inbox_replay import InboxReplay
from turnledger.infrastructure.operation_replay import OperationReplay, stream_of
from turnledger.infrastructure.rows import NOTHING_READY, Head
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Row
from turnledger.infrastructure.timer_replay import TimerReplay
from turnledger.infrastructure.turn_replay import TurnReplay, turn_of
from turnledger.projections.due_timers import due_timers
from turnledger.projections.operations import operations
from turnledger.projections.plan import TABLES, plan_for, receipt_in, target
from turnledger.projections.receipts import receipts
from turnledger.projections.runs import runs

_KNOWN = "SELECT 1 FROM queued_turns WHERE thread_id = ? AND queued_turn_id = ?"

_QUEUE_PREFIX = thread_queue.stream_id("")
_TIMER_PREFIX = timer.stream_id("")
_TURN_PREFIX = coordinator_turn.stream_id("")
_OF_NO_THREAD = {
    *(timer.CATEGORY, coordinator_turn.CATEGORY, work_item.CATEGORY),
    *(run.CATEGORY, operation.CATEGORY),
}
_RECEIPT_STREAM = list(receipts.columns).index(receipts.c.stream_id)


class Broken(NamedTuple):
    """A rule that a history breaks."""

    position: int
    message: str


class Replay:
    """Folds events, in the order of their positions.

    Attributes:
        heads: What the head row of each stream ought to be.
        broken: The rules that the history breaks.
        unread: The streams that can't be replayed, with the reason.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        for table in TABLES:
            self._database.execute(str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])))
        self._plan = plan_for(DIALECTS[SQLITE])
        self._inboxes = InboxReplay(self._database)
        self._timers = TimerReplay(self._database)
        self._turns = TurnReplay(self._database)
        self.unread: dict[str, str] = {}
        self._operations = OperationReplay(self.unread)
        self._folds: dict[str, Callable[[str, Any], Head]] = {
            thread.CATEGORY: self._folded_life,
            evidence.CATEGORY: self._folded_evidence,
            coordinator_turn.CATEGORY: self._turns.folded,
            work_item.CATEGORY: self._turns.folded_item,
            run.CATEGORY: self._operations.folded_run,
            operation.CATEGORY: self._operations.folded,
        }
        self._queues: dict[str, thread_queue.State] = {}
        self._in_flight_at: dict[str, int] = defaultdict(int)
        self._appended: dict[str, int] = {}
        self._lives: dict[str, thread.State] = {}
        self._evidence: set[tuple[str, str, str, int, str]] = set()
        self.heads: dict[str, Head] = {}
        self.broken: list[Broken] = []

    def add(self, position: int, envelope: Envelope, chained: bytes) -> None:
        """Take the next event."""
        stream_id, version, event, recorded_at, _ = envelope
        if isinstance(event, Unknown):
            self.unread.setdefault(stream_id, event.reason)
            self._timers.unread(stream_id, event)
            return
        if stream_id in self.unread:
            return
        try:
            head = self._folded(stream_id, event, recorded_at)
            self._project(envelope)
        except (ValueError, KeyError, sqlite3.Error) as error:
            self.broken.append(Broken(position, f"{event.TOPIC}: {error}"))
            self.unread[stream_id] = f"{event.TOPIC} can't follow what came before it"
            return
        self.heads[stream_id] = head._replace(
            version=version, recorded_at=recorded_at, hash=chained
        )
        self._check(position, stream_id)

    def rows(self, table: str, key: str) -> Iterator[Row]:
        """A read model's rows, in the order of its key."""
        yield from self._database.execute(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608

    def unread_threads(self) -> set[str]:
        """The threads of the streams that can't be replayed; what isn't a thread's is left out."""
        return {target(one) for one in self.unread if _kind(one) not in _OF_NO_THREAD}

    def unread_timers(self) -> set[str]:
        """The timers that can't be replayed."""
        return {target(one) for one in self.unread if one.startswith(_TIMER_PREFIX)}

    def unread_turns(self) -> set[str]:
        """The coordinator turns that can't be replayed."""
        return {target(one) for one in self.unread if one.startswith(_TURN_PREFIX)}

    def unread_operations(self) -> list[tuple[Table, str]]:
        """The runs and operations that can't be replayed: the table, and the key of the row."""
        kinds = {run.CATEGORY: runs, operation.CATEGORY: operations}
        found = {(_kind(one), target(one)) for one in self.unread if _kind(one) in kinds}
        return [(kinds[kind], key) for kind, key in sorted(found)]

    def is_unread_stream(self, stream_id: str) -> bool:
        """Whether what a stream's head row ought to be isn't known."""
        if _kind(stream_id) in _OF_NO_THREAD:
            return stream_id in self.unread
        return target(stream_id) in self.unread_threads()

    def is_unread(self, table: str, row: Row) -> bool:
        """Whether what a read model's row ought to be isn't known."""
        if table == due_timers.name:
            return timer.stream_id(str(row[0])) in self.unread or row[1] in self.unread_threads()
        turn_id = turn_of(table, row)
        if turn_id is not None:
            return coordinator_turn.stream_id(turn_id) in self.unread
        about = stream_of(table, row)
        if about is not None:
            return not {about, evidence.stream_id(about)}.isdisjoint(self.unread)
        if table == receipts.name and row[_RECEIPT_STREAM] in self.unread:
            return True
        return str(row[0]).removeprefix("thread:") in self.unread_threads()

    def rows_of_heads(self) -> Iterator[Row]:
        """What the head rows ought to be, by their streams."""
        threads = (*map(target, (*self._lives, *self._inboxes.states)), *self._timers.threads)
        queues = {thread_queue.stream_id(thread_id) for thread_id in threads}
        for stream_id in sorted(queues | set(self.heads)):
            yield self._row_of_head(stream_id)

    def _row_of_head(self, stream_id: str) -> Row:
        if not stream_id.startswith(_QUEUE_PREFIX):
            head = self.heads[stream_id]
            return (*head[:6], "active", *NOTHING_READY, head.hash)
        state = self._queues.get(stream_id, thread_queue.State())
        empty = Head(stream_id, 0, 0, thread_queue.STATE_FORM, encode(state.scalars()))
        head = self.heads.get(stream_id, empty)
        life = self._life(stream_id)
        state = state.but(lifecycle=life)
        queue = repository.queue_columns(state, state, self._in_flight_at[stream_id], 0)
        return (*head[:6], life, *queue, head.hash)

    def close(self) -> None:
        """Let the memory go."""
        self._database.close()

    def _project(self, envelope: Envelope) -> None:
        stream_id, version, event, recorded_at, metadata = envelope
        execute = self._database.execute
        self._plan.run(execute, stream_id, version, event, recorded_at)
        receipt = receipt_in(metadata)
        if receipt is not None:
            self._plan.keep(execute, receipt, stream_id, version, recorded_at)

    def _folded(self, stream_id: str, event: Any, recorded_at: int) -> Head:
        category = stream_id.partition(":")[0]
        match category:
            case thread_queue.CATEGORY:
                state = self._queue(stream_id, event, recorded_at)
                text = encode(state.scalars())
                return Head(stream_id, 0, state.epoch, thread_queue.STATE_FORM, text)
            case timer.CATEGORY:
                thread_id = self._timers.thread_of(stream_id, event)
                lifecycle = self._life(thread.stream_id(thread_id))
                return self._timers.folded(stream_id, event, lifecycle)
            case inbox.CATEGORY:
                return self._inboxes.folded(stream_id, event, self._life(stream_id))
            case _ if category in self._folds:
                return self._folds[category](stream_id, event)
            case _:
                msg = f"no aggregate has streams of the category {category!r}"
                raise ValueError(msg)

    def _folded_life(self, stream_id: str, event: Any) -> Head:
        life = self._lives.get(stream_id, thread.State())
        _must(life.lifecycle != "deleted", "a deleted thread is deleted for ever")
        begun = life.is_used and isinstance(event, thread.Thread.Forked)
        _must(not begun, "a thread is forked before anything else")
        self._lives[stream_id] = life = thread.evolve(life, event)
        return Head(stream_id, 0, 0, thread.STATE_FORM, encode(life.stored()))

    def _folded_evidence(self, stream_id: str, event: Any) -> Head:
        self._keep(stream_id, event)
        return Head(stream_id, 0, 0, evidence.STATE_FORM)

    def _life(self, stream_id: str) -> thread.Lifecycle:
        """The life of the thread that a stream is about, so far."""
        return self._lives.get(thread.stream_id(target(stream_id)), thread.State()).lifecycle

    def _queue(self, stream_id: str, event: Any, recorded_at: int) -> thread_queue.State:
        life = self._life(stream_id)
        before = self._queues.get(stream_id, thread_queue.State()).but(lifecycle=life)
        _must_not(thread_queue.broken_rule(before, event))
        if isinstance(event, ThreadQueue.Appended):
            known = (target(stream_id), event.queued_turn_id)
            known_row = self._database.execute(_KNOWN, known).fetchone()
            _must(known_row is None, "a queued turn is appended once")
            self._appended[stream_id] = self._appended.get(stream_id, 0) + 1
        state = thread_queue.pruned(thread_queue.evolve(before, event))
        if state.in_flight is not before.in_flight:
            self._in_flight_at[stream_id] = recorded_at
        self._queues[stream_id] = state
        return state

    def _keep(self, stream_id: str, event: Any) -> None:
        about = stream_id.partition(":")[2]
        state = (
            self._queues.get(about)
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

    def _check(self, position: int, stream_id: str) -> None:
        """The rules that hold of a queue, always."""
        state = self._queues.get(stream_id)
        if state is None:
            return
        flying = int(state.in_flight is not None)
        known = state.visible + flying + state.acked + state.deleted
        appended = self._appended.get(stream_id, 0)
        if appended != known or state.visible < 0:
            message = f"{appended} turns were appended, {known} are accounted for"
            self.broken.append(Broken(position, message))


def _kind(stream_id: str) -> str:
    """The category of a stream, or of what its evidence is about."""
    category, _, rest = stream_id.partition(":")
    return rest.partition(":")[0] if category == evidence.CATEGORY else category


def _must(holds: bool, rule: str) -> None:  # noqa: FBT001 - what holds, and its name
    if not holds:
        raise ValueError(rule)


def _must_not(broken: str | None) -> None:
    if broken is not None:
        raise ValueError(broken)
