"""Histories of random commands, for laws that hold of every moment of every one.

A history is a walk: at each step a command, picked by a random number generator. Hypothesis chooses
its seed and how far to go, and looks for the shortest walk that breaks a law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from turnledger.domain import thread
from turnledger.domain.errors import Refusal
from turnledger.domain.event import Event
from turnledger.domain.limits import Context, Limits

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_SECONDS = (0, 0, 0, 0, 0, 0.000_001, 1, 59, 60, -30, 7_200)
_LIVES = (thread.Archive, thread.Unarchive)

settled = settings(derandomize=True, database=None, deadline=None, max_examples=100)


class Moment(NamedTuple):
    """A command on the state that it is decided on."""

    state: Any
    command: Any
    context: Context


class Histories(NamedTuple):
    """Those of one aggregate.

    Attributes:
        decide: The aggregate's; likewise fold.
        start: Its state before anything.
        limits: By which all is judged.
        wished: The next command: of the generator, the state, the number of the step, the context.
    """

    decide: Callable[[Any, Any, Context], Any]
    fold: Callable[[Any, Any], Any]
    start: Any
    limits: Limits
    wished: Callable[[Random, Any, int, Context], Any]

    def answer(self, moment: Moment) -> tuple[list[Event], str]:
        """What is decided: events, or the words of a refusal."""
        try:
            return list(self.decide(*moment)), ""
        except Refusal as refusal:
            return [], f"{refusal.code}: {refusal}"

    def walk(self, random: Random, steps: int) -> Iterator[Moment]:
        """The moments of a history; the state is folded from its events."""
        state, life, now, last = self.start, thread.State(), NOW, NOW
        for step in range(steps):
            now += timedelta(seconds=random.choice(_SECONDS))
            last = max(now, last)
            context = Context(now, last, self.limits)
            if random.random() < 0.06:
                wish = random.choice(_LIVES)(thread_id="thread")
                for event in thread.decide(life, wish, context):
                    life = thread.evolve(life, event)
                state = state._replace(lifecycle=life.lifecycle)
            moment = Moment(state, self.wished(random, state, step, context), context)
            yield moment
            state = self.fold(self.answer(moment)[0], state)

    def law(self, test: Callable[[Iterator[Moment]], None]) -> Callable[[], None]:
        """A test that takes a history."""

        @settled
        @given(seed=st.integers(0, 2**32), steps=st.integers(1, 70))
        def tested(seed: int, steps: int) -> None:
            test(self.walk(Random(seed), steps))

        return tested
