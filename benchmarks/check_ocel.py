"""An OCEL file of many events is read by pm4py, in an environment of its own, and by plain SQL.

pm4py is under the AGPL, so nothing of turnledger depends on it: it is installed here into a new
environment, and only reads the file. All constraints of the standard's relational form are checked
by it, and its counts are compared with those of the ledger.

    python benchmarks/check_ocel.py
    python benchmarks/check_ocel.py --events 10000 --environment DIR
"""

import argparse
import json
import sqlite3
import subprocess
import sys
import venv
from collections import Counter
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from ledgers import cycle, folder, kept
from rich.console import Console
from rich.progress import Progress

import turnledger

READER = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import pm4py
from pm4py.objects.ocel.validation import ocel20_rel_validation
satisfied, unsatisfied = ocel20_rel_validation.apply(sys.argv[1])
log = pm4py.read_ocel2_sqlite(sys.argv[1])
print(json.dumps({
    "satisfied": len(satisfied),
    "unsatisfied": sorted(unsatisfied),
    "events": len(log.events),
    "types": log.events["ocel:activity"].value_counts().to_dict(),
    "objects": log.objects["ocel:type"].value_counts().to_dict(),
    "links": len(log.relations),
    "object_links": len(log.o2o),
    "changes": len(log.object_changes),
    "first": str(log.events["ocel:timestamp"].min()),
}))
"""
CONSTRAINTS = 24


def fill(events: int) -> Any:
    """Rounds in which everything happens that a ledger knows."""

    def filled(ledger: turnledger.Ledger, told: Any) -> None:
        number = 0
        while (done := ledger.wait_for_change(0, 0)) < events:
            for _ in range(20):
                thread, item = f"thread-{number % 100}", f"item-{number % 100}"
                of_thread(ledger, thread, number)
                of_item(ledger, item, number)
                number += 1
            told(ledger.wait_for_change(0, 0) - done)

    return filled


def of_thread(ledger: turnledger.Ledger, thread: str, number: int) -> None:
    """A queue, an inbox and a timer are used."""
    cycle(ledger.queue, thread)
    ledger.queue.append(thread, {"text": "will fail"})
    claim = ledger.queue.claim_head(thread, "worker")
    if claim is not None:
        ledger.queue.fail(claim, {"reason": "no"})
    ledger.queue.clear(thread)
    ledger.inbox.post(thread, {"text": "hi"}, source="ci")
    timer = ledger.timers.create(thread, turnledger.Delay(seconds=1_000), {"n": number})
    ledger.timers.delete(thread, timer.timer_id)
    ready = {"can_steer_current_turn": False, "can_after_turn": True}
    message = ledger.inbox.claim_next(thread, "worker", **ready)
    if isinstance(message, turnledger.MessageClaim):
        ledger.inbox.confirm(message)


def of_item(ledger: turnledger.Ledger, item: str, number: int) -> None:
    """A coordinator's turn with an attempt, and a run with operations."""
    turn = ledger.coordinator.begin(item, {"n": number}, owner=f"worker-{number % 10}")
    if turn.claim is not None:
        attempt = ledger.coordinator.prepare(turn.claim, {"n": number})
        ledger.coordinator.start_dispatch(turn.claim, attempt.attempt)
        parts = (turn.claim, attempt.attempt, attempt.request_hash)
        ledger.coordinator.respond(*parts, {"answer": number})
        ledger.coordinator.complete(turn.claim, {"done": True})
    run = ledger.runs.start(f"run-{number}", item, "act", "worker")
    if run is not None:
        key = f"operation-{number}"
        ledger.operations.create_and_claim(
            run, key, "send_mail", {"n": number}, replay_policy="safe"
        )
        effect = "applied" if number % 10 else "unknown"
        ledger.operations.complete(run, key, effect, {"id": number})
        ledger.runs.finish(run, {"ok": True})


def environment(place: Path, console: Console) -> Path:
    """The Python of an environment in which pm4py is."""
    python = place / "bin" / "python"
    if not python.exists():
        with console.status("installing pm4py"):
            venv.create(place, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "pm4py"], check=True)  # noqa: S603
    return python


def by_sql(path: Path) -> dict[str, Any]:
    """The same counts by plain SQL; also whether all references lead somewhere."""
    with closing(sqlite3.connect(path)) as database:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return database.execute(query).fetchall()

        changes = 0
        for (kind,) in rows("SELECT ocel_type_map FROM object_map_type"):
            where = f'FROM "object_{kind}" WHERE ocel_changed_field IS NOT NULL'
            changes += rows(f"SELECT count(*) {where}")[0][0]
        return {
            "dangling": len(rows("PRAGMA foreign_key_check")),
            "types": dict(rows("SELECT ocel_type, count(*) FROM event GROUP BY 1")),
            "objects": dict(rows("SELECT ocel_type, count(*) FROM object GROUP BY 1")),
            "links": rows("SELECT count(*) FROM event_object")[0][0],
            "object_links": rows("SELECT count(*) FROM object_object")[0][0],
            "changes": changes,
        }


def counted(ledger: turnledger.Ledger, total: int, console: Console) -> dict[str, int]:
    """How many events of each type the ledger has."""
    found: Counter[str] = Counter()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("counting", total=total)
        after = 0
        while page := ledger.log.read(after):
            found.update(event.type for event in page)
            after = page[-1].position
            progress.update(task, completed=after)
    return dict(found)


def main() -> None:
    """Make a ledger, export it, read it, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--keep-in", type=Path, metavar="DIR")
    parser.add_argument("--environment", type=Path, metavar="DIR", help="with pm4py, or for it")
    given = parser.parse_args()
    console = Console()
    with folder(given.keep_in) as place:
        source = kept(place, f"{given.events}-mixed", given.events, fill(given.events), console)
        target = place / "log.sqlite"
        target.unlink(missing_ok=True)
        with turnledger.open(source, read_only=True) as ledger:
            start = perf_counter()
            exported = ledger.export("ocel", target)
            took = perf_counter() - start
            types = counted(ledger, exported.events, console)
        python = environment((given.environment or place / "pm4py").absolute(), console)
        done = subprocess.run(  # noqa: S603 - ours
            [python, "-c", READER, target], capture_output=True, text=True, check=True
        )
        read, own = json.loads(done.stdout.splitlines()[-1]), by_sql(target)
        console.print(f"{exported.events:,} events in {took:.1f} s; pm4py says:", read)
        same = ("types", "objects", "links", "object_links", "changes")
        flaws = [name for name in same if read[name] != own[name]]
        flaws += read["unsatisfied"]
        flaws += ["types in the ledger"] * (types != own["types"])
        flaws += ["references"] * bool(own["dangling"])
        flaws += ["constraints"] * (read["satisfied"] != CONSTRAINTS)
    console.print("what differs:", flaws or "nothing")
    sys.exit(bool(flaws))


if __name__ == "__main__":
    main()
