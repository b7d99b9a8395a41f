"""Getting a queue going again: retrying, resolving, pausing, recovering."""

import logging
from functools import partial
from typing import Any, Literal

from turnledger.domain import thread_queue
from turnledger.domain.errors import InvalidPayload, ThreadDeleted, Unreadable
from turnledger.domain.identifier import check_identifier
from turnledger.domain.payload import settle, settle_text
from turnledger.domain.thread_queue import QueuedTurn
from turnledger.domain.thread_queue import commands as c
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.claimable import stale_threads
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.queue.desk import QueueDesk

_log = logging.getLogger(__name__)

EXPIRED = c.EXPIRED
_PAGE = 100  # threads that are recovered in one transaction


class Settling(QueueDesk):
    """The part of `ledger.queue` for those who look after it."""

    def retry(self, thread_id: str, queued_turn_id: str) -> QueuedTurn:
        """Let a failed turn wait again, in its place.

        Raises:
            QueuedTurnNotFound: The thread never had it.
            InvalidTransition: It isn't failed, or its outcome is unknown (`resolve` it).
            ThreadArchived: Likewise ThreadDeleted.
        """
        command = c.Retry(**self._turn_of(thread_id, queued_turn_id))
        return self._changed(command)

    def resolve(
        self,
        thread_id: str,
        queued_turn_id: str,
        decision: Literal["acked", "retry"],
        *,
        by: str,
        evidence: Any = None,
    ) -> QueuedTurn:
        """Decide what became of a turn whose outcome is unknown.

        Args:
            thread_id: The thread.
            queued_turn_id: A failed turn whose outcome is unknown.
            decision: `acked`, it did happen; or `retry`, it didn't.
            by: Who decided.
            evidence: On what grounds, as JSON.

        Raises:
            QueuedTurnNotFound: The thread never had it.
            InvalidTransition: It isn't failed with outcome unknown; somebody was first, perhaps.
            ThreadDeleted: The thread is deleted.
        """
        turn = self._turn_of(thread_id, queued_turn_id)
        if decision not in ("acked", "retry"):
            raise InvalidPayload("decision", f"must be 'acked' or 'retry', not {decision!r}")
        who, who_altered = settle_text("by", by, self._settings.max_result_bytes)
        grounds, altered = self._settled(thread_id, "evidence", evidence)
        command = c.Resolve(
            **turn,
            decision=decision,
            by=who,
            evidence=grounds,
            altered=altered or who_altered,
        )
        return self._changed(command)

    def pause(self, thread_id: str, reason: str) -> None:
        """Give out no claims of this thread until it is resumed. Everything else is accepted.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        intake = self._intake(check_identifier("thread_id", thread_id))
        text, altered = intake.text("reason", reason, self._settings.max_result_bytes)
        self._done(c.Pause(thread_id=thread_id, reason=text, altered=altered))

    def resume(self, thread_id: str) -> None:
        """Give out claims of this thread again.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        check_identifier("thread_id", thread_id)
        self._done(c.Resume(thread_id=thread_id))

    def why_blocked(self, thread_id: str) -> str | None:
        """Why `claim_head` gives no claim, or None if it would.

        Returns:
            The first that holds of deleted, archived, paused, expired_claim (recover it),
            in_flight, failed_head, not_yet, empty.
        """
        check_identifier("thread_id", thread_id)

        def look(unit: Glance) -> str | None:
            loaded = repository.load_head(unit, thread_id)
            return thread_queue.why_blocked(loaded.state, loaded.context)

        return self._backend.look(look)

    def recover(
        self,
        thread_id: str | None = None,
        *,
        owner: str | None = None,
        failure: Any = EXPIRED,
    ) -> list[QueuedTurn]:
        """End the claims that are over: safe from every process at every time.

        A turn that was never dispatched waits in its old place again. One that was is failed,
        with outcome unknown: it never goes out again by itself.

        Args:
            thread_id: Only this thread; default all.
            owner: A former owner whose claims are over too, whatever their lease says.
            failure: What a dispatched turn failed of, as JSON.

        Returns:
            The turns that were recovered, as they are now.
        """
        if owner is not None:
            check_identifier("owner", owner)
        settle("failure", failure, self._settings.max_result_bytes)  # before anything is done
        if thread_id is not None:
            check_identifier("thread_id", thread_id)
            only = partial(self._recovered, self._recovery(thread_id, owner, failure), None)
            return self._backend.transact(only, several=True)
        recovered: list[QueuedTurn] = []
        last: str | None = ""
        while last is not None:
            page = partial(self._recovered_page, owner, last, failure)
            turns, last = self._backend.transact(page, several=True)
            recovered += turns
        return recovered

    def fail_in_flight(self, thread_id: str, failure: Any) -> int:
        """Fail what is in flight in a thread, live or not: for a host that is its only owner.

        Args:
            thread_id: The thread.
            failure: Why, as JSON.

        Returns:
            How many turns failed; with outcome unknown, if they were being dispatched.
        """
        check_identifier("thread_id", thread_id)
        kept, altered = self._settled(thread_id, "failure", failure)
        command = c.FailInFlight(thread_id=thread_id, failure=kept, altered=altered)
        return len(self._done(command))

    def _recovery(self, thread_id: str, owner: str | None, failure: Any) -> c.Recover:
        kept, altered = EXPIRED, False
        if failure is not None and failure != EXPIRED:
            kept, altered = self._settled(thread_id, "failure", failure)
        return c.Recover(thread_id=thread_id, owner=owner, failure=kept, altered=altered)

    def _turn_of(self, thread_id: str, queued_turn_id: str) -> dict[str, Any]:
        check_identifier("thread_id", thread_id)
        check_identifier("queued_turn_id", queued_turn_id)
        return {"thread_id": thread_id, "queued_turn_id": queued_turn_id}

    def _changed(self, command: c.Retry | c.Resolve) -> QueuedTurn:

        def work(unit: UnitOfWork) -> QueuedTurn:
            self._carry_out(unit, command)
            return self._found(unit, command.thread_id, command.queued_turn_id)

        return self._backend.transact(work, several=True)

    def _recovered_page(
        self, owner: str | None, after: str, failure: Any, unit: UnitOfWork
    ) -> tuple[list[QueuedTurn], str | None]:
        """The turns recovered of the next threads, and the last of these, if there are any.

        A queue that can't be read is passed over and named in the log; one whose thread is deleted
        meanwhile has ended.
        """
        page = stale_threads(unit, owner, after, _PAGE)
        origin = self._backend.origin()
        turns: list[QueuedTurn] = []
        for stale in page:
            try:
                command = self._recovery(stale, owner, failure)
                turns += self._recovered(command, origin, unit)
            except ThreadDeleted:
                continue
            except Unreadable as error:
                _log.warning("passed over: %s", error)
        return turns, page[-1] if page else None

    def _recovered(
        self, command: c.Recover, origin: Origin | None, unit: UnitOfWork
    ) -> list[QueuedTurn]:
        """The turn of a thread that is recovered, if there is one."""
        events, _ = self._carry_out(unit, command, origin)
        ids = [str(getattr(event, "queued_turn_id", "")) for event in events]
        return [self._found(unit, command.thread_id, turn_id) for turn_id in ids]
