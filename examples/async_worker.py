"""A worker for asyncio, whole: it works on several threads at a time. See worker.py.

    python examples/async_worker.py agents.db

Put work in from anywhere: `turnledger --db agents.db queue append thread-1 '{"text": "hi"}'`.
"""

import asyncio
import sys
from typing import Any
from uuid import uuid4

import turnledger

LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 10.0  # so often it looks for claims that are over


async def call_model(submission: dict[str, Any]) -> None:
    """Hand the submission over: the effect that can't be taken back."""
    print("to the model:", submission)


async def work(ledger: turnledger.AsyncLedger, claim: turnledger.Claim) -> None:
    """Do one turn."""
    try:
        await ledger.queue.start_dispatch(claim, str(uuid4()))  # recorded before it is made
        await call_model(claim.submission or {})
    except turnledger.ClaimLost:
        pass  # somebody else has it now: touch nothing
    except Exception as error:  # noqa: BLE001 - whatever it was, nobody knows how far it got
        await ledger.queue.fail(claim, repr(error), outcome_unknown=True)
    else:
        await ledger.queue.ack(claim)


async def main(path: str) -> None:
    """Work for ever."""
    owner = f"worker-{uuid4()}"  # new for every boot
    async with turnledger.open_async(path) as ledger:
        position = 0
        while True:
            await ledger.queue.recover()
            while claims := await ledger.queue.claim_next(owner, limit=10, lease=LEASE_SECONDS):
                async with asyncio.TaskGroup() as turns:
                    for claim in claims:
                        turns.create_task(work(ledger, claim))
            position = await ledger.wait_for_change(since=position, timeout=PATIENCE_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
