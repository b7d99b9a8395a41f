"""Working on queued turns: claiming, renewing, dispatching, settling."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from turnledger.claiming import MINUTE, Seconds, checked_claim, claimer, shown
from turnledger.domain import thread_queue
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import ClaimLost, InvalidPayload, ThreadDeleted, Unreadable
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.domain.thread_queue import Claim, ThreadQueue
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.value import made
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.claimable import claimable_threads
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.queue_rows import submission_in
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.queue.desk import QueueDesk
from turnledger.queue.lost_claims import keep_lost_dispatch, keep_lost_result

_log = logging.getLogger(__name__)


class Claims(QueueDesk):
    """The part of `ledger.queue` for workers."""

    def claim_head(self, thread_id: str, owner: str, lease: Seconds = MINUTE) -> Claim | None:
        """Take the head of a thread's queue; `why_blocked` says why there is none.

        Args:
            thread_id: Whose queue.
            owner: Who will work on it: a string that is new for every boot of a process.
            lease: For how long, as seconds or a timedelta.

        Raises:
            Unreadable: The head's stored submission is damaged. It stays where it is.
        """
        check_identifier("thread_id", thread_id)
        command = c.ClaimHead(thread_id=thread_id, **claimer(self._settings, owner, lease))
        return self._backend.transact(lambda unit: self._claim(unit, command, None))

    def claim_next(self, owner: str, *, limit: int = 1, lease: Seconds = MINUTE) -> list[Claim]:
        """Take the heads of claimable threads, the longest waiting first, in one transaction.

        A head that can't be read is passed over and named in the log.

        Args:
            owner: Who will work on them.
            limit: At most so many, of as many threads.
            lease: For how long, as seconds or a timedelta.
        """
        who, most = claimer(self._settings, owner, lease), check_count("limit", limit)

        def work(unit: UnitOfWork) -> list[Claim]:
            claims: list[Claim] = []
            origin = self._backend.origin()
            for thread_id in claimable_threads(unit, most):
                command = c.ClaimHead(thread_id=thread_id, **who)
                try:
                    claim = self._claim(unit, command, origin)
                except Unreadable as error:
                    _log.warning("passed over: %s", error)
                    continue
                claims += [claim] if claim else []
                if len(claims) == most:
                    break
            return claims

        return self._backend.transact(work, several=True)

    def renew(self, claim: Claim, lease: Seconds = MINUTE) -> Claim:
        """Give a live claim a new end.

        Raises:
            ClaimLost: It isn't live.
        """
        duration = check_duration("lease", lease, self._settings.max_lease)
        events = self._done(c.Renew(**self._shown(claim), lease=duration))
        renewed = cast("ThreadQueue.Renewed", events[0])
        return replace(claim, expires_at=renewed.expires_at)

    def release(self, claim: Claim) -> None:
        """Give a turn back that wasn't dispatched: it waits in its old place.

        Raises:
            ClaimLost: The claim isn't live.
            InvalidTransition: A dispatch has started.
        """
        self._done(c.Release(**self._shown(claim)))

    def start_dispatch(self, claim: Claim, dispatch_id: str) -> None:
        """Record that the hand-over is about to be made. Call this BEFORE making it.

        Args:
            claim: A live claim.
            dispatch_id: Used for one dispatch in a thread, ever. Again with the same: no-op.

        Raises:
            ClaimLost: The claim isn't live: make no hand-over.
            InvalidTransition: Another dispatch has started, or the id was used before.
            ThreadArchived: The thread takes no work.
        """
        check_identifier("dispatch_id", dispatch_id)
        self._done(c.StartDispatch(**self._shown(claim), dispatch_id=dispatch_id))

    def ack(self, claim: Claim) -> None:
        """Say that the dispatch took effect: the turn is done. A current claim is enough.

        Raises:
            ClaimLost: The claim isn't current. The report is kept as evidence.
            InvalidTransition: No dispatch has started.
        """
        try:
            self._done(c.Ack(**self._shown(claim)))
        except ClaimLost:
            keep_lost_result(self._backend, claim, "ack", None)
            raise

    def ack_many(self, claims: Sequence[Claim]) -> list[Claim]:
        """Say of several dispatches, in one transaction, that they took effect; see `ack`.

        Returns:
            The claims that are lost: their reports are kept as evidence, the others are done.

        Raises:
            InvalidTransition: No dispatch has started for one of them; none is done.
        """
        if not isinstance(claims, Sequence) or isinstance(claims, str):
            raise InvalidPayload("claims", "must be a list of claims")
        if not all(isinstance(claim, Claim) for claim in claims):
            raise InvalidPayload("claims", "must hold nothing but claims")
        lost: list[Claim] = []
        with self._backend.transaction():
            for claim in sorted(claims, key=lambda each: str(each.thread_id)):
                try:
                    self.ack(claim)
                except ClaimLost:
                    lost.append(claim)
        return lost

    def ack_dispatch(self, thread_id: str, dispatch_id: str) -> bool:
        """Say that a dispatch took effect, for a host that only sees its own id come back.

        Returns:
            False unless that very dispatch is in flight; the report of a dispatch that was
            recovered is kept as evidence.

        Raises:
            ThreadDeleted: The thread is deleted. The report is kept as evidence.
        """
        check_identifier("thread_id", thread_id)
        check_identifier("dispatch_id", dispatch_id)
        command = c.AckDispatch(thread_id=thread_id, dispatch_id=dispatch_id)

        lost = partial(keep_lost_dispatch, self._backend, thread_id, dispatch_id)
        try:
            acked = bool(self._done(command))
        except ThreadDeleted:
            self._backend.keep(lost)
            raise
        if not acked:
            self._backend.keep(lost)
        return acked

    def fail(self, claim: Claim, failure: Any, *, outcome_unknown: bool = False) -> None:
        """Say that the turn failed: it blocks the queue at its old place.

        A current claim is enough.

        Args:
            claim: The claim under which it failed.
            failure: Why, as JSON; what isn't JSON is kept as its repr.
            outcome_unknown: Nobody can know whether the dispatch took effect.

        Raises:
            ClaimLost: The claim isn't current. The failure is kept as evidence.
            PayloadTooLarge: The failure is past its limit; answer with a reference.
        """
        _, thread_id = checked_claim(claim, Claim)
        kept, altered = self._settled(thread_id, "failure", failure)
        facts: dict[str, Any] = {"failure": kept, "altered": altered}
        facts["outcome_unknown"] = bool(outcome_unknown)
        try:
            self._done(c.Fail(**self._shown(claim), **facts))
        except ClaimLost:
            keep_lost_result(self._backend, claim, "fail", kept, altered=altered)
            raise

    def _claim(self, unit: UnitOfWork, command: c.ClaimHead, origin: Origin | None) -> Claim | None:
        loaded = repository.load(unit, command)
        events = thread_queue.decide(loaded.state, command, loaded.context)
        if not events:
            return None
        claimed = cast("ThreadQueue.Claimed", events[0])
        attempts, data = loaded.work
        what = f"queued turn {claimed.queued_turn_id} of thread {command.thread_id}"
        try:
            submission = submission_in(data, claimed.queued_turn_id)
        except (ValueError, TypeError) as error:
            raise Unreadable(what, f"damaged: {error}") from error
        self._backend.contents.must_be_there(what, submission)
        repository.save(unit, loaded, events, command, origin or self._backend.origin())
        return made(
            Claim,
            thread_id=command.thread_id,
            owner=claimed.owner,
            epoch=claimed.epoch,
            generation=self._backend.generation,
            queued_turn_id=claimed.queued_turn_id,
            expires_at=claimed.expires_at,
            submission=submission,
            attempts=attempts,
        )

    def _shown(self, claim: Claim) -> dict[str, Any]:
        return shown(self._backend, claim, Claim)
