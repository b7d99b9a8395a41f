"""`ledger.recovery`: a scan over everything, and again and again; nothing live is touched."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from turnledger import InvalidDuration, InvalidPayload, Ledger, Recovered, RunClaim, StoreError
from turnledger.recovery import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock

LEASE = 60
ALL = Recovered(
    attempts_unknown=1,
    turns_pending=2,
    operations_orphaned=1,
    operations_never_claimed=1,
    queued_turns_pending=1,
    queued_turns_failed=1,
    messages_expired=1,
)
NAME = "turnledger-recovery"


def work(ledger: Ledger, name: str = "w") -> RunClaim:
    """Claim one thing of each kind, in each way that recovery tells apart."""
    for thread in ("claimed", "dispatched"):
        ledger.queue.append(f"{name} {thread}", {})
        claim = ledger.queue.claim_head(f"{name} {thread}", "one", LEASE)
        assert claim is not None
        if thread == "dispatched":
            ledger.queue.start_dispatch(claim, f"{name} dispatch")
    ledger.inbox.post(name, "hi", source="test")
    ledger.inbox.claim_next(name, "one", can_after_turn=True, can_steer_current_turn=False)
    for turn_id in (f"{name} claimed", f"{name} sent"):
        turn = ledger.coordinator.begin(name, "hi", turn_id=turn_id, owner="one", lease=LEASE)
        assert turn.claim is not None
        if turn_id == f"{name} sent":
            ledger.coordinator.prepare(turn.claim, {})
            ledger.coordinator.start_dispatch(turn.claim, 1)
    started = ledger.runs.start(f"{name} run", name, "action", "one", LEASE)
    ended = ledger.runs.start(f"{name} ended", name, "action", "one", LEASE)
    assert started is not None
    assert ended is not None
    ledger.operations.create_and_claim(started, f"{name} running", "send", {}, automatic=False)
    about = {"run_id": f"{name} ended", "work_item_id": name, "action_id": "action"}
    ledger.operations.create(f"{name} waiting", **about, operation_type="send", payload={})
    return started


def scanning() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == NAME]


# --- one scan


def test_a_scan_recovers_every_kind_once(
    ledger: Ledger, clock: Clock, open_ledger: Callable[..., Ledger]
) -> None:
    work(ledger)
    clock.advance(LEASE)
    ledger.runs.interrupt("w ended")
    found = open_ledger().recovery.run_once()
    assert found == ALL
    assert bool(found) is True
    assert ledger.recovery.run_once() == Recovered()
    assert bool(Recovered()) is False
    assert ledger.verify().ok


def test_f11_a_scan_touches_nothing_that_is_live(
    ledger: Ledger, clock: Clock, open_ledger: Callable[..., Ledger]
) -> None:
    work(ledger)
    clock.advance(LEASE - 1)
    before = ledger.log.read(limit=1_000)
    for other in (ledger, open_ledger(), open_ledger()):
        assert other.recovery.run_once() == Recovered()
    assert ledger.log.read(limit=1_000) == before


def test_messages_may_be_delivered_again_if_the_host_says_so(ledger: Ledger, clock: Clock) -> None:
    work(ledger)
    clock.advance(LEASE)
    found = ledger.recovery.run_once(inbox_mode="at_least_once")
    assert (found.messages_pending, found.messages_expired) == (1, 0)


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("table", ["coordinator_mailbox", "operations", "inbox_messages"])
def test_a_kind_that_cant_be_recovered_doesnt_hold_up_the_others(
    ledger: Ledger, clock: Clock, store_url: str, table: str
) -> None:
    work(ledger)
    clock.advance(LEASE)
    ledger.runs.interrupt("w ended")
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as database:
        database.execute(f"ALTER TABLE {table} RENAME TO hidden")
        with pytest.raises(StoreError):
            ledger.recovery.run_once()
        database.execute(f"ALTER TABLE hidden RENAME TO {table}")
    found = ledger.recovery.run_once()
    mine = {"coordinator_mailbox": "turns_pending", "operations": "operations_orphaned"}
    name = mine.get(table, "messages_expired")
    assert getattr(found, name) == getattr(ALL, name)
    assert found.queued_turns_failed == 0
    assert ledger.recovery.run_once() == Recovered()


# --- again and again


def wait_until(ledger: Ledger, happened: Callable[[], bool]) -> None:
    """Wait for changes until something has happened."""
    position = 0
    while not happened():
        reached = ledger.wait_for_change(position, 30)
        assert reached > position, "nothing happened"
        position = reached


def test_a_thread_scans_until_it_is_stopped(
    ledger: Ledger, clock: Clock, open_ledger: Callable[..., Ledger]
) -> None:
    claim = work(ledger)
    other = open_ledger()
    other.recovery.start(every=0.01)
    other.recovery.start(every=0.01)
    assert scanning() == [NAME]
    clock.advance(LEASE)
    wait_until(ledger, lambda: execution(ledger) == "hazardous_orphan")
    other.recovery.stop()
    other.recovery.stop()
    assert scanning() == []
    assert ledger.operations.complete(claim, "w running", "applied") is False
    work(ledger, "again")
    clock.advance(LEASE)
    other.recovery.start(every=0.01)
    wait_until(ledger, lambda: execution(ledger, "again running") == "hazardous_orphan")
    other.close()
    assert scanning() == []


def execution(ledger: Ledger, key: str = "w running") -> str:
    operation = ledger.operations.get(key)
    assert operation is not None
    return operation.execution


def test_ledgers_that_scan_beside_each_other_recover_each_thing_once(
    ledger: Ledger, clock: Clock, open_ledger: Callable[..., Ledger]
) -> None:
    names = [f"w{number}" for number in range(5)]
    for name in names:
        work(ledger, name)
    clock.advance(LEASE)
    others = [open_ledger() for _ in range(3)]
    for other in others:
        other.recovery.start(every=0.001)
    wait_until(ledger, lambda: all(execution(ledger, f"{n} running") != "running" for n in names))
    for other in others:
        other.recovery.stop()
    ledger.recovery.run_once()
    kinds = [event.type for event in ledger.log.read(limit=10_000)]
    for kind in ("operation.orphaned", "coordinator_turn.outcome_unknown", "inbox.expired"):
        assert kinds.count(kind) == len(names)
    assert kinds.count("coordinator_turn.recovered") == 2 * len(names)
    assert ledger.verify().ok


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_thread_goes_on_after_errors(
    ledger: Ledger,
    clock: Clock,
    store_url: str,
    open_ledger: Callable[..., Ledger],
    caplog: pytest.LogCaptureFixture,
) -> None:
    work(ledger)
    clock.advance(LEASE)
    other = open_ledger()
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as database:
        database.execute("ALTER TABLE operations RENAME TO hidden")
        other.recovery.start(every=0.01)
        states = ("pending", "failed")
        wait_until(ledger, lambda: ledger.queue.list("w claimed")[:1] != [])
        database.execute("ALTER TABLE hidden RENAME TO operations")
    wait_until(ledger, lambda: execution(ledger) == "hazardous_orphan")
    other.recovery.stop()
    assert "scanning again in" in caplog.text
    assert {turn.state for turn in ledger.queue.list("w claimed")} <= set(states)


def test_pauses_become_longer_after_errors_and_short_again_after_a_success() -> None:
    pace = Pace(2.0)
    pauses = [pace.failed(OSError("no")) for _ in range(8)]
    assert pauses == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    assert pace.succeeded() == 2.0
    assert pace.failed(OSError("no")) == 4.0
    assert Pace(3_600).failed(OSError("no")) == 3_600


@pytest.mark.parametrize("every", [0, -1, float("inf"), 86_401, "2"])
def test_a_pause_must_be_one(ledger: Ledger, every: float) -> None:
    with pytest.raises(InvalidDuration):
        ledger.recovery.start(every=every)
    assert scanning() == []


def test_an_unknown_mode_is_refused_at_the_start(ledger: Ledger) -> None:
    with pytest.raises(InvalidPayload, match="at_least_once"):
        ledger.recovery.start(inbox_mode="never")  # type: ignore[arg-type]
    assert scanning() == []


def test_nothing_scans_a_ledger_that_was_closed(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(StoreError, match="closed"):
        ledger.recovery.start()
    assert scanning() == []
