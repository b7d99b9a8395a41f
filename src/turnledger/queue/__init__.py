"""`ledger.queue`: one first-in, first-out queue of queued turns for each thread."""

from turnledger.queue.claims import Claims
from turnledger.queue.settling import Settling
from turnledger.queue.waiting import Waiting


class Queue(Waiting, Claims, Settling):
    """The commands and queries of `ledger.queue`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """


__all__ = ["Queue"]
