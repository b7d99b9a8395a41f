"""Laws over all deciders, on the histories of random commands.

A history is a walk: at each step a command that the state allows, mostly, picked by a random number
generator. Hypothesis chooses its seed and how far to go, and looks for the shortest walk that
breaks a law.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from tests.domain.histories import NOW, Histories, Moment
from turnledger.domain.errors import ClaimLost, InvalidTransition, Refusal
from turnledger.domain.event import Event, EventRegistry
from turnledger.domain.limits import Context, Limits
from turnledger.domain.payload import encode
from turnledger.domain.thread_queue import (
    EVENTS,
    State,
    ThreadQueue,
    Turn,
    broken_rule,
    decide,
    evolve,
    fold,
    why_blocked,
)
from turnledger.domain.thread_queue import commands as c

SCALARS = State._fields.index("epoch") + 1  # what the head row holds
LIMITS = Limits(max_visible_turns=4, max_claims=2, max_lease=timedelta(hours=1))
KINDS: tuple[type[c.QueueCommand], ...] = (
    *(c.Append, c.AppendMany, c.Edit, c.Delete, c.Clear, c.Reorder, c.ClaimHead, c.Renew),
    *(c.Release, c.StartDispatch, c.Ack, c.AckDispatch, c.Fail, c.Retry, c.Resolve, c.Pause),
    *(c.Resume, c.Recover, c.FailInFlight),
)
OFTEN: tuple[type[c.QueueCommand], ...] = (
    *(c.Append, c.ClaimHead, c.StartDispatch, c.Ack, c.Fail, c.Retry, c.Resolve, c.Renew),
    *(c.Release, c.Recover, c.AckDispatch, c.Resume),
)

# What the same command leads to at once again, command by command. An append makes another turn,
# with another id: its key and its id are looked up before it is decided.
NOTHING_AGAIN = (
    *(c.Delete, c.Clear, c.Reorder, c.ClaimHead, c.StartDispatch, c.AckDispatch),
    *(c.Pause, c.Resume, c.Recover, c.FailInFlight),
)
REFUSED_AGAIN: dict[type[c.QueueCommand], type[Refusal]] = {
    c.Release: ClaimLost,
    c.Ack: ClaimLost,
    c.Fail: ClaimLost,
    c.Retry: InvalidTransition,
    c.Resolve: InvalidTransition,
}
THE_SAME_AGAIN = (c.Edit, c.Renew)  # and the state is as after the first time


TEXTS = ("", "text", "\x00", "\u2028", "\u00e9", "\U0001f600", '"', "\ufffd")


def wished(random: Random, state: State, _step: int, context: Context) -> c.QueueCommand:
    """A command: one of four is any, the others are allowed."""
    likely = random.choice((OFTEN, OFTEN, OFTEN, KINDS))
    for kind in random.sample(likely, len(likely)):
        command = command_of(random, kind, state)
        if likely is KINDS or histories.answer(Moment(state, command, context))[0]:
            return command
    return command


def command_of(random: Random, kind: type[Any], state: State) -> c.QueueCommand:
    """A command of a kind; one of eight is for nothing that is there."""
    turns, flying, number = list(state.turns), state.in_flight, len(state.turns)
    wrong = random.random() < 0.12
    visible = [turn.queued_turn_id for turn in state.visible_turns()]
    chosen = random.choice([*turns[-4:], *visible * 3]) if turns and not wrong else "no such turn"
    dispatch = (flying and flying.dispatch_id) or f"dispatch {len(state.dispatch_ids)}"
    some: dict[str, Any] = {
        "thread_id": "thread",
        "queued_turn_id": f"turn {number}" if kind is c.Append else chosen,
        "submission": {"text": random.choice(TEXTS)},
        "not_before": random.choice((None, NOW + timedelta(seconds=random.randrange(200)))),
        "queued_turn_ids": tuple(f"turn {number + i}" for i in range(random.randrange(3))),
        "owner": "other" if wrong or flying is None else flying.owner,
        "epoch": state.epoch - wrong,
        "lease": timedelta(seconds=random.choice((1, 60, 3_600))),
        "dispatch_id": f"dispatch {random.randrange(3)}" if wrong else dispatch,
        "failure": random.choice((None, [], *TEXTS)),
        "outcome_unknown": random.random() < 0.4,
        "decision": random.choice(("acked", "retry")),
        "by": random.choice(TEXTS),
        "reason": random.choice(TEXTS),
    }
    some["submissions"] = tuple({"n": i} for i in range(len(some["queued_turn_ids"])))
    if kind is c.Reorder:
        ids = random.sample(visible, len(visible))
        some["queued_turn_ids"] = (*ids, "x") if wrong else tuple(ids)
    if kind is c.Recover:
        some["owner"] = random.choice((None, None, some["owner"]))
    names = kind.__dataclass_fields__
    command: c.QueueCommand = kind(**{name: some[name] for name in names if name in some})
    return command


histories = Histories(decide, fold, State(), LIMITS, wished)
answer, law = histories.answer, histories.law


@law
def test_decide_is_pure(history: Iterator[Moment]) -> None:
    for moment in history:
        turns = dict(moment.state.turns)
        assert answer(moment) == answer(moment)
        assert moment.state.turns == turns


@law
def test_evolve_is_total_on_what_was_decided_and_read_back(history: Iterator[Moment]) -> None:
    registry = EventRegistry(EVENTS)
    state = State()
    for moment in history:
        state = state._replace(lifecycle=moment.state.lifecycle)
        assert state == moment.state
        for event in answer(moment)[0]:
            read = registry.read(event.TOPIC, event.SCHEMA_VERSION, encode(event))
            assert isinstance(read, Event)
            assert evolve(state, event) == evolve(state, read)
            state = evolve(state, read)


@law
def test_the_same_command_again_does_nothing_or_says_so(history: Iterator[Moment]) -> None:
    for moment in history:
        decided, _ = answer(moment)
        after = fold(decided, moment.state)
        again = moment._replace(state=after)
        kind = type(moment.command)
        if not decided or kind in (c.Append, c.AppendMany):
            continue
        if kind in REFUSED_AGAIN:
            with pytest.raises(REFUSED_AGAIN[kind]):
                decide(*again)
        elif kind in THE_SAME_AGAIN:
            assert answer(again)[0] == decided
            assert fold(decided, after) == after
        else:
            assert kind in NOTHING_AGAIN
            assert answer(again) == ([], "")


@law
def test_orders_within_a_thread_are_distinct(history: Iterator[Moment]) -> None:
    for moment in history:
        orders = [turn.queue_order for turn in moment.state.turns.values()]
        assert len(set(orders)) == len(orders)
        assert all(order < moment.state.next_order for order in orders)


@law
def test_every_turn_is_accounted_for(history: Iterator[Moment]) -> None:
    for state, _, _ in history:
        states = [turn.state for turn in state.turns.values()]
        in_flight = states.count("claimed") + states.count("dispatching")
        assert in_flight == (state.in_flight is not None) <= 1
        assert state.visible == states.count("pending") + states.count("failed")
        assert (state.acked, state.deleted) == (states.count("acked"), states.count("deleted"))
        assert len(state.turns) == state.visible + in_flight + state.acked + state.deleted


@law
def test_what_is_gone_stays_gone(history: Iterator[Moment]) -> None:
    gone: dict[str, str] = {}
    for state, _, _ in history:
        states = {turn_id: turn.state for turn_id, turn in state.turns.items()}
        assert {turn_id: states[turn_id] for turn_id in gone} == gone
        gone = {turn_id: word for turn_id, word in states.items() if word in ("acked", "deleted")}


@law
def test_what_is_decided_breaks_no_rule_of_history(history: Iterator[Moment]) -> None:
    for moment in history:
        state = moment.state
        for event in answer(moment)[0]:
            assert broken_rule(state, event) is None
            state = evolve(state, event)


@law
def test_epochs_rise_by_one_with_each_claim_and_never_fall(history: Iterator[Moment]) -> None:
    epoch = 0
    for moment in history:
        assert moment.state.epoch == epoch
        for event in answer(moment)[0]:
            if isinstance(event, ThreadQueue.Claimed):
                epoch += 1
                assert event.epoch == epoch


@law
def test_the_scalars_come_back_from_json(history: Iterator[Moment]) -> None:
    for state, _, _ in history:
        text = to_json(state.scalars())
        back = State.from_scalars(from_json(text), state.epoch)
        assert back[:SCALARS] == state[:SCALARS]
        assert to_json(back.scalars()) == text


def as_read(moment: Moment) -> Moment:
    """The moment with no more of single turns than the command says that it reads."""
    state, command, _ = moment
    visible = state.visible_turns()
    named = state.turns.get(getattr(command, "queued_turn_id", ""))
    turns: list[Turn] = {
        "nothing": [],
        "dispatch": [],
        "head": visible[:1],
        "work": visible[:1],
        "turn": visible[:2] + ([named] if named else []),
        "visible": visible,
    }[command.READS]
    known = {turn.queued_turn_id: turn for turn in turns}
    reads_dispatch = command.READS == "dispatch"
    used = reads_dispatch and state.dispatch_ids & {getattr(command, "dispatch_id", "")}
    read = State.from_scalars(from_json(to_json(state.scalars())), state.epoch, known)
    read = read._replace(lifecycle=state.lifecycle, dispatch_ids=used or frozenset())
    return moment._replace(state=read)


@law
def test_what_a_command_reads_is_all_that_its_decision_needs(history: Iterator[Moment]) -> None:
    for moment in history:
        short = as_read(moment)
        decided = answer(moment)
        assert answer(short) == decided
        whole, part = fold(decided[0], moment.state), fold(decided[0], short.state)
        assert part[:SCALARS] == whole[:SCALARS]
        if moment.command.READS in ("head", "work", "visible"):
            assert why_blocked(short.state, short.context) == why_blocked(*moment[::2])
        if decided[0] and not (moment.command.KEEPS_HEAD and moment.state.visible):
            assert head(part) == head(whole)
        elif decided[0]:
            assert head(whole) == head(moment.state)


def head(state: State) -> tuple[Any, ...]:
    """Of the turn that a claim would give out, what the head row says."""
    turn = state.next_turn()
    return (None, None) if turn is None else (turn.created_at, turn.not_before)
