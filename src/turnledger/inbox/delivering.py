"""Handing messages over: claiming, confirming, giving back."""

from typing import cast

from turnledger.claiming import MINUTE, Seconds, claimed_id, claimer, keep_evidence, shown
from turnledger.domain import evidence, inbox
from turnledger.domain.errors import ClaimLost, Unreadable
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import Inbox, MessageClaim, NotReady, Rejected
from turnledger.domain.inbox import commands as c
from turnledger.inbox.desk import InboxDesk
from turnledger.infrastructure import inbox_repository as repository
from turnledger.infrastructure.inbox_rows import MessageRow, as_inbox_message, posting_in
from turnledger.infrastructure.unit_of_work import UnitOfWork


class Delivering(InboxDesk):
    """The part of `ledger.inbox` for those who deliver messages."""

    def claim_next(
        self,
        thread_id: str,
        owner: str,
        *,
        can_after_turn: bool,
        can_steer_current_turn: bool,
        lease: Seconds = MINUTE,
    ) -> MessageClaim | NotReady | Rejected | None:
        """Take the oldest message of a thread, if it can be delivered now; never another one.

        Args:
            thread_id: Whose inbox.
            owner: Who will deliver it: a string that is new for every boot of a process.
            can_after_turn: The thread is idle.
            can_steer_current_turn: A turn runs that a message can go into.
            lease: For how long, as seconds or a timedelta.

        Returns:
            A claim; NotReady, if the oldest message has to wait, and all behind it; Rejected, if
            this release can't deliver it (the next one moves up at the next call); None, if there
            is nothing, or the thread isn't active.

        Raises:
            Unreadable: The stored content of the oldest message is damaged. It stays where it is.
        """
        command = c.ClaimNext(
            thread_id=check_identifier("thread_id", thread_id),
            **claimer(self._settings, owner, lease),
            can_after_turn=bool(can_after_turn),
            can_steer_current_turn=bool(can_steer_current_turn),
        )
        return self._backend.transact(lambda unit: self._claim(unit, command), several=True)

    def confirm(self, claim: MessageClaim) -> None:
        """Say that the message was delivered. A current claim is enough.

        Raises:
            ClaimLost: The claim isn't current. The report is kept as evidence.
        """
        try:
            self._done(c.Confirm(**shown(self._backend, claim, MessageClaim)))
        except ClaimLost:
            self._keep_lost_confirmation(claim)
            raise

    def release(self, claim: MessageClaim) -> None:
        """Give a message back that wasn't delivered: it waits in its own place again.

        Given back more than `max_claims` times, it is set aside as undelivered.

        Raises:
            ClaimLost: The claim isn't live.
        """
        self._done(c.Release(**shown(self._backend, claim, MessageClaim)))

    def _claim(
        self, unit: UnitOfWork, command: c.ClaimNext
    ) -> MessageClaim | NotReady | Rejected | None:
        loaded = repository.load(unit, command)
        events = inbox.decide(loaded.state, command, loaded.context)
        if not events:
            repository.must_be_unchanged(unit, loaded)
            return inbox.not_ready(loaded.state, command, loaded.context)
        event, answer = events[0], None
        if isinstance(event, Inbox.Claimed) and loaded.row is not None:
            answer = self._given_out(command.thread_id, event, loaded.row)
        repository.save(unit, loaded, events, command, self._backend.origin())
        if answer is None:
            rejected = cast("Inbox.Rejected", event)
            return Rejected(message_id=rejected.message_id, reason=rejected.reason)
        return answer

    def _given_out(self, thread_id: str, event: Inbox.Claimed, row: MessageRow) -> MessageClaim:
        message = as_inbox_message(row)
        what = f"message {row.message_id} of thread {thread_id}"
        try:
            posting = posting_in(row)
        except (ValueError, TypeError) as error:
            raise Unreadable(what, f"damaged: {error}") from error
        self._backend.contents.must_be_there(what, posting.content)
        return MessageClaim(
            thread_id=thread_id,
            owner=event.owner,
            epoch=event.epoch,
            generation=self._backend.generation,
            message_id=event.message_id,
            expires_at=event.expires_at,
            **posting._asdict(),
            source=message.source,
            delivery=message.delivery,
            queued_at=message.queued_at,
            deliveries=event.deliveries,
        )

    def _keep_lost_confirmation(self, claim: MessageClaim) -> None:
        """Keep it if that claim was ever given out, committed before the refusal goes on."""
        stream_id = inbox.stream_id(claim.thread_id)

        def work(unit: UnitOfWork) -> None:
            message_id = claimed_id(unit, stream_id, Inbox.Claimed, "message_id", claim)
            row = message_id and repository.rows(unit, claim.thread_id).message(message_id)
            if not row:
                return
            command = evidence.KeepOfMessage(
                thread_id=claim.thread_id,
                message_id=row.message_id,
                owner=claim.owner,
                epoch=claim.epoch,
                kind=c.Confirm.NAME,
                value=None,
            )
            known = as_inbox_message(row).evidence
            keep_evidence(self._backend, unit, stream_id, known, command)

        self._backend.keep(work)
