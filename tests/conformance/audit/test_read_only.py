"""Nothing can be changed in the past, and looking at it changes nothing in the present."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    Claim,
    Delay,
    Ledger,
    MessageClaim,
    RunClaim,
    StoreError,
    StoreReadOnly,
    TurnClaim,
)

if TYPE_CHECKING:
    from tests.conformance.conftest import Store

CAN = {"can_after_turn": True, "can_steer_current_turn": True}


def commands(past: Ledger) -> dict[str, Callable[[], Any]]:
    """One command of every kind, with claims that were given out."""
    shown: Any = {"owner": "w", "epoch": 1, "generation": past.generation}
    claim, message = Claim(thread_id="t", **shown), MessageClaim(thread_id="t", **shown)
    run, turn = RunClaim(run_id="run", **shown), TurnClaim(turn_id="turn", **shown)
    about = {"run_id": "run", "work_item_id": "item", "action_id": "a"}
    send: Any = {"operation_type": "send", "payload": {}}
    queue, inbox, timers, threads = past.queue, past.inbox, past.timers, past.threads
    return {
        "append": lambda: queue.append("t", {}),
        "claim_head": lambda: queue.claim_head("t", "w"),
        "claim_next": lambda: queue.claim_next("w"),
        "ack": lambda: queue.ack(claim),
        "fail": lambda: queue.fail(claim, "no"),
        "recover": queue.recover,
        "post": lambda: inbox.post("t", {}, source="s"),
        "claim message": lambda: inbox.claim_next("t", "w", **CAN),
        "confirm": lambda: inbox.confirm(message),
        "recover inbox": lambda: inbox.recover("t"),
        "create timer": lambda: timers.create("t", Delay(seconds=1), {}),
        "fire_due": lambda: timers.fire_due("w"),
        "mark_due": timers.mark_due,
        "archive": lambda: threads.archive("t"),
        "delete": lambda: threads.delete("t"),
        "begin": lambda: past.coordinator.begin("item", {}),
        "claim turn": lambda: past.coordinator.claim("turn", "w"),
        "complete": lambda: past.coordinator.complete(turn, {}),
        "touch": lambda: past.coordinator.touch("item"),
        "start": lambda: past.runs.start("run", "item", "a", "w"),
        "finish": lambda: past.runs.finish(run),
        "create": lambda: past.operations.create("key", **about, **send),
        "once": lambda: past.operations.once(run, "key", "send", {}, lambda: pytest.fail("called")),
        "sweep": lambda: past.attachments.sweep() or past.queue.clear("t"),
        "transaction": lambda: past.transaction().__enter__(),
    }


NAMES = (
    *("append", "claim_head", "claim_next", "ack", "fail", "recover", "post", "claim message"),
    *("confirm", "recover inbox", "create timer", "fire_due", "mark_due", "archive", "delete"),
    *("begin", "claim turn", "complete", "touch", "start", "finish", "create", "once", "sweep"),
    "transaction",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_refused(ledger: Ledger, name: str) -> None:
    ledger.queue.append("t", {})
    ledger.inbox.post("t", {}, source="s")
    with ledger.as_of(2) as past:
        assert set(commands(past)) == set(NAMES)
        before = past.log.read()
        with pytest.raises(StoreReadOnly, match="as of position 2"):
            commands(past)[name]()
        assert past.log.read() == before
        assert len(past.queue.list("t")) == 1
    assert len(ledger.log.read()) == 2


def test_looking_at_the_past_writes_nothing(
    ledger: Ledger, store: Store, tmp_path: Path, kind: str
) -> None:
    ledger.queue.append_many("t", [{"text": "secret"}, {}])
    ledger.log.read()
    files = sorted(tmp_path.rglob("*"))
    before = store.rows("SELECT * FROM streams")
    opened = open_files()
    with ledger.as_of(2) as past:
        past.queue.list("t")
        if kind == "sqlite":
            assert sorted(tmp_path.rglob("*")) == files
        assert open_files() <= opened
    assert store.rows("SELECT * FROM streams") == before


def open_files() -> set[str]:
    """The open files of this process, also those that have no name any more."""
    names = (one for one in Path("/proc/self/fd").iterdir() if one.is_symlink())
    return {os.readlink(one) for one in names}  # noqa: PTH115 - what it says needn't be a path


def test_the_past_isnt_backed_up(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.as_of(0) as past, pytest.raises(StoreError, match="in memory only"):
        past.backup(tmp_path / "copy.db")


def test_doctor_has_nothing_against_the_past(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    with ledger.as_of(1) as past:
        assert {check.status for check in past.doctor()} == {"ok"}


def test_many_threads_look_at_the_same_past(ledger: Ledger) -> None:
    ledger.queue.append_many("t", [{"n": number} for number in range(50)])
    with ledger.as_of(50) as past, ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: [turn.submission for turn in past.queue.list("t")], range(40))
        assert list(found) == [[{"n": number} for number in range(50)]] * 40


def test_nothing_comes_any_more(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    with ledger.as_of(1) as past:
        assert past.wait_for_change(0, 60) == 1
        assert past.wait_for_change(1, 0) == 1
        following = past.log.follow()
        assert next(following).position == 1
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: next(following))
            past.close()
            with pytest.raises(StoreError, match="closed"):
                waiting.result()
