"""The door: `turnledger.open` and the ledger that it gives."""

import math
import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.attachments import AttachmentStore
from turnledger.backup import backup
from turnledger.backup import restore as restore_file
from turnledger.coordinator import Coordinator
from turnledger.doctor import Check, doctor
from turnledger.domain.errors import InvalidDuration, StoreError
from turnledger.domain.settings import Settings
from turnledger.inbox import Inbox
from turnledger.infrastructure.attachment_folder import AttachmentFolder
from turnledger.infrastructure.backend import Acting, Backend, acting
from turnledger.infrastructure.clock import Clock, checked, host_clock
from turnledger.infrastructure.opening import (
    is_on_server,
    open_store,
    path_of,
    without_password,
)
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import SQLITE
from turnledger.log import Log
from turnledger.operations import Operations
from turnledger.queue import Queue
from turnledger.recovery import Recovery
from turnledger.replaying import ReplayReport, chosen, replay
from turnledger.runs import Runs
from turnledger.threads import Threads
from turnledger.timers import Timers
from turnledger.timers.zones import recompute
from turnledger.verify import Progress, Verification, verify
from turnledger.why import Why, why


class Ledger:
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
        self.settings = backend.settings
        self.queue = Queue(backend)
        self.inbox = Inbox(backend)
        self.timers = Timers(backend)
        self.coordinator = Coordinator(backend, attachments)
        self.attachments = AttachmentStore(backend, attachments)
        self.runs = Runs(backend)
        self.operations = Operations(backend)
        self.recovery = Recovery(self.coordinator, self.operations, self.queue, self.inbox)
        self.threads = Threads(backend)
        self.log = Log(backend)

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

    def wait_for_change(self, since: int, timeout: float | timedelta) -> int:
        """Wait until something is committed behind a position, by whatever process.

        Args:
            since: The last position that the caller knows.
            timeout: The longest wait, as seconds or a timedelta; 0 looks once.

        Returns:
            The last position; not greater than `since` if the time ran out.
        """
        return self._backend.store.wait_for_change(since, seconds(timeout))

    def verify(self, progress: Progress | None = None) -> Verification:
        """Look whether the ledger is whole: events, chain, rules, read models against a replay.

        Args:
            progress: Is told how many events have been looked at, every so often.
        """
        return verify(self._backend.store, progress)

    def replay(
        self,
        *,
        thread_id: str | None = None,
        work_item_id: str | None = None,
        progress: Progress | None = None,
    ) -> ReplayReport:
        """Decide every recorded command again by the code of now, and compare: nothing is changed.

        A command that led to no event left no record, so it isn't decided again.

        Args:
            thread_id: Only those of one thread: its life, its queue, its inbox and its timers.
            work_item_id: Only those of one work item: its turns, runs and operations.
            progress: Is told how many events have been looked at, every so often.

        Raises:
            InvalidPayload: Both are given.
        """
        return replay(self._backend.store, chosen(thread_id, work_item_id), progress)

    def doctor(self) -> tuple[Check, ...]:
        """Look whether the place where the ledger lives is a safe one."""
        return doctor(self._backend)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger into a new file, with all that is committed; others may go on writing.

        Raises:
            InvalidPayload: There is a file of that name.
            StoreError: The ledger is on a server: pg_dump backs it up.
        """
        store = self._backend.store
        if not isinstance(store, SqliteStore):
            raise StoreError(store.url, "a server's database is backed up by pg_dump")
        backup(store, Path(path).absolute())

    def close(self) -> None:
        """Stop the scans, and close the connections of all threads."""
        self.recovery.stop()
        self._backend.store.close()

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


def open(  # noqa: A001 - the door's name; used as turnledger.open
    url_or_path: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    settings: Settings | None = None,
    attachments: str | os.PathLike[str] | None = None,
    read_only: bool = False,
) -> Ledger:
    """Open a ledger; make it if it isn't there.

    Args:
        url_or_path: A file, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE.
        clock: Gives the time, as an aware datetime; default this machine's for a file, and the
            server's on PostgreSQL.
        settings: Limits and durability.
        attachments: The folder for them; default beside a file, and none on PostgreSQL.
        read_only: Make and change nothing; works beside a writer, and on read-only media.

    Raises:
        StoreError: It can't be opened; the subclass says why.
    """
    backend = open_backend(url_or_path, clock=clock, settings=settings, read_only=read_only)
    return Ledger(backend, attachment_folder(url_or_path, attachments))


def attachment_folder(
    url_or_path: str | os.PathLike[str], given: str | os.PathLike[str] | None
) -> AttachmentFolder | None:
    """Where a ledger's attachments lie; None if nowhere."""
    if given is not None:
        return AttachmentFolder(Path(given).absolute())
    if is_on_server(url_or_path):
        return None
    path = path_of(url_or_path).absolute()
    return AttachmentFolder(path.with_name(f"{path.name}.attachments"))


def open_backend(
    url_or_path: str | os.PathLike[str],
    *,
    clock: Clock | None,
    settings: Settings | None,
    read_only: bool,
) -> Backend:
    """Open what a ledger works with; see `open`."""
    chosen = None if clock is None else checked(clock)
    wanted = settings or Settings()
    store = open_store(url_or_path, wanted, read_only=read_only)
    if chosen is None and store.dialect == SQLITE:
        chosen = host_clock
    backend = Backend(store, chosen, wanted)
    if not read_only:
        recompute(backend)
    return backend


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


def restore(backup_path: str | os.PathLike[str], ledger_path: str | os.PathLike[str]) -> None:
    """Put a backup in the place of a ledger, as a new generation of it.

    Claims and cursors of before are refused from then on; processes that have the old ledger open
    get `StoreReplaced`.

    Raises:
        StoreError: A database says no; or the ledger is on a server: pg_restore does it there.
    """
    if is_on_server(ledger_path):
        url = without_password(os.fspath(ledger_path))
        reason = "use pg_restore, and then `turnledger migrate --new-generation`"
        raise StoreError(url, f"a server's database isn't restored from a file of ours; {reason}")
    restore_file(path_of(backup_path), path_of(ledger_path))


def new_generation(url_or_path: str | os.PathLike[str]) -> str:
    """Give a ledger a new generation, as `restore` does: after pg_restore has put an older state.

    Claims and cursors of before are refused from then on. Let no process have it open meanwhile:
    it would go on with the generation that it knows.

    Returns:
        The new generation.

    Raises:
        StoreError: It can't be opened or written; the subclass says why.
    """
    settings = Settings()
    store = open_store(url_or_path, settings, read_only=False)
    with closing(store):
        backend = Backend(store, host_clock, settings)
        backend.renew()
        return backend.generation
