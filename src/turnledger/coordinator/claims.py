"""Claiming turns: taking them up, keeping them, giving them back, recovering them."""

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, cast

from turnledger.claiming import MINUTE, Seconds, claimer
from turnledger.coordinator.desk import CoordinatorDesk, attempt_in
from turnledger.domain.coordinator_turn import (
    CoordinatorTurn,
    RecoverableTurn,
    Resumption,
    TurnClaim,
    TurnRecovery,
)
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.values import Step
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import Unreadable
from turnledger.domain.identifier import MOST, check_count, check_identifier
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.turn_rows import as_recoverable
from turnledger.infrastructure.unit_of_work import UnitOfWork

_PAGE = 100
_NO_TIME = timedelta(0)
_STEPS: dict[str, Step] = {
    "prepared": "dispatch",
    "responded": "use_response",
    "unknown": "resolve_unknown",
}

_log = logging.getLogger(__name__)


class Claims(CoordinatorDesk):
    """The part of `ledger.coordinator` for workers that look for something to do."""

    def claim(self, turn_id: str, owner: str, lease: Seconds = MINUTE) -> TurnClaim | None:
        """Take a turn that is pending, or whose lease is over; None if it is neither.

        Args:
            turn_id: Which one.
            owner: Who will work on it: a string that is new for every boot of a process.
            lease: For how long, as seconds or a timedelta; 0 is a claim that is over at once.

        Raises:
            Unreadable: The turn's stored message is damaged. It stays where it is.
        """
        check_identifier("turn_id", turn_id)
        at_once = not isinstance(lease, bool) and lease in (0, _NO_TIME)
        who = claimer(self._settings, owner, MINUTE if at_once else lease)
        if at_once:
            who["lease"] = _NO_TIME
        command = c.Claim(turn_id=turn_id, **who)
        return self._backend.transact(lambda unit: self._claim(unit, command), several=True)

    def claim_next(
        self, work_item_id: str | None = None, *, owner: str, lease: Seconds = MINUTE
    ) -> TurnClaim | None:
        """Take the oldest turn that is pending, or whose lease is over; None if there is none.

        A turn that can't be read is passed over and named in the log.

        Args:
            work_item_id: Only of this work item; default of any.
            owner: Who will work on it: a string that is new for every boot of a process.
            lease: For how long, as seconds or a timedelta.
        """
        if work_item_id is not None:
            check_identifier("work_item_id", work_item_id)
        who = claimer(self._settings, owner, lease)

        def work(unit: UnitOfWork) -> TurnClaim | None:
            for turn_id in repository.ready(unit, work_item_id):
                try:
                    claim = self._claim(unit, c.ClaimNext(turn_id=turn_id, **who))
                except Unreadable as error:
                    _log.warning("passed over: %s", error)
                    continue
                if claim is not None:
                    return claim
            return None

        return self._backend.transact(work, several=True)

    def renew(self, claim: TurnClaim, lease: Seconds = MINUTE) -> TurnClaim:
        """Give a live claim a new end; it may be an earlier one.

        Raises:
            ClaimLost: It isn't live.
        """
        duration = check_duration("lease", lease, self._settings.max_lease)
        events = self._done(c.Renew(**self._shown(claim), lease=duration))
        renewed = cast("CoordinatorTurn.Renewed", events[0])
        return replace(claim, expires_at=renewed.expires_at)

    def release(self, claim: TurnClaim) -> None:
        """Give a turn back: it waits again, and what its attempts left stays with it.

        Raises:
            ClaimLost: The claim isn't live.
        """
        self._done(c.Release(**self._shown(claim)))

    def resume(self, turn_id: str, owner: str, lease: Seconds = MINUTE) -> Resumption | None:
        """Take a turn as `claim` does, and say what to do first.

        What was being dispatched under a claim that is over is of unknown outcome from then on.

        Raises:
            Unreadable: Something that is stored of the turn is damaged. It stays where it is.
        """
        check_identifier("turn_id", turn_id)
        command = c.Resume(turn_id=turn_id, **claimer(self._settings, owner, lease))

        def work(unit: UnitOfWork) -> Resumption | None:
            claim = self._claim(unit, command)
            return None if claim is None else _resumption(unit, claim)

        return self._backend.transact(work, several=True)

    def recover(self) -> TurnRecovery:
        """End what is over: safe from every process, at every time; what is live isn't touched.

        First the dispatches that nobody answers for become unknown, and then the turns whose lease
        is over wait again; each turn in a transaction of its own. One that can't be read is passed
        over and named in the log.

        Returns:
            How many there were of both.
        """
        kinds: list[Any] = []
        last = ""
        while page := self._backend.look(partial(repository.stale_turns, after=last, page=_PAGE)):
            for turn_id in page:
                try:
                    kinds += map(type, self._done(c.Recover(turn_id=turn_id)))
                except Unreadable as error:
                    _log.warning("passed over: %s", error)
            last = page[-1]
        return TurnRecovery(
            attempts_unknown=kinds.count(CoordinatorTurn.OutcomeUnknown),
            turns_pending=kinds.count(CoordinatorTurn.Recovered),
        )

    def recoverable(self, *, limit: int | None = None) -> list[RecoverableTurn]:
        """The turns that a worker should take up now, the oldest first.

        Args:
            limit: At most so many; default all.
        """
        most = MOST if limit is None else check_count("limit", limit)
        rows = self._backend.look(lambda unit: repository.recoverable(unit, most))
        return [as_recoverable(row) for row in rows]

    def _claim(self, unit: UnitOfWork, command: c.Claim) -> TurnClaim | None:
        loaded, events = repository.decided(unit, command)
        if not events:
            return None
        given = self._given_out(unit, command.turn_id, loaded.state.work_item_id)
        repository.save(unit, loaded, events, command, self._backend.origin())
        claimed = cast("CoordinatorTurn.Claimed", events[-1])
        facts = claimed.model_dump(include={"owner", "epoch", "expires_at"})
        return replace(given, **facts)


def _resumption(unit: UnitOfWork, claim: TurnClaim) -> Resumption:
    state = repository.load(unit, claim.turn_id).state
    step = _STEPS.get(state.latest.status) if state.latest is not None else None
    number = len(state.attempts)
    if step is None:
        return Resumption(claim=claim, step="prepare", attempt=number + 1)
    attempt = attempt_in(unit, claim.turn_id, number)
    payloads = {"request": attempt.request, "response": attempt.response}
    return Resumption(claim=claim, step=step, attempt=number, **payloads)
