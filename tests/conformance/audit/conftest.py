"""A host that does all kinds of things by chance, and all that a ledger can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import Delay, Ledger, Settings

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

THREADS, ITEMS = ("t", "u", "v"), ("item", "other")
RUNS = tuple(f"run {number}" for number in range(4))
KEYS = tuple(f"key {number}" for number in range(8))
ITEM_OF = {name: ITEMS[number % 2] for names in (RUNS, KEYS) for number, name in enumerate(names)}
RUN_OF = {key: RUNS[number % len(RUNS)] for number, key in enumerate(KEYS)}
POLICIES: Any = dict(zip(KEYS, ("safe", "safe", "never_automatic", "probe_first") * 2, strict=True))
TURNS = tuple(f"turn {number}" for number in range(12))
TIMERS = tuple(f"timer {number}" for number in range(4))
Asked = dict[str, Any]


class Host:
    """Gives random commands of all kinds; refusals and lost claims belong to it."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.ledger, self.clock = ledger, clock
        self.random = Random(seed)
        self.claims: dict[str, list[Any]] = {kind: [] for kind in ("queue", "inbox", "turn", "run")}
        self.kinds = (self.wait, self.hold, self.mail, self.time, self.live)
        self.kinds += (self.begin, self.attempt, self.settle, self.execute, self.operate)

    def act(self) -> None:
        """Give some commands that belong together."""
        self.clock.advance(70 if self.chance(0.05) else self.random.random())
        with suppress(turnledger.Refusal, turnledger.NoEffect):
            self.random.choice(self.kinds)()

    def one(self, *calls: Callable[[], Any]) -> Any:
        """Make one of these calls."""
        return self.random.choice(calls)()

    def chance(self, odds: float) -> bool:
        return self.random.random() < odds

    def number(self) -> int:
        return self.random.randrange(1_000_000)

    def thread(self) -> str:
        return self.random.choice(THREADS)

    def held(self, kind: str) -> Any:
        """Mostly the latest claim of a kind; a refusal if there is none."""
        if not self.claims[kind]:
            raise turnledger.NoEffect
        return self.claims[kind][-1] if self.chance(0.8) else self.random.choice(self.claims[kind])

    def take(self, kind: str, claim: Any) -> None:
        if claim is not None and not isinstance(claim, turnledger.NotReady | turnledger.Rejected):
            self.claims[kind].append(claim)

    def wait(self) -> None:
        queue, thread = self.ledger.queue, self.thread()
        ids = [turn.queued_turn_id for turn in queue.list(thread)]
        chosen = ids[0] if ids else "none"
        self.one(
            lambda: queue.append(thread, {"n": self.number()}, idempotency_key=str(self.number())),
            lambda: queue.append_many(thread, [{"a": 1}, {"b": 2}]),
            lambda: queue.edit(thread, chosen, {"edited": self.number()}),
            lambda: queue.delete(thread, ids[-1] if ids else "none"),
            lambda: queue.retry(thread, chosen),
            lambda: queue.resolve(thread, chosen, self.random.choice(("acked", "retry")), by="me"),
            lambda: queue.reorder(thread, ids[::-1]),
            lambda: queue.clear(thread) if self.chance(0.3) else queue.resume(thread),
            lambda: queue.pause(thread, "a pause") if self.chance(0.5) else queue.resume(thread),
            queue.recover,
        )

    def hold(self) -> None:
        queue = self.ledger.queue
        self.take("queue", queue.claim_head(self.thread(), "owner", 60))
        claim = self.held("queue")
        if self.chance(0.7):
            queue.start_dispatch(claim, f"dispatch {self.number()}")
        self.one(
            lambda: queue.ack(claim),
            lambda: queue.fail(claim, {"why": self.number()}, outcome_unknown=True),
            lambda: queue.fail(claim, "no"),
            lambda: queue.release(claim),
            lambda: queue.renew(claim, 90),
        )

    def mail(self) -> None:
        inbox, thread = self.ledger.inbox, self.thread()
        inbox.post(thread, {"n": self.number()}, source="host", metadata={"m": 1})
        steer: Any = {"source": "host", "delivery": "steer-current-turn"}
        inbox.post(thread, {"n": self.number()}, **steer)
        ids = [message.message_id for message in inbox.list(thread)] or ["none"]
        can = {"can_after_turn": True, "can_steer_current_turn": self.chance(0.8)}
        self.take("inbox", inbox.claim_next(thread, "owner", **can))
        claim = self.held("inbox")
        self.one(
            lambda: inbox.confirm(claim),
            lambda: inbox.release(claim),
            lambda: inbox.delete(thread, ids[-1]),
            lambda: inbox.recover(mode=self.random.choice(("at_most_once", "at_least_once"))),
            lambda: [inbox.requeue(thread, m.message_id) for m in inbox.undelivered(thread)],
        )

    def time(self) -> None:
        timers, timer = self.ledger.timers, self.random.choice(TIMERS)
        thread = THREADS[TIMERS.index(timer) % 2]
        every = Delay(seconds=self.random.randrange(60, 120), repeat=True)
        if timers.get(thread, timer) is None:
            timers.create(thread, every, {"n": self.number()}, timer_id=timer)
        self.one(
            lambda: timers.update(thread, timer, content={"n": self.number()}),
            lambda: timers.pause(thread, timer),
            lambda: timers.resume(thread, timer),
            timers.mark_due,
            lambda: timers.fire_due("owner"),
            lambda: timers.claim(thread, timer, "owner"),
            lambda: self.chance(0.2) and timers.delete(thread, timer),
        )

    def live(self) -> None:
        threads = self.ledger.threads
        if self.chance(0.3):
            threads.fork(self.thread(), f"fork {self.number()}")
        if self.chance(0.3):
            threads.archive("v")
        self.one(lambda: threads.unarchive("v"), lambda: self.chance(0.1) and threads.delete("v"))

    def begin(self) -> None:
        coordinator, number = self.ledger.coordinator, self.random.randrange(len(TURNS))
        item = ITEMS[number % 2]
        key = f"key {number}"
        coordinator.begin(item, {"n": number}, turn_id=TURNS[number], idempotency_key=key)
        self.take("turn", coordinator.claim(TURNS[number], "owner"))
        self.one(lambda: coordinator.touch(item), coordinator.recover)

    def attempt(self) -> None:
        coordinator = self.ledger.coordinator
        self.take("turn", coordinator.claim_next(owner="other"))
        claim = self.held("turn")
        turn = coordinator.get(claim.turn_id)
        assert turn is not None
        if not turn.attempts or turn.attempts[-1].status == "refused":
            coordinator.prepare(claim, {"ask": 1})
            return
        last = turn.attempts[-1]
        how: dict[str, Callable[[], Any]] = {
            "prepared": lambda: coordinator.start_dispatch(claim, last.attempt),
            "dispatching": lambda: self.one(
                lambda: coordinator.respond(claim, last.attempt, last.request_hash, {"answer": 1}),
                lambda: coordinator.refuse(claim, last.attempt, "busy", retryable=True),
                lambda: coordinator.late_response(claim.turn_id, last.attempt, "late"),
                lambda: self.clock.advance(100) or coordinator.recover(),
            ),
            "unknown": lambda: coordinator.resolve(
                claim.turn_id, last.attempt, self.random.choice(("retry", "cancel")), by="me"
            ),
            "responded": lambda: self.chance(0.5) and coordinator.reject(claim, last.attempt, "no"),
        }
        how.get(last.status, lambda: None)()

    def settle(self) -> None:
        coordinator, claim = self.ledger.coordinator, self.held("turn")
        self.one(
            lambda: coordinator.complete(claim, {"result": self.number()}),
            lambda: coordinator.fail(claim, "no"),
            lambda: coordinator.release(claim),
            lambda: coordinator.renew(claim, 90),
            lambda: coordinator.renew(claim, 90),
            lambda: self.chance(0.2) and coordinator.cancel(claim.turn_id, "enough"),
        )

    def execute(self) -> None:
        runs, run = self.ledger.runs, self.random.choice(RUNS)
        self.take("run", runs.start(run, ITEM_OF[run], "action", "owner", 60))
        self.one(
            lambda: runs.renew(self.held("run"), 90),
            lambda: self.chance(0.1) and runs.finish(self.held("run"), "done"),
            lambda: self.chance(0.1) and runs.interrupt(run, "stop"),
        )

    def operate(self) -> None:
        operations, key = self.ledger.operations, self.random.choice(KEYS)
        said: Any = {"operation_type": "send", "payload": {"to": key}}
        about = {"run_id": RUN_OF[key], "work_item_id": ITEM_OF[key], "action_id": "action"}
        operations.create(key, **about, **said, replay_policy=POLICIES[key])
        claim = self.held("run")
        claim = self.ledger.runs.start(RUN_OF[key], ITEM_OF[key], "action", "owner", 60) or claim
        effect: Any = self.random.choice(("applied", "not_applied", "unknown"))
        operations.claim(claim, key, automatic=False)
        self.one(
            lambda: operations.complete(claim, key, effect, {"n": self.number()}),
            lambda: self.clock.advance(100) or operations.recover(),
            lambda: operations.request_cancel(key),
            lambda: operations.resolve(key, "confirm_applied", by="me", evidence="seen"),
        )


