"""The ledger for asyncio: `turnledger.open_async` and the `AsyncLedger` that it gives.

A command is carried out whole, by the same code as ever, in one of a few threads of the ledger's
own; the event loop only waits for its end. Waiting for a change takes none of these threads.
"""

from turnledger.asynchronous.in_hand import AsyncTurnInHand
from turnledger.asynchronous.ledger import AsyncLedger, open_async
from turnledger.asynchronous.turns import AsyncTurns

__all__ = ["AsyncLedger", "AsyncTurnInHand", "AsyncTurns", "open_async"]
