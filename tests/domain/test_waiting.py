"""Putting work into a queue: append, append_many, edit, delete, clear, reorder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger.domain.errors import (
    ClaimLost,
    InvalidTransition,
    QueuedTurnNotFound,
    QueueFull,
    ReorderMismatch,
    ThreadArchived,
    ThreadDeleted,
)
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given, Wish
    from turnledger.domain.errors import Refusal
    from turnledger.domain.event import Event

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def test_the_first_turn_comes_first(given: Given, fact: Fact, wish: Wish) -> None:
    given().when(wish.append("a")).then(fact.appended("a", 0))


def test_a_turn_goes_behind_everything_that_is_there(given: Given, fact: Fact, wish: Wish) -> None:
    given(*fact.queue("a", "b")).when(wish.append("c")).then(fact.appended("c", 2))


def test_a_turn_goes_behind_what_is_in_flight(given: Given, fact: Fact, wish: Wish) -> None:
    given(*fact.dispatching("a")).when(wish.append("b")).then(fact.appended("b", 1))


@pytest.mark.parametrize("last", ["deleted", "cleared"])
def test_an_order_is_never_used_again(given: Given, fact: Fact, wish: Wish, last: str) -> None:
    gone = fact.deleted("b") if last == "deleted" else fact.cleared("a", "b")
    given(*fact.queue("a", "b"), gone).when(wish.append("c")).then(fact.appended("c", 2))


def test_a_turn_goes_behind_those_that_were_moved(given: Given, fact: Fact, wish: Wish) -> None:
    moved = ThreadQueue.Reordered(queued_turn_ids=("b", "a"), first_order=2)
    given(*fact.queue("a", "b"), moved).when(wish.append("c")).then(fact.appended("c", 4))


def test_a_turn_keeps_when_it_may_be_claimed(given: Given, fact: Fact, wish: Wish) -> None:
    later = NOW + timedelta(hours=1)
    given().when(wish.append("a", not_before=later)).then(fact.appended("a", not_before=3600))


def test_a_turn_is_made_when_its_event_is_recorded(given: Given, fact: Fact, wish: Wish) -> None:
    given().at(10, clock_behind=5).when(wish.append("a")).then(fact.appended("a", at=15))


def test_a_paused_queue_accepts_turns(given: Given, fact: Fact, wish: Wish) -> None:
    given(fact.paused()).when(wish.append("a")).then(fact.appended("a"))


def test_a_full_queue_refuses_turns(given: Given, fact: Fact, wish: Wish) -> None:
    full = given(*fact.queue("a", "b")).within(max_visible_turns=2)
    full.when(wish.append("c")).then_refused(QueueFull, visible=2, limit=2)
    full.when(wish.append_many("c")).then_refused(QueueFull, visible=2, limit=2)


def test_a_hundred_visible_turns_are_enough(given: Given, fact: Fact, wish: Wish) -> None:
    turns = fact.queue(*(f"turn {number}" for number in range(100)))
    given(*turns[:99]).when(wish.append("turn 99")).then(turns[99])
    given(*turns).when(wish.append("c")).then_refused(QueueFull, visible=100, limit=100)


def test_failed_turns_are_visible_and_count(given: Given, fact: Fact, wish: Wish) -> None:
    full = given(*fact.failing("a")).within(max_visible_turns=1)
    full.when(wish.append("b")).then_refused(QueueFull, visible=1, limit=1)


def test_what_is_in_flight_or_gone_does_not_count(given: Given, fact: Fact, wish: Wish) -> None:
    roomy = given(*fact.queue("a", "b"), fact.deleted("b"), fact.claimed("a"))
    roomy.within(max_visible_turns=1).when(wish.append("c")).then(fact.appended("c", 2))


def test_many_turns_go_behind_in_their_order(given: Given, fact: Fact, wish: Wish) -> None:
    new = [fact.appended("b", 1), fact.appended("c", 2), fact.appended("d", 3)]
    given(fact.appended("a")).when(wish.append_many("b", "c", "d")).then(*new)


def test_of_many_turns_all_fit_or_none_is_taken(given: Given, fact: Fact, wish: Wish) -> None:
    nearly = given(fact.appended("a")).within(max_visible_turns=3)
    nearly.when(wish.append_many("b", "c", "d")).then_refused(QueueFull, visible=1, limit=3)
    nearly.when(wish.append_many("b", "c")).then(*fact.queue("a", "b", "c")[1:])


def test_of_no_turns_nothing_comes_even_when_full(given: Given, fact: Fact, wish: Wish) -> None:
    full = given(fact.appended("a")).within(max_visible_turns=1)
    full.when(wish.append_many()).then_nothing()


@pytest.mark.parametrize("state", ["pending", "failed"])
def test_a_visible_turn_is_edited_in_its_place(
    given: Given, fact: Fact, wish: Wish, state: str
) -> None:
    history: list[Event] = [fact.appended("a")] if state == "pending" else fact.failing("a")
    there = given(*history, fact.appended("b", 1))
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={"text": "new"})
    there.when(wish(c.Edit, submission={"text": "new"})).then(edited)
    assert given(*there.events, edited).state == there.state


def test_what_is_in_flight_is_not_edited(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = given(fact.appended("a"), fact.claimed("a"))
    claimed.when(wish(c.Edit)).then_refused(InvalidTransition, command="edit")
    dispatching = given(*fact.dispatching("a"))
    dispatching.when(wish(c.Edit)).then_refused(InvalidTransition, command="edit")


def test_what_is_not_there_is_not_edited(given: Given, fact: Fact, wish: Wish) -> None:
    deleted = (*fact.queue("a", "b"), fact.deleted("a"))
    acked = (*fact.dispatching("a", "b"), fact.acked("a"))
    for history in ((), fact.queue("b"), deleted, acked):
        edit = given(*history).when(wish(c.Edit))
        edit.then_refused(QueuedTurnNotFound, queued_turn_id="a")


def test_a_visible_turn_is_deleted(given: Given, fact: Fact, wish: Wish) -> None:
    given(*fact.queue("a", "b")).when(wish(c.Delete, queued_turn_id="b")).then(fact.deleted("b"))
    given(*fact.failing("a")).when(wish(c.Delete)).then(fact.deleted("a"))
    given(*fact.failing("a", unknown=True)).when(wish(c.Delete)).then(fact.deleted("a"))


def test_nothing_else_is_deleted(given: Given, fact: Fact, wish: Wish) -> None:
    claimed = (*fact.queue("a", "b"), fact.claimed("a"))
    dispatching = fact.dispatching("a", "b")
    acked = (*dispatching, fact.acked("a"))
    deleted = (*fact.queue("a", "b"), fact.deleted("a"))
    for history in ((), fact.queue("b"), claimed, dispatching, acked, deleted):
        given(*history).when(wish(c.Delete)).then_nothing()


def test_clearing_ends_all_that_is_visible(given: Given, fact: Fact, wish: Wish) -> None:
    history = (*fact.failing("a"), fact.appended("b", 1), fact.appended("c", 2), fact.deleted("b"))
    given(*history).when(wish(c.Clear)).then(fact.cleared("a", "c"))


def test_clearing_ends_what_is_in_flight_too(given: Given, fact: Fact, wish: Wish) -> None:
    flying = given(*fact.dispatching("a", "b"))
    flying.when(wish(c.Clear)).then(fact.cleared("b", flying="a", dispatch="d"))
    given(*fact.dispatching("a")).when(wish(c.Clear)).then(fact.cleared(flying="a", dispatch="d"))


def test_clearing_fences_the_owner_off(given: Given, fact: Fact, wish: Wish) -> None:
    cleared = given(*fact.dispatching("a", "b"), fact.cleared("b", flying="a"))
    for kind in (c.Renew, c.Release, c.StartDispatch, c.Ack, c.Fail):
        cleared.when(wish(kind)).then_refused(ClaimLost, owner="worker", epoch=1)


def test_an_empty_queue_has_nothing_to_clear(given: Given, fact: Fact, wish: Wish) -> None:
    given().when(wish(c.Clear)).then_nothing()
    given(*fact.dispatching("a"), fact.acked("a")).when(wish(c.Clear)).then_nothing()
    given(*fact.queue("a"), fact.cleared("a")).when(wish(c.Clear)).then_nothing()


def test_a_cleared_queue_lives_on(given: Given, fact: Fact, wish: Wish) -> None:
    cleared = given(*fact.dispatching("a"), fact.cleared(flying="a"))
    cleared.when(wish.append("b")).then(fact.appended("b", 1))


def reordered(first: int, *turns: str) -> ThreadQueue.Reordered:
    return ThreadQueue.Reordered(queued_turn_ids=turns, first_order=first)


def test_the_visible_turns_are_put_in_another_order(given: Given, fact: Fact, wish: Wish) -> None:
    there = given(*fact.queue("a", "b", "c"))
    moved = reordered(3, "c", "a", "b")
    there.when(wish(c.Reorder, queued_turn_ids=("c", "a", "b"))).then(moved)
    assert given(*there.events, moved).visible() == ["c", "a", "b"]


def test_a_failed_turn_is_moved_like_the_others(given: Given, fact: Fact, wish: Wish) -> None:
    there = given(*fact.failing("a"), fact.appended("b", 1))
    there.when(wish(c.Reorder, queued_turn_ids=("b", "a"))).then(reordered(2, "b", "a"))


def test_the_order_that_is_there_is_nothing_new(given: Given, fact: Fact, wish: Wish) -> None:
    there = given(*fact.queue("a", "b"))
    there.when(wish(c.Reorder, queued_turn_ids=("a", "b"))).then_nothing()
    given().when(wish(c.Reorder, queued_turn_ids=())).then_nothing()


@pytest.mark.parametrize(
    ("ids", "faults"),
    [
        ("b", {"missing": ("a",)}),
        ("", {"missing": ("a", "b")}),
        ("abx", {"unknown": ("x",)}),
        ("xa", {"missing": ("b",), "unknown": ("x",)}),
        ("aab", {"repeated": ("a",)}),
        ("aa", {"missing": ("b",), "repeated": ("a",)}),
    ],
)
def test_anything_but_a_permutation_is_refused(
    given: Given, fact: Fact, wish: Wish, ids: str, faults: dict[str, tuple[str, ...]]
) -> None:
    facts = {"missing": (), "unknown": (), "repeated": (), **faults}
    reorder = given(*fact.queue("a", "b")).when(wish(c.Reorder, queued_turn_ids=tuple(ids)))
    reorder.then_refused(ReorderMismatch, **facts)


def test_what_is_in_flight_keeps_its_place_ahead(given: Given, fact: Fact, wish: Wish) -> None:
    flying = given(*fact.queue("a", "b", "c"), fact.claimed("a"))
    naming_it = flying.when(wish(c.Reorder, queued_turn_ids=("c", "b", "a")))
    naming_it.then_refused(ReorderMismatch, missing=(), unknown=("a",))
    moved = reordered(3, "c", "b")
    flying.when(wish(c.Reorder, queued_turn_ids=("c", "b"))).then(moved)
    assert given(*flying.events, moved, fact.released("a")).visible() == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("life", "refusal"),
    [((Thread.Archived(),), ThreadArchived), ((Thread.Deleted(),), ThreadDeleted)],
)
def test_a_thread_that_takes_no_work_refuses_it(
    given: Given, fact: Fact, wish: Wish, life: tuple[Event, ...], refusal: type[Refusal]
) -> None:
    thread = given(*fact.queue("a", "b"), *life)
    thread.when(wish.append("c")).then_refused(refusal)
    thread.when(wish.append_many("c", "d")).then_refused(refusal)
    thread.when(wish.append_many()).then_refused(refusal)
    thread.when(wish(c.Edit)).then_refused(refusal)
    thread.when(wish(c.Reorder, queued_turn_ids=("b", "a"))).then_refused(refusal)


def test_turns_of_an_archived_thread_are_taken_out(given: Given, fact: Fact, wish: Wish) -> None:
    archived = given(*fact.queue("a", "b"), Thread.Archived())
    archived.when(wish(c.Delete)).then(fact.deleted("a"))
    archived.when(wish(c.Clear)).then(fact.cleared("a", "b"))


def test_an_unarchived_thread_is_as_it_was(given: Given, fact: Fact, wish: Wish) -> None:
    back = given(*fact.queue("a"), Thread.Archived(), Thread.Unarchived())
    back.when(wish.append("b")).then(fact.appended("b", 1))
    assert back.why_blocked() is None


def test_nothing_is_taken_out_of_a_deleted_thread(given: Given, fact: Fact, wish: Wish) -> None:
    ended = given(*fact.queue("a"), fact.cleared("a"), Thread.Deleted())
    ended.when(wish(c.Delete)).then_refused(ThreadDeleted)
    ended.when(wish(c.Clear)).then_refused(ThreadDeleted)
