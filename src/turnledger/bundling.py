"""`ledger.bundle`: the evidence about one thread or work item, in a file that proves itself.

The file is a ledger of the streams about it, their events with the same bytes, hashes and positions
(ADR 26).
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select

from turnledger.checkpoint_note import Checkpoint
from turnledger.checkpoints import Grown, take
from turnledger.domain import evidence, run
from turnledger.domain.errors import NothingRecorded, StoreDamaged
from turnledger.domain.settings import Settings
from turnledger.infrastructure import bundle_file, ledger_row, rows
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.bundle_file import Contents
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.copy_target import CopiedEvent, CopyTarget, ThreadRows
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.merkle import siblings
from turnledger.infrastructure.new_file import new_file
from turnledger.infrastructure.opening import open_store
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Cursor, Row
from turnledger.infrastructure.statement import run as run_statement
from turnledger.infrastructure.subject import Subject, streams_of
from turnledger.infrastructure.unread_rows import unread_rows
from turnledger.projections.operations import operations
from turnledger.verify import verify

_PAGE = 500  # names or positions in one statement, and events in one transaction
_MAPPER = LedgerMapper(REGISTRY)
_SETTINGS = Settings(synchronous="NORMAL")  # the file is synced when it is whole
_e = events.c

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What was written.

    Attributes:
        path: The file.
        events: How many events are in it; likewise streams.
        checkpoint: Of the whole log, in which they are proven to be.
    """

    path: str
    events: int
    streams: int
    checkpoint: Checkpoint


def bundle(backend: Backend, path: Path, subject: Subject) -> Bundle:
    """Write the bundle about something; it appears under its name when it is whole.

    Raises:
        InvalidPayload: There is a file of that name; or the ledger is a bundle itself.
        NothingRecorded: No event is about it.
        StoreDamaged: The log isn't whole.
    """
    bundle_file.refuse(backend.store, "make the other one of the ledger itself")
    with new_file(path, "bundle") as partial:
        bundling = _Bundling(backend, subject)
        grown = bundling.grown()
        bundling.write(partial)
        bundle_file.complete(partial, bundling.contents(grown))
        _look_at(partial)
    return Bundle(
        path=str(path),
        events=len(bundling.positions),
        streams=len(bundling.ends),
        checkpoint=grown.checkpoint,
    )


class _Bundling:
    """One call's work.

    Attributes:
        positions: Of the events that are about it.
        ends: Of each of their streams the version and the position of the last one.
    """

    def __init__(self, backend: Backend, subject: Subject) -> None:
        self._backend = backend
        self._store = backend.store
        self._subject = subject
        self._store.number()
        with self._store.reading(snapshot=True) as cursor:
            found = run_statement(cursor, self._store.dialect, rows.MAX_POSITION, {}).fetchone()
            self._size: int = found[0] or 0
            names = self._streams(cursor)
        self.positions = sorted(self._positions(names))
        if not self.positions:
            raise NothingRecorded(subject.kind, subject.id)
        self.ends: dict[str, tuple[int, int]] = {}

    def _streams(self, cursor: Cursor) -> list[str]:
        """The streams about it, and those of the runs under which its operations were executed."""
        names = dict.fromkeys(streams_of(cursor, self._store.dialect, self._subject))
        if self._subject.kind == "work_item":
            mark = "?" if self._store.dialect == "sqlite" else "%s"
            query = f"SELECT DISTINCT run_id FROM {operations.name} WHERE work_item_id = {mark}"  # noqa: S608
            for (run_id,) in cursor.execute(query, (self._subject.id,)).fetchall():
                of_run = run.stream_id(run_id)
                names.update(dict.fromkeys((of_run, evidence.stream_id(of_run))))
        return list(names)

    def _positions(self, names: list[str]) -> Iterator[int]:
        for chosen in _pages(names):
            query = select(_e.position).where(_e.stream_id.in_(chosen), _e.position <= self._size)
            yield from (position for (position,) in self._backend.recorder.select(query))

    def grown(self) -> Grown:
        """The log's tree, with what proves that the events are in it."""
        ways = (siblings(position - 1, self._size) for position in self.positions)
        return take(self._backend, self._size, frozenset(node for way in ways for node in way))

    def contents(self, grown: Grown) -> Contents:
        """What the bundle holds beside a ledger's tables."""
        return Contents(self._subject, str(grown.checkpoint), self.ends, grown.tree.kept)

    def write(self, path: Path) -> None:
        """Write a ledger's file with the events, and what follows from them."""
        with self._store.reading() as cursor:
            ledger = ledger_row.known(cursor)
        if ledger is None:
            raise StoreDamaged(self._store.url, "it doesn't say which ledger it is")
        chain, replay = Chain(gaps=True), Replay()
        with (
            closing(replay),
            closing(open_store(path, _SETTINGS, read_only=False)) as store,
        ):
            target = CopyTarget(store, _SETTINGS, ledger)
            for chosen in _pages(self.positions):
                query = select(events).where(_e.position.in_(chosen)).order_by(_e.position)
                found = self._backend.recorder.select(query)
                target.write([self._followed(row, chain, replay) for row in found])
            self._finish(target, chain, replay)

    def _finish(self, target: CopyTarget, chain: Chain, replay: Replay) -> None:
        with self._store.reading(snapshot=True) as cursor:
            unread: list[ThreadRows] = list(
                unread_rows(cursor, self._store.dialect, replay, list(chain.last))
            )

        def heads() -> Iterator[Row]:
            known = replay.rows_of_heads()
            return (row for row in known if not replay.is_unread_stream(row[0]))

        target.finish(heads, unread, [], lambda: None)

    def _followed(self, row: Row, chain: Chain, replay: Replay) -> CopiedEvent:
        _, flaws = chain.follow(row)
        if flaws:
            raise self._damaged(chain.position, flaws[0])
        envelope = _MAPPER.to_replay(row)
        replay.add(chain.position, envelope, row[-1])
        if replay.broken:
            raise self._damaged(chain.position, replay.broken[0].message)
        self.ends[envelope.originator_id] = (envelope.originator_version, chain.position)
        return CopiedEvent(row, None if envelope.originator_id in replay.unread else envelope)

    def _damaged(self, position: int, flaw: str) -> StoreDamaged:
        reason = f"event {position}: {flaw}; no bundle is made of it (see `turnledger verify`)"
        return StoreDamaged(self._store.url, reason)


def _pages(every: Iterable[Value]) -> Iterator[list[Value]]:
    rest = iter(every)
    while page := list(islice(rest, _PAGE)):
        yield page


def _look_at(path: Path) -> None:
    """Look at what was written as its reader will."""
    with closing(open_store(path, _SETTINGS, read_only=True)) as store:
        found = verify(store)
    if not found.ok:
        first = found.findings[0]
        place = f"event {first.position}" if first.row is None else f"row {first.row}"
        reason = f"the bundle isn't whole: {first.where}, {place}: {first.message}"
        raise StoreDamaged(store.url, reason)
