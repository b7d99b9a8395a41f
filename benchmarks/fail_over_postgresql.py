"""A primary with a synchronous standby, killed again and again under load and failed over.

Threads append without a pause, every other time with an idempotency key, and a follower reads the
log beside them. In the end, all that was acknowledged must be there, once and in order, and every
call must have returned. The servers are our own. At last comes the control: the same with an
asynchronous standby that lags behind, which must lose what was acknowledged.

    python benchmarks/fail_over_postgresql.py                   20 times, 4 threads
    python benchmarks/fail_over_postgresql.py --times 3
"""

import argparse
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import turnledger
from turnledger.infrastructure import numbering

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgresql.fail_over import load  # of a checkout only
from tests.postgresql.standby import standby_pair

if TYPE_CHECKING:
    from tests.postgresql.fail_over import Outcome

IN_CONTROL = 20


class InDoubt:
    """Counts the statements whose answers were lost, by what was found out about them."""

    def __init__(self) -> None:
        """Look over the shoulder of who finds out."""
        self.found: list[bool] = []
        self._look = numbering.outcome
        numbering.outcome = self._looking  # type: ignore[assignment]

    def _looking(self, *given: Any) -> bool:
        committed = self._look(*given)
        self.found.append(committed)
        return committed


def run(times: int, workers: int, console: Console) -> "tuple[Outcome, list[float]]":
    """Let them work while servers die."""
    took: list[float] = []
    with standby_pair() as pair, load(pair, workers) as (working, end):
        for _ in track(range(times), "fail-overs", console=console, transient=True):
            working.wait()
            start = perf_counter()
            pair.kill_primary()
            pair.promote()
            took.append(perf_counter() - start)
            pair.rebuild()
        working.wait()
        return end(), took


def lost_without_a_wait() -> int:
    """How much of what was acknowledged is lost if commits don't wait for the standby."""
    with standby_pair() as pair:
        url = pair.database().url
        with turnledger.open(url) as ledger:
            ledger.queue.append("thread", {"text": "it has this one"})
            pair.let_go()
            pair.cut_off()
            for number in range(IN_CONTROL):
                ledger.queue.append("thread", {"text": number})
        pair.kill_primary()
        pair.promote()
        with turnledger.open(url) as ledger:
            return 1 + IN_CONTROL - len(ledger.queue.list("thread"))


def report(outcome: "Outcome", took: list[float], in_doubt: list[bool]) -> None:
    """Print what came of it."""
    given = outcome.acknowledged
    table = Table("what", "how many")
    rows: list[tuple[str, object]] = [
        ("fail-overs", len(took)),
        ("median seconds from the kill to the promotion's end", f"{statistics.median(took):.2f}"),
        ("appends acknowledged", f"{len(given):,}"),
        ("of them lost", len(outcome.lost)),
        ("each there once, in order", outcome.in_order_once),
        ("lost answers of what had been committed", in_doubt.count(True)),
        ("lost answers of what had not, and was done again", in_doubt.count(False)),
        ("calls that raised, and were given again with their key", sum(x.raised for x in given)),
        ("longest call in seconds", f"{max(each.seconds for each in given):.2f}"),
        ("the follower saw each once, in order", outcome.followed_once),
        ("findings of verify", len(outcome.findings)),
    ]
    for what, how_many in rows:
        table.add_row(what, str(how_many))
    Console().print(table)


def main() -> None:
    """Read the arguments, kill, print; the exit status says if it is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--workers", type=int, default=4, help="threads")
    given = parser.parse_args()
    in_doubt = InDoubt()
    outcome, took = run(given.times, given.workers, Console(stderr=True))
    report(outcome, took, in_doubt.found)
    whole = outcome.in_order_once and outcome.followed_once
    if outcome.lost or outcome.findings or not whole:
        sys.exit("it isn't as it must be")
    lost = lost_without_a_wait()
    print(f"control: with an asynchronous standby {lost} of {IN_CONTROL} are lost")
    if lost != IN_CONTROL:
        sys.exit("the control ought to lose them all: this program may be blind")


if __name__ == "__main__":
    main()
