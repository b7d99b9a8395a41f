"""`turnledger.copy`: a ledger moves to another store, with all that it is."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Literal, NoReturn

from sqlalchemy import func, select

from turnledger.domain.errors import InvalidPayload, StoreDamaged, StoreError, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure import bundle_file, ledger_row
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.contents import keys_of
from turnledger.infrastructure.copy_target import CopiedEvent, CopyTarget
from turnledger.infrastructure.ledger_row import LedgerRow
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.opening import open_store
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.rows import BEHIND
from turnledger.infrastructure.schema import events, tracking
from turnledger.infrastructure.statement import SQLITE, Row, run, statement
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.unread_rows import unread_rows
from turnledger.verify import Verification, verify

_PAGE = 1_000
_MAPPER = LedgerMapper(REGISTRY)
_e = events.c
_newest = select(_e.stream_id, func.max(_e.version).label("version")).group_by(_e.stream_id)
_ends = _newest.subquery("ends")
_LAST_HASHES = statement(
    select(_e.stream_id, _e.hash).join(
        _ends, (_e.stream_id == _ends.c.stream_id) & (_e.version == _ends.c.version)
    )
)
_TRACKED = statement(select(tracking))

Step = Literal["copied", "verified"]
Progress = Callable[[Step, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied.

    Attributes:
        source: Without a password; likewise target.
        ledger_id: Which ledger it is, there as here; likewise its generation.
        events: How many it has.
        copied: How many of them this call has copied; the others were there before.
        verification: What `verify` says of the target.
    """

    source: str
    target: str
    ledger_id: str
    generation: str
    events: int
    copied: int
    verification: Verification


def copy(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    progress: Progress | None = None,
) -> Copied:
    """Copy a ledger into a new file, or an empty database; both can be on either store.

    It remains the same ledger: claims, cursors and idempotency keys go on there. So let nobody
    write to the source any more. If it is cut short, the next call goes on where it was; until it
    has come to its end, the target can't be opened.

    Args:
        source: As `turnledger.open` takes it; likewise target.
        target: Where there is nothing, or a copy of the same that isn't finished.
        progress: Is told every so often what was done to how many events, and of how many.

    Raises:
        StoreUnavailable: The source was written to in the meantime; or a database is out of reach.
        StoreDamaged: The source's events aren't whole.
        StoreError: The target holds something else; or the source is encrypted, and its keys aren't
            there; or a database says no.
    """
    settings = Settings()
    with ExitStack() as stack:
        origin = stack.enter_context(closing(_opened(source, settings)))
        ledger = _ledger_in(origin)
        store = stack.enter_context(closing(open_store(target, settings, read_only=False)))
        if store.url == origin.url:
            raise InvalidPayload("target", "is the source itself")
        if ledger.encrypted:
            _copy_keys(origin, store, settings)
        copying = _Copying(origin, CopyTarget(store, settings, ledger), progress)
        stack.callback(copying.replay.close)
        verification = copying.carry_out()
    return Copied(
        source=origin.url,
        target=store.url,
        ledger_id=ledger.ledger_id,
        generation=ledger.generation,
        events=copying.chain.seen,
        copied=copying.copied,
        verification=verification,
    )


def _opened(source: str | os.PathLike[str], settings: Settings) -> Store:
    """The source; nothing is made where there is none."""
    store = open_store(source, settings, read_only=True)
    if store.dialect == SQLITE:
        return store
    store.close()
    return open_store(source, settings, read_only=False)  # its last events may get positions


def _ledger_in(origin: Store) -> LedgerRow:
    bundle_file.refuse(origin, "a part of a ledger can't go on as one")
    with origin.reading() as cursor:
        ledger = ledger_row.known(cursor)
    if ledger is None:
        raise StoreError(origin.url, "it holds no ledger, or one whose copying isn't finished")
    return ledger


def _copy_keys(origin: Store, target: Store, settings: Settings) -> None:
    """Have the keys at the target before the ledger can be opened there."""
    known = keys_of(origin, settings, make=False)
    if known is None:
        raise StoreError(origin.url, "it is encrypted, and its keys aren't there to be copied")
    with closing(known):
        rows = known.rows()
    made = keys_of(target, settings, make=True)
    if made is None:
        raise StoreError(target.url, "it has no place for keys")
    with closing(made):
        made.take(rows)


