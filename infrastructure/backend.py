"""What the services of one open ledger share."""

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from turnledger.domain.settings import Settings
from turnledger.infrastructure.application import LedgerApplication
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.identity import IdentityGenerator
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.unit_of_work import Glance, Origin, UnitOfWork
from turnledger.projections.schema import to_microseconds


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

    def __init__(self, path: Path, clock: Clock, settings: Settings, *, read_only: bool) -> None:
        """Open the store; make or upgrade its schema."""
        self.settings = settings
        self.limits = settings.limits()
        self.clock = clock
        self.new_id = IdentityGenerator()
        self.store = SqliteStore(path, settings, read_only=read_only)
        try:
            migrate(self.store)
            self.application = LedgerApplication(self.store, clock)
            self.recorder = self.application.ledger_recorder
            self.ledger_id, self.generation = self._identity()
        except BaseException:
            self.store.close()
            raise

    def unit(self) -> UnitOfWork:
        """A transaction that is committed at the end, or nothing of it."""
        return UnitOfWork(self.application, self.store, self.clock, self.limits)

    def glance(self) -> Glance:
        """A snapshot, for questions that take more than one query."""
        return Glance(self.application, self.store, self.clock, self.limits)

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
                row = (self.new_id(), self.new_id(), to_microseconds(self.clock()))
                cursor.execute(
                    "INSERT INTO ledger (ledger_id, generation, created_at) SELECT ?, ?, ? "
                    "WHERE NOT EXISTS (SELECT 1 FROM ledger)",
                    row,
                )
                known = cursor.execute(query).fetchone()
        return str(known[0]), str(known[1])
