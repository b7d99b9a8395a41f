"""`ledger.operations`: external effects that must not happen twice."""

from turnledger.operations.executing import Executing


class Operations(Executing):
    """The commands and queries of `ledger.operations`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """


__all__ = ["Operations"]
