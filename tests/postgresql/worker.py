"""A worker on a server, as a process of its own: worker.py URL ROLE OWNER [COUNT].

It says each thing that it has done as JSON on a line: a word, the thread, the epoch, the number.
"""

import faulthandler
import json
import sys
from datetime import timedelta

import turnledger
from turnledger import Ledger, Settings

GIVE_UP_SECONDS = 120  # so that a test whose worker hangs fails, with the worker's stack


def say(word: str, *values: object) -> None:
    """Tell the test."""
    print(json.dumps([word, *values]), flush=True)


def wait_for_the_start() -> None:
    """Begin together with other workers."""
    say("ready")
    sys.stdin.readline()


def drain(ledger: Ledger, owner: str, most: str) -> None:
    """Send whatever can be claimed, until nothing can."""
    while claims := ledger.queue.claim_next(owner, limit=int(most)):
        for claim in claims:
            assert claim.submission is not None
            what = (claim.thread_id, claim.epoch, claim.submission["number"])
            ledger.queue.start_dispatch(claim, f"{owner} {claim.epoch}")
            say("sent", *what)
            ledger.queue.ack(claim)
            say("acked", *what)


def opened(ledger: Ledger, _owner: str, _count: str) -> None:
    """Say which ledger it is."""
    ledger.queue.append("thread", {})
    say("opened", ledger.ledger_id, ledger.generation)


ROLES = {role.__name__: role for role in (drain, opened)}


def main(url: str, role: str, owner: str, number: str = "1") -> None:
    """Open the ledger, and play a role in it."""
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    if role == "opened":
        wait_for_the_start()
    settings = Settings(busy_timeout=timedelta(seconds=60))
    with turnledger.open(url, settings=settings) as ledger:
        if role != "opened":
            wait_for_the_start()
        ROLES[role](ledger, owner, number)


if __name__ == "__main__":
    main(*sys.argv[1:])
