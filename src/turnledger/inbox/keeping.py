"""Looking after an inbox: what is in it, what is undelivered, what is taken out."""

import logging
from collections.abc import Iterable
from functools import partial
from typing import cast

from turnledger.domain import inbox
from turnledger.domain.errors import ThreadDeleted, Unreadable
from turnledger.domain.event import Event
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import Inbox, InboxMessage, InboxRecovery, RecoveryMode
from turnledger.domain.inbox import commands as c
from turnledger.inbox.desk import InboxDesk, check_mode
from turnledger.infrastructure import inbox_repository as repository
from turnledger.infrastructure.inbox_rows import InboxRows, MessageRow, as_inbox_message
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.statement import Cursor
from turnledger.infrastructure.unit_of_work import UnitOfWork

InboxMessages = list[InboxMessage]  # inside the class, list is its method
Events = list[Event]
_PAGE = 100  # threads whose inboxes are recovered in one transaction

_log = logging.getLogger(__name__)


def clear_in(unit: UnitOfWork, thread_id: str, origin: Origin) -> int:
    """End everything in a thread's inbox, in a unit of work that is under way.

    Returns:
        How many messages ended, the undelivered ones and the one in flight too.
    """
    events, _ = repository.carry_out(unit, c.Clear(thread_id=thread_id), origin)
    return sum(map(_ended, events))


class Keeping(InboxDesk):
    """The part of `ledger.inbox` for those who look after it."""

    def list(self, thread_id: str) -> InboxMessages:
        """The messages that wait, the oldest first: in the order of queued_at, then of arrival.

        What is in flight isn't among them, nor what is undelivered.
        """
        check_identifier("thread_id", thread_id)
        with self._backend.store.reading(damaged=True) as cursor:
            found = self._rows(cursor, thread_id).waiting()
        return self._backend.contents.opened([as_inbox_message(row) for row in found])

    def get(self, thread_id: str, message_id: str) -> InboxMessage | None:
        """A message, also one that is settled or deleted; None only if it never was."""
        check_identifier("thread_id", thread_id)
        check_identifier("message_id", message_id)
        with self._backend.store.reading(damaged=True) as cursor:
            row = self._rows(cursor, thread_id).message(message_id)
        return None if row is None else self._backend.contents.opened(as_inbox_message(row))

    def undelivered(self, thread_id: str) -> InboxMessages:
        """The messages that weren't confirmed, and aren't handed out again by themselves."""
        check_identifier("thread_id", thread_id)
        with self._backend.store.reading(damaged=True) as cursor:
            found = self._rows(cursor, thread_id).undelivered()
        return self._backend.contents.opened([as_inbox_message(row) for row in found])

    def delete(self, thread_id: str, message_id: str) -> bool:
        """Take a message out that waits, or is undelivered; False if there is none such.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        check_identifier("thread_id", thread_id)
        check_identifier("message_id", message_id)
        return bool(self._done(c.Delete(thread_id=thread_id, message_id=message_id)))

    def requeue(self, thread_id: str, message_id: str) -> InboxMessage:
        """Bring an undelivered message back on purpose, in its own place.

        Raises:
            InvalidTransition: It isn't undelivered.
            ThreadArchived: Likewise ThreadDeleted.
        """
        check_identifier("thread_id", thread_id)
        check_identifier("message_id", message_id)
        command = c.Requeue(thread_id=thread_id, message_id=message_id)

        def work(unit: UnitOfWork) -> InboxMessage:
            repository.carry_out(unit, command, self._backend.origin())
            row = repository.rows(unit, thread_id).message(message_id)
            return as_inbox_message(cast("MessageRow", row))

        return self._backend.transact(work, several=True)

    def recover(
        self,
        thread_id: str | None = None,
        *,
        mode: RecoveryMode = "at_most_once",
    ) -> InboxRecovery:
        """End the claims that are over: safe from every process at every time.

        Args:
            thread_id: Only this thread; default all.
            mode: at_most_once keeps their messages as undelivered, since they may have been
                delivered; at_least_once lets them wait in their own places again.

        Returns:
            How many messages wait again, and how many are undelivered now.

        Raises:
            ThreadDeleted: The one thread is deleted.
        """
        check_mode("mode", mode)
        if thread_id is not None:
            command = c.Recover(thread_id=check_identifier("thread_id", thread_id), mode=mode)
            return _recovery(self._done(command))
        events: Events = []
        last: str | None = ""
        while last is not None:
            page = partial(self._recovered_page, last, mode)
            found, last = self._backend.transact(page, several=True)
            events += found
        return _recovery(events)

    def _recovered_page(
        self, after: str, mode: RecoveryMode, unit: UnitOfWork
    ) -> tuple[Events, str | None]:
        """What became of the claims in the next threads, and the last of these, if there are any.

        An inbox that can't be read is passed over and named in the log; one whose thread is deleted
        meanwhile has ended.
        """
        threads = repository.stale_threads(unit, after, _PAGE)
        origin = self._backend.origin()
        events: Events = []
        for thread_id in threads:
            command = c.Recover(thread_id=thread_id, mode=mode)
            try:
                events += repository.carry_out(unit, command, origin)[0]
            except ThreadDeleted:
                continue
            except Unreadable as error:
                _log.warning("passed over: %s", error)
        return events, threads[-1] if threads else None

    def _rows(self, cursor: Cursor, thread_id: str) -> InboxRows:
        dialect = self._backend.store.dialect
        return InboxRows(cursor, dialect, thread_id, inbox.stream_id(thread_id))


def _recovery(events: Iterable[Event]) -> InboxRecovery:
    kinds = [type(event) for event in events]
    pending, expired = kinds.count(Inbox.Recovered), kinds.count(Inbox.Expired)
    return InboxRecovery(messages_pending=pending, messages_expired=expired)


def _ended(event: object) -> int:
    if not isinstance(event, Inbox.Cleared):
        return 0
    return event.waiting + event.undelivered + (event.in_flight_id is not None)
