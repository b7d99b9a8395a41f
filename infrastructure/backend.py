"""What the services of one open ledger share."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import bindparam, insert

from turnledger.domain.duration import to_microseconds
from turnledger.domain.settings import Settings
from turnledger.infrastructure.application import LedgerApplication
from turnledger.infrastructure.clock import Clock, host_clock
from turnledger.infrastructure.conflict import Conflict, Patience
from turnledger.infrastructure.identity import IdentityGenerator
from turnledger.infrastructure.schema import ledger
from turnledger.infrastructure.statement import run, statement
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.unit_of_work import Glance, Origin, UnitOfWork

_IDENTITY = statement(insert(ledger).values({c.name: bindparam(c.name) for c in ledger.columns}))

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Acting:
    """On whose behalf the commands of a block are given."""

    actor: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None


NOBODY = Acting()
acting: ContextVar[Acting] = ContextVar("acting", default=NOBODY)


class Backend:
    """A store with all that is needed to carry out commands on it."""

    def __init__(self, store: Store, clock: Clock | None, settings: Settings) -> None:
        """Take an open store whose schema is this release's.

        Args:
            store: Closed again, if something goes wrong.
            clock: None if the server's is the one that counts.
            settings: Limits and durability.
        """
        self.settings = settings
        self.limits = settings.limits()
        self.clock = host_clock if clock is None else clock
        self.new_id = IdentityGenerator()
        self.store = store
        self._clock = clock
        try:
            self.recorder = store.recorder(self.clock)
            self.application = LedgerApplication(self.recorder)
            self.ledger_id, self.generation = self._identity()
        except BaseException:
            self.store.close()
            raise

    def transact(self, work: Callable[[UnitOfWork], Result], *, several: bool = False) -> Result:
        """Do some work in a unit of work: all of it is committed at the end, or nothing.

        Args:
            work: Reads, decides and saves. It is done again, on what it then reads, if somebody
                else was first.
            several: It changes more than one stream.

        Raises:
            StoreUnavailable: It didn't succeed within the busy_timeout.
        """
        patience: Patience | None = None
        while True:
            try:
                with UnitOfWork(
                    self.application, self.store, self._clock, self.limits, several=several
                ) as unit:
                    return work(unit)
            except Conflict as conflict:
                patience = patience or Patience(self.settings.busy_timeout.total_seconds())
                patience.wait(self.store.url, conflict)

    def glance(self) -> Glance:
        """A snapshot, for questions that take more than one query."""
        return Glance(self.application, self.store, self._clock, self.limits)

    def origin(self) -> Origin:
        """Where the next command comes from."""
        who = acting.get()
        return Origin(self.new_id(), who.actor, who.correlation_id, who.causation_id)

    def _identity(self) -> tuple[str, str]:
        query = "SELECT ledger_id, generation FROM ledger"
        with self.store.reading() as cursor:
            known = cursor.execute(query).fetchone()
        if known is None:
            with self.store.writing() as cursor:
                known = cursor.execute(query).fetchone()
                if known is None:
                    known = (self.new_id(), self.new_id())
                    now = to_microseconds(self.clock())
                    ids = {"ledger_id": known[0], "generation": known[1], "created_at": now}
                    run(cursor, self.store.dialect, _IDENTITY, ids)
        return str(known[0]), str(known[1])
