"""How many events a second `stats` and `flow` take in, by the time of this process's CPU.

A ledger of a tenth of the events is made through the public API, turn by turn with renewals and
failures; its events are then copied nine times under other names by SQL, since both read nothing
but the events. Its chain is broken by that: it is good for nothing else.

    python benchmarks/stats.py --events 1000000
"""

import argparse
import random
import resource
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledgers import folder, warmed

import turnledger

COPIES = 9
PER_COMMIT = 200
THREADS = 100
SUBMISSION = {"text": "fix the flaky test in the parser, and say why it was flaky", "n": 1}
COPY = """
INSERT INTO events
SELECT position + ?1 * ?2, stream_id || ' ' || ?1, version, type, schema_version, data, metadata,
       recorded_at + ?1 * 1000, hash
FROM events WHERE position <= ?2
"""


class Clock:
    """A clock that each look moves a little."""

    def __init__(self) -> None:
        """Begin in the morning."""
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        """A moment later."""
        self.now += timedelta(milliseconds=37)
        return self.now


def fill(path: Path, events: int) -> None:
    """Turns that wait, are claimed, renewed, dispatched, and acked or failed and retried."""
    chance = random.Random(1)  # noqa: S311 - nobody guesses it
    settings = turnledger.Settings(synchronous="NORMAL")
    with turnledger.open(path, clock=Clock(), settings=settings) as ledger:
        while ledger.wait_for_change(0, 0) < events:
            with ledger.transaction():
                for _ in range(PER_COMMIT):
                    turn(ledger, f"thread {chance.randrange(THREADS)}", chance)


def turn(ledger: turnledger.Ledger, thread: str, chance: random.Random) -> None:
    """One goes its way."""
    queue = ledger.queue
    queue.append(thread, SUBMISSION)
    claim = queue.claim_head(thread, f"worker {chance.randrange(8)}", 60)
    if claim is None:
        return
    queue.renew(claim, 60)
    queue.start_dispatch(claim, f"dispatch {ledger.ledger_id[:4]} {chance.getrandbits(64):x}")
    if chance.random() < 0.1:  # noqa: PLR2004 - one in ten
        queue.fail(claim, "no")
        queue.retry(thread, claim.queued_turn_id)
    else:
        queue.ack(claim)


def main() -> None:
    """Make the ledger, and ask it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="Keep the ledger in this folder.")
    chosen = parser.parse_args()
    with folder(chosen.keep) as place:
        path = place / f"stats-{chosen.events}.db"
        if not path.exists():
            fill(path, chosen.events // (COPIES + 1))
            with closing(sqlite3.connect(path)) as connection, connection:
                [(known,)] = connection.execute("SELECT max(position) FROM events")
                for copy in range(1, COPIES + 1):
                    connection.execute(COPY, (copy, known))
        with turnledger.open(warmed(path), read_only=True) as ledger:
            events = ledger.wait_for_change(0, 0)
            asked = (
                ("stats", ledger.stats),
                ("stats by thread", lambda: ledger.stats(by="thread")),
                ("flow", ledger.flow),
            )
            for name, ask in asked:
                before = time.process_time()
                ask()
                used = time.process_time() - before
                print(f"{name:16} {events:,} events  {used:.1f} s  {events / used:,.0f} events/s")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"most memory      {most:,.0f} MB")


if __name__ == "__main__":
    main()
