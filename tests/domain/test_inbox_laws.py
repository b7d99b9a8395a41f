"""Laws over the inbox's decider, on the histories of random commands; see test_laws.py."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

from pydantic_core import from_json, to_json

from tests.domain.histories import Histories, Moment
from turnledger.domain import inbox
from turnledger.domain.errors import ClaimLost, InvalidTransition, Refusal
from turnledger.domain.event import EventRegistry
from turnledger.domain.inbox import Inbox, State, broken_rule, decide, fold
from turnledger.domain.inbox import commands as c
from turnledger.domain.limits import Context, Limits
from turnledger.domain.payload import encode

LIMITS = Limits(max_claims=2, max_lease=timedelta(hours=1))
SCALARS = State._fields.index("epoch") + 1
NOTHING_AGAIN = (c.Delete, c.ClaimNext, c.Recover, c.Clear)
REFUSED_AGAIN: dict[type[c.InboxCommand], type[Refusal]] = {
    c.Confirm: ClaimLost,
    c.Release: ClaimLost,
    c.Requeue: InvalidTransition,
}


def wished(random: Random, state: State, step: int, context: Context) -> c.InboxCommand:
    """Any command, about something that is there, mostly."""
    flying = state.in_flight
    claim: dict[str, Any] = {"thread_id": "thread", "owner": "x", "epoch": state.epoch}
    if flying is not None and random.random() < 0.9:
        claim["owner"] = flying.owner
    named = {"thread_id": "thread", "message_id": random.choice([*state.messages, "never"])}
    age = random.choice((None, None, 60, -60))
    can = {"can_after_turn": random.random() < 0.8, "can_steer_current_turn": random.random() < 0.5}
    lease = timedelta(seconds=random.choice((30, 60)))
    claiming = c.ClaimNext(thread_id="thread", owner=random.choice(("x", "y")), lease=lease, **can)
    choices: tuple[c.InboxCommand, ...] = (
        c.Post(
            thread_id="thread",
            message_id=f"message {step}",
            content={"n": 2**70},
            source="test",
            delivery=random.choice((*inbox.DELIVERIES, *inbox.DELIVERIES, "by-pigeon")),
            metadata={},
            queued_at=None if age is None else context.now - timedelta(seconds=age),
        ),
        *(claiming, claiming, claiming),
        *(c.Confirm(**claim), c.Release(**claim)),
        c.Recover(thread_id="thread", mode=random.choice(("at_most_once", "at_least_once"))),
        *(c.Delete(**named), c.Requeue(**named), c.Requeue(**named)),
    )
    return c.Clear(thread_id="thread") if random.random() < 0.01 else random.choice(choices)


histories = Histories(decide, fold, State(), LIMITS, wished)
answer, law = histories.answer, histories.law


@law
def test_deciding_is_pure_and_breaks_no_rule(history: Iterator[Moment]) -> None:
    for moment in history:
        first, again = answer(moment), answer(moment)
        assert first == again
        for event in first[0]:
            assert broken_rule(moment.state, event) is None


@law
def test_an_event_is_read_as_it_was_written(history: Iterator[Moment]) -> None:
    registry = EventRegistry(inbox.EVENTS)
    for moment in history:
        for event in answer(moment)[0]:
            assert registry.read(event.TOPIC, event.SCHEMA_VERSION, encode(event)) == event


@law
def test_every_message_is_in_one_state_and_counted_once(history: Iterator[Moment]) -> None:
    for state, _, _ in history:
        states = [message.state for message in state.messages.values()]
        assert state.waiting == states.count("pending")
        assert state.undelivered == states.count("expired")
        assert (state.in_flight is not None) == states.count("claimed") <= 1
        ended = [one for one in states if one in ("confirmed", "rejected", "deleted")]
        assert (state.posted, state.settled) == (len(states), len(ended))


@law
def test_epochs_rise_by_one_and_never_fall(history: Iterator[Moment]) -> None:
    for moment in history:
        for event in answer(moment)[0]:
            after = fold([event], moment.state)
            assert after.epoch - moment.state.epoch == isinstance(event, Inbox.Claimed)


@law
def test_the_same_command_again_does_nothing_or_says_so(history: Iterator[Moment]) -> None:
    for moment in history:
        events, _ = answer(moment)
        if not events or isinstance(events[0], Inbox.Rejected):
            continue
        again = answer(moment._replace(state=fold(events, moment.state)))
        kind = type(moment.command)
        if kind in NOTHING_AGAIN:
            assert again == ([], "")
        elif kind in REFUSED_AGAIN:
            assert again[1].startswith(REFUSED_AGAIN[kind].code)


@law
def test_a_head_row_holds_what_the_next_command_needs(history: Iterator[Moment]) -> None:
    """And of single messages, a command needs no more than it says that it reads."""
    for moment in history:
        state, command, _ = moment
        text = to_json(state.scalars())
        messages = {
            "nothing": [],
            "oldest": [state.oldest],
            "message": [state.messages.get(getattr(command, "message_id", ""))],
        }[command.READS]
        known = {one.message_id: one for one in messages if one is not None}
        read = State.from_scalars(from_json(text), state.epoch, known)
        assert to_json(read.scalars()) == text
        short = moment._replace(state=read._replace(lifecycle=state.lifecycle))
        events, said = answer(moment)
        assert answer(short) == (events, said)
        assert fold(events, short.state)[:SCALARS] == fold(events, state)[:SCALARS]
        if isinstance(command, c.ClaimNext):
            assert inbox.not_ready(*short) == inbox.not_ready(*moment)  # type: ignore[arg-type]
