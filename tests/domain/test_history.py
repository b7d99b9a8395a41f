"""What must hold, always: which event can follow a history, and which would break a rule.

Each event that breaks one differs in one thing only from an event that breaks none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue, broken_rule

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given
    from turnledger.domain.event import Event


def retried(turn: str) -> Event:
    return ThreadQueue.Retried(queued_turn_id=turn)


def resolved(turn: str) -> Event:
    return ThreadQueue.Resolved(queued_turn_id=turn, decision="acked", by="me")


def moved(first: int, *turns: str) -> Event:
    return ThreadQueue.Reordered(queued_turn_ids=turns, first_order=first)


def edited(turn: str) -> Event:
    return ThreadQueue.Edited(queued_turn_id=turn, submission={})


class Tale:
    """A history, an event that can follow it, and events that can't."""

    def __init__(self, history: list[Event], right: Event, *wrong: Event) -> None:
        self.history, self.right, self.wrong = history, right, wrong


def tales(fact: Fact) -> dict[str, Tale]:
    waiting: list[Event] = [*fact.queue("a", "b")]
    claimed = [*waiting, fact.claimed("a")]
    dispatching = [*claimed, fact.started("a")]
    known, unknown = (
        [*dispatching, fact.failed("a")],
        [*dispatching, fact.failed("a", unknown=True)],
    )
    again = [*known, retried("a"), fact.claimed("a", epoch=2)]
    released = [*claimed, fact.released("a")]
    gone = [*dispatching, fact.acked("a")]
    c, deleted = fact.appended("c", 2), fact.deleted("b")
    return {
        "an id is appended once": Tale(waiting, c, fact.appended("a", 2)),
        "orders go on": Tale(waiting, c, fact.appended("c", 1), fact.appended("c", 3)),
        "a visible turn is edited": Tale(claimed, edited("b"), edited("a"), edited("x")),
        "a visible turn is deleted": Tale(gone, deleted, fact.deleted("a"), fact.deleted("x")),
        "clearing ends all": Tale(
            claimed,
            fact.cleared("b", flying="a"),
            fact.cleared(flying="a"),
            fact.cleared("b"),
            fact.cleared("b", "b", flying="a"),
            fact.cleared("b", "x", flying="a"),
            fact.cleared("b", flying="b"),
        ),
        "an order holds all": Tale(
            waiting,
            moved(2, "b", "a"),
            moved(2, "b"),
            moved(2, "b", "a", "x"),
            moved(2, "b", "a", "a"),
            moved(1, "b", "a"),
            moved(3, "b", "a"),
        ),
        "the head is claimed": Tale(
            waiting, fact.claimed("a"), fact.claimed("b"), fact.claimed("x")
        ),
        "epochs rise by one": Tale(
            released,
            fact.claimed("a", epoch=2),
            fact.claimed("a", epoch=1),
            fact.claimed("a", epoch=3),
        ),
        "one turn is in flight": Tale(claimed, edited("b"), fact.claimed("b", epoch=2)),
        "no failed head is claimed": Tale(known, retried("a"), fact.claimed("a", epoch=2)),
        "a failed turn is retried": Tale(known, retried("a"), retried("b"), retried("x")),
        "an unknown outcome is resolved": Tale(unknown, resolved("a"), retried("a"), resolved("b")),
        "a known outcome is retried": Tale(known, retried("a"), resolved("a")),
        "what is held is given back": Tale(
            claimed, fact.released("a"), fact.released("b"), fact.released("a", epoch=2)
        ),
        "what is held is recovered": Tale(
            claimed, fact.recovered("a"), fact.recovered("b"), fact.recovered("a", epoch=2)
        ),
        "what was dispatched stays": Tale(
            dispatching,
            fact.acked("a"),
            fact.released("a"),
            fact.recovered("a"),
            fact.started("a", "e"),
        ),
        "what is held fails": Tale(
            claimed, fact.failed("a"), fact.failed("b"), fact.failed("a", epoch=2)
        ),
        "what is held is dispatched": Tale(
            claimed,
            fact.started("a"),
            fact.started("b"),
            fact.started("a", epoch=2),
            fact.started("a", owner="other"),
        ),
        "a dispatch id is used once": Tale(
            again, fact.started("a", "e", epoch=2), fact.started("a", "d", epoch=2)
        ),
        "the dispatch under way is acked": Tale(
            dispatching,
            fact.acked("a"),
            fact.acked("b"),
            fact.acked("a", "e"),
            fact.acked("a", epoch=2),
        ),
        "what was not dispatched is not acked": Tale(claimed, fact.started("a"), fact.acked("a")),
    }


def test_an_event_that_breaks_a_rule_is_told_from_one_that_does_not(
    given: Given, fact: Fact, subtests: pytest.Subtests
) -> None:
    for name, tale in tales(fact).items():
        with subtests.test(name):
            state = given(*tale.history).state
            assert broken_rule(state, tale.right) is None
            for wrong in tale.wrong:
                assert broken_rule(state, wrong), wrong


def test_nothing_is_claimed_in_a_queue_that_gives_out_no_claims(given: Given, fact: Fact) -> None:
    assert broken_rule(given(fact.appended("a")).state, fact.claimed("a")) is None
    for event in (fact.paused(), Thread.Archived(), Thread.Deleted()):
        assert broken_rule(given(fact.appended("a"), event).state, fact.claimed("a"))


def test_nothing_is_appended_in_a_thread_that_takes_no_work(given: Given, fact: Fact) -> None:
    for event in (Thread.Archived(), Thread.Deleted()):
        assert broken_rule(given(event).state, fact.appended("a"))
        assert broken_rule(given(event, Thread.Unarchived()).state, fact.appended("a")) is None


def test_pausing_and_other_events_break_no_rule(given: Given, fact: Fact) -> None:
    for event in (fact.paused(), ThreadQueue.Resumed(), Thread.Archived()):
        assert broken_rule(given().state, event) is None
