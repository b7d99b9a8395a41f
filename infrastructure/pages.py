"""The events page by page, as they are stored: no snapshot is held while they are looked at."""

from turnledger.domain.errors import StoreError
from turnledger.infrastructure.rows import BEHIND
from turnledger.infrastructure.statement import Row, Statement, run
from turnledger.infrastructure.store import Store
from turnledger.projections.schema import Parameters

PAGE = 2_000


def page_behind(store: Store, position: int) -> list[Row]:
    """The next events behind a position, at most PAGE; text that isn't UTF-8 has surrogates."""
    return rows_of(store, BEHIND, {"after": position, "limit": PAGE})


def rows_of(store: Store, what: Statement, given: Parameters) -> list[Row]:
    """What a query on events finds; text that isn't UTF-8 has surrogates.

    They are read as undamaged first: the driver decodes text itself then, which is quicker.
    """
    try:
        with store.reading() as cursor:
            plain: list[Row] = run(cursor, store.dialect, what, given).fetchall()
            return plain
    except StoreError:  # if it is something else than text, it comes again
        with store.reading(damaged=True) as cursor:
            page: list[Row] = run(cursor, store.dialect, what, given).fetchall()
            return page
