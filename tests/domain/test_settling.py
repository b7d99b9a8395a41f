"""Getting a queue going again: retry, resolve, pause, resume, recover, fail_in_flight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from turnledger.domain.errors import (
    InvalidTransition,
    QueuedTurnNotFound,
    ThreadArchived,
    ThreadDeleted,
)
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given, Wish
    from turnledger.domain.event import Event

RETRIED = ThreadQueue.Retried(queued_turn_id="a")
EXPIRED = "outcome unknown after the claim expired"
A_DAY = 86_400


def resolved(decision: Literal["acked", "retry"], **said: object) -> ThreadQueue.Resolved:
    facts = {"queued_turn_id": "a", "by": "me", "decision": decision}
    return ThreadQueue.Resolved.model_validate({**facts, **said})


def not_failed(fact: Fact) -> list[list[Event]]:
    """Histories in which turn a is there, or was, and isn't failed."""
    begun = [*fact.queue("a"), fact.claimed("a")]
    gone = [*fact.queue("a"), fact.deleted("a")]
    acked = [*fact.dispatching("a"), fact.acked("a")]
    return [[*fact.queue("a")], begun, fact.dispatching("a"), acked, gone]


def test_a_failed_turn_waits_again_in_its_place(given: Given, fact: Fact, wish: Wish) -> None:
    failed = given(*fact.dispatching("a", "b"), fact.failed("a"))
    failed.when(wish(c.Retry)).then(RETRIED)
    retried = given(*failed.events, RETRIED)
    assert retried.visible() == ["a", "b"]
    retried.when(wish(c.ClaimHead)).then(fact.claimed("a", epoch=2))


def test_a_failed_turn_that_is_not_the_head_is_retried_too(
    given: Given, fact: Fact, wish: Wish
) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("b", "a"), first_order=2)
    failed = given(*fact.dispatching("a", "b"), fact.failed("a"), moved)
    failed.when(wish(c.Retry)).then(RETRIED)


def test_what_is_not_failed_is_not_retried_and_not_resolved(
    given: Given, fact: Fact, wish: Wish
) -> None:
    for history in not_failed(fact):
        retry = given(*history).when(wish(c.Retry))
        retry.then_refused(InvalidTransition, command="retry")
        resolve = given(*history).when(wish(c.Resolve, decision="acked"))
        resolve.then_refused(InvalidTransition, command="resolve")


def test_what_never_was_is_not_retried_and_not_resolved(
    given: Given, fact: Fact, wish: Wish
) -> None:
    retry = given(*fact.queue("b")).when(wish(c.Retry))
    retry.then_refused(QueuedTurnNotFound, queued_turn_id="a")
    resolve = given(*fact.queue("b")).when(wish(c.Resolve, decision="retry"))
    resolve.then_refused(QueuedTurnNotFound, queued_turn_id="a")


def test_an_unknown_outcome_is_resolved_not_retried(given: Given, fact: Fact, wish: Wish) -> None:
    unknown = given(*fact.failing("a", unknown=True))
    unknown.when(wish(c.Retry)).then_refused(InvalidTransition, command="retry")
    unknown.when(wish(c.Resolve, decision="retry")).then(resolved("retry"))
    unknown.when(wish(c.Resolve, decision="acked")).then(resolved("acked"))


def test_a_known_outcome_is_retried_not_resolved(given: Given, fact: Fact, wish: Wish) -> None:
    known = given(*fact.failing("a"))
    for decision in ("acked", "retry"):
        resolve = known.when(wish(c.Resolve, decision=decision))
        resolve.then_refused(InvalidTransition, command="resolve")


def test_a_resolution_says_by_whom_and_on_what_grounds(
    given: Given, fact: Fact, wish: Wish
) -> None:
    grounds = {"evidence": {"seen": True}, "by": "you", "altered": True}
    unknown = given(*fact.failing("a", unknown=True))
    unknown.when(wish(c.Resolve, decision="acked", **grounds)).then(resolved("acked", **grounds))


def test_a_turn_that_did_happen_is_gone(given: Given, fact: Fact) -> None:
    done = given(*fact.failing("a", unknown=True), fact.appended("b", 1), resolved("acked"))
    assert done.visible() == ["b"]
    assert (done.state.visible, done.state.acked) == (1, 1)


def test_a_turn_that_did_not_happen_waits_again(given: Given, fact: Fact, wish: Wish) -> None:
    again = given(*fact.failing("a", unknown=True), fact.appended("b", 1), resolved("retry"))
    assert again.visible() == ["a", "b"]
    again.when(wish(c.ClaimHead)).then(fact.claimed("a", epoch=2))


@pytest.mark.parametrize("first", ["acked", "retry"])
@pytest.mark.parametrize("second", ["acked", "retry"])
def test_a_resolution_has_one_winner(
    given: Given, fact: Fact, wish: Wish, first: Literal["acked", "retry"], second: str
) -> None:
    decided = given(*fact.failing("a", unknown=True), resolved(first))
    again = decided.when(wish(c.Resolve, decision=second))
    again.then_refused(InvalidTransition, command="resolve")


def test_an_archived_thread_is_resolved_but_nothing_in_it_is_retried(
    given: Given, fact: Fact, wish: Wish
) -> None:
    given(*fact.failing("a"), Thread.Archived()).when(wish(c.Retry)).then_refused(ThreadArchived)
    archived = given(*fact.failing("a", unknown=True), Thread.Archived())
    archived.when(wish(c.Resolve, decision="acked")).then(resolved("acked"))
    archived.when(wish(c.Resolve, decision="retry")).then(resolved("retry"))


