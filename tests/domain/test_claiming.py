"""Giving out claims and taking them back: claim_head, why_blocked, renew, release."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger.domain.errors import ClaimLost, InvalidTransition
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given, Wish

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
A_MICROSECOND = 0.000_001
A_DAY = 86_400


def renewed(until: float) -> ThreadQueue.Renewed:
    expires_at = NOW + timedelta(seconds=until)
    return ThreadQueue.Renewed(queued_turn_id="a", epoch=1, expires_at=expires_at)


def test_the_head_is_claimed_for_the_time_of_the_lease(
    given: Given, fact: Fact, wish: Wish
) -> None:
    claimed = fact.claimed("a", owner="me", epoch=1, claims=1, until=70)
    claim = wish(c.ClaimHead, owner="me", lease=timedelta(seconds=60))
    given(*fact.queue("a", "b")).at(10).when(claim).then(claimed)


def test_a_lease_runs_by_the_clock_even_when_it_stepped_back(
    given: Given, fact: Fact, wish: Wish
) -> None:
    stepped = given(fact.appended("a")).at(10, clock_behind=600)
    stepped.when(wish(c.ClaimHead)).then(fact.claimed("a", until=70))


def test_every_claim_adds_one_to_the_epoch(given: Given, fact: Fact, wish: Wish) -> None:
    again = given(fact.appended("a"), fact.claimed("a"), fact.released("a"))
    again.when(wish(c.ClaimHead)).then(fact.claimed("a", epoch=2, claims=2))
    other = given(*fact.dispatching("a", "b"), fact.acked("a"))
    other.when(wish(c.ClaimHead)).then(fact.claimed("b", epoch=2, claims=1))


def test_recovery_and_release_keep_the_epoch(given: Given, fact: Fact) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a", epoch=1))
    assert claimed.state.epoch == 1
    assert given(*claimed.events, fact.released("a")).state.epoch == 1
    assert given(*claimed.events, fact.recovered("a")).state.epoch == 1


def test_the_head_is_the_first_in_the_order_that_it_was_given(
    given: Given, fact: Fact, wish: Wish
) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("b", "a"), first_order=2)
    given(*fact.queue("a", "b"), moved).when(wish(c.ClaimHead)).then(fact.claimed("b"))
    gone = given(*fact.queue("a", "b"), fact.deleted("a"))
    gone.when(wish(c.ClaimHead)).then(fact.claimed("b"))


def test_a_released_turn_is_the_head_again(given: Given, fact: Fact, wish: Wish) -> None:
    back = given(*fact.queue("a", "b"), fact.claimed("a"), fact.released("a"))
    back.when(wish(c.ClaimHead)).then(fact.claimed("a", epoch=2, claims=2))


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ("", "empty"),
        ("append", None),
        ("append claim", "in_flight"),
        ("append claim @60", "expired_claim"),
        ("append claim start @59", "in_flight"),
        ("append claim start @60", "expired_claim"),
        ("append claim start ack", "empty"),
        ("append claim start fail", "failed_head"),
        ("append claim start unknown", "failed_head"),
        ("append claim release", None),
        ("append claim release @99", None),
        ("later @99", "not_yet"),
        ("later @100", None),
        ("append pause", "paused"),
        ("append pause resume", None),
        ("pause", "paused"),
        ("append claim pause @60", "paused"),
        ("append claim start fail pause", "paused"),
        ("later pause", "paused"),
        ("append archive", "archived"),
        ("append pause archive", "archived"),
        ("append claim archive @60", "archived"),
        ("append archive unarchive", None),
        ("append pause clear delete", "deleted"),
        ("append pause archive clear delete", "deleted"),
    ],
)
def test_the_first_reason_that_holds_is_why_there_is_no_claim(
    given: Given, fact: Fact, wish: Wish, history: str, reason: str | None
) -> None:
    told, _, seconds = history.partition("@")
    words = {
        "append": fact.appended("a"),
        "later": fact.appended("a", not_before=100),
        "claim": fact.claimed("a"),
        "start": fact.started("a"),
        "ack": fact.acked("a"),
        "fail": fact.failed("a"),
        "unknown": fact.failed("a", unknown=True),
        "release": fact.released("a"),
        "pause": fact.paused(),
        "resume": ThreadQueue.Resumed(),
        "clear": fact.cleared("a"),
        "archive": Thread.Archived(),
        "unarchive": Thread.Unarchived(),
        "delete": Thread.Deleted(),
    }
    there = given(*(words[word] for word in told.split())).at(float(seconds or 0))
    assert there.why_blocked() == reason
    claim = there.when(wish(c.ClaimHead))
    assert claim.refusal is None
    assert bool(claim.events) is (reason is None)


def test_a_failed_head_blocks_the_rest(given: Given, fact: Fact, wish: Wish) -> None:
    blocked = given(*fact.failing("a"), fact.appended("b", 1))
    assert blocked.why_blocked() == "failed_head"
    blocked.when(wish(c.ClaimHead)).then_nothing()


def test_a_failed_turn_that_is_not_the_head_blocks_nothing(
    given: Given, fact: Fact, wish: Wish
) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("b", "a"), first_order=2)
    there = given(*fact.failing("a"), fact.appended("b", 1), moved)
    there.when(wish(c.ClaimHead)).then(fact.claimed("b", epoch=2))


def test_a_head_that_may_not_yet_be_claimed_blocks_the_rest(
    given: Given, fact: Fact, wish: Wish
) -> None:
    early = given(fact.appended("a", not_before=100), fact.appended("b", 1))
    early.at(99.999_999).when(wish(c.ClaimHead)).then_nothing()
    early.at(100).when(wish(c.ClaimHead)).then(fact.claimed("a", until=160))


def test_a_live_claim_is_renewed(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.at(30).when(wish(c.Renew)).then(renewed(90))
    claimed.at(60 - A_MICROSECOND).when(wish(c.Renew)).then(renewed(120 - A_MICROSECOND))
    given(*fact.dispatching("a")).at(30).when(wish(c.Renew)).then(renewed(90))


def test_a_lease_may_be_renewed_to_an_earlier_end(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.Renew, lease=timedelta(seconds=1))).then(renewed(1))


def test_a_renewed_lease_ends_when_it_says(given: Given, fact: Fact, wish: Wish) -> None:
    longer = given(fact.appended("a"), fact.claimed("a"), renewed(90))
    longer.at(89).when(wish(c.Renew)).then(renewed(149))
    longer.at(90).when(wish(c.Renew)).then_refused(ClaimLost)
    shorter = given(fact.appended("a"), fact.claimed("a"), renewed(1))
    shorter.at(1).when(wish(c.Renew)).then_refused(ClaimLost)


@pytest.mark.parametrize("kind", [c.Renew, c.Release, c.StartDispatch])
def test_a_claim_is_over_at_its_very_end(
    given: Given, fact: Fact, wish: Wish, kind: type[c.ClaimCommand]
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    assert claimed.at(60 - A_MICROSECOND).when(wish(kind)).events
    claimed.at(60).when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)
    claimed.at(61).when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)


@pytest.mark.parametrize("kind", [c.Renew, c.Release, c.StartDispatch])
def test_an_end_further_ahead_than_any_lease_counts_as_over(
    given: Given, fact: Fact, wish: Wish, kind: type[c.ClaimCommand]
) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a", until=A_DAY + 10))
    assert claimed.at(10).when(wish(kind)).events
    claimed.at(10 - A_MICROSECOND).when(wish(kind)).then_refused(ClaimLost)
    assert claimed.at(9).why_blocked() == "expired_claim"
    short = claimed.at(A_DAY).within(max_lease=timedelta(seconds=5))
    short.when(wish(kind)).then_refused(ClaimLost)


@pytest.mark.parametrize("kind", [c.Renew, c.Release, c.StartDispatch, c.Ack, c.Fail])
def test_a_claim_that_is_not_the_current_one_is_refused(
    given: Given, fact: Fact, wish: Wish, kind: type[c.ClaimCommand]
) -> None:
    second = fact.claimed("a", owner="other", epoch=2)
    taken = (fact.appended("a"), fact.claimed("a"), fact.recovered("a"), second)
    over = (*taken, fact.started("a", owner="other", epoch=2), fact.acked("a", epoch=2))
    for history in (taken, over):
        there = given(*history)
        there.when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)
        there.when(wish(kind, epoch=2)).then_refused(ClaimLost, owner="worker", epoch=2)
        there.when(wish(kind, owner="other")).then_refused(ClaimLost, owner="other", epoch=1)
        there.when(wish(kind, epoch=3)).then_refused(ClaimLost, epoch=3)


@pytest.mark.parametrize("kind", [c.Renew, c.Release, c.StartDispatch, c.Ack, c.Fail])
def test_a_claim_that_is_over_is_refused(
    given: Given, fact: Fact, wish: Wish, kind: type[c.ClaimCommand]
) -> None:
    claimed = (fact.appended("a"), fact.claimed("a"))
    started = (*claimed, fact.started("a"))
    given().when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)
    for over in (
        (*claimed, fact.released("a")),
        (*claimed, fact.recovered("a")),
        (*started, fact.acked("a")),
        (*started, fact.failed("a")),
        (*started, fact.cleared(flying="a")),
        (*started, fact.cleared(flying="a"), Thread.Deleted()),
    ):
        given(*over).when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)


def test_a_claimed_turn_is_given_back_to_its_old_place(
    given: Given, fact: Fact, wish: Wish
) -> None:
    claimed = given(*fact.queue("a", "b"), fact.claimed("a"))
    claimed.when(wish(c.Release)).then(fact.released("a"))
    assert given(*claimed.events, fact.released("a")).visible() == ["a", "b"]


def test_a_turn_that_is_being_dispatched_is_not_given_back(
    given: Given, fact: Fact, wish: Wish
) -> None:
    release = given(*fact.dispatching("a")).when(wish(c.Release))
    release.then_refused(InvalidTransition, command="release")


def test_claims_of_an_archived_thread_are_renewed_and_given_back(
    given: Given, fact: Fact, wish: Wish
) -> None:
    archived = given(fact.appended("a"), fact.claimed("a"), Thread.Archived())
    archived.when(wish(c.Renew)).then(renewed(60))
    archived.when(wish(c.Release)).then(fact.released("a"))


@pytest.mark.parametrize("kind", [c.Release, c.Recover])
def test_a_turn_that_is_given_back_too_often_is_set_aside(
    given: Given, fact: Fact, wish: Wish, kind: type[c.QueueCommand]
) -> None:
    poison = fact.failed("a", "claimed 26 times and never dispatched", epoch=26)
    owner = {} if kind is c.Release else {"owner": "worker"}
    epoch = {"epoch": 26} if kind is c.Release else {}
    often = given(fact.appended("a"), fact.claimed("a", epoch=26, claims=26))
    often.when(wish(kind, **owner, **epoch)).then(poison)
    assert given(*often.events, poison).why_blocked() == "failed_head"


@pytest.mark.parametrize(("claims", "word"), [(1, "released"), (2, "released"), (3, "failed")])
def test_how_often_is_a_setting(
    given: Given, fact: Fact, wish: Wish, claims: int, word: str
) -> None:
    often = given(fact.appended("a"), fact.claimed("a", claims=claims)).within(max_claims=2)
    poison = fact.failed("a", "claimed 3 times and never dispatched")
    often.when(wish(c.Release)).then(fact.released("a") if word == "released" else poison)


def test_a_retry_begins_the_count_anew(given: Given, fact: Fact, wish: Wish) -> None:
    poisoned = (fact.appended("a"), fact.claimed("a", claims=26), fact.failed("a"))
    retried = given(*poisoned, ThreadQueue.Retried(queued_turn_id="a"))
    retried.when(wish(c.ClaimHead)).then(fact.claimed("a", epoch=2, claims=1))
