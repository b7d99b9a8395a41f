"""The loop of those who answer coordinator turns: the next step, whatever a dead worker left."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from turnledger.claiming import MINUTE, Seconds
from turnledger.coordinator.attempts import Attempts
from turnledger.coordinator.claims import Claims
from turnledger.coordinator.settling import Settling
from turnledger.domain.coordinator_turn import RecoverableTurn, Resumption, TurnClaim
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import (
    AttemptsExhausted,
    ClaimLost,
    LedgerError,
    NoEffect,
    Refused,
    StoreReadOnly,
)
from turnledger.domain.identifier import check_identifier
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.owner import new_owner
from turnledger.renewing import Renewer

_log = logging.getLogger("turnledger.coordinator")

_LOOK_SECONDS = 2.0  # so often one looks for claims that are over
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0  # before a turn is tried again that broke undispatched

Dispatch = Callable[[], Any]
MakeRequest = Callable[[TurnClaim], Any]
Call = Callable[[Any, Dispatch], Any]
Use = Callable[[TurnClaim, Any], Any]


class Working(Claims, Attempts, Settling):
    """The part of `ledger.coordinator` for those who give a function that calls a provider."""

    def work(  # noqa: PLR0913 - all that can be said of it
        self,
        request: MakeRequest,
        call: Call,
        *,
        use: Use | None = None,
        owner: str | None = None,
        lease: Seconds = MINUTE,
        once: bool = False,
        stopped: threading.Event | None = None,
    ) -> int:
        """Answer turns, one after the other, wherever their last worker stopped.

        A request is made once and stored; who takes the turn over sends the stored one, and an
        answer that is there is used without a call. Turns with an attempt of unknown outcome are
        left to whoever decides with `resolve`. The lease is renewed meanwhile.

        Args:
            request: Makes the request, JSON, out of a turn's claim.
            call: Is given the stored request and a function: call that right before sending. Its
                return value is the answer. If it raises `Refused` or `NoEffect`, the provider has
                done nothing; if it raises anything else after the function was called, the
                attempt's outcome is unknown.
            use: Makes the turn's result out of the claim and the answer; default the answer. If
                it raises `Refused`, the answer is rejected.
            owner: Who works: a string that is new for every boot of a process; default one that is
                made up.
            lease: For how long each turn is claimed, as seconds or a timedelta.
            once: End when nothing is left to do, instead of waiting.
            stopped: Set it, from another thread or a signal handler, to end after the turn in hand.

        Returns:
            How many turns were settled.

        Raises:
            StoreReadOnly: The ledger was opened read-only, or is one of the past.
        """
        if self._backend.store.read_only:
            raise StoreReadOnly(self._backend.store.url, "it was opened read-only")
        who = new_owner() if owner is None else check_identifier("owner", owner)
        seconds = check_duration("lease", lease, self._settings.max_lease).total_seconds()
        renewer = Renewer(self.renew, self._backend.transaction)
        wait = self._backend.store.wait_for_change
        shift = Shift(self, renewer, (who, seconds), (request, call, use), wait)
        try:
            return shift.work(stopped or threading.Event(), once=once)
        finally:
            renewer.end()


class Kept:
    """A turn whose lease is renewed; see `renewing.Kept`."""

    def __init__(self, claim: TurnClaim, lease_seconds: float) -> None:
        """Take what was claimed, and for how long."""
        self.claim: Any = claim
        self.lease_seconds = lease_seconds
        self.is_settled = False

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"turn {self.claim.turn_id}"

    def lost(self, reason: str) -> None:
        """Its next command hears of it."""
        self.is_settled = True
        _log.warning("the claim on %s is lost: %s", self.name, reason)

    def renewed(self, at: float) -> None:
        """Nothing follows from it."""

    def not_renewed(self, now: float) -> None:
        """Likewise: the ledger decides at the next command."""


class Shift:
    """One worker's loop."""

    def __init__(
        self,
        coordinator: Working,
        renewer: Renewer,
        claimer: tuple[str, float],
        functions: tuple[MakeRequest, Call, Use | None],
        wait: Callable[[int, float], int],
    ) -> None:
        """Take whose turns, who claims them for how long, what the user gave, and how to wait."""
        self._coordinator = coordinator
        self._renewer = renewer
        self._owner, self._lease = claimer
        self._wait = wait
        self._request, self._call, self._use = functions
        self._pauses: dict[str, tuple[float, float]] = {}  # until when, and how long it was

    def work(self, stopped: threading.Event, *, once: bool) -> int:
        """Answer turns until it is stopped; see `Working.work`."""
        count, position = 0, 0
        while not stopped.is_set():
            self._coordinator.recover()
            tried = [turn for turn in self._coordinator.recoverable() if self._may_try(turn)]
            settled = [self._resumed(turn) for turn in tried if not stopped.is_set()]
            count += settled.count(True)
            if not tried and once:
                break
            if not tried:
                position = self._wait(position, _LOOK_SECONDS)
        return count

    def _may_try(self, turn: RecoverableTurn) -> bool:
        if turn.attempt_status == "unknown":
            return False
        return steady() >= self._pauses.get(turn.turn_id, (0.0, 0.0))[0]

    def _resumed(self, turn: RecoverableTurn) -> bool:
        """Go on with a turn; whether it is settled then."""
        try:
            found = self._coordinator.resume(turn.turn_id, self._owner, self._lease)
            if found is None:
                return False
            kept = Kept(found.claim, self._lease)
            self._renewer.keep(kept)
            try:
                return self._answered(found)
            finally:
                kept.is_settled = True
                self._renewer.drop(kept)
        except ClaimLost as error:
            _log.warning("%s", error)
        except Exception:  # noqa: BLE001 - one that can't be answered never stops the others
            _log.exception("turn %s couldn't be answered", turn.turn_id)
            self._pause(turn.turn_id)
        return False

    def _answered(self, found: Resumption) -> bool:
        claim = found.claim
        if found.step == "use_response":
            return self._used(claim, found.attempt, found.response)
        if found.step == "resolve_unknown":
            self._coordinator.release(claim)
            return False
        attempt, request = found.attempt, found.request
        if found.step == "prepare":
            try:
                prepared = self._coordinator.prepare(claim, self._made(claim))
            except AttemptsExhausted as error:
                self._coordinator.fail(claim, str(error))
                return True
            attempt, request = prepared.attempt, prepared.request
        return self._called(claim, attempt, request)

    def _made(self, claim: TurnClaim) -> Any:
        """The request; a turn for which none can be made waits."""
        try:
            return self._request(claim)
        except Exception:
            self._coordinator.release(claim)
            raise

    def _called(self, claim: TurnClaim, attempt: int, request: Any) -> bool:
        started: list[str] = []

        def dispatch() -> None:
            started.append(self._coordinator.start_dispatch(claim, attempt).request_hash)

        try:
            response = self._call(request, dispatch)
        except (Refused, NoEffect) as error:
            return self._refused(claim, attempt, error, was_sent=bool(started))
        except BaseException:
            self._coordinator.release(claim)
            if started:  # nobody can know: it is listed, and waits for a decision
                self._coordinator.recover()
            raise
        if not started:
            self._coordinator.release(claim)
            msg = "the call came back without having called the function that records its dispatch"
            raise LedgerError(msg)
        self._coordinator.respond(claim, attempt, started[0], response)
        return self._used(claim, attempt, response)

    def _refused(
        self, claim: TurnClaim, attempt: int, error: Refused | NoEffect, *, was_sent: bool
    ) -> bool:
        """The provider has done nothing: try again later, or fail the turn."""
        retry = isinstance(error, NoEffect) or error.retry
        said = error.result if isinstance(error, NoEffect) else error.error
        if was_sent:
            at = None if isinstance(error, NoEffect) else error.retry_at
            self._coordinator.refuse(claim, attempt, said, retryable=retry, retry_at=at)
        if retry:
            self._coordinator.release(claim)
            if not was_sent:
                self._pause(claim.turn_id)
            return False
        self._coordinator.fail(claim, said)
        return True

    def _used(self, claim: TurnClaim, attempt: int, response: Any) -> bool:
        try:
            result = response if self._use is None else self._use(claim, response)
        except Refused as error:
            self._coordinator.reject(claim, attempt, error.error)
            if error.retry:
                self._coordinator.release(claim)
                return False
            self._coordinator.fail(claim, error.error)
            return True
        except BaseException:
            self._coordinator.release(claim)
            raise
        self._coordinator.complete(claim, result)
        self._pauses.pop(claim.turn_id, None)
        return True

    def _pause(self, turn_id: str) -> None:
        """Try a turn again later: longer each time."""
        _, last = self._pauses.get(turn_id, (0.0, _SHORTEST_PAUSE / 2))
        pause = min(last * 2, _LONGEST_PAUSE)
        self._pauses[turn_id] = (steady() + pause, pause)
