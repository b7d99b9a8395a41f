"""A transaction of its own, done again where somebody else was first, or the server went away."""

from collections.abc import Callable
from typing import TypeVar

from turnledger.domain.settings import Settings
from turnledger.infrastructure.conflict import Conflict, Patience
from turnledger.infrastructure.statement import Cursor
from turnledger.infrastructure.store import Store

Result = TypeVar("Result")


def transact(store: Store, settings: Settings, work: Callable[[Cursor], Result]) -> Result:
    """Do some work in a transaction.

    Args:
        store: Where.
        settings: How long it is done again and again.
        work: Reads first what it depends on: it may have been committed the time before, if the
            answer was lost.

    Raises:
        StoreUnavailable: It didn't succeed within the busy_timeout.
    """
    patience: Patience | None = None
    while True:
        try:
            with store.writing() as cursor:
                return work(cursor)
        except Conflict as conflict:
            patience = patience or Patience(settings.busy_timeout.total_seconds())
            patience.wait(store.url, conflict)
