"""A process that works until it is killed, and notes on a file what it was told.

Each line is written in one go, behind what is there: a killed process leaves whole lines only. `?`
is what it is about to ask for, `!` what was answered, `*` an effect outside.
"""

import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from turnledger.domain.errors import ClaimLost, LedgerError
from turnledger.domain.settings import Settings
from turnledger.door import open as open_ledger
from turnledger.ledger import Ledger

SETTINGS = Settings(max_visible_turns=1_000_000)
_THREADS, TOGETHER = 8, 10
DELIVERING = (0, 4)  # of the threads


class Notes:
    """The file with the lines."""

    def __init__(self, path: Path) -> None:
        """Write behind what is there."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def say(self, *words: object) -> None:
        """One line."""
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


Role = Callable[[Ledger, str, Notes], None]


def work(url: str, owner: str, notes: Path, ready: Any) -> None:
    """Append and deliver without end.

    Args:
        url: The ledger.
        owner: The process's own name.
        notes: A file.
        ready: A semaphore, released once the ledger is open.
    """
    said = Notes(notes)
    ledger = open_ledger(url, settings=SETTINGS)
    ready.release()
    for number in range(_THREADS):
        role = _deliver if number in DELIVERING else _append
        name = f"{owner}.{number}"
        threading.Thread(target=_until_it_ends, args=(role, ledger, name, said)).start()


def _until_it_ends(role: Role, ledger: Ledger, name: str, said: Notes) -> None:
    try:
        role(ledger, name, said)
    except LedgerError as error:
        said.say("error", error.code, repr(str(error)))


def _append(ledger: Ledger, name: str, said: Notes) -> None:
    """Some turns at a time, under a key each time."""
    for number in count():
        key = f"{name}.{number}"
        said.say("?", key)
        said.say("!", key, int(append(ledger, key)))


def append(ledger: Ledger, key: str) -> bool:
    """Append some turns; returns whether that was done before."""
    turns = [{"key": key, "place": place} for place in range(TOGETHER)]
    thread = f"thread {key.rpartition('.')[0]}"
    return ledger.queue.append_many(thread, turns, idempotency_key=key)[0].duplicate


def _deliver(ledger: Ledger, name: str, said: Notes) -> None:
    """Whatever can be claimed: the dispatch is recorded first, then comes the effect."""
    position = 0
    while True:
        claims = ledger.queue.claim_next(name, limit=TOGETHER)
        if not claims:
            position = ledger.wait_for_change(position, 0.01)
        for claim in claims:
            about = (claim.queued_turn_id, claim.epoch)
            try:
                ledger.queue.start_dispatch(claim, f"{name}.{claim.epoch}")
                said.say("*", *about)
                ledger.queue.ack(claim)
                said.say("+", *about)
            except ClaimLost:
                said.say("lost", *about)
