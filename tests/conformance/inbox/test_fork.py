"""`threads.fork`: nothing is copied, and where a thread came from is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import InvalidIdentifier, InvalidTransition, Ledger, ThreadDeleted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Host, Store
    from tests.conformance.inbox.conftest import Box


def test_a_fork_says_where_it_came_from(ledger: Ledger, host: Host) -> None:
    host.append("one")
    forked = ledger.threads.fork("thread", "new")
    assert (forked.thread_id, forked.forked_from) == ("new", "thread")
    assert (forked.state, forked.waiting) == ("idle", 0)
    assert ledger.threads.get("new") == forked
    assert [(one.thread_id, one.forked_from) for one in ledger.threads.list()] == [
        *[("new", "thread"), ("thread", None)]
    ]
    assert ledger.verify().ok


def test_nothing_is_copied(ledger: Ledger, box: Box, host: Host) -> None:
    host.append("one")
    box.post("message")
    ledger.threads.fork("thread", "new")
    assert (ledger.queue.list("new"), box.texts("new")) == ([], [])
    assert (host.texts(), box.texts()) == (["one"], ["message"])


def test_a_fork_is_an_event_in_the_life_of_the_new_thread(ledger: Ledger) -> None:
    ledger.threads.fork("thread", "new")
    (event,) = ledger.log.read()
    assert (event.stream_id, event.type) == ("thread:new", "thread.forked")
    assert event.data == {"forked_from": "thread"}


def test_a_fork_lives_as_any_thread(ledger: Ledger, host: Host, box: Box) -> None:
    ledger.threads.fork("thread", "new")
    host.append("turn", thread="new")
    box.post("message", thread="new")
    ledger.threads.archive("new")
    ledger.threads.unarchive("new")
    assert host.claim(thread="new").queued_turn_id
    summary = ledger.threads.get("new")
    assert summary is not None
    assert (summary.state, summary.forked_from) == ("in_flight", "thread")


def test_the_same_fork_again_is_no_more_than_its_summary(ledger: Ledger, store: Store) -> None:
    first = ledger.threads.fork("thread", "new")
    before = len(store.events())
    assert ledger.threads.fork("thread", "new") == first
    assert len(store.events()) == before


def test_a_thread_has_one_origin(ledger: Ledger) -> None:
    ledger.threads.fork("thread", "new")
    with pytest.raises(InvalidTransition, match="forked from thread thread"):
        ledger.threads.fork("other", "new")


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: ledger.queue.append("new", {}),
        lambda ledger: ledger.inbox.post("new", "hi", source="test"),
        lambda ledger: ledger.threads.archive("new"),
    ],
    ids=["a queue", "an inbox", "a life"],
)
def test_a_thread_that_exists_cant_begin_as_a_fork(
    ledger: Ledger, use: Callable[[Ledger], object]
) -> None:
    use(ledger)
    with pytest.raises(InvalidTransition, match="exists already"):
        ledger.threads.fork("thread", "new")


def test_an_archived_thread_can_be_forked_and_the_fork_is_active(ledger: Ledger) -> None:
    ledger.threads.archive("thread")
    assert ledger.threads.fork("thread", "new").state == "idle"
    ledger.queue.append("new", {})


def test_a_deleted_thread_is_neither_forked_nor_begun_again(ledger: Ledger) -> None:
    ledger.threads.delete("gone")
    with pytest.raises(ThreadDeleted):
        ledger.threads.fork("gone", "new")
    with pytest.raises(ThreadDeleted):
        ledger.threads.fork("thread", "gone")
    assert ledger.threads.get("new") is None


def test_a_fork_outlives_its_origin(ledger: Ledger) -> None:
    ledger.queue.append("thread", {})
    ledger.threads.fork("thread", "new")
    ledger.threads.delete("thread")
    summary = ledger.threads.get("new")
    assert summary is not None
    assert (summary.state, summary.forked_from) == ("idle", "thread")


def test_a_fork_can_be_forked(ledger: Ledger) -> None:
    ledger.threads.fork("one", "two")
    assert ledger.threads.fork("two", "three").forked_from == "two"


@pytest.mark.parametrize(("source", "new"), [("", "new"), ("thread", ""), ("same", "same")])
def test_bad_names_are_refused(ledger: Ledger, source: str, new: str) -> None:
    with pytest.raises(InvalidIdentifier):
        ledger.threads.fork(source, new)


def test_a_damaged_head_row_of_a_life_is_read_from_the_events(ledger: Ledger, store: Store) -> None:
    ledger.threads.fork("thread", "new")
    store.damage("UPDATE streams SET state = '{}' WHERE stream_id = 'thread:new'")
    summary = ledger.threads.get("new")
    assert summary is not None
    assert summary.forked_from == "thread"
    ledger.threads.archive("new")
    assert ledger.verify().ok
