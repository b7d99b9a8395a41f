"""The inbox of a thread: given what happened, a command leads to this."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain import evidence, inbox
from turnledger.domain.errors import ClaimLost, InvalidTransition, ThreadArchived, ThreadDeleted
from turnledger.domain.evidence import Evidence
from turnledger.domain.inbox import Inbox, NotReady
from turnledger.domain.inbox import commands as c
from turnledger.domain.thread import Thread

if TYPE_CHECKING:
    from tests.domain.conftest import Given
    from turnledger.domain.event import Event

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LEASE = timedelta(seconds=60)
THREAD: dict[str, Any] = {"thread_id": "thread"}
CLAIM: dict[str, Any] = {**THREAD, "owner": "worker", "epoch": 1}
CONFIRM, RELEASE = c.Confirm(**CLAIM), c.Release(**CLAIM)
RECOVER = c.Recover(**THREAD)
AGAIN = c.Recover(**THREAD, mode="at_least_once")
UNCONFIRMED = "its claim expired unconfirmed; it may have been delivered"


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def posted(name: str = "a", arrival: int = 0, **said: Any) -> Inbox.Posted:
    fields: dict[str, Any] = {
        "message_id": name,
        "arrival": arrival,
        "content": name,
        "source": "test",
        "delivery": "after-turn",
        "instructions": None,
        "metadata": {},
        "created_at": NOW,
    }
    return Inbox.Posted(**{**fields, **said})


def waiting(*names: str) -> list[Event]:
    return [posted(name, arrival) for arrival, name in enumerate(names)]


def claimed(name: str = "a", epoch: int = 1, claims: int = 1, deliveries: int = 1) -> Inbox.Claimed:
    return Inbox.Claimed(
        message_id=name,
        owner="worker",
        epoch=epoch,
        expires_at=at(60),
        claims=claims,
        deliveries=deliveries,
    )


def expired(name: str = "a", reason: str = UNCONFIRMED, deliveries: int = 1) -> Inbox.Expired:
    return Inbox.Expired(message_id=name, epoch=1, deliveries=deliveries, reason=reason)


def post(**said: Any) -> c.Post:
    fields = {**THREAD, "message_id": "new", "content": "new", "source": "test", "metadata": {}}
    return c.Post(**{**fields, **said})


def ask(*, idle: bool = True, turn: bool = False) -> c.ClaimNext:
    can = {"can_after_turn": idle, "can_steer_current_turn": turn}
    return c.ClaimNext(**THREAD, owner="worker", lease=LEASE, **can)


def not_ready(there: Given, command: c.ClaimNext) -> NotReady | None:
    state = inbox.fold(there.events)
    return inbox.not_ready(state, command, there.context)


HELD: dict[str, Any] = {"message_id": "a", "epoch": 1}
FLYING = [*waiting("a", "b"), claimed()]
ENDS: list[Event] = [
    Inbox.Confirmed(**HELD),
    expired(),
    Inbox.Deleted(message_id="a", undelivered=False),
    Inbox.Rejected(message_id="a", reason="why"),
]


# --- post


def test_a_message_is_posted_behind_all_others(given: Given) -> None:
    given(*waiting("a", "b")).at(5).when(post()).then(posted("new", 2, created_at=at(5)))


def test_all_that_is_said_of_a_message_is_in_its_event(given: Given) -> None:
    said = {"instructions": ["softly"], "metadata": {"a": 1}, "delivery": "steer-current-turn"}
    given().when(post(**said, queued_at=at(-60))).then(posted("new", **said, queued_at=at(-60)))


def test_a_message_is_created_when_it_is_recorded(given: Given) -> None:
    given().at(0, clock_behind=5).when(post()).then(posted("new", created_at=at(5)))


# --- claim_next


def test_the_oldest_message_is_claimed(given: Given) -> None:
    older = posted("b", 1, queued_at=at(-60))
    given(posted("a"), older).at(0).when(ask()).then(claimed("b"))


def test_of_one_time_the_first_to_arrive_is_claimed(given: Given) -> None:
    given(*waiting("b", "a")).when(ask()).then(claimed("b"))


def test_a_time_ahead_only_orders(given: Given) -> None:
    given(posted("a", queued_at=at(3_600))).when(ask()).then(claimed("a"))


def test_nothing_is_claimed_of_an_empty_inbox(given: Given) -> None:
    given().when(ask()).then_nothing()
    assert not_ready(given(), ask()) is None


@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_what_has_ended_is_claimed_no_more(given: Given, end: Event) -> None:
    flown = [] if isinstance(end, (Inbox.Deleted, Inbox.Rejected)) else [claimed()]
    there = given(posted("a"), *flown, end)
    there.when(ask()).then_nothing()
    assert not_ready(there, ask()) is None


def test_an_after_turn_message_waits_for_an_idle_thread(given: Given) -> None:
    there = given(posted("a"), posted("b", 1, delivery="steer-current-turn"))
    busy = ask(idle=False, turn=True)
    there.when(busy).then_nothing()
    assert not_ready(there, busy) == NotReady(message_id="a", reason="not_deliverable")


@pytest.mark.parametrize("can", [{"turn": True, "idle": False}, {"idle": True}])
def test_a_steering_message_goes_into_a_turn_or_an_idle_thread(
    given: Given, can: dict[str, bool]
) -> None:
    given(posted("a", delivery="steer-current-turn")).when(ask(**can)).then(claimed("a"))


def test_a_message_in_flight_holds_the_rest_up(given: Given) -> None:
    for seconds, reason in ((59.999, "in_flight"), (60, "expired_claim")):
        there = given(*FLYING).at(seconds)
        there.when(ask()).then_nothing()
        answer = not_ready(there, ask())
        assert answer is not None
        assert (answer.message_id, answer.reason) == ("a", reason)


def test_every_claim_has_the_next_epoch_and_counts(given: Given) -> None:
    back = given(*FLYING, Inbox.Released(**HELD))
    back.when(ask()).then(claimed("a", epoch=2, claims=2, deliveries=1))
    lost = given(*FLYING, Inbox.Recovered(**HELD))
    lost.when(ask()).then(claimed("a", epoch=2, claims=2, deliveries=2))


def test_an_unknown_delivery_is_rejected_whatever_can_be_delivered(given: Given) -> None:
    there = given(posted("a", delivery="by-pigeon"), posted("b", 1))
    reason = "this release doesn't know the delivery by-pigeon"
    for command in (ask(), ask(idle=False)):
        there.when(command).then(Inbox.Rejected(message_id="a", reason=reason))
        assert not_ready(there, command) is None


# --- confirm and release


def test_a_current_claim_confirms_however_late(given: Given) -> None:
    given(*FLYING).at(3_600).when(CONFIRM).then(Inbox.Confirmed(**HELD))


@pytest.mark.parametrize("command", [CONFIRM, RELEASE])
@pytest.mark.parametrize("other", [{"owner": "other"}, {"epoch": 2}, {"epoch": 0}])
def test_another_claim_is_lost(given: Given, command: Any, other: dict[str, Any]) -> None:
    given(*FLYING).when(replace(command, **other)).then_refused(ClaimLost)


@pytest.mark.parametrize("command", [CONFIRM, RELEASE])
def test_a_claim_is_lost_once_nothing_is_in_flight(given: Given, command: Any) -> None:
    for end in (Inbox.Confirmed(**HELD), Inbox.Released(**HELD), expired()):
        given(*FLYING, end).when(command).then_refused(ClaimLost)


def test_a_live_claim_is_released_and_an_expired_one_is_not(given: Given) -> None:
    there = given(*FLYING)
    there.at(59.999).when(RELEASE).then(Inbox.Released(**HELD))
    there.at(60).when(RELEASE).then_refused(ClaimLost)


def test_a_lease_that_ends_too_far_ahead_is_over(given: Given) -> None:
    strict = given(*FLYING).within(max_lease=timedelta(seconds=30))
    strict.when(RELEASE).then_refused(ClaimLost)
    strict.when(RECOVER).then(expired())


def test_what_is_given_back_too_often_is_set_aside(given: Given) -> None:
    there = given(*waiting("a"), claimed(claims=3)).within(max_claims=2)
    reason = "claimed 3 times and never confirmed"
    there.when(RELEASE).then(expired(reason=reason, deliveries=0))
    there.at(60).when(AGAIN).then(expired(reason=reason, deliveries=1))
    given(*waiting("a"), claimed(claims=2)).within(max_claims=2).when(RELEASE).then(
        Inbox.Released(**HELD)
    )


# --- recover and requeue


def test_a_claim_that_is_over_is_recovered_as_is_wished(given: Given) -> None:
    there = given(*FLYING).at(60)
    there.when(RECOVER).then(expired())
    there.when(AGAIN).then(Inbox.Recovered(**HELD))


def test_a_live_claim_or_none_is_not_recovered(given: Given) -> None:
    for command in (RECOVER, AGAIN):
        given(*FLYING).at(59.999).when(command).then_nothing()
        given(*waiting("a")).at(60).when(command).then_nothing()


def test_an_undelivered_message_is_requeued_with_all_its_claims(given: Given) -> None:
    there = given(*waiting("a"), claimed(claims=26), expired())
    there.when(c.Requeue(**THREAD, message_id="a")).then(Inbox.Requeued(message_id="a"))
    back = given(*there.events, Inbox.Requeued(message_id="a"))
    back.when(ask()).then(claimed("a", epoch=2, claims=1, deliveries=2))


def test_only_an_undelivered_message_is_requeued(given: Given) -> None:
    requeue = c.Requeue(**THREAD, message_id="a")
    for history in ([], waiting("a"), FLYING, [*FLYING, ENDS[0]], [posted("a"), ENDS[2]]):
        given(*history).when(requeue).then_refused(InvalidTransition)


# --- delete and clear


def test_what_waits_or_is_undelivered_is_deleted(given: Given) -> None:
    delete = c.Delete(**THREAD, message_id="a")
    given(*waiting("a")).when(delete).then(Inbox.Deleted(message_id="a", undelivered=False))
    given(*FLYING, expired()).when(delete).then(Inbox.Deleted(message_id="a", undelivered=True))


def test_what_flies_or_has_ended_or_never_was_is_not_deleted(given: Given) -> None:
    delete = c.Delete(**THREAD, message_id="a")
    for history in ([], FLYING, [*FLYING, ENDS[0]], [posted("a"), ENDS[2]], [posted("a"), ENDS[3]]):
        given(*history).when(delete).then_nothing()


def test_clearing_ends_all_that_hasnt_ended(given: Given) -> None:
    clear = c.Clear(**THREAD)
    given(*waiting("a", "b"), claimed(), expired(), claimed("b", epoch=2)).when(clear).then(
        Inbox.Cleared(waiting=0, undelivered=1, in_flight_id="b")
    )
    given(*FLYING).when(clear).then(Inbox.Cleared(waiting=1, undelivered=0, in_flight_id="a"))
    given(*FLYING, Inbox.Cleared(waiting=1, undelivered=0, in_flight_id="a")).when(
        clear
    ).then_nothing()
    given().when(clear).then_nothing()


# --- the life of the thread


def test_an_archived_thread_takes_nothing_and_gives_out_nothing(given: Given) -> None:
    there = given(*waiting("a"), Thread.Archived())
    there.when(post()).then_refused(ThreadArchived)
    there.when(ask()).then_nothing()
    kept = given(*FLYING, expired(), Thread.Archived())
    kept.when(c.Requeue(**THREAD, message_id="a")).then_refused(ThreadArchived)
    kept.when(c.Delete(**THREAD, message_id="a")).then(
        Inbox.Deleted(message_id="a", undelivered=True)
    )


def test_what_is_in_flight_in_an_archived_thread_may_end(given: Given) -> None:
    there = given(*FLYING, Thread.Archived())
    there.when(CONFIRM).then(Inbox.Confirmed(**HELD))
    there.when(RELEASE).then(Inbox.Released(**HELD))
    there.at(60).when(RECOVER).then(expired())


def test_a_deleted_thread_refuses_all_but_a_claim(given: Given) -> None:
    there = given(
        *FLYING, Inbox.Cleared(waiting=1, undelivered=0, in_flight_id="a"), Thread.Deleted()
    )
    named = {**THREAD, "message_id": "a"}
    for command in (post(), c.Delete(**named), c.Requeue(**named), RECOVER):
        there.when(command).then_refused(ThreadDeleted)
    there.when(ask()).then_nothing()
    there.when(CONFIRM).then_refused(ClaimLost)
    there.when(RELEASE).then_refused(ClaimLost)


# --- evidence


def test_a_lost_confirmation_is_kept_once(given: Given) -> None:
    facts: dict[str, Any] = {"message_id": "a", "owner": "worker", "epoch": 1, "kind": "confirm"}
    keep, kept = (
        evidence.KeepOfMessage(**THREAD, **facts, value=None),
        Evidence.KeptOfMessage(**facts, value=None),
    )
    given().when(keep).then(kept)
    given(kept).when(keep).then_nothing()
    given(kept).when(replace(keep, epoch=2)).then(kept.model_copy(update={"epoch": 2}))
