"""Processes and effects: no kill makes one happen twice, and F13, no kill leaves one undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.processes.conftest import Outbox, Worker
    from turnledger import Ledger

    Together = Callable[[list[Worker]], None]

LEASE = 60
WORDS = ["beginning", "doing", "sent", "done"]


def stands(ledger: Ledger, key: str) -> tuple[str, str] | None:
    operation = ledger.operations.get(key)
    return None if operation is None else (operation.execution, operation.effect)


def decide(ledger: Ledger, outbox: Outbox) -> None:
    """Decide on every effect in question by what the world outside saw."""
    for one in ledger.operations.safe_to_proceed("item"):
        happened = one.key in outbox.sent()
        decision: Any = "confirm_applied" if happened else "confirm_not_applied"
        ledger.operations.resolve(one.key, decision, by="test", evidence=outbox.sent())


@pytest.mark.parametrize("word", ["doing", "sent"])
def test_f13_a_host_that_is_killed_in_a_body_leaves_a_question_that_a_decision_settles(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    worker = begin("execute", "killed", outbox.path, "first", "second", stop=word)
    worker.until(word)
    worker.kill()
    assert stands(ledger, "first") == ("running", "pending")
    assert ledger.operations.recover().operations_orphaned == 0
    assert ledger.runs.start("run", "item", "action", "too early") is None
    clock.advance(LEASE)
    said = begin("execute", "restarted", outbox.path, "first", "second").finish()
    assert ("recovered", 1) in said
    assert ("doubtful", "first") in said
    assert outbox.sent() == (["first", "second"] if word == "sent" else ["second"])
    assert stands(ledger, "first") == ("hazardous_orphan", "unknown")
    assert [one.key for one in ledger.operations.safe_to_proceed("item")] == ["first"]
    decide(ledger, outbox)
    expected = "applied" if word == "sent" else "not_applied"
    assert stands(ledger, "first") == ("quiescent", expected)
    assert ledger.operations.safe_to_proceed("item") == []
    assert ledger.verify().ok


@pytest.mark.parametrize("word", WORDS)
def test_a_kill_at_any_instant_leaves_the_ledger_whole(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker], word: str
) -> None:
    """The worker goes on while the signal is on its way, so the instant is any after the word."""
    keys = ("first", "second", "third")
    worker = begin("execute", "killed", outbox.path, *keys)
    worker.until(word)
    worker.kill()
    clock.advance(LEASE)
    ledger.operations.recover()
    sent = outbox.sent()
    assert len(sent) == len(set(sent))
    for key in keys:
        allowed: list[Any] = [("quiescent", "applied"), ("hazardous_orphan", "unknown")]
        if key not in sent:
            allowed = [None, ("hazardous_orphan", "unknown")]
        assert stands(ledger, key) in allowed
    assert ledger.verify().ok
    decide(ledger, outbox)
    assert ledger.operations.safe_to_proceed("item") == []


def test_workers_that_are_killed_again_and_again_do_each_effect_once(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    keys = [f"key {number}" for number in range(4)]
    for number, word in enumerate(WORDS):
        worker = begin("execute", f"worker {number}", outbox.path, *keys, stop=word)
        worker.until(word)
        worker.kill()
        clock.advance(LEASE)
        ledger.recovery.run_once()
    said = begin("execute", "the last", outbox.path, *keys).finish()
    assert said[-1] == ("finished", None)
    assert len(outbox.sent()) == len(set(outbox.sent()))
    decide(ledger, outbox)
    assert ledger.operations.safe_to_proceed("item") == []
    applied = [one.key for one in ledger.operations.list("item") if one.effect == "applied"]
    assert sorted(applied) == sorted(outbox.sent())
    assert ledger.verify().ok


def test_a_run_is_taken_over_by_one_of_many(
    ledger: Ledger, clock: Clock, outbox: Outbox, begin: Callable[..., Worker]
) -> None:
    claim = ledger.runs.start("run", "item", "action", "gone", LEASE)
    assert claim is not None
    clock.advance(LEASE)
    crowd = [begin("execute", f"worker {one}", outbox.path, "key", stop="sent") for one in range(2)]
    words = [worker.next() for worker in crowd]
    assert words == [("recovered", 0)] * 2
    second = [worker.next()[0] for worker in crowd]
    assert sorted(second) == ["beginning", "refused"]
    winner = crowd[second.index("beginning")]
    winner.until("sent")
    assert outbox.sent() == ["key"]


def test_processes_that_do_the_same_effects_do_each_of_them_once(
    ledger: Ledger, outbox: Outbox, begin: Callable[..., Worker], together: Together
) -> None:
    claim = ledger.runs.start("run", "item", "action", "all", LEASE)
    assert claim is not None
    crowd = [begin("contend", f"worker {one}", outbox.path, "12") for one in range(2)]
    together(crowd)
    mine = [worker.finish()[-1][1] for worker in crowd]
    assert sorted(key for won in mine for key in won) == sorted(f"key {n}" for n in range(12))
    assert sorted(outbox.sent()) == sorted(f"key {n}" for n in range(12))
    assert ledger.operations.safe_to_proceed("item") == []
    assert ledger.verify().ok


def test_a_run_that_ends_while_others_claim_fences_off_what_comes_after(
    ledger: Ledger, begin: Callable[..., Worker], outbox: Outbox, together: Together
) -> None:
    """In the log, nothing is claimed or completed behind the end of its run."""
    claim = ledger.runs.start("run", "item", "action", "all", LEASE)
    assert claim is not None
    crowd = [begin("contend", f"worker {one}", outbox.path, "30") for one in range(2)]
    together(crowd)
    for worker in crowd:
        worker.until("trying")
    assert ledger.runs.interrupt("run", "why") is True
    for worker in crowd:
        worker.finish()
    events = [event.type for event in ledger.log.read(limit=10_000)]
    after = events[events.index("run.interrupted") :]
    assert {"operation.claimed", "operation.completed"}.isdisjoint(after)
    ledger.operations.recover()
    assert ledger.verify().ok
    decide(ledger, outbox)
    assert ledger.operations.safe_to_proceed("item") == []
