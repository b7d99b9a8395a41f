"""The part of the ledger for workers: the loop that people actually write."""

from turnledger.claiming import MINUTE, Seconds
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import StoreReadOnly
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.inbox import Inbox
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.owner import new_owner
from turnledger.queue import Queue
from turnledger.renewing import Renewer
from turnledger.timers import Timers
from turnledger.turns.hands import Hands
from turnledger.turns.pace import Pace
from turnledger.turns.taking import Plan, Turns

GRACE = 30.0


class Working:
    """What `Ledger` gives to workers."""

    _backend: Backend
    _renewer: Renewer
    queue: Queue
    inbox: Inbox
    timers: Timers

    def turns(  # noqa: PLR0913 - all that can be said of a worker
        self,
        owner: str | None = None,
        *,
        lease: Seconds = MINUTE,
        limit: int = 1,
        once: bool = False,
        stop_on: int | None = None,
        grace: Seconds = GRACE,
    ) -> Turns:
        """The queued turns of all threads, each claimed for the caller, as they come.

        Enter each with `with`: see `TurnInHand`. The next one is that of the thread whose head has
        waited longest. While there is none it waits, is woken by changes and by the time, fires
        the timers that are due, and recovers the turns of workers that died.

        Args:
            owner: Who works on them: a string that is new for every boot of a process; default one
                that is made up.
            lease: For how long each is claimed, as seconds or a timedelta; it is renewed meanwhile.
            limit: At most so many in hand, for bodies that run in other threads.
            once: End when nothing is left to do, instead of waiting.
            stop_on: A signal, signal.SIGTERM say, that ends the iteration: nothing more is claimed,
                and what is in hand goes on. In the main thread only.
            grace: So long it may go on then, as seconds or a timedelta; after that, or at a second
                signal, SystemExit is raised in the main thread, and so in the turn's body.

        Raises:
            ValueError: `stop_on` was given in another thread than the main one.
            StoreReadOnly: The ledger was opened read-only, or is one of the past.
        """
        if self._backend.store.read_only:
            raise StoreReadOnly(self._backend.store.url, "it was opened read-only")
        who = new_owner() if owner is None else check_identifier("owner", owner)
        settings = self._backend.settings
        seconds = check_duration("lease", lease, settings.max_lease).total_seconds()
        grace_seconds = check_duration("grace", grace, settings.max_lease).total_seconds()
        hands = Hands(self._backend, self.queue, self.inbox, self._renewer)
        pace = Pace(self._backend, self.queue, self.timers, who)
        turns = Turns(Plan(hands, pace, who, seconds, check_count("limit", limit), once))
        if stop_on is not None:
            turns.stop_on(stop_on, grace_seconds)
        return turns