class _Copying:
    """One call's work."""

    def __init__(self, origin: Store, target: CopyTarget, progress: Progress | None) -> None:
        self.origin = origin
        self.target = target
        self.chain = Chain()
        self.replay = Replay()
        self.copied = 0
        self._progress = progress
        self._total = 0

    def carry_out(self) -> Verification:
        finished = self.target.is_finished()
        self._total = self.origin.last_position()
        there = self.target.store.last_position()
        for page in self._pages():
            self._take(page, there)
            self._tell("copied", self.chain.seen)
        if there > self.chain.position:
            self._refuse(f"it has {there:,} events, the source only {self.chain.position:,}")
        if finished:
            self._compare_ends()
            return self._verified()
        return self._finish()

    def _pages(self) -> Iterator[list[Row]]:
        while True:
            given = {"after": self.chain.position, "limit": _PAGE}
            with self.origin.reading(damaged=True) as cursor:
                page: list[Row] = run(cursor, self.origin.dialect, BEHIND, given).fetchall()
            if not page:
                return
            yield page

    def _take(self, page: list[Row], there: int) -> None:
        """Compare the events of a page with those that are there, and copy the others."""
        after = self.chain.position
        batch = [self._followed(row) for row in page]
        known = self.target.hashes(after, len(page)) if there > after else []
        for (position, chained), event in zip(known, batch, strict=False):
            if (position, bytes(chained)) != (event.row[0], event.row[-1]):
                self._refuse(f"event {position} isn't the one of the source")
        rest = batch[len(known) :]
        if rest:
            self.target.write(rest)
            self.copied += len(rest)

    def _followed(self, row: Row) -> CopiedEvent:
        _, flaws = self.chain.follow(row)
        if flaws:
            raise self._damaged(flaws[0])
        envelope = _MAPPER.to_replay(row)
        self.replay.add(self.chain.position, envelope, row[-1])
        if self.replay.broken:
            raise self._damaged(self.replay.broken[0].message)
        unread = envelope.originator_id in self.replay.unread
        return CopiedEvent(row, None if unread else envelope)

    def _damaged(self, flaw: str) -> StoreDamaged:
        reason = f"event {self.chain.position}: {flaw}; such a ledger isn't copied"
        return StoreDamaged(self.origin.url, f"{reason} (see `turnledger verify`)")

    def _refuse(self, reason: str) -> NoReturn:
        raise StoreError(
            self.target.store.url, f"{reason}: give a new file or an empty database as the target"
        )

    def _finish(self) -> Verification:
        results: list[Verification] = []

        def check() -> None:
            self._compare_ends()
            results.append(self._verified())

        with self.origin.reading(snapshot=True) as cursor:
            tracked = run(cursor, self.origin.dialect, _TRACKED, {}).fetchall()
            names = list(self.chain.last)
            unread = list(unread_rows(cursor, self.origin.dialect, self.replay, names))

        def heads() -> Iterator[Row]:
            known = self.replay.rows_of_heads()
            return (row for row in known if not self.replay.is_unread_stream(row[0]))

        self.target.finish(heads, unread, tracked, check)
        return results[-1] if results else self._verified()

    def _verified(self) -> Verification:
        found = verify(self.target.store, lambda count: self._tell("verified", count))
        self._tell("verified", found.events)
        if not found.ok:
            first = found.findings[0]
            place = f"event {first.position}" if first.row is None else f"row {first.row}"
            reason = f"the copy isn't whole: {first.where}, {place}: {first.message}"
            raise StoreDamaged(self.target.store.url, reason)
        return found

    def _compare_ends(self) -> None:
        """Compare the last hash of every stream with the source's, as it is by now."""
        ours, theirs = (self._ends(store) for store in (self.origin, self.target.store))
        if {name: chained for name, (_, chained, _) in self.chain.last.items()} != ours:
            reason = "it was written to while it was copied; stop that, and copy again"
            raise StoreUnavailable(self.origin.url, reason)
        if ours != theirs:
            self._refuse("its streams don't end as those of the source")

    def _ends(self, store: Store) -> dict[str, bytes]:
        with store.reading() as cursor:
            found = run(cursor, store.dialect, _LAST_HASHES, {}).fetchall()
        return {str(stream_id): bytes(chained) for stream_id, chained in found}

    def _tell(self, step: Step, count: int) -> None:
        if self._progress is not None:
            self._progress(step, count, max(count, self._total))
