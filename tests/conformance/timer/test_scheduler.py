"""A scheduler in a thread of a host: it fires, looks at the clock again, and is stopped."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING

from tests.conformance.timer.conftest import THREAD, Alarm
from turnledger import Delay
from turnledger.timers import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest

    from tests.conformance.conftest import Clock
    from tests.conformance.stores import Store
    from turnledger import InboxMessage, Ledger


@contextmanager
def scheduling(ledger: Ledger) -> Iterator[Queue[object]]:
    """A scheduler at work, which is stopped from here; gives the contents of what it posts."""
    contents: Queue[object] = Queue()

    def report(messages: Sequence[InboxMessage]) -> None:
        for message in messages:
            contents.put(message.content)

    scheduler = ledger.timers.scheduler("o", report)
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    try:
        yield contents
    finally:
        scheduler.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_a_scheduler_fires_what_comes_and_is_stopped_from_another_thread(alarm: Alarm) -> None:
    with scheduling(alarm.ledger) as contents:
        alarm.set("first", Delay(seconds=0))
        assert contents.get(timeout=30) == "first"
        alarm.set("never", Delay(seconds=1e9))
    assert alarm.get("never").runs == 0


def test_a_clock_that_is_put_forward_is_looked_at_again(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert running._LONGEST_WAIT <= 60  # so late, at most, after the host was asleep
    monkeypatch.setattr(running, "_LONGEST_WAIT", 0.05)
    alarm.set("a", Delay(seconds=36_000))
    alarm.set("first", Delay(seconds=0))
    with scheduling(alarm.ledger) as contents:
        assert contents.get(timeout=30) == "first"
        alarm.at(36_000)
        assert contents.get(timeout=30) == "a"


def test_what_cant_be_read_isnt_tried_again_at_each_commit_of_others(
    ledger: Ledger,
    open_ledger: Callable[..., Ledger],
    clock: Clock,
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    alarm = Alarm(ledger, clock)
    alarm.set("bad", Delay(seconds=0))
    ledger.log.read(limit=1)  # it gives positions
    store.damage("UPDATE events SET type = 'timer.sung' WHERE position = ?", 1)
    store.damage("UPDATE streams SET form = 99 WHERE stream_id = ?", "timer:bad")
    other = open_ledger()
    with caplog.at_level(logging.WARNING, "turnledger"), scheduling(ledger) as contents:
        for posted in range(1, 2_000):  # while a post holds the thread, the timer is passed by
            other.inbox.post(THREAD, posted, source="test")
            tries = [record for record in caplog.records if "passed over" in record.message]
            if tries and posted >= 150:
                break
    assert (contents.empty(), 1 <= len(tries) < 0.8 * posted) == (True, True)
