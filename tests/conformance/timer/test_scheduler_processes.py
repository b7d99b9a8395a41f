"""Scheduler processes on one ledger: each occurrence is fired once, also when one is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import turnledger
from turnledger import Delay, Settings

COUNT = 300
SETTINGS = Settings(max_timers=COUNT, synchronous="NORMAL")


def started(url: str, *words: str) -> subprocess.Popen[str]:
    """A scheduler in a process of its own, by the host's clock."""
    command = [sys.executable, "-m", "turnledger", "run-timers", "--owner", "o", "--json", *words]
    environment = {**os.environ, "TURNLEDGER_DB": url, "PYTHONWARNINGS": "error"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def set_timers(ledger: turnledger.Ledger) -> None:
    for number in range(COUNT):
        ledger.timers.create(f"thread {number % 9}", Delay(seconds=0), number)


def posted(ledger: turnledger.Ledger) -> list[int]:
    """The contents of all messages."""
    threads = [f"thread {number}" for number in range(9)]
    found = [message.content for thread in threads for message in ledger.inbox.list(thread)]
    return sorted(found)


def test_two_processes_fire_each_timer_once(store_url: str) -> None:
    with turnledger.open(store_url, settings=SETTINGS) as ledger:
        set_timers(ledger)
        schedulers = [started(store_url, "--once") for _ in range(2)]
        ends = [scheduler.communicate(timeout=120) for scheduler in schedulers]
        assert [scheduler.returncode for scheduler in schedulers] == [0, 0], ends
        said = [json.loads(line)["content"] for out, _ in ends for line in out.splitlines()]
        assert sorted(said) == posted(ledger) == list(range(COUNT))
        assert ledger.verify().ok


def test_a_killed_process_leaves_no_firing_without_its_message(store_url: str) -> None:
    with turnledger.open(store_url, settings=SETTINGS) as ledger:
        set_timers(ledger)
        scheduler = started(store_url)
        assert scheduler.stdout is not None
        scheduler.stdout.readline()  # it is in the middle of its work
        scheduler.kill()
        scheduler.communicate(timeout=60)
        events = ledger.log.read(types=["timer.fired", "inbox.posted"], limit=10 * COUNT)
        fired = [event.data["message_id"] for event in events if event.type == "timer.fired"]
        messages = [event.data["message_id"] for event in events if event.type == "inbox.posted"]
        assert fired
        assert sorted(fired) == sorted(messages)
        while ledger.timers.fire_due("another"):
            pass
        assert posted(ledger) == list(range(COUNT))
        assert ledger.verify().ok
