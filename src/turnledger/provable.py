"""What a ledger offers to those who want proof of what it holds."""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from turnledger import checkpoints
from turnledger.bundling import Bundle, bundle
from turnledger.checkpoint_note import Checkpoint
from turnledger.checkpoints import Checked, InclusionProof
from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import check_identifier
from turnledger.domain.redactor import Redactor
from turnledger.exporting import Exported, Format, export
from turnledger.exporting import Progress as ExportProgress
from turnledger.gauges import Gauges, gauges
from turnledger.infrastructure import bundle_file
from turnledger.infrastructure.backend import Backend, Observer
from turnledger.infrastructure.subject import Kind, Subject
from turnledger.log import Cursor
from turnledger.rebuild import Rebuilt, rebuild
from turnledger.replaying import ReplayReport, chosen, replay
from turnledger.verify import Progress, Verification, verify


class Provable:
    """The part of `Ledger` for those who audit it: whether it is whole, and proofs of that."""

    _backend: Backend

    @property
    def is_bundle(self) -> bool:
        """Whether it is a bundle: evidence of a part of a ledger, which can only be read."""
        return bundle_file.is_one(self._backend.store)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Look whether the ledger is whole: events, chain, rules, read models against a replay.

        Args:
            progress: Is told how many events have been looked at, every so often.
        """
        return verify(self._backend.store, progress)

    def rebuild(self, *projections: str, progress: Progress | None = None) -> Rebuilt:
        """Make read models anew out of the events, and put right the rows that differ.

        The live ones keep serving and being written. Nothing is changed but for the last moment,
        which is one transaction; so it may be killed at any time, and started again. See `verify`
        for whether it is needed.

        Args:
            projections: Names of read models' tables, or streams for the head rows; default all.
            progress: Is told how many events have been taken, every so often.

        Raises:
            InvalidPayload: There is no read model of such a name; or this thread is in a
                transaction, whose events may still be undone.
            StoreReadOnly: The ledger was opened read-only, or is a bundle.
        """
        return rebuild(self._backend, projections, progress)

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

    def checkpoint(self) -> Checkpoint:
        """What the whole log is now: its size and the root of its Merkle tree (RFC 6962, 2.1).

        Keep its text where nobody who can write the ledger can write, or let others' tools sign it.

        Of a bundle, it is the one of the log that it was made of.

        Raises:
            StoreDamaged: An event is missing, or its hash is none.
        """
        carried = checkpoints.carried(self._backend.store)
        return checkpoints.take(self._backend).checkpoint if carried is None else carried

    def check(self, checkpoint: Checkpoint) -> Checked:
        """Look whether the log still begins with the events that a checkpoint is about.

        Events are compared by their hashes; `verify` shows that their bytes give these. A ledger
        that was restored from a backup is still the same one: what the backup held is compared,
        and what it didn't is gone.
        """
        return self.check_all([checkpoint])[0]

    def check_all(self, several: Iterable[Checkpoint]) -> tuple[Checked, ...]:
        """The same for several checkpoints; the log is read once."""
        return checkpoints.check(self._backend, several)

    def prove(self, position: int) -> InclusionProof:
        """The proof that an event is at its position; the hashes of the whole log are read.

        Args:
            position: The event's, from 1 on.

        Raises:
            InvalidPayload: There is no such event.
            StoreDamaged: An event is missing, or its hash is none.
        """
        return checkpoints.prove(self._backend, position)

    def bundle(
        self,
        path: str | os.PathLike[str],
        *,
        thread_id: str | None = None,
        work_item_id: str | None = None,
    ) -> Bundle:
        """Write all that happened to a thread, or to a work item, into a file for somebody else.

        It is a ledger that can be read with `open(…, read_only=True)`, and proves by itself that
        its events are in this log; see docs/evidence.md. The files of attachments aren't in it.

        Args:
            path: A new file.
            thread_id: Which thread; or
            work_item_id: which work item.

        Raises:
            InvalidPayload: There is a file of that name; or not one of the two is given.
            NothingRecorded: No event is about it.
            StoreDamaged: The log isn't whole.
        """
        kinds: dict[Kind, str | None] = {"thread": thread_id, "work_item": work_item_id}
        given = [Subject(kind, one) for kind, one in kinds.items() if one is not None]
        if len(given) != 1:
            raise InvalidPayload("bundle", "is about a thread_id or a work_item_id")
        [subject] = given
        check_identifier(f"{subject.kind}_id", subject.id)
        return bundle(self._backend, Path(path).absolute(), subject)

    def export(  # noqa: PLR0913 - all that can be said of an export
        self,
        format: Format,  # noqa: A002 - what it is called everywhere
        path: str | os.PathLike[str],
        *,
        after: int | Cursor = 0,
        since: datetime | None = None,
        thread_id: str | None = None,
        redact: bool | Redactor = False,
        progress: ExportProgress | None = None,
    ) -> Exported:
        """Write the events into a file for other tools, in memory that doesn't grow with the log.

        See docs/export.md for the formats. Contents of an encrypted ledger are opened; what was
        purged reads as `{"$purged": true}`. Nothing that is committed meanwhile is in it.

        Args:
            format: `jsonl`, `csv`, `parquet`, `cloudevents` (a line each), `cloudevents-batch` (a
                JSON array), `ocel` (OCEL 2.0, SQLite) or `otlp-json` (spans, a line for some).
            path: A new file. It is there when it is whole.
            after: A position, or the cursor of an event; 0 is the start.
            since: Only what was recorded then or later.
            thread_id: Only what is about this thread.
            redact: True to leave contents out; or a function that is given each content's name and
                value, and returns what is written instead. Hashes of contents are left out then.
            progress: Is told every so often how many positions were passed, and of how many.

        Raises:
            InvalidInput: There is a file of that name, or no such format, or an extra is missing.
            OtherGeneration: The cursor is of before a restore.
        """
        return export(
            self._backend,
            format,
            Path(path).absolute(),
            after=after,
            since=since,
            thread_id=thread_id,
            redact=redact,
            progress=progress,
        )

    def gauges(self) -> Gauges:
        """How the ledger stands now: what waits, is blocked, is unknown, or is behind."""
        return gauges(self._backend)

    def observe(self, observer: Observer | None) -> None:
        """Let a function see each command that may change something, or nobody any more.

        Args:
            observer: Is given a function that carries the command out, in the thread of whoever
                gave it; it calls that once, and returns what it returns, or lets it raise.
        """
        self._backend.observer = observer
