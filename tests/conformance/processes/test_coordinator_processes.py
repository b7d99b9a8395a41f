"""Coordinators die between any two steps: nothing is sent twice, and no turn is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.processes.conftest import Outbox, Worker
    from turnledger import BegunTurn, Ledger

    Together = Callable[[list[Worker]], None]

LEASE = 60


def begun(ledger: Ledger, message: str = "hi") -> None:
    ledger.coordinator.begin("item", message, turn_id="turn")


def turn(ledger: Ledger) -> BegunTurn:
    found = ledger.coordinator.get("turn")
    assert found is not None
    return found


def statuses(ledger: Ledger) -> list[str]:
    return [attempt.status for attempt in turn(ledger).attempts]


@pytest.mark.parametrize("word", ["step", "prepared", "answered"])
def test_a_successor_sends_what_wasnt_and_uses_what_is_there(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    begun(ledger)
    worker = begin("answer", "killed", outbox.path, stop=word)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    begin("answer", "next", outbox.path).finish()
    assert outbox.sent() == ["hi, question 1"]
    assert (turn(ledger).status, turn(ledger).result) == ("acked", "answer")
    assert ledger.verify().ok


@pytest.mark.parametrize("word", ["dispatching", "sent"])
def test_what_nobody_can_know_is_unknown_after_the_lease_and_isnt_sent_again(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    sent = int(word == "sent")
    begun(ledger)
    worker = begin("answer", "killed", outbox.path, stop=word)
    worker.until(word)
    worker.kill()
    begin("answer", "too early", outbox.path).finish()
    assert statuses(ledger) == ["dispatching"]
    clock.advance(LEASE)
    said = begin("answer", "next", outbox.path).finish()
    assert said[-1] == ("step", ["resolve_unknown", 1])
    assert statuses(ledger) == ["unknown"]
    assert outbox.sent() == ["hi, question 1"] * sent
    ledger.coordinator.resolve("turn", 1, "adopt", by="somebody", response="found")
    clock.advance(LEASE)
    begin("answer", "the last", outbox.path).finish()
    assert (turn(ledger).result, outbox.sent()) == ("found", ["hi, question 1"] * sent)


@pytest.mark.parametrize("word", ["rejected", "prepared", "answered"])
def test_a_crash_at_the_second_attempt_goes_on_there(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    """And a good answer that is stored is used, whatever the request is built from by then."""
    begun(ledger, "difficult")
    worker = begin("answer", "killed", outbox.path)
    worker.until("rejected")
    if word != "rejected":
        worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    ledger.coordinator.recover()
    there = statuses(ledger)
    if there[-1] == "unknown":  # the kill came after the word
        ledger.coordinator.resolve("turn", len(there), "adopt", by="somebody", response="answer")
    begin("answer", "next", outbox.path).finish()
    assert turn(ledger).status == "acked"
    assert statuses(ledger) == ["cancelled", "responded"]
    assert len(outbox.sent()) == len(set(outbox.sent())) <= 2
    assert ledger.verify().ok


def test_a_second_process_touches_nothing_that_is_live(
    ledger: Ledger, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    begun(ledger)
    worker = begin("answer", "first", outbox.path, stop="dispatching")
    worker.until("dispatching")
    said = begin("answer", "second", outbox.path).finish()
    assert said == [("recovered", None)]
    assert (turn(ledger).owner, statuses(ledger)) == ("first", ["dispatching"])


def test_processes_that_claim_at_the_same_time_win_each_turn_once(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    for number in range(40):
        ledger.coordinator.begin("item", number, turn_id=str(number))
    crowd = [begin("share", f"worker {number}", "item") for number in range(3)]
    together(crowd)
    won = [tuple(pair) for worker in crowd for pair in worker.finish()[-1][1]]
    assert sorted(won) == sorted((str(number), 1) for number in range(40))
    assert ledger.coordinator.work_item("item").revision == 40
    assert ledger.verify().ok


def test_a_turn_that_is_begun_by_several_processes_is_begun_once(
    ledger: Ledger, begin: Callable[..., Worker], together: Together
) -> None:
    crowd = [begin("begin", "turn", "hi") for _ in range(3)]
    together(crowd)
    duplicates = [worker.finish()[-1][1] for worker in crowd]
    assert sorted(duplicates) == [False, True, True]
    assert [one.turn_id for one in ledger.coordinator.list("item")] == ["turn"]
