"""A process beside a rebuild, or that of the rebuild itself: worker.py URL ROLE.

It says on its standard output when it has begun, and what it did once its standard input ends.
"""

import faulthandler
import json
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import turnledger
from turnledger import Ledger, MessageClaim, Settings
from turnledger.infrastructure.schema import TABLES, streams

GIVE_UP_SECONDS = 600  # so that a test whose worker hangs fails, with the worker's stack
BREATH_SECONDS = 0.03  # between two rounds, so that the rebuild gets its share of the machine
KEPT = "kept"  # a thread of which nothing is written while somebody looks at it
KEPT_TURNS = 20

Stopping = Callable[[], bool]


def say(word: str, value: Any = None) -> None:
    """Tell the test."""
    print(word, json.dumps(value), flush=True)


def give(ledger: Ledger, name: str) -> None:
    """Commands that write to most tables, about what is there and about what is new."""
    queue = ledger.queue
    queue.append("busy", {"n": name}, queued_turn_id=name, idempotency_key=name)
    queue.append(name, {"n": name})
    claim = queue.claim_head(name, "worker", 60)
    assert claim is not None
    queue.start_dispatch(claim, name)
    queue.ack(claim)
    ledger.inbox.post("mail", name, source="host")
    ledger.timers.create(f"timed {name}", {"kind": "delay", "seconds": 60}, {}, timer_id=name)
    ledger.threads.archive(f"archived {name}")
    begun = ledger.coordinator.begin("item", name, turn_id=name, owner="one").claim
    assert begun is not None
    ledger.coordinator.prepare(begun, name)
    run = ledger.runs.start(name, "item", "action", "one", 60)
    assert run is not None
    ledger.operations.create_and_claim(run, name, "send", {}, automatic=False)


def go_on(ledger: Ledger, name: str) -> None:
    """Commands that change, end and take away what is there."""
    queue = ledger.queue
    queue.delete("busy", name)
    ledger.inbox.delete("mail", ledger.inbox.list("mail")[-1].message_id)
    many = queue.append_many(f"many {name}", [{"n": 1}, {"n": 2}, {"n": 3}])
    first, second, third = (turn.queued_turn_id for turn in many)
    queue.reorder(f"many {name}", [third, first, second])
    queue.edit(f"many {name}", first, {"n": "edited"})
    queue.delete(f"many {name}", second)
    queue.pause(f"many {name}", "for now")
    queue.resume(f"many {name}")
    queue.clear(f"many {name}")
    ledger.inbox.post(f"many {name}", name, source="host")
    can = {"can_after_turn": True, "can_steer_current_turn": False}
    claim = ledger.inbox.claim_next(f"many {name}", "worker", **can)
    assert isinstance(claim, MessageClaim)
    ledger.inbox.confirm(claim)
    ledger.timers.pause(f"timed {name}", name)
    ledger.timers.delete(f"timed {name}", name)
    ledger.threads.delete(f"many {name}")
    with ledger.transaction():
        ledger.coordinator.cancel(name, "not wanted")
        ledger.runs.interrupt(name, "why")


def write(ledger: Ledger, stopping: Stopping) -> None:
    """Give commands of all kinds without end; say how often."""
    for number in count(1):
        give(ledger, f"new {number}")
        go_on(ledger, f"new {number}")
        if number == 1:
            say("begun")
        if stopping():
            say("wrote", number)
            return


def look(ledger: Ledger, stopping: Stopping) -> None:
    """Look at every table, and at the lists of a thread; say how often."""
    say("begun")
    for number in count(1):
        with ledger._backend.store.reading() as cursor:
            for table in (*TABLES, streams):
                [row] = cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table.name})").fetchall()
                assert row[0], f"{table.name} is empty"
        turns = [turn.submission for turn in ledger.queue.list(KEPT)]
        assert turns == [{"n": number} for number in range(KEPT_TURNS)], turns
        messages = [message.content for message in ledger.inbox.list(KEPT)]
        assert messages == list(range(KEPT_TURNS)), messages
        if stopping():
            say("looked", number)
            return


def rebuild(ledger: Ledger, _stopping: Stopping) -> None:
    """Rebuild again and again, to be killed."""
    say("begun")
    while True:
        ledger.rebuild()


def rebuild_once(ledger: Ledger, _stopping: Stopping) -> None:
    """Rebuild to the end, and say how many rows were put right."""
    say("begun")
    say("rebuilt", ledger.rebuild().mended)


ROLES = {role.__name__: role for role in (write, look, rebuild, rebuild_once)}


def main(url: str, role: str) -> None:
    """Open the ledger, and play a role until standard input ends."""
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with turnledger.open(url, settings=Settings(synchronous="NORMAL")) as ledger:
        ROLES[role](ledger, lambda: ended.wait(BREATH_SECONDS))


if __name__ == "__main__":
    main(*sys.argv[1:])