def of_thread(ledger: Ledger, thread: str, known: Known) -> Asked:
    """All that can be asked about a thread."""
    queue, inbox, timers = ledger.queue, ledger.inbox, ledger.timers
    return {
        "queue": queue.list(thread),
        "turns": [queue.get(thread, one) for one in known.turns],
        "why blocked": queue.why_blocked(thread),
        "why": ledger.why(thread),
        "inbox": inbox.list(thread),
        "messages": [inbox.get(thread, one) for one in known.messages],
        "undelivered": inbox.undelivered(thread),
        "timers": timers.list(thread),
        "all timers": [timers.get(thread, one) for one in TIMERS],
        "runs": [timers.history(thread, one) for one in TIMERS if timers.get(thread, one)],
        "summary": ledger.threads.get(thread),
        "history": ledger.history(thread_id=thread),
    }


def of_item(ledger: Ledger, item: str) -> Asked:
    """All that can be asked about a work item."""
    coordinator, operations = ledger.coordinator, ledger.operations
    turns = [one for number, one in enumerate(TURNS) if ITEMS[number % 2] == item]
    keys = [f"key {TURNS.index(one)}" for one in turns]
    return {
        "mailbox": coordinator.list(item),
        "pending": coordinator.list(item, status="pending"),
        "turns": [coordinator.get(one) for one in turns],
        "revision": coordinator.work_item(item),
        "receipts": [coordinator.receipt(item, key) for key in keys],
        "runs": [ledger.runs.get(one) for one in RUNS if ITEM_OF[one] == item],
        "operations": operations.list(item),
        "each": [operations.get(one) for one in KEYS if ITEM_OF[one] == item],
        "in the way": operations.safe_to_proceed(item),
        "history": ledger.history(work_item_id=item),
    }


