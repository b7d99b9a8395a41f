"""After whatever commands, the read models and the head rows are what a replay of the events gives.

Hypothesis chooses the seed of a random host and how long it works on a real ledger file.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

import turnledger
from turnledger import Claim, Ledger, MessageClaim, Refusal, Settings
from turnledger.domain.inbox.commands import Post
from turnledger.inbox.posting import post_in
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.rows import as_notification
from turnledger.infrastructure.schema import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from turnledger.domain.inbox import RecoveryMode

VISIBLE = "SELECT thread_id, queued_turn_id, state, submission FROM visible_queue"
IN_FLIGHT = (
    "SELECT thread_id, queued_turn_id, dispatch_id, owner, epoch, expires_at FROM in_flight_turns"
)
LIMITS = Settings(max_visible_turns=5, max_claims=2, synchronous="NORMAL")
TEXTS = ("", "text", "\x00", "\u2028", "\u00e9", "\U0001f600", '"', "\ud800", "'; --")
SECONDS = (*[0] * 20, 0.001, 1, 60, 61, -0.5, -30, 90_000)
OFTEN = ("append", "claim", "claim", "dispatch", "dispatch", "ack", "ack", "fail", "get_going")
SELDOM = (
    *("many", "edit", "delete", "reorder", "claim_next", "renew", "late_ack", "give_back"),
    *("pause", "recover", "recover_owner", "fail_in_flight", "archive"),
)
INBOX = (
    *("post", "post", "post_new", "take", "take", "take", "confirm", "return_message"),
    *("return_message", "delete_message", "recover_messages", "requeue", "requeue", "fork"),
)
LAST = ("clear", "delete_thread")


class Host:
    """Works at random on a ledger, rightly and wrongly."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.ledger, self.queue, self.clock = ledger, ledger.queue, clock
        self.seed, self.random = seed, Random(seed)
        self.claims: list[Claim] = []
        self.turns: list[str] = ["no such turn"]
        self.messages: list[str] = ["no such message"]
        self.message_claims: list[MessageClaim] = []

    def work(self, steps: int) -> None:
        """Give so many commands; refusals are part of the work."""
        pick = self.random.choice
        for step in range(steps):
            self.clock.now += timedelta(seconds=pick(SECONDS))
            word = pick(
                pick((OFTEN, OFTEN, SELDOM, INBOX, INBOX, LAST if step % 50 > 44 else OFTEN))
            )
            thread = pick(("one", "one", "one", "one", "zw\u00f6lf"))
            thread = f"{thread}:{self.seed}:{step // 50}"
            actor = pick((None, None, "somebody"))
            with suppress(Refusal), self.ledger.acting_as(actor=actor):
                getattr(self, f"_{word}")(thread)

    def _named(self) -> dict[str, Any]:
        key = self.random.choice(("key", "other key", None, None))
        return {"idempotency_key": key}

    def _submission(self) -> dict[str, Any]:
        text = self.random.choice(TEXTS).replace("\ud800", "")
        return {"text": text, "n": self.random.choice((1, 1.0, -0.0, 2**70, None, [], {}))}

    def _turn(self) -> str:
        return self.random.choice(self.turns[-6:])

    def _claim_shown(self) -> Claim:
        made_up = Claim(thread_id="one", owner="nobody", epoch=1, generation=self.ledger.generation)
        return self.random.choice([made_up, *self.claims[-1:] * 9, *self.claims[-3:]])

    def _append(self, thread: str) -> None:
        later = self.clock.now + timedelta(seconds=self.random.choice((-1, 5)))
        chosen = self.random.choice((None, None, f"turn {self.random.randrange(30)}"))
        turn = self.queue.append(
            thread,
            self._submission(),
            queued_turn_id=chosen,
            not_before=self.random.choice((None, None, None, later)),
            **self._named(),
        )
        self.turns.append(turn.queued_turn_id)

    def _many(self, thread: str) -> None:
        many = [self._submission() for _ in range(self.random.randrange(3))]
        made = self.queue.append_many(thread, many, **self._named())
        self.turns += [turn.queued_turn_id for turn in made]

    def _edit(self, thread: str) -> None:
        self.queue.edit(thread, self._turn(), self._submission())

    def _delete(self, thread: str) -> None:
        self.queue.delete(thread, self._turn())

    def _clear(self, thread: str) -> None:
        self.queue.clear(thread)

    def _reorder(self, thread: str) -> None:
        ids = [turn.queued_turn_id for turn in self.queue.list(thread)]
        self.queue.reorder(thread, self.random.sample(ids, len(ids)))

    def _claim(self, thread: str) -> None:
        claim = self.queue.claim_head(thread, self.random.choice(("a", "b")), 60)
        self.claims += [claim] if claim else []

    def _claim_next(self, _thread: str) -> None:
        self.claims += self.queue.claim_next("next", limit=self.random.choice((1, 3)), lease=30)

    def _renew(self, _thread: str) -> None:
        self.queue.renew(self._claim_shown(), self.random.choice((0.001, 60, 86_400)))

    def _give_back(self, _thread: str) -> None:
        self.queue.release(self._claim_shown())

    def _dispatch(self, _thread: str) -> None:
        number = self.random.choice((self.random.randrange(1_000), 1))
        self.queue.start_dispatch(self._claim_shown(), f"dispatch {number}")

    def _ack(self, _thread: str) -> None:
        self.queue.ack(self._claim_shown())

    def _late_ack(self, thread: str) -> None:
        self.queue.ack_dispatch(thread, "dispatch 1")

    def _fail(self, _thread: str) -> None:
        failure = {"text": self.random.choice(TEXTS)}
        unknown = self.random.choice((True, False))
        self.queue.fail(self._claim_shown(), failure, outcome_unknown=unknown)

    def _get_going(self, thread: str) -> None:
        """Retry or resolve the head, resume and unarchive."""
        decisions: tuple[Literal["acked", "retry"], ...] = ("acked", "retry")
        self._unarchive(thread)
        self._resume(thread)
        for turn in self.queue.list(thread, limit=1):
            if turn.outcome_unknown:
                by = self.random.choice(TEXTS)
                decision = self.random.choice(decisions)
                self.queue.resolve(thread, turn.queued_turn_id, decision, by=by)
            else:
                self.queue.retry(thread, turn.queued_turn_id)

    def _pause(self, thread: str) -> None:
        self.queue.pause(thread, self.random.choice(TEXTS))

    def _resume(self, thread: str) -> None:
        self.queue.resume(thread)

    def _recover(self, _thread: str) -> None:
        self.queue.recover()

    def _recover_owner(self, thread: str) -> None:
        self.queue.recover(thread, owner="a", failure=self.random.choice(TEXTS))

    def _fail_in_flight(self, thread: str) -> None:
        self.queue.fail_in_flight(thread, ["stopped"])

    def _archive(self, thread: str) -> None:
        self.ledger.threads.archive(thread)

    def _unarchive(self, thread: str) -> None:
        self.ledger.threads.unarchive(thread)

    def _delete_thread(self, thread: str) -> None:
        self.ledger.threads.delete(thread)

    # --- the inbox

    def _post(self, thread: str) -> None:
        age = timedelta(seconds=self.random.choice((-5, 1, 100)))
        chosen = self.random.choice((None, None, f"message {self.random.randrange(30)}"))
        message = self.ledger.inbox.post(
            thread,
            self._submission(),
            source="host",
            delivery=self.random.choice(("after-turn", "steer-current-turn")),
            instructions=self.random.choice((None, "text", [])),
            metadata=self._submission(),
            queued_at=self.random.choice((None, self.clock.now - age)),
            message_id=chosen,
            **self._named(),
        )
        self.messages.append(message.message_id)

    def _post_new(self, thread: str) -> None:
        """As a newer release does."""
        backend = self.ledger._backend
        command = Post(
            thread_id=thread,
            message_id=backend.new_id(),
            content="new",
            source="host",
            delivery="by-pigeon",
            metadata={},
        )
        backend.transact(lambda unit: post_in(unit, command, backend.origin()), several=True)

    def _take(self, thread: str) -> None:
        can = {"can_after_turn": True, "can_steer_current_turn": self.random.random() < 0.5}
        claim = self.ledger.inbox.claim_next(thread, self.random.choice(("a", "b")), **can)
        self.message_claims += [claim] if isinstance(claim, MessageClaim) else []

    def _message_claim_shown(self) -> MessageClaim:
        generation = self.ledger.generation
        made_up = MessageClaim(thread_id="one", owner="nobody", epoch=1, generation=generation)
        return self.random.choice([made_up, *self.message_claims[-1:] * 9])

    def _confirm(self, _thread: str) -> None:
        self.ledger.inbox.confirm(self._message_claim_shown())

    def _return_message(self, _thread: str) -> None:
        self.ledger.inbox.release(self._message_claim_shown())

    def _delete_message(self, thread: str) -> None:
        self.ledger.inbox.delete(thread, self.random.choice(self.messages[-6:]))

    def _recover_messages(self, _thread: str) -> None:
        modes: tuple[RecoveryMode, ...] = ("at_most_once", "at_least_once")
        self.ledger.inbox.recover(mode=self.random.choice(modes))

    def _requeue(self, thread: str) -> None:
        """Come back when every claim is over."""
        self.clock.now += timedelta(seconds=61)
        self.ledger.inbox.recover(thread)
        for message in self.ledger.inbox.undelivered(thread)[:1]:
            self.ledger.inbox.requeue(thread, message.message_id)

    def _fork(self, thread: str) -> None:
        self.ledger.threads.fork(thread, f"fork of {thread} at {self.random.randrange(3)}")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def replayed(database: sqlite3.Connection) -> Replay:
    """A replay of every event."""
    replay, mapper = Replay(), LedgerMapper(REGISTRY)
    for row in database.execute("SELECT * FROM events ORDER BY position"):
        replay.add(row[0], mapper.to_domain_event(as_notification(row)), row[-1])
    return replay


