"""A worker of a host, as a process of its own: the loop that a real one runs.

    python -m turnledger.demo.worker LEDGER FOLDER OWNER LEASE_SECONDS

It says a word and a queued turn's id on its standard output about everything that it has done, and
goes on when a line comes back. So it can be killed at a known place; and when nobody is there any
more (the end of its standard input), it ends.
"""

import signal
import sys
from pathlib import Path

import turnledger
from turnledger import Claim, Ledger
from turnledger.demo.model import Model, Refused

_GIVE_UP_SECONDS = 120  # a demonstration whose worker hangs must come to an end


def main(path: str, folder: str, owner: str, lease_seconds: str) -> None:
    """Open the ledger and work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    signal.alarm(_GIVE_UP_SECONDS)
    _wait_for_the_word()
    with turnledger.open(path) as ledger:
        work(ledger, Model(Path(folder)), owner, float(lease_seconds))


def work(ledger: Ledger, model: Model, owner: str, lease_seconds: float) -> None:
    """Do what there is to do, for ever."""
    while True:
        claims = ledger.queue.claim_next(owner, lease=lease_seconds)
        for claim in claims:
            deliver(ledger, model, claim)
        if not claims:
            _say("idle")


def deliver(ledger: Ledger, model: Model, claim: Claim) -> None:
    """Hand a turn over: the dispatch is recorded before it is made."""
    turn_id, message = str(claim.queued_turn_id), claim.submission or {}
    _say("claimed", turn_id)
    ledger.queue.start_dispatch(claim, f"{claim.owner}-{claim.epoch}")
    _say("dispatching", turn_id)
    try:
        model.take(message)
    except Refused as refusal:
        ledger.queue.fail(claim, refusal.answer)
        _say("failed", turn_id)
        return
    _say("sent", turn_id)
    model.think()
    ledger.queue.ack(claim)
    _say("acked", turn_id)


def _say(word: str, queued_turn_id: str = "") -> None:
    sys.stdout.write(f"{word} {queued_turn_id}\n")
    sys.stdout.flush()
    _wait_for_the_word()


def _wait_for_the_word() -> None:
    if not sys.stdin.readline():
        sys.exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
