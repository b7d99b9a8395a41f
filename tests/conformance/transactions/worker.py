"""Many threads that append until they are killed: worker.py URL ROLE NAME.

Each says the key of what it has appended, on a line of its own, once it has the answer.
"""

import faulthandler
import itertools
import os
import sys
from threading import Thread

import turnledger
from turnledger import Ledger, Settings

THREADS = 16
GIVE_UP_SECONDS = 300  # so that a test whose worker hangs fails, with the worker's stack


def one_by_one(ledger: Ledger, key: str, thread: str) -> None:
    """A command."""
    ledger.queue.append(thread, {"key": key}, idempotency_key=key)


def in_blocks(ledger: Ledger, key: str, thread: str) -> None:
    """A block of commands on two threads."""
    with ledger.transaction():
        for half in ("left", "right"):
            ledger.queue.append(f"{thread} {half}", {"key": key}, idempotency_key=key)


ROLES = {"one_by_one": one_by_one, "in_blocks": in_blocks}


def work(ledger: Ledger, role: str, name: str) -> None:
    """Append without end, to one of four threads after the other."""
    for number in itertools.count():
        key = f"{name} {number}"
        ROLES[role](ledger, key, f"thread {number % 4}")
        os.write(1, f"{key}\n".encode())


def main(url: str, role: str, name: str) -> None:
    """Start the threads, and never come back."""
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    with turnledger.open(url, settings=Settings(max_visible_turns=1_000_000)) as ledger:
        for number in range(THREADS):
            given = (ledger, role, f"{name}-{number}")
            Thread(target=work, args=given, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