def compare(path: Path) -> None:
    """Everything that is stored beside the events, bit for bit, against a replay of the events."""
    with closing(sqlite3.connect(path)) as database:
        replay = replayed(database)
        assert (replay.broken, replay.unread) == ([], {})
        for table in TABLES:
            key = ", ".join(column.name for column in table.primary_key.columns)
            there = database.execute(f"SELECT * FROM {table.name} ORDER BY {key}").fetchall()
            ought = [tuple(row) for row in replay.rows(table.name, key)]
            assert list(map(repr, there)) == list(map(repr, ought)), table.name
        heads = database.execute("SELECT * FROM streams ORDER BY stream_id").fetchall()
        ought = list(replay.rows_of_heads())
        assert list(map(repr, heads)) == list(map(repr, ought))
        replay.close()


def compare_views(path: Path, ledger: Ledger) -> tuple[int, int]:
    """The views show whoever reads the file what the ledger shows its callers, turn by turn.

    Returns:
        How many turns are visible, and how many in flight.
    """
    with closing(sqlite3.connect(path)) as database:
        turns = database.execute("SELECT thread_id, queued_turn_id FROM queued_turns").fetchall()
        visible = database.execute(f"{VISIBLE} ORDER BY thread_id, queue_order").fetchall()
        flying = database.execute(f"{IN_FLIGHT} ORDER BY thread_id").fetchall()
    threads = sorted({thread for thread, _ in turns})
    listed = [turn for thread in threads for turn in ledger.queue.list(thread)]
    shown = [(t.thread_id, t.queued_turn_id, t.state, t.submission) for t in listed]
    assert repr(shown) == repr([(*row[:3], json.loads(row[3])) for row in visible])
    found = [ledger.queue.get(*turn) for turn in sorted(turns)]
    assert None not in found
    held = [turn for turn in found if turn is not None and turn.expires_at is not None]
    assert {turn.state for turn in held} <= {"claimed", "dispatching"}
    assert flying == [
        (t.thread_id, t.queued_turn_id, t.dispatch_id, t.owner, t.epoch, microseconds(t.expires_at))
        for t in held
    ]
    return len(visible), len(flying)


