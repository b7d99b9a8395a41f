"""`ledger.coordinator`: coordinator turns, and the provider turns that answer them."""

from turnledger.coordinator.beginning import Beginning
from turnledger.coordinator.looking import Looking
from turnledger.coordinator.resolving import Resolving
from turnledger.coordinator.working import Working


class Coordinator(Beginning, Working, Resolving, Looking):
    """The commands and queries of `ledger.coordinator`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """


__all__ = ["Coordinator"]
