"""What can't be read stops no other timer, and is tried again when it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.timer.conftest import EVERY_TEN, THREAD, Alarm

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock
    from tests.conformance.stores import Store
    from turnledger import Ledger


@pytest.fixture
def damaged(ledger: Ledger, clock: Clock) -> Alarm:
    """The timers of a ledger that isn't whole at the end."""
    return Alarm(ledger, clock)


def of_a_newer_release(store: Store, stream_id: str, topic: str) -> None:
    """Let the ledger's first event be one that this release doesn't know."""
    store.damage("UPDATE events SET type = ? WHERE position = ?", topic, 1)
    store.damage("UPDATE streams SET form = 99 WHERE stream_id = ?", stream_id)


def test_an_inbox_that_cant_be_read_stops_no_other_thread_and_consumes_nothing(
    damaged: Alarm, store: Store
) -> None:
    damaged.ledger.inbox.post("unread", "first", source="test")
    damaged.set("bad", thread="unread")
    damaged.set("good")
    damaged.ledger.log.read(limit=1)  # it gives positions
    of_a_newer_release(store, "inbox:unread", "inbox.sung")
    damaged.at(10)
    assert (damaged.fire(), damaged.fire()) == (["good"], [])
    bad = damaged.get("bad", "unread")
    assert (bad.state, bad.runs, damaged.seconds(bad.next_run_at)) == ("scheduled", 0, 10)
    assert damaged.timers.history("unread", "bad") == []
    store.damage("UPDATE events SET type = ? WHERE position = ?", "inbox.posted", 1)
    damaged.at(15)
    assert damaged.fire() == ["bad"]


def test_marking_goes_past_what_cant_be_read_and_comes_to_an_end(
    damaged: Alarm, store: Store
) -> None:
    for name in ("bad", "good"):
        damaged.set(name)
    damaged.ledger.log.read(limit=1)
    of_a_newer_release(store, "timer:bad", "timer.sung")
    damaged.at(10)
    assert [timer.timer_id for timer in damaged.timers.mark_due(limit=1)] == ["good"]
    assert damaged.timers.mark_due(limit=1) == damaged.timers.mark_due() == []
    assert damaged.timers.claim(THREAD, "good", "o") is not None


def test_marking_passes_over_a_row_that_says_other_than_its_events(
    damaged: Alarm, store: Store
) -> None:
    for name in ("early", "good"):
        damaged.set(name, EVERY_TEN)
    store.damage("UPDATE due_timers SET next_run_at = 0 WHERE timer_id = ?", "early")
    assert damaged.timers.mark_due() == []
    damaged.at(10)
    marked = {timer.timer_id for timer in damaged.timers.mark_due(limit=2)}
    assert marked == {"early", "good"}
