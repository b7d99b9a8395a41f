"""F4, F5 and F15: a provider that refuses all, a client that sends twice, an edit in a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Host
    from tests.conformance.processes.conftest import Outbox, Worker
    from turnledger import Ledger

    Together = Callable[[list[Worker]], None]


def test_f4_a_provider_that_refuses_everything_consumes_one_turn(
    host: Host, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    first, *rest = host.append("first", "second", "third", "fourth")
    worker = begin("refuse", "killed", outbox.path, stop="failed")
    worker.until("failed")
    worker.kill()
    assert begin("refuse", "restarted", outbox.path).finish() == []
    assert outbox.sent() == ["first"]
    turn = host.turn(first)
    assert (turn.state, turn.failure, turn.outcome_unknown) == ("failed", {"status": 400}, False)
    assert [host.turn(one).state for one in rest] == ["pending"] * 3
    assert host.texts() == ["first", "second", "third", "fourth"]


def test_f5_the_same_message_sent_twice_at_once_is_one_turn(
    ledger: Ledger, host: Host, begin: Callable[..., Worker], together: Together
) -> None:
    workers = [begin("append", "thread", "client-A", "queued A") for _ in range(2)]
    together(workers)
    answers = [worker.finish()[-1] for worker in workers]
    assert sorted(answers) == [("appended", False), ("appended", True)]
    assert [turn.queued_turn_id for turn in ledger.queue.list("thread")] == ["client-A"]
    assert host.texts() == ["queued A"]


def test_f5_a_message_whose_answer_was_lost_can_be_sent_again(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    worker = begin("append", "thread", "client-A", "queued A", stop="appended")
    together([worker])
    assert worker.until("appended") is False
    worker.kill()
    again = ledger.queue.append("thread", {"text": "queued A"}, queued_turn_id="client-A")
    assert again.duplicate is True
    assert [turn.queued_turn_id for turn in ledger.queue.list("thread")] == ["client-A"]


def test_f5_a_message_whose_host_was_killed_at_it_is_there_once_at_last(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    """Whether the first one came through is open; whether the second knows isn't."""
    worker = begin("append", "thread", "client-A", "queued A")
    together([worker])
    worker.until("appending")
    worker.kill()
    came_through = len(ledger.queue.list("thread")) == 1
    again = ledger.queue.append("thread", {"text": "queued A"}, queued_turn_id="client-A")
    assert again.duplicate is came_through
    assert [turn.queued_turn_id for turn in ledger.queue.list("thread")] == ["client-A"]


def test_f15_an_edit_keeps_its_place_or_is_refused_when_it_lost_the_race(
    ledger: Ledger, host: Host, begin: Callable[..., Worker], together: Together
) -> None:
    count = 150
    for number in range(count):
        ledger.queue.append(f"thread {number}", {"text": "as it was"}, queued_turn_id="head")
        host.append("behind", thread=f"thread {number}")
    workers = [begin("edit", str(count)), begin("claim", "owner", str(count))]
    together(workers)
    edits, claims = (worker.finish() for worker in workers)
    texts = {"edited": {"text": "edited"}, "refused": {"text": "as it was"}}
    assert claims == [("claimed", texts[word]) for word, _ in edits]
    assert len(claims) == count
    assert [host.texts(f"thread {number}") for number in range(count)] == [["behind"]] * count


def test_f15_an_edit_by_another_process_moves_nothing(
    ledger: Ledger, host: Host, begin: Callable[..., Worker], together: Together
) -> None:
    host.append("first", thread="thread 0")
    ledger.queue.append("thread 0", {"text": "second"}, queued_turn_id="head")
    host.append("third", thread="thread 0")
    worker = begin("edit", "1")
    together([worker])
    assert worker.finish() == [("edited", {"text": "edited"})]
    assert host.texts("thread 0") == ["first", "edited", "third"]
    assert host.text(host.claim(thread="thread 0")) == "first"
