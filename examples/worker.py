"""A worker, whole: it claims, dispatches and settles, recovers what others left, and waits.

    python examples/worker.py agents.db

Put work in from anywhere: `turnledger --db agents.db queue append thread-1 '{"text": "hi"}'`.
"""

import sys
from typing import Any
from uuid import uuid4

import turnledger

LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 10.0  # so often it looks for claims that are over


def call_model(submission: dict[str, Any]) -> None:
    """Hand the submission over: the effect that can't be taken back."""
    print("to the model:", submission)


def work(ledger: turnledger.Ledger, owner: str) -> None:
    """Do the longest waiting turn of every thread that has one, until nothing is left."""
    while claims := ledger.queue.claim_next(owner, limit=10, lease=LEASE_SECONDS):
        for claim in claims:
            dispatch_id = str(uuid4())
            try:
                ledger.queue.start_dispatch(claim, dispatch_id)  # recorded before it is made
                call_model(claim.submission or {})
            except turnledger.ClaimLost:
                continue  # somebody else has it now: touch nothing
            except Exception as error:  # noqa: BLE001 - whatever it was, nobody knows how far it got
                ledger.queue.fail(claim, repr(error), outcome_unknown=True)
            else:
                ledger.queue.ack(claim)


def main(path: str) -> None:
    """Work for ever."""
    owner = f"worker-{uuid4()}"  # new for every boot
    with turnledger.open(path) as ledger:
        position = 0
        while True:
            ledger.queue.recover()
            work(ledger, owner)
            position = ledger.wait_for_change(since=position, timeout=PATIENCE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