def microseconds(time: datetime | None) -> int:
    assert time is not None
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@settings(derandomize=True, database=None, deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 120))
def test_what_is_stored_beside_the_events_is_what_a_replay_gives(
    tmp_path_factory: pytest.TempPathFactory, template: bytes, seed: int, steps: int
) -> None:
    path, clock = tmp_path_factory.mktemp("random") / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        Host(ledger, clock, seed).work(steps)
        compare(path)
        compare_views(path, ledger)
        verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())
    assert verification.ok


def test_a_busy_host_reaches_every_kind_of_event(tmp_path: Path, template: bytes) -> None:
    path, clock = tmp_path / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        shown: list[tuple[int, int]] = []
        for seed in range(16):
            Host(ledger, clock, seed).work(150)
            shown.append(compare_views(path, ledger))
        compare(path)
        assert min(map(sum, zip(*shown, strict=True))) > 4
        assert ledger.verify().ok
        seen = {event.type for event in ledger.log.read(limit=100_000)}
    elsewhere = (
        *("timer.", "coordinator_turn.", "work_item.", "evidence.kept_of_turn", "run."),
        *("operation.", "evidence.kept_of_run", "evidence.kept_of_operation"),
    )
    topics = {kind.TOPIC for kind in REGISTRY.writable}
    assert seen == {topic for topic in topics if not topic.startswith(elsewhere)}
