"""Processes at one inbox: each message is won once, and no kill loses one."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidTransition, ThreadArchived, ThreadDeleted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.processes.conftest import Outbox, Worker
    from turnledger import Ledger

    Together = Callable[[list[Worker]], None]

LEASE = 60


def posted(ledger: Ledger, *texts: str, thread: str = "thread") -> list[str]:
    """Post messages; returns their ids."""
    return [ledger.inbox.post(thread, text, source="test").message_id for text in texts]


def states(ledger: Ledger, ids: list[str]) -> list[str]:
    found = [ledger.inbox.get("thread", message_id) for message_id in ids]
    return [one.state for one in found if one is not None]


def test_processes_that_claim_at_the_same_time_win_each_message_once_in_order(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    names = [f"thread {number}" for number in range(10)]
    for name in names:
        posted(ledger, "0", "1", "2", "3", "4", thread=name)
    crowd = [begin("take", f"worker {one}", str(len(names))) for one in range(2)]
    together(crowd)
    won: dict[str, list[Any]] = {}
    for worker in crowd:
        [(_, claims)] = worker.finish()
        for thread, epoch, text in claims:
            won.setdefault(thread, []).append((epoch, text))
    every = [(number + 1, str(number)) for number in range(5)]
    assert {thread: sorted(pairs) for thread, pairs in won.items()} == dict.fromkeys(names, every)
    assert ledger.verify().ok


def test_a_message_that_is_posted_by_several_processes_is_posted_once(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    crowd = [begin("post", "the message", "hi") for _ in range(2)]
    together(crowd)
    duplicates = [worker.finish()[-1][1] for worker in crowd]
    assert sorted(duplicates) == [False, True]
    assert [message.content for message in ledger.inbox.list("thread")] == ["hi"]


@pytest.mark.parametrize("word", ["claimed", "sent"])
def test_at_most_once_never_delivers_again_by_itself(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    ids = posted(ledger, "first", "second")
    worker = begin("hand_over", "killed", outbox.path, "at_most_once", stop=word)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    begin("hand_over", "next", outbox.path, "at_most_once").finish()
    assert outbox.sent() == (["first", "second"] if word == "sent" else ["second"])
    assert states(ledger, ids) == ["expired", "confirmed"]
    assert [one.content for one in ledger.inbox.undelivered("thread")] == ["first"]


@pytest.mark.parametrize("word", ["claimed", "sent"])
def test_at_least_once_delivers_everything_in_order(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    ids = posted(ledger, "first", "second")
    worker = begin("hand_over", "killed", outbox.path, "at_least_once", stop=word)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    begin("hand_over", "next", outbox.path, "at_least_once").finish()
    again = ["first"] if word == "sent" else []
    assert outbox.sent() == [*again, "first", "second"]
    assert states(ledger, ids) == ["confirmed", "confirmed"]
    assert [one and one.deliveries for one in (ledger.inbox.get("thread", ids[0]),)] == [2]


@pytest.mark.parametrize("word", ["claimed", "sent"])
def test_a_kill_at_any_instant_leaves_the_inbox_whole(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    """The worker goes on while the signal is on its way, so the instant is any after the word."""
    ids = posted(ledger, "first", "second", "third")
    worker = begin("hand_over", "killed", outbox.path, "at_most_once")
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    ledger.inbox.recover()
    there = states(ledger, ids)
    assert set(there) <= {"pending", "expired", "confirmed"}
    sent = outbox.sent()
    assert len(sent) == len(set(sent))
    assert set(sent) >= {
        text
        for text, state in zip(("first", "second", "third"), there, strict=True)
        if state == "confirmed"
    }
    assert ledger.verify().ok


def run_together(*works: Callable[[], None]) -> None:
    """Run works in threads that begin at the same moment."""
    start = Barrier(len(works))

    def begun(work: Callable[[], None]) -> None:
        start.wait()
        work()

    threads = [Thread(target=begun, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("ending", "refusal"), [("archive", ThreadArchived), ("delete", ThreadDeleted)]
)
def test_nothing_is_posted_beside_the_end_of_a_thread(
    ledger: Ledger, ending: str, refusal: type[Exception]
) -> None:
    """What was posted before the end is in the log before it, and nothing is behind it."""
    names = [f"thread {number}" for number in range(10)]
    refused: list[str] = []

    def send() -> None:
        for name in names * 2:
            try:
                posted(ledger, "hi", thread=name)
            except refusal:
                refused.append(name)

    def end() -> None:
        for name in names:
            getattr(ledger.threads, ending)(name)

    run_together(send, send, end)
    events = ledger.log.read(limit=10_000)
    for name in names:
        mine = [event.type for event in events if event.stream_id.endswith(f":{name}")]
        assert "inbox.posted" not in mine[mine.index(f"thread.{ending}d") :]
    kinds = [event.type for event in events]
    assert len(refused) + kinds.count("inbox.posted") == 40
    assert kinds.count(f"thread.{ending}d") == len(names)
    assert ledger.verify().ok


def test_a_thread_is_a_fork_from_its_beginning_or_never(ledger: Ledger) -> None:
    names = [f"thread {number}" for number in range(20)]
    refused: list[str] = []

    def send() -> None:
        for name in names:
            posted(ledger, "hi", thread=name)

    def fork() -> None:
        for name in reversed(names):
            try:
                ledger.threads.fork("source", name)
            except InvalidTransition:
                refused.append(name)

    run_together(send, fork)
    kinds: dict[str, list[str]] = {}
    for event in ledger.log.read(limit=10_000):
        kinds.setdefault(event.stream_id.partition(":")[2], []).append(event.type)
    for name in names:
        begun = [] if name in refused else ["thread.forked"]
        assert kinds[name] == [*begun, "inbox.posted"]
    assert ledger.verify().ok