def test_a_queue_is_paused_for_a_reason(given: Given, fact: Fact, wish: Wish) -> None:
    given().when(wish(c.Pause, reason="by hand")).then(fact.paused("by hand"))
    altered = ThreadQueue.Paused(reason="\ufffd", altered=True)
    given().when(wish(c.Pause, reason="\ufffd", altered=True)).then(altered)


def test_a_paused_queue_stays_paused_for_its_first_reason(
    given: Given, fact: Fact, wish: Wish
) -> None:
    paused = given(fact.paused("first"))
    paused.when(wish(c.Pause, reason="second")).then_nothing()
    assert paused.state.paused == "first"


def test_an_empty_reason_pauses_too(given: Given, fact: Fact, wish: Wish) -> None:
    paused = given(fact.appended("a"), fact.paused(""))
    assert paused.why_blocked() == "paused"
    paused.when(wish(c.Resume)).then(ThreadQueue.Resumed())


def test_a_queue_that_is_not_paused_is_not_resumed(given: Given, fact: Fact, wish: Wish) -> None:
    given().when(wish(c.Resume)).then_nothing()
    given(fact.paused(), ThreadQueue.Resumed()).when(wish(c.Resume)).then_nothing()
    given(fact.paused()).when(wish(c.Resume)).then(ThreadQueue.Resumed())


def test_a_paused_queue_accepts_everything_but_claims(given: Given, fact: Fact, wish: Wish) -> None:
    paused = given(*fact.dispatching("a"), fact.paused())
    paused.when(wish(c.Ack)).then(fact.acked("a"))
    paused.when(wish(c.Fail)).then(fact.failed("a", dispatch="d"))
    failed = given(*fact.failing("a"), fact.paused())
    failed.when(wish(c.Retry)).then(RETRIED)
    failed.when(wish(c.Delete)).then(fact.deleted("a"))
    failed.when(wish(c.ClaimHead)).then_nothing()


def test_where_nothing_is_in_flight_nothing_is_recovered(
    given: Given, fact: Fact, wish: Wish
) -> None:
    for history in ([], fact.queue("a"), fact.failing("a", unknown=True)):
        given(*history).at(1e9).when(wish(c.Recover, owner="worker")).then_nothing()
        given(*history).at(1e9).when(wish(c.FailInFlight)).then_nothing()


@pytest.mark.parametrize("owner", [None, "other", "worke", "Worker"])
def test_a_live_claim_of_another_owner_is_never_recovered(
    given: Given, fact: Fact, wish: Wish, owner: str | None
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.at(59.999_999).when(wish(c.Recover, owner=owner)).then_nothing()
    dispatching = given(*fact.dispatching("a"))
    dispatching.at(59.999_999).when(wish(c.Recover, owner=owner)).then_nothing()


@pytest.mark.parametrize("seconds", [60, 61, -A_DAY])
@pytest.mark.parametrize("owner", [None, "other"])
def test_a_claim_that_is_over_is_recovered(
    given: Given, fact: Fact, wish: Wish, seconds: float, owner: str | None
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a")).at(seconds)
    claimed.when(wish(c.Recover, owner=owner)).then(fact.recovered("a"))
    dispatching = given(*fact.dispatching("a")).at(seconds)
    unknown = fact.failed("a", EXPIRED, unknown=True, dispatch="d")
    dispatching.when(wish(c.Recover, owner=owner)).then(unknown)


def test_a_claim_of_a_former_owner_is_recovered_whatever_its_lease_says(
    given: Given, fact: Fact, wish: Wish
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.Recover, owner="worker")).then(fact.recovered("a"))
    unknown = fact.failed("a", EXPIRED, unknown=True, dispatch="d")
    given(*fact.dispatching("a")).when(wish(c.Recover, owner="worker")).then(unknown)


def test_recovery_fails_a_dispatch_with_the_failure_given(
    given: Given, fact: Fact, wish: Wish
) -> None:
    crashed = given(*fact.dispatching("a")).at(60).when(wish(c.Recover, failure={"crash": 1}))
    crashed.then(fact.failed("a", {"crash": 1}, unknown=True, dispatch="d"))


def test_a_recovered_turn_is_in_its_old_place(given: Given, fact: Fact) -> None:
    claimed = (*fact.queue("a", "b"), fact.claimed("a"))
    assert given(*claimed, fact.recovered("a")).visible() == ["a", "b"]


def test_a_host_that_is_the_only_owner_fails_what_is_in_flight(
    given: Given, fact: Fact, wish: Wish
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.FailInFlight)).then(fact.failed("a"))
    dispatching = given(*fact.dispatching("a"))
    dispatching.when(wish(c.FailInFlight)).then(fact.failed("a", unknown=True, dispatch="d"))
    dispatching.at(61).when(wish(c.FailInFlight)).then(fact.failed("a", unknown=True, dispatch="d"))


def test_an_archived_thread_is_recovered(given: Given, fact: Fact, wish: Wish) -> None:
    archived = given(fact.appended("a"), fact.claimed("a"), Thread.Archived()).at(60)
    archived.when(wish(c.Recover)).then(fact.recovered("a"))
    archived.when(wish(c.FailInFlight)).then(fact.failed("a"))


@pytest.mark.parametrize("kind", [c.Retry, c.Resolve, c.Pause, c.Resume, c.Recover, c.FailInFlight])
def test_a_deleted_thread_refuses_it(
    given: Given, fact: Fact, wish: Wish, kind: type[c.QueueCommand]
) -> None:
    said = {"decision": "acked"} if kind is c.Resolve else {}
    for history in (fact.failing("a"), fact.failing("a", unknown=True)):
        ended = given(*history, fact.cleared("a"), Thread.Deleted())
        ended.when(wish(kind, **said)).then_refused(ThreadDeleted)
