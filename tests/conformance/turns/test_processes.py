"""Workers as processes that are killed, stopped and put to sleep: nothing is lost or sent twice."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

import turnledger
from tests.conformance.processes.conftest import Outbox
from tests.conformance.turns.conftest import until
from tests.conformance.turns.loop import Loop
from turnledger import Ledger, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = 60.0
THREADS = 8


@pytest.fixture
def live(new_store_url: str) -> Iterator[Ledger]:
    """The test's ledger, by the clock of the machine."""
    with turnledger.open(new_store_url, settings=Settings(synchronous="NORMAL")) as ledger:
        yield ledger


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox")


@pytest.fixture
def begin(
    new_store_url: str, live: Ledger, outbox: Outbox, tmp_path: Path
) -> Iterator[Callable[..., Loop]]:
    """Starts a loop: begin("role", owner=…, lease=…, grace=…)."""
    assert live.wait_for_change(0, 0) == 0
    loops: list[Loop] = []

    def beginning(
        role: str, *, owner: str = "worker", lease: float = LONG, grace: float = LONG
    ) -> Loop:
        given = [new_store_url, owner, str(lease), str(grace), role, outbox.path]
        loops.append(Loop(given, tmp_path / f"errors {len(loops)}"))
        loops[-1].until("ready")
        return loops[-1]

    yield beginning
    for loop in loops:
        loop.close()


def state(ledger: Ledger, turn_id: str, thread: str = "thread") -> tuple[str, bool]:
    turn = ledger.queue.get(thread, turn_id)
    assert turn is not None
    return turn.state, turn.outcome_unknown


# --- SIGTERM


def test_a_signal_lets_the_turn_in_hand_be_finished_and_no_other_begun(
    live: Ledger, outbox: Outbox, begin: Callable[..., Loop]
) -> None:
    first, second = (live.queue.append("thread", {"n": n}).queued_turn_id for n in range(2))
    loop = begin("finish")
    loop.until("dispatched")
    loop.signal(signal.SIGTERM)
    loop.go()
    assert loop.until("acked") == first
    loop.until("ended")
    assert loop.end() == 0
    assert outbox.sent() == [first]
    assert [state(live, one) for one in (first, second)] == [("acked", False), ("pending", False)]


def test_a_signal_ends_a_loop_that_waits(begin: Callable[..., Loop]) -> None:
    loop = begin("deliver")
    loop.signal(signal.SIGTERM)
    loop.until("ended")
    assert loop.end() == 0


@pytest.mark.parametrize(("role", "left"), [("linger", "failed"), ("hesitate", "pending")])
@pytest.mark.parametrize("times", [1, 2], ids=["after the grace period", "at the second signal"])
def test_a_body_that_goes_on_is_ended_and_what_is_known_is_recorded(
    live: Ledger, begin: Callable[..., Loop], role: str, left: str, times: int
) -> None:
    turn_id = live.queue.append("thread", {}).queued_turn_id
    loop = begin(role, grace=0.2 if times == 1 else LONG)
    loop.until("dispatched" if role == "linger" else "hesitating")
    loop.signal(signal.SIGTERM)
    if times > 1:
        loop.insist(signal.SIGTERM)
    assert loop.end() == 128 + signal.SIGTERM
    assert state(live, turn_id) == (left, left == "failed")


# --- SIGSTOP


def test_a_worker_that_slept_past_its_lease_can_write_nothing(
    live: Ledger, outbox: Outbox, begin: Callable[..., Loop]
) -> None:
    turn_id = live.queue.append("thread", {}).queued_turn_id
    sleeper = begin("sleep", owner="sleeper", lease=2)
    assert sleeper.until("dispatched") == turn_id
    sleeper.fall_asleep()
    until(lambda: bool(live.queue.recover()), live)
    live.queue.resolve("thread", turn_id, "retry", by="test")
    other = begin("linger", owner="other")
    assert other.until("dispatched") == turn_id
    position = live.wait_for_change(0, 0)
    sleeper.wake_up()
    assert "epoch 1) is lost" in sleeper.until("lost")
    sleeper.signal(signal.SIGTERM)  # its loop has gone on
    sleeper.until("ended")
    assert sleeper.end() == 0
    written = {event.type for event in live.log.read(position)}
    assert written <= {"evidence.kept", "thread_queue.renewed"}
    assert outbox.sent() == [turn_id, turn_id]  # the second one after a decision
    turn = live.queue.get("thread", turn_id)
    assert turn is not None
    assert (turn.state, turn.owner) == ("dispatching", "other")
    assert [(piece.owner, piece.kind) for piece in turn.evidence] == [("sleeper", "ack")]


# --- SIGKILL


@pytest.mark.parametrize("role", ["deliver", "tasks", "function", "coroutine"])
def test_workers_that_are_killed_at_random_lose_nothing_and_send_nothing_twice(
    live: Ledger,
    outbox: Outbox,
    begin: Callable[..., Loop],
    request: pytest.FixtureRequest,
    role: str,
) -> None:
    """Whoever decides on unknown outcomes looks at what the world outside has got.

    The kills are spread over all of the turns: each comes after some of them, at any moment of one.
    """
    kills, turns = request.config.getoption("--worker-kills")
    chance, decided, met = Random(1), Counter[str](), Counter[str]()
    wanted: dict[str, str] = {}
    for number in range(turns):
        if number % 50 == 0:
            thread_ids = [f"thread {n % (turns // 50 + THREADS)}" for n in range(number, turns)]
        thread_id = thread_ids[number % 50]
        wanted[live.queue.append(thread_id, {"n": number}).queued_turn_id] = thread_id
    for number in range(kills):
        owner = f"{role} {number}"
        loop = begin(role, owner=owner)
        left = turns - len(outbox.sent())
        for _ in range(chance.randint(0, min(left, 2 * left // (kills - number)))):
            loop.until("acked")
        killer = threading.Timer(chance.uniform(0.0, 0.02), loop.kill)
        killer.start()
        killer.join()
        loop.close()
        recovered = live.queue.recover(owner=owner)
        met.update([turn.state for turn in recovered] or ["none"])
        decide(live, outbox, decided)
    last = begin(role, owner="last")
    one_more = live.queue.append("thread 0", {"n": turns})  # it has begun, once that is claimed
    wanted[one_more.queued_turn_id] = "thread 0"
    until(lambda: {thread.state for thread in live.threads.list()} == {"idle"}, live)
    last.signal(signal.SIGTERM)
    last.until("ended")
    states = Counter(state(live, one, thread)[0] for one, thread in wanted.items())
    assert states == {"acked": turns + 1}
    sent = Counter(outbox.sent())
    assert set(sent) == set(wanted)
    assert [one for one in sent if sent[one] > 1 + decided[one]] == []
    assert set(sent.values()) == {1}
    assert live.verify().ok
    again = decided.total()
    print(f"{kills} kills, {turns} turns; what they left: {dict(met)}; decided to send: {again}")


def decide(ledger: Ledger, outbox: Outbox, decided: Counter[str]) -> None:
    """Decide on every unknown outcome; nothing else is failed or in flight."""
    sent = set(outbox.sent())
    for blocked in ledger.threads.list(state="blocked"):
        for turn in ledger.queue.list(blocked.thread_id, limit=1):
            assert turn.outcome_unknown
            if turn.queued_turn_id in sent:
                ledger.queue.resolve(blocked.thread_id, turn.queued_turn_id, "acked", by="test")
            else:
                ledger.queue.resolve(blocked.thread_id, turn.queued_turn_id, "retry", by="test")
                decided[turn.queued_turn_id] += 1
    assert ledger.threads.list(state="in_flight") == []
