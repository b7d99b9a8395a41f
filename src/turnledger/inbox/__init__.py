"""`ledger.inbox`: the messages from outside for each thread."""

from turnledger.inbox.delivering import Delivering
from turnledger.inbox.keeping import Keeping
from turnledger.inbox.posting import Posting


class Inbox(Posting, Delivering, Keeping):
    """The commands and queries of `ledger.inbox`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """


__all__ = ["Inbox"]
