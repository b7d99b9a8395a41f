"""The life of a thread, and the evidence about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain import evidence, thread
from turnledger.domain.errors import InvalidTransition, ThreadDeleted
from turnledger.domain.evidence import Evidence
from turnledger.domain.thread import Thread

if TYPE_CHECKING:
    from tests.domain.conftest import Fact, Given, Wish
    from turnledger.domain.event import Event

ARCHIVED, UNARCHIVED, DELETED = Thread.Archived(), Thread.Unarchived(), Thread.Deleted()
LIVES: list[tuple[Event, ...]] = [(), (ARCHIVED,), (ARCHIVED, UNARCHIVED)]


def test_an_active_thread_is_archived(given: Given, wish: Wish) -> None:
    given().when(wish(thread.Archive)).then(ARCHIVED)
    given(ARCHIVED, UNARCHIVED).when(wish(thread.Archive)).then(ARCHIVED)


def test_an_archived_thread_is_unarchived(given: Given, wish: Wish) -> None:
    given(ARCHIVED).when(wish(thread.Unarchive)).then(UNARCHIVED)


def test_archiving_again_and_unarchiving_an_active_thread_is_nothing(
    given: Given, wish: Wish
) -> None:
    given(ARCHIVED).when(wish(thread.Archive)).then_nothing()
    given().when(wish(thread.Unarchive)).then_nothing()
    given(ARCHIVED, UNARCHIVED).when(wish(thread.Unarchive)).then_nothing()


def test_a_thread_begins_as_a_fork_once(given: Given) -> None:
    fork, forked = thread.Fork(thread_id="thread", forked_from="one"), Thread.Forked
    given().when(fork).then(forked(forked_from="one"))
    for life in LIVES:
        given(forked(forked_from="one"), *life).when(fork).then_nothing()
        given(forked(forked_from="two"), *life).when(fork).then_refused(InvalidTransition)


@pytest.mark.parametrize("life", LIVES[1:])
def test_a_thread_that_has_a_life_does_not_begin_as_a_fork(
    given: Given, life: tuple[Event, ...]
) -> None:
    fork = thread.Fork(thread_id="thread", forked_from="one")
    given(*life).when(fork).then_refused(InvalidTransition)
    given(*life, DELETED).when(fork).then_refused(ThreadDeleted)


def test_a_fork_is_kept_whatever_becomes_of_the_thread() -> None:
    state = thread.State()
    for event in (Thread.Forked(forked_from="one"), ARCHIVED, UNARCHIVED, DELETED):
        state = thread.evolve(state, event)
        assert state.forked_from == "one"
        assert thread.State.from_stored(state.stored()) == state


@pytest.mark.parametrize("life", LIVES)
def test_a_thread_is_deleted_whatever_it_is(
    given: Given, wish: Wish, life: tuple[Event, ...]
) -> None:
    given(*life).when(wish(thread.Delete)).then(DELETED)


@pytest.mark.parametrize("life", LIVES)
def test_a_deleted_thread_is_deleted_for_ever(
    given: Given, wish: Wish, life: tuple[Event, ...]
) -> None:
    deleted = given(*life, DELETED)
    deleted.when(wish(thread.Delete)).then_nothing()
    deleted.when(wish(thread.Archive)).then_refused(ThreadDeleted)
    deleted.when(wish(thread.Unarchive)).then_refused(ThreadDeleted)


def test_other_events_say_nothing_of_a_threads_life(fact: Fact) -> None:
    state = thread.State("archived")
    assert thread.evolve(state, fact.appended("a")) == state


KEPT: dict[str, Any] = {
    "queued_turn_id": "a",
    "owner": "worker",
    "epoch": 1,
    "kind": "fail",
    "value": {"code": 400},
}


def test_what_an_owner_knew_is_kept(given: Given, wish: Wish) -> None:
    given().when(wish(evidence.Keep, **KEPT)).then(Evidence.Kept(**KEPT))
    altered = {**KEPT, "value": "\ufffd", "altered": True}
    given().when(wish(evidence.Keep, **altered)).then(Evidence.Kept(**altered))


@pytest.mark.parametrize(
    "other", [{"owner": "other"}, {"epoch": 2}, {"kind": "ack"}, {"queued_turn_id": "b"}]
)
def test_another_owner_epoch_kind_or_turn_is_kept_beside_it(
    given: Given, wish: Wish, other: dict[str, Any]
) -> None:
    kept = given(Evidence.Kept(**KEPT))
    kept.when(wish(evidence.Keep, **{**KEPT, **other})).then(Evidence.Kept(**{**KEPT, **other}))


def test_one_of_each_owner_epoch_and_kind_is_enough(given: Given, wish: Wish) -> None:
    kept = given(Evidence.Kept(**KEPT), Evidence.Kept(**{**KEPT, "kind": "ack"}))
    kept.when(wish(evidence.Keep, **KEPT)).then_nothing()
    kept.when(wish(evidence.Keep, **{**KEPT, "value": "another"})).then_nothing()
