"""The ledger that `turnledger.open` gives, and the one that `as_of` gives."""

import math
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.attachments import AttachmentStore
from turnledger.backup import backup
from turnledger.coordinator import Coordinator
from turnledger.doctor import Check, doctor
from turnledger.domain.errors import (
    InvalidDuration,
    NotEncrypted,
    StoreError,
    StoreReadOnly,
)
from turnledger.history import history, subject_of
from turnledger.inbox import Inbox
from turnledger.infrastructure.attachment_folder import AttachmentFolder
from turnledger.infrastructure.backend import Acting, Backend, acting
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import POSTGRESQL
from turnledger.log import Cursor, Log, RecordedEvent
from turnledger.measurable import Measurable
from turnledger.operations import Operations
from turnledger.past import At, Past, past_of
from turnledger.provable import Provable
from turnledger.queue import Queue
from turnledger.recovery import Recovery
from turnledger.renewing import Renewer
from turnledger.runs import Runs
from turnledger.threads import Threads
from turnledger.timers import Timers
from turnledger.turns.working import Working
from turnledger.why import Why, why


class Ledger(Provable, Measurable, Working):
    """An open ledger. A context manager; safe to share between threads.

    Attributes:
        queue: The queue of each thread.
        inbox: The messages from outside for each thread.
        timers: Prompts for threads at a later time.
        coordinator: The turns of coordinators on work items, and their provider turns.
        attachments: The files that those were begun with.
        runs: The leases under which operations are executed.
        operations: External effects that must not happen twice.
        recovery: The scan for what nobody answers for any more.
        threads: The life of each thread.
        log: Every event, in the order of its position.
        settings: What it was opened with.
    """

    def __init__(self, backend: Backend, attachments: AttachmentFolder | None = None) -> None:
        """Take what its services share; `turnledger.open` does."""
        self._backend = backend
        self._folder = attachments
        self.settings = backend.settings
        self.queue = Queue(backend)
        self.inbox = Inbox(backend)
        self.timers = Timers(backend)
        self.coordinator = Coordinator(backend, attachments)
        self.attachments = AttachmentStore(backend, attachments)
        self.runs = Runs(backend)
        self.operations = Operations(backend)
        self.recovery = Recovery(
            backend.store.url, self.coordinator, self.operations, self.queue, self.inbox
        )
        self.threads = Threads(backend)
        self.log = Log(backend)
        self._renewer = Renewer(self.queue.renew, backend.transaction)

    @property
    def ledger_id(self) -> str:
        """The ledger's own id, which it keeps for life."""
        return self._backend.ledger_id

    @property
    def generation(self) -> str:
        """Changes when the ledger is restored from a backup."""
        return self._backend.generation

    @contextmanager
    def acting_as(
        self,
        actor: str | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
    ) -> Generator[None]:
        """Say for a block on whose behalf its commands are given; recorded with their events."""
        names = {"actor": actor, "correlation_id": correlation_id, "causation_id": causation_id}
        token = acting.set(Acting(**names))
        try:
            yield
        finally:
            acting.reset(token)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit the commands of a block together at its end, or nothing of them.

        A command that is refused in it changes nothing, and the rest may go on. If the block
        raises, nothing of it was; but reports of lost claims are kept as evidence all the same.
        Commands of other threads wait meanwhile, on SQLite: keep it short, and hand nothing over in
        it, since a dispatch isn't recorded before the end.

        Raises:
            StoreUnavailable: It couldn't be committed, since others were first. Do it again, whole.
        """
        with self._backend.transaction():
            yield

    def why(self, thread_id: str) -> Why:
        """Why a thread doesn't move: the reason, its causes, and what would unblock it."""
        return why(self._backend, self.log, thread_id)

    def history(  # noqa: PLR0913 - all that has a history
        self,
        *,
        thread_id: str | None = None,
        work_item_id: str | None = None,
        turn_id: str | None = None,
        timer_id: str | None = None,
        run_id: str | None = None,
        operation_key: str | None = None,
        after: int | Cursor = 0,
        limit: int = 1_000,
    ) -> list[RecordedEvent]:
        """All events about one thing, of all its aggregates, in the order of their positions.

        Give exactly one of the ids; nobody need have used it yet. What is longer than the limit is
        read page by page: the next one begins `after` the last event's position.

        Args:
            thread_id: A thread: its life, its queue, its inbox, its timers.
            work_item_id: A work item: its coordinator turns, its runs, its operations.
            turn_id: A coordinator turn.
            timer_id: A timer.
            run_id: A run, without its operations.
            operation_key: An operation.
            after: A position, or the cursor of an event; 0 is the start.
            limit: At most so many.

        Raises:
            InvalidInput: No id was given, or several, or one that can't be one.
            OtherGeneration: The cursor is of before a restore.
        """
        subject = subject_of(
            thread_id=thread_id,
            work_item_id=work_item_id,
            turn_id=turn_id,
            timer_id=timer_id,
            run_id=run_id,
            operation_key=operation_key,
        )
        return history(self._backend, self.log, subject, after, limit)

    def as_of(
        self, at: At, *, thread_id: str | None = None, work_item_id: str | None = None
    ) -> "PastLedger":
        """The ledger as it was: the same queries, answered as of then. Close it after use.

        The events up to then are replayed into memory; no model or tool is called, nothing is
        changed, and nothing is written to a disk. It takes about as much memory as those events.
        Of the whole of a large ledger that takes its time; of one thread or work item it doesn't.

        Args:
            at: A position, from 0 on; the cursor of an event; or a time with its timezone: the last
                position up to which every event is no later.
            thread_id: Only this thread is replayed: questions about others are answered as if
                nobody had ever used them.
            work_item_id: Likewise.

        Raises:
            InvalidInput: There is no such position yet; or it is no time; or both ids are given.
            OtherGeneration: The cursor is of before a restore.
        """
        names = {"thread_id": thread_id, "work_item_id": work_item_id}
        return PastLedger(past_of(self._backend, self.log, at, **names), self._folder)

    def wait_for_change(self, since: int, timeout: float | timedelta) -> int:
        """Wait until something is committed behind a position, by whatever process.

        Args:
            since: The last position that the caller knows.
            timeout: The longest wait, as seconds or a timedelta; 0 looks once.

        Returns:
            The last position; not greater than `since` if the time ran out.
        """
        return self._backend.store.wait_for_change(since, seconds(timeout))

    def doctor(self) -> tuple[Check, ...]:
        """Look whether the place where the ledger lives is a safe one."""
        return doctor(self._backend)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger into a new file, with all that is committed; others may go on writing.

        The keys of an encrypted ledger aren't in it (docs/encryption.md).

        Raises:
            InvalidPayload: There is a file of that name.
            StoreError: The ledger is on a server: pg_dump backs it up.
        """
        store = self._backend.store
        if not isinstance(store, SqliteStore):
            there = "a server's database is backed up by pg_dump"
            reason = there if store.dialect == POSTGRESQL else "it is in memory only"
            raise StoreError(store.url, reason)
        backup(store, Path(path).absolute())

    def purge(self, *, thread_id: str | None = None, work_item_id: str | None = None) -> bool:
        """Erase the contents of a thread or a work item, for good: their key is destroyed.

        The events stay, with all names and times, and so do the chain and the read models; `verify`
        finds nothing. Contents read as `{"$purged": true}` from then on, in queries on the past and
        in bundles too; what waits can't be claimed, and nothing more is taken in about it.

        Args:
            thread_id: Its submissions, messages and timers, what they failed of and why.
            work_item_id: Its turns with their attempts and attachments, its runs and operations.

        Returns:
            Whether there was anything to erase.

        Raises:
            InvalidInput: Not exactly one id was given, or one that can't be one.
            NotEncrypted: The ledger wasn't made with `encrypt=True`.
            StoreReadOnly: It is open for reading only.
        """
        names = {"thread_id": thread_id, "work_item_id": work_item_id}
        subject = subject_of(**names)
        store, contents = self._backend.store, self._backend.contents
        if not contents.is_encrypted:
            reason = "it was made without encryption, so its contents can't be erased"
            raise NotEncrypted(store.url, reason)
        if store.read_only:
            raise StoreReadOnly(store.url, "it is open for reading only")
        return contents.purge(f"{subject.kind}:{subject.id}")

    def close(self) -> None:
        """Stop the scans and the renewing, and close the connections of all threads."""
        self.recovery.end()
        self._renewer.end()
        self._backend.close()

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


class PastLedger(Ledger):
    """A ledger as it was; see `Ledger.as_of`. Its commands raise `StoreReadOnly`.

    A stream that can't be replayed to its end (it has an event of a newer release, or is damaged)
    is named in `unread`, and in a warning to the logger `turnledger`. Lists then show what is known
    of it; questions that need its state raise `Unreadable`, as those of the live ledger do.

    Attributes:
        position: Of the last event that it knows.
        now: What its clock shows: the time that was asked for; or that of the last event at or
            before the position; or when the ledger was made, if there is none.
        unread: The streams that couldn't be replayed to their end, with the reason.
    """

    def __init__(self, past: Past, attachments: AttachmentFolder | None) -> None:
        """Take what was replayed; `Ledger.as_of` does."""
        super().__init__(past.backend, attachments)
        self.position = past.position
        self.now = past.now
        self.unread = past.unread


def seconds(timeout: float | timedelta) -> float:
    """A time-out as seconds.

    Raises:
        InvalidDuration: It is none.
    """
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    if not isinstance(timeout, int | float) or not 0 <= timeout < math.inf:
        raise InvalidDuration("timeout", f"must be seconds from 0 on, not {timeout!r}")
    return float(timeout)
