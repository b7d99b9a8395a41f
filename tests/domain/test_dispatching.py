"""Handing a turn over, and what came of it: start_dispatch, ack, ack_dispatch, fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger.domain.errors import InvalidTransition, ThreadArchived, ThreadDeleted
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given, Wish


def test_a_claimed_turn_is_dispatched(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.StartDispatch)).then(fact.started("a", "d"))


def test_a_dispatch_says_whose_it_is(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a", owner="me", epoch=7))
    started = fact.started("a", "mine", owner="me", epoch=7)
    claimed.when(wish(c.StartDispatch, dispatch_id="mine", owner="me", epoch=7)).then(started)


def test_the_same_dispatch_again_is_nothing(given: Given, fact: Fact, wish: Wish) -> None:
    given(*fact.dispatching("a")).when(wish(c.StartDispatch)).then_nothing()


def test_a_second_dispatch_of_a_claim_is_refused(given: Given, fact: Fact, wish: Wish) -> None:
    second = given(*fact.dispatching("a")).when(wish(c.StartDispatch, dispatch_id="e"))
    second.then_refused(InvalidTransition, command="start_dispatch")


def test_a_dispatch_id_is_used_once_in_a_thread_ever(given: Given, fact: Fact, wish: Wish) -> None:
    begun = fact.dispatching("a", "b")
    retried = ThreadQueue.Retried(queued_turn_id="a")
    same_turn = (*begun, fact.failed("a"), retried, fact.claimed("a", epoch=2))
    other_turn = (*begun, fact.acked("a"), fact.claimed("b", epoch=2))
    cleared = (*begun, fact.cleared("b", flying="a"), fact.appended("c", 2))
    for history in (same_turn, other_turn, (*cleared, fact.claimed("c", epoch=2))):
        again = given(*history).when(wish(c.StartDispatch, epoch=2))
        again.then_refused(InvalidTransition, command="start_dispatch")


def test_a_turn_is_dispatched_again_after_a_retry(given: Given, fact: Fact, wish: Wish) -> None:
    retried = (*fact.failing("a"), ThreadQueue.Retried(queued_turn_id="a"))
    claimed = given(*retried, fact.claimed("a", epoch=2))
    again = wish(c.StartDispatch, dispatch_id="e", epoch=2)
    claimed.when(again).then(fact.started("a", "e", epoch=2))


def test_no_dispatch_starts_in_an_archived_thread(given: Given, fact: Fact, wish: Wish) -> None:
    archived = given(fact.appended("a"), fact.claimed("a"), Thread.Archived())
    archived.when(wish(c.StartDispatch)).then_refused(ThreadArchived)


def test_a_dispatched_turn_is_acked(given: Given, fact: Fact, wish: Wish) -> None:
    dispatching = given(*fact.dispatching("a"))
    dispatching.when(wish(c.Ack)).then(fact.acked("a", "d"))
    dispatching.when(wish(c.AckDispatch)).then(fact.acked("a", "d"))


@pytest.mark.parametrize("seconds", [60, 61, 1e9])
def test_an_ack_after_the_lease_is_enough_if_nobody_took_over(
    given: Given, fact: Fact, wish: Wish, seconds: float
) -> None:
    late = given(*fact.dispatching("a")).at(seconds)
    late.when(wish(c.Ack)).then(fact.acked("a"))
    late.when(wish(c.AckDispatch)).then(fact.acked("a"))


def test_what_was_not_dispatched_is_not_acked(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.Ack)).then_refused(InvalidTransition, command="ack")
    claimed.when(wish(c.AckDispatch)).then_nothing()


def test_only_the_dispatch_in_flight_is_acked_by_its_id(
    given: Given, fact: Fact, wish: Wish
) -> None:
    dispatching = fact.dispatching("a", "b")
    unknown = fact.failed("a", unknown=True)
    retried = ThreadQueue.Retried(queued_turn_id="a")
    again = (fact.failed("a"), retried, fact.claimed("a", epoch=2), fact.started("a", "e", epoch=2))
    given(*dispatching).when(wish(c.AckDispatch, dispatch_id="e")).then_nothing()
    for history in (
        (),
        fact.queue("a"),
        (*dispatching, fact.acked("a")),
        (*dispatching, unknown),
        (*dispatching, *again),
        (*dispatching, fact.cleared("b", flying="a")),
    ):
        given(*history).when(wish(c.AckDispatch)).then_nothing()


def test_after_an_ack_the_next_turn_is_the_head(given: Given, fact: Fact, wish: Wish) -> None:
    acked = given(*fact.dispatching("a", "b"), fact.acked("a"))
    acked.when(wish(c.ClaimHead)).then(fact.claimed("b", epoch=2))


def test_what_is_in_flight_fails_with_its_failure(given: Given, fact: Fact, wish: Wish) -> None:
    failure = {"code": 400, "text": ["bad", None]}
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.Fail, failure=failure)).then(fact.failed("a", failure))
    given(*fact.dispatching("a")).when(wish(c.Fail, failure=failure)).then(
        fact.failed("a", failure, dispatch="d")
    )


def test_a_failure_says_whether_its_outcome_is_unknown_and_its_text_altered(
    given: Given, fact: Fact, wish: Wish
) -> None:
    dispatching = given(*fact.dispatching("a"))
    unknown = wish(c.Fail, outcome_unknown=True)
    dispatching.when(unknown).then(fact.failed("a", unknown=True, dispatch="d"))
    altered = fact.failed("a", dispatch="d").model_copy(update={"altered": True})
    dispatching.when(wish(c.Fail, altered=True)).then(altered)


def test_a_failure_after_the_lease_is_enough_if_nobody_took_over(
    given: Given, fact: Fact, wish: Wish
) -> None:
    given(*fact.dispatching("a")).at(60).when(wish(c.Fail)).then(fact.failed("a", dispatch="d"))


def test_a_failed_turn_stands_at_its_old_place(given: Given, fact: Fact) -> None:
    failed = given(*fact.dispatching("a", "b"), fact.failed("a"))
    assert failed.visible() == ["a", "b"]
    assert failed.state.turns["a"].queue_order == 0


def test_an_archived_thread_can_be_settled(given: Given, fact: Fact, wish: Wish) -> None:
    archived = given(*fact.dispatching("a"), Thread.Archived())
    archived.when(wish(c.Ack)).then(fact.acked("a"))
    archived.when(wish(c.AckDispatch)).then(fact.acked("a"))
    archived.when(wish(c.Fail)).then(fact.failed("a", dispatch="d"))


def test_an_ack_by_dispatch_id_in_a_deleted_thread_is_refused(
    given: Given, fact: Fact, wish: Wish
) -> None:
    ended = given(*fact.dispatching("a"), fact.cleared(flying="a"), Thread.Deleted())
    ended.when(wish(c.AckDispatch)).then_refused(ThreadDeleted)
