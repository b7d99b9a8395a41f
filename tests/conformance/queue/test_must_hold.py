"""Whatever three owners do, and whatever the clock does: what must hold holds, after each step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, cast

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import turnledger
from turnledger import Claim, Ledger, LedgerError, QueuedTurn, Settings

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Store, StoredEvent
    from tests.conformance.queue.conftest import ModelThread

LIMIT, LONGEST = 4, timedelta(hours=1)
THREADS, OWNERS = ("a", "b"), ("x", "y", "z")
NEVER = "never"

threads = st.sampled_from(THREADS)
owners = st.sampled_from(OWNERS)
texts = st.sampled_from(["one", "two"])
delays = st.sampled_from([None, None, None, -30, 30])
keys = st.sampled_from([None, None, None, "k1", "k2"])
leases = st.sampled_from([timedelta(seconds=10), timedelta(seconds=60), LONGEST])
dispatch_ids = st.sampled_from(["d1", "d2", "d3", "d4"])
indices = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 7])  # mostly the latest, now and then a stale one
moves = st.sampled_from([1, 9, 30, 60, 3600, 7200, -1, -30, -3600, -7200])
Decision = Literal["acked", "retry"]
decisions: st.SearchStrategy[Decision] = st.sampled_from(["acked", "retry"])


def outcome(call: Callable[[], Any]) -> Any:
    """What a command gives: its value, or the kind of its refusal."""
    try:
        return call()
    except LedgerError as refusal:
        return type(refusal)


def facts(claim: Any) -> Any:
    """A claim, as the model says it."""
    if not isinstance(claim, Claim):
        return claim
    assert claim.submission is not None
    text = claim.submission["text"]
    return (claim.queued_turn_id, text, claim.owner, claim.epoch, claim.expires_at)


class Queues(RuleBasedStateMachine):
    """Two threads, three owners and a clock that jumps."""

    def __init__(
        self,
        opening: Callable[[], Ledger],
        store: Store,
        clock: Clock,
        new_model: Callable[[int, timedelta], ModelThread],
        check_events: Callable[[list[StoredEvent], list[str]], None],
    ) -> None:
        super().__init__()
        self.opening, self.store, self.clock = opening, store, clock
        self.check_events = check_events
        self.ledger = opening()
        self.queue = self.ledger.queue
        self.models = {thread: new_model(LIMIT, LONGEST) for thread in THREADS}
        self.claims: list[Claim] = []

    def teardown(self) -> None:
        self.ledger.close()

    # --- putting in, changing, taking out

    def _appended(self, thread: str, got: Any, key: str | None, content: Any, many: int) -> None:
        model = self.models[thread]
        expected = model.may_append(key, content, many)
        if isinstance(expected, type):
            assert got is expected
            return
        assert [turn.duplicate for turn in got] == [expected is not None] * many
        if expected is not None:
            assert [turn.queued_turn_id for turn in got] == expected
            return
        for turn in got:
            text = turn.submission["text"]
            model.append(turn.queued_turn_id, text, turn.created_at, turn.not_before)
        if key is not None:
            model.keys[key] = (content, [turn.queued_turn_id for turn in got])

    @initialize()
    def fill(self) -> None:
        for thread in THREADS:
            self.append_many(thread, ["one", "two", "three"], None)

    @rule(thread=threads, text=texts, delay=delays, key=keys)
    def append(self, thread: str, text: str, delay: int | None, key: str | None) -> None:
        not_before = None if delay is None else self.clock.now + timedelta(seconds=delay)
        given: dict[str, Any] = {"not_before": not_before, "idempotency_key": key}
        got = outcome(lambda: [self.queue.append(thread, {"text": text}, **given)])
        self._appended(thread, got, key, ("append", text, not_before), 1)

    @rule(thread=threads, many=st.lists(texts, min_size=1, max_size=3), key=keys)
    def append_many(self, thread: str, many: list[str], key: str | None) -> None:
        submissions = [{"text": text} for text in many]
        got = outcome(lambda: self.queue.append_many(thread, submissions, idempotency_key=key))
        self._appended(thread, got, key, ("append_many", many), len(many))

    @rule(thread=threads, index=indices, text=st.none() | texts)
    def edit_or_delete(self, thread: str, index: int, text: str | None) -> None:
        turn = self._some_turn(thread, index)
        if text is None:
            assert self.queue.delete(thread, turn) is self.models[thread].delete(turn)
            return
        got = outcome(lambda: self.queue.edit(thread, turn, {"text": text}).submission)
        expected = self.models[thread].edit(turn, text)
        assert got == ({"text": expected} if isinstance(expected, str) else expected)

    @rule(thread=threads, index=indices, data=st.data())
    def reorder(self, thread: str, index: int, data: st.DataObject) -> None:
        ids = data.draw(st.permutations(self.models[thread].visible()))
        if index > 1:
            ids.append(self._some_turn(thread, index))
        got = outcome(lambda: [turn.queued_turn_id for turn in self.queue.reorder(thread, ids)])
        assert got == self.models[thread].reorder(ids)

    # --- claims

    @rule(thread=threads, owner=owners, lease=leases)
    def claim_head(self, thread: str, owner: str, lease: timedelta) -> None:
        claim = self.queue.claim_head(thread, owner, lease)
        assert facts(claim) == self.models[thread].claim(owner, lease, self.clock.now)
        self.claims += [] if claim is None else [claim]

    @rule(owner=owners, lease=leases, limit=st.integers(1, 2))
    def claim_next(self, owner: str, lease: timedelta, limit: int) -> None:
        claims = self.queue.claim_next(owner, limit=limit, lease=lease)
        ready = [one for one in THREADS if self.models[one].why_blocked(self.clock.now) is None]
        ready.sort(key=lambda one: (self.models[one].head().created_at, one))
        assert [claim.thread_id for claim in claims] == ready[:limit]
        for claim in claims:
            expected = self.models[claim.thread_id].claim(owner, lease, self.clock.now)
            assert facts(claim) == expected
        self.claims += claims

    @rule(index=indices, lease=st.none() | leases)
    def renew_or_release(self, index: int, lease: timedelta | None) -> None:
        claim, model, now = self._some_claim(index), self._model_of(index), self.clock.now
        if claim is not None and lease is not None:
            got = outcome(lambda: self.queue.renew(claim, lease).expires_at)
            assert got == model.renew(claim.owner, claim.epoch, lease, now)
        elif claim is not None:
            got = outcome(lambda: self.queue.release(claim))
            assert got == model.release(claim.owner, claim.epoch, now)

    @rule(index=indices, dispatch_id=dispatch_ids)
    def start_dispatch(self, index: int, dispatch_id: str) -> None:
        claim, model, now = self._some_claim(index), self._model_of(index), self.clock.now
        if claim is not None:
            got = outcome(lambda: self.queue.start_dispatch(claim, dispatch_id))
            assert got == model.start_dispatch(claim.owner, claim.epoch, dispatch_id, now)

    @rule(index=indices, lost=st.booleans(), success=st.booleans())
    def ack_or_fail(self, index: int, *, lost: bool, success: bool) -> None:
        claim, model = self._some_claim(index), self._model_of(index)
        unknown = lost and model.is_dispatching()
        if claim is not None and success:
            assert outcome(lambda: self.queue.ack(claim)) == model.ack(claim.owner, claim.epoch)
        elif claim is not None:
            got = outcome(lambda: self.queue.fail(claim, "no", outcome_unknown=unknown))
            assert got == model.fail(claim.owner, claim.epoch, "no", outcome_unknown=unknown)

    @rule(thread=threads, dispatch_id=dispatch_ids)
    def ack_dispatch(self, thread: str, dispatch_id: str) -> None:
        got = self.queue.ack_dispatch(thread, dispatch_id)
        assert got is self.models[thread].ack_dispatch(dispatch_id)

    # --- looking after

    @rule(thread=threads, decision=decisions)
    def settle_a_failed_turn(self, thread: str, decision: Decision) -> None:
        model = self.models[thread]
        failed = [one for one in model.visible() if model.turns[one].state == "failed"]
        turn = failed[0] if failed else self._some_turn(thread, 0)
        if turn != NEVER:
            got = outcome(lambda: self.queue.retry(thread, turn).state)
            assert got == model.retry(turn)
            got = outcome(lambda: self.queue.resolve(thread, turn, decision, by="me").state)
            assert got == model.resolve(turn, decision)

    @rule(thread=st.none() | threads, owner=st.none() | owners)
    def recover(self, thread: str | None, owner: str | None) -> None:
        got = {turn.queued_turn_id for turn in self.queue.recover(thread, owner=owner)}
        models = [self.models[one] for one in THREADS if thread in (None, one)]
        assert got == {one for model in models for one in model.recover(owner, self.clock.now)}

    @rule(thread=threads, seldom=st.sampled_from(["pause", "resume", "resume", "fail", "clear"]))
    def do_what_is_seldom_done(self, thread: str, seldom: str) -> None:
        model = self.models[thread]
        if seldom == "fail":
            got = self.queue.fail_in_flight(thread, "restart")
            assert got == model.fail_in_flight("restart")
        elif seldom == "clear":
            assert self.queue.clear(thread) == model.clear()
        else:
            model.paused = seldom == "pause"
            stop = partial(self.queue.pause, reason="by hand")
            (stop if model.paused else self.queue.resume)(thread)

    @rule(seconds=moves, restart=st.booleans())
    def move_the_clock(self, seconds: int, *, restart: bool) -> None:
        self.clock.advance(seconds)
        if restart:
            self.ledger.close()
            self.ledger = self.opening()
            self.queue = self.ledger.queue

    def _some_claim(self, index: int) -> Claim | None:
        return self.claims[-1 - index] if index < len(self.claims) else None

    def _model_of(self, index: int) -> ModelThread:
        claim = self._some_claim(index)
        return self.models[THREADS[0] if claim is None else claim.thread_id]

    def _some_turn(self, thread: str, index: int) -> str:
        turns = list(self.models[thread].turns)
        return turns[-1 - index] if index < len(turns) else NEVER

    # --- what must hold, always

    @invariant()
    def the_queue_is_what_the_model_says(self) -> None:
        flying = []
        for thread, model in self.models.items():
            assert self.queue.why_blocked(thread) == model.why_blocked(self.clock.now)
            listed = self.queue.list(thread)
            assert [turn.queued_turn_id for turn in listed] == model.visible()
            rest = model.turns.keys() - model.visible()
            others = [self.queue.get(thread, turn) for turn in rest]
            for turn in (*listed, *others):
                assert turn is not None
                self._is_as_the_model_says(turn, model)
            orders = [turn.queue_order for turn in (*listed, *others) if turn is not None]
            assert len(set(orders)) == len(orders)
            if model.flying is not None:
                flying.append((thread, model.flying, model.owner, model.epoch))
        places = [turn for model in self.models.values() for turn in model.places]
        self.check_events(self.store.events(), places)
        held = "SELECT thread_id, queued_turn_id, owner, epoch FROM in_flight_turns"
        assert sorted(self.store.rows(held)) == flying

    def _is_as_the_model_says(self, turn: QueuedTurn, model: ModelThread) -> None:
        known = model.turns[turn.queued_turn_id]
        assert (turn.state, turn.submission) == (known.state, {"text": known.text})
        assert (turn.created_at, turn.not_before) == (known.created_at, known.not_before)
        if turn.state == "failed":
            assert turn.failure == known.failure
            assert turn.outcome_unknown is known.outcome_unknown
        if turn.state == "dispatching" or known.outcome_unknown:
            assert turn.dispatch_id == known.dispatch_id
        kept = [(one.owner, one.epoch, one.kind) for one in turn.evidence]
        assert len(set(kept)) == len(kept)
        assert known.evidence <= set(kept)
        assert {one for one in kept if one[2] != "ack_dispatch"} <= known.evidence


EXAMPLES = {"sqlite": 30, "postgresql": 6}  # a server's takes ten times as long


def test_what_must_hold_holds_whatever_is_done(  # noqa: PLR0913, PLR0917 - fixtures
    fresh_store: Callable[[str], str],
    store_at: Callable[[str], Store],
    clock: Clock,
    new_model: Callable[[int, timedelta], ModelThread],
    check_events: Callable[[list[StoredEvent], list[str]], None],
    kind: str,
) -> None:
    start, examples = clock.now, count()
    limits = Settings(max_visible_turns=LIMIT, max_lease=LONGEST, synchronous="NORMAL")

    def begin() -> Queues:
        url = fresh_store(f"example {next(examples)}")
        clock.now = start
        opening = partial(turnledger.open, url, clock=clock, settings=limits)
        return Queues(opening, store_at(url), clock, new_model, check_events)

    quick: dict[str, Any] = {"deadline": None, "derandomize": True}
    quick["phases"] = [Phase.generate]  # shrinking takes minutes; add Phase.shrink to see it
    effort = settings(max_examples=EXAMPLES[kind], stateful_step_count=40, **quick)
    run_state_machine_as_test(cast("type[Queues]", begin), settings=effort)