class Known:
    """The ids that were ever given out."""

    def __init__(self, ledger: Ledger) -> None:
        events = ledger.log.read(limit=1_000_000)
        turns = (event.data.get("queued_turn_id") for event in events)
        self.turns = sorted({turn for turn in turns if turn})[:10]
        messages = (event.data.get("message_id") for event in events)
        self.messages = sorted({message for message in messages if message})[:10]


def asked(ledger: Ledger, known: Known) -> Asked:
    """All that can be asked."""
    return {
        **{thread: of_thread(ledger, thread, known) for thread in THREADS},
        **{item: of_item(ledger, item) for item in ITEMS},
        "threads": ledger.threads.list(),
        "deleted": ledger.threads.list("deleted"),
        "items": ledger.coordinator.list(),
        "recoverable": ledger.coordinator.recoverable(),
        "operations": ledger.operations.list(),
        "log": ledger.log.read(limit=1_000_000),
        "types": ledger.log.read(types=["thread_queue.appended"], limit=3),
    }


@pytest.fixture
def new_host(store_url: str, clock: Clock) -> Iterator[Callable[[int], Host]]:
    """Opens the test's ledger for a host that acts by a seed."""
    opened: list[Ledger] = []

    def opening(seed: int) -> Host:
        settings = Settings(synchronous="NORMAL")
        opened.append(turnledger.open(store_url, clock=clock, settings=settings))
        return Host(opened[-1], clock, seed)

    yield opening
    for ledger in opened:
        ledger.close()
