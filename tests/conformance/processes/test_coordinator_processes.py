"""F7 to F12: coordinators sleep, or die between any two steps.

Nothing is sent twice, no answer is thrown away, and no turn is stuck.
"""

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


def test_f7_an_answer_that_came_while_the_machine_slept_is_kept_and_adopted(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    begun(ledger)
    sleeper = begin("answer", "sleeper", outbox.path, stop="sent")
    sleeper.until("sent")
    sleeper.fall_asleep()
    clock.advance(LEASE)
    said = begin("answer", "next", outbox.path).finish()
    assert said[-1] == ("step", ["resolve_unknown", 1])
    sleeper.wake_up()
    assert sleeper.finish() == [("lost", 1)]
    [late] = turn(ledger).attempts[0].evidence
    assert (late.owner, late.kind, late.value) == ("sleeper", "respond", "answer")
    ledger.coordinator.resolve("turn", 1, "adopt", by="somebody")
    clock.advance(LEASE)
    said = begin("answer", "the last", outbox.path).finish()
    assert ("step", ["use_response", 1]) in said
    assert (turn(ledger).outcome, turn(ledger).result) == ("completed", "answer")
    assert outbox.sent() == ["hi, question 1"]
    assert ledger.verify().ok


def test_f7_while_a_machine_sleeps_another_one_answers(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    """The same request goes out once more only since somebody decided so."""
    begun(ledger)
    sleeper = begin("answer", "sleeper", outbox.path, stop="sent")
    sleeper.until("sent")
    sleeper.fall_asleep()
    clock.advance(LEASE)
    ledger.coordinator.recover()
    ledger.coordinator.resolve("turn", 1, "retry", by="somebody")
    said = begin("answer", "next", outbox.path).finish()
    assert ("step", ["dispatch", 2]) in said
    sleeper.wake_up()
    assert sleeper.finish() == [("lost", 1)]
    assert statuses(ledger) == ["cancelled", "responded"]
    assert [piece.value for piece in turn(ledger).attempts[0].evidence] == ["answer"]
    assert outbox.sent() == ["hi, question 1"] * 2
    assert ledger.verify().ok


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
def test_f8_what_nobody_can_know_is_unknown_after_the_lease_and_isnt_sent_again(
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
def test_f9_a_crash_at_the_second_attempt_goes_on_there(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    """And a good answer that is stored is used without a call."""
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


@pytest.mark.parametrize("word", ["prepared", "answered"])
def test_f10_what_is_stored_counts_whatever_a_prompt_is_built_from_by_then(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    begun(ledger)
    worker = begin("answer", "killed", outbox.path, stop=word)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    begin("answer", "next", outbox.path, "question in other words").finish()
    assert outbox.sent() == ["hi, question 1"]
    assert (turn(ledger).result, turn(ledger).epoch) == ("answer", 2)
    assert statuses(ledger) == ["responded"]
    assert ledger.verify().ok


def test_f11_a_second_process_touches_nothing_that_is_live(
    ledger: Ledger, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    begun(ledger)
    worker = begin("answer", "first", outbox.path, stop="dispatching")
    worker.until("dispatching")
    said = begin("answer", "second", outbox.path).finish()
    assert said == [("recovered", None)]
    assert (turn(ledger).owner, statuses(ledger)) == ("first", ["dispatching"])


@pytest.mark.parametrize("is_killed", [False, True])
def test_f12_too_many_requests_is_a_definite_no_that_is_tried_again_later(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], *, is_killed: bool
) -> None:
    begun(ledger)
    worker = begin("be_refused", "first", outbox.path, "429", stop="refused" if is_killed else None)
    worker.until("refused")
    if is_killed:
        worker.kill()
        clock.advance(LEASE)
    else:
        worker.finish()
        assert begin("answer", "too early", outbox.path).finish() == [("recovered", None)]
        clock.advance(1)
    said = begin("answer", "next", outbox.path).finish()
    assert ("step", ["prepare", 2]) in said
    assert statuses(ledger) == ["refused", "responded"]
    assert outbox.sent() == ["hi, question", "hi, question 2"]
    assert ledger.verify().ok


def test_f12_a_key_that_is_refused_fails_the_turn_and_is_no_question(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    begun(ledger)
    begin("be_refused", "first", outbox.path, "401").finish()
    clock.advance(LEASE)
    assert begin("answer", "next", outbox.path).finish() == [("recovered", None)]
    assert (turn(ledger).outcome, turn(ledger).error) == ("failed", {"status": "401"})
    assert statuses(ledger) == ["refused"]
    assert outbox.sent() == ["hi, question"]


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
