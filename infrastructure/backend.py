"""What the services of one open ledger share."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from turnledger.domain.duration import to_microseconds
from turnledger.domain.errors import StoreError, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure import ledger_row
from turnledger.infrastructure.application import LedgerApplication
from turnledger.infrastructure.clock import Clock, host_clock
from turnledger.infrastructure.conflict import Conflict, Disconnected, Patience
from turnledger.infrastructure.enclosing import Enclosing, enclosing
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.grouping import Grouping
from turnledger.infrastructure.identity import IdentityGenerator
from turnledger.infrastructure.intake import PLAIN, Contents
from turnledger.infrastructure.ledger_row import LedgerRow
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.unit_of_work import UnitOfWork

Result = TypeVar("Result")
Observer = Callable[[Callable[[], Any]], Any]


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

    def __init__(
        self, store: Store, clock: Clock | None, settings: Settings, contents: Contents = PLAIN
    ) -> None:
        """Take an open store whose schema is this release's.

        Args:
            store: Closed again, if something goes wrong.
            clock: None if the server's is the one that counts.
            settings: Limits and durability.
            contents: What is done with them on their way in and out; closed with the store.
        """
        self.settings = settings
        self.contents = contents
        self.observer: Observer | None = None
        self.limits = settings.limits()
        self.clock = host_clock if clock is None else clock
        self.new_id = IdentityGenerator()
        self.store = store
        self._clock = clock
        self._patience = settings.busy_timeout.total_seconds()
        self._grouping = Grouping(self._unit, store.url, self._patience)
        try:
            self.recorder = store.recorder(self.clock)
            self.application = LedgerApplication(self.recorder)
            row = ledger_row.identified(store, settings, self._new_row)
            self.ledger_id, self.generation, _, encrypted = row
            contents.must_be(store.url, is_encrypted=bool(encrypted))
        except BaseException:
            self.close()
            raise

    def transact(self, work: Callable[[UnitOfWork], Result], *, several: bool = False) -> Result:
        """Do some work in a unit of work: all of it is committed at the end, or nothing.

        Within a `transaction`, it is committed with that one.

        Args:
            work: Reads, decides and saves. It is done again, on what it then reads, if somebody
                else was first; and perhaps by another thread, together with that one's.
            several: It changes more than one stream.

        Raises:
            StoreUnavailable: It didn't succeed within the busy_timeout.
        """
        if self.observer is None:
            return self._transact(work, several=several)
        watched: Result = self.observer(partial(self._transact, work, several=several))
        return watched

    def _transact(self, work: Callable[[UnitOfWork], Result], *, several: bool) -> Result:
        if self.contents.is_encrypted:
            work, several = partial(self._opened, work), True  # so it isn't committed before
        around = enclosing(self)
        if around is not None:
            return around.carry_out(work, several=several)
        if self.store.writer is not None:
            return self._grouping.carry_out(self.store.writer, work, several=several)
        return self.alone(work, several=several)

    def alone(self, work: Callable[[UnitOfWork], Result], *, several: bool = False) -> Result:
        """Likewise, in a unit of work that no other command shares: what it reads is committed.

        This thread must not be in a `transaction`.
        """
        patience: Patience | None = None
        while True:
            try:
                with self._unit(several=several) as unit:
                    return work(unit)
            except Conflict as conflict:
                patience = patience or Patience(self._patience)
                patience.wait(self.store.url, conflict)

    @contextmanager
    def transaction(self) -> Generator[Enclosing]:
        """Let all work of a block be committed together at its end, or nothing of it.

        Raises:
            StoreUnavailable: It can't be committed. Do the whole block again.
        """
        around = enclosing(self)
        unit = self._unit(several=True) if around is None else around.unit.joined(savepoint=True)
        inner = Enclosing(self, unit, self.store.url)
        try:
            with unit, inner.open():
                yield inner
        except BaseException as error:
            inner.end()
            for context, evidence in inner.evidence:
                context.run(self._keep_again, evidence)
            if isinstance(error, Conflict) and not isinstance(error, StoreUnavailable):
                raise StoreUnavailable(self.store.url, f"{error}; do it again") from error
            raise
        inner.end()
        if around is not None:
            around.evidence += inner.evidence

    def keep(self, work: Callable[[UnitOfWork], Any]) -> None:
        """Do some work that stays, also if a `transaction` around it is undone."""
        around = enclosing(self)
        if around is not None:
            around.note(work)
        self._transact(work, several=False)

    def _keep_again(self, work: Callable[[UnitOfWork], Any]) -> None:
        """Keep what was undone; with what is around that, if that is lost as well."""
        try:
            self.keep(work)
        except StoreError:
            around = enclosing(self)
            if around is None or around.unit.lost is None:
                raise

    def _opened(self, work: Callable[[UnitOfWork], Result], unit: UnitOfWork) -> Result:
        """Do some work, and open its result before it is committed: that may fail."""
        return self.contents.opened(work(unit))

    def _unit(self, *, several: bool = False) -> UnitOfWork:
        parts = (self.application, self.store, self._clock, self.limits)
        return UnitOfWork(*parts, several=several)

    def look(self, question: Callable[[Glance], Result]) -> Result:
        """Ask a question that takes more than one query: they see one state of the database.

        Args:
            question: It is asked again, if the connection breaks in its middle.

        Raises:
            StoreUnavailable: It wasn't answered within the busy_timeout.
        """
        patience = Patience(self._patience)
        while True:
            try:
                with Glance(self.application, self.store, self._clock, self.limits) as unit:
                    return self.contents.opened(question(unit))
            except StoreUnavailable as error:
                if enclosing(self) is not None:
                    raise
                patience.wait(self.store.url, Disconnected(error.facts["reason"]))

    def origin(self) -> Origin:
        """Where the next command comes from."""
        who = acting.get()
        return Origin(self.new_id(), who.actor, who.correlation_id, who.causation_id)

    def renew(self) -> None:
        """Give the ledger a new generation: claims and cursors of before are refused."""
        generation = self.new_id()
        ledger_row.renew(self.store, self.settings, generation)
        self.generation = generation

    def _new_row(self) -> LedgerRow:
        now = to_microseconds(self.clock())
        return LedgerRow(self.new_id(), self.new_id(), now, int(self.contents.is_encrypted))

    def close(self) -> None:
        """Close the connections of all threads, and those to the keys."""
        self.store.close()
        self.contents.close()
