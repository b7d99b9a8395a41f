"""The loop of a worker: what it is given, in which order, and what ends it."""

from __future__ import annotations

import gc
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import turnledger
from tests.conformance.turns.conftest import until
from turnledger import Delay, InvalidDuration, InvalidIdentifier, InvalidInput, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host
    from turnledger import Ledger


def test_a_worker_does_every_thread_the_longest_waiting_head_first(
    host: Host, ledger: Ledger, clock: Clock
) -> None:
    for number, thread in enumerate(["busy", "busy", "other", "busy", "last"]):
        host.append(str(number), thread=thread)
        clock.advance(1)
    done = []
    for turn in ledger.turns("worker", once=True):
        with turn:
            turn.dispatch()
            done.append(turn.submission["text"])
            turn.ack()
    assert done == ["0", "1", "2", "3", "4"]
    assert [len(ledger.queue.list(thread)) for thread in ("busy", "other", "last")] == [0, 0, 0]
    assert ledger.verify().ok


def test_a_turn_says_what_a_body_needs_to_know(host: Host, ledger: Ledger) -> None:
    [turn_id] = host.append("hi")
    turn = next(ledger.turns("worker"))
    assert (turn.thread_id, turn.queued_turn_id, turn.submission) == (
        "thread",
        turn_id,
        {"text": "hi"},
    )
    assert (turn.owner, turn.epoch, turn.attempts) == ("worker", 1, 0)
    with turn:
        assert turn.dispatch() == turn.dispatch_id == f"{turn_id}-1"
        assert not turn.is_settled
        turn.ack()
    assert turn.is_settled
    assert turn.result == "acked"


def test_an_owner_that_nobody_named_is_new_for_each_worker(ledger: Ledger) -> None:
    assert ledger.turns().owner != ledger.turns().owner


def test_the_same_dispatch_again_is_the_same_and_another_one_is_refused(
    host: Host, ledger: Ledger
) -> None:
    host.append("hi")
    for turn in ledger.turns(once=True):
        with turn:
            assert turn.dispatch("mine") == "mine"
            assert turn.dispatch("mine") == "mine"
            with pytest.raises(turnledger.InvalidTransition):
                turn.dispatch("another")
            assert turn.dispatch_id == "mine"
            turn.ack()


def test_no_more_turns_are_in_hand_than_the_limit(host: Host, ledger: Ledger) -> None:
    for number in range(3):
        host.append("hi", thread=f"thread {number}")
    with ledger.turns(limit=2, once=True) as turns:
        first, second = next(turns), next(turns)
        assert set(turns.in_hand) == {first, second}
        third: list[str] = []
        with first, second:
            waiting = threading.Thread(target=lambda: third.append(next(turns).thread_id))
            waiting.start()
            waiting.join(0.3)
            assert third == []
            first.release()
            waiting.join(30)
        assert third


def test_a_waiting_worker_is_woken_by_what_another_process_appends(
    open_ledger: Callable[..., Ledger],
) -> None:
    other, seen = open_ledger(), []
    with open_ledger().turns() as turns:
        appending = threading.Timer(0.2, lambda: other.queue.append("thread", {"n": 1}))
        appending.start()
        for turn in turns:
            with turn:
                turn.dispatch()
                seen.append(turn.submission)
                turn.ack()
            turns.stop()
        appending.join()
    assert seen == [{"n": 1}]


def test_a_waiting_worker_is_woken_when_the_time_of_a_turn_comes(store_url: str) -> None:
    with turnledger.open(store_url) as ledger:
        later = datetime.now(UTC) + timedelta(seconds=0.5)
        ledger.queue.append("thread", {"n": 1}, not_before=later)
        with ledger.turns() as turns:
            turn = next(turns)
            assert datetime.now(UTC) >= later
            turn.release()


def test_a_waiting_worker_fires_the_timers_that_come_due(store_url: str) -> None:
    with turnledger.open(store_url) as ledger:
        ledger.timers.create("thread", Delay(seconds=0), "now", client_id="c")
        ledger.timers.create("thread", Delay(seconds=0.5), "soon", client_id="c")
        with ledger.turns() as turns:
            waiting = threading.Thread(target=lambda: list(turns))
            waiting.start()
            until(lambda: len(ledger.inbox.list("thread")) == 2, ledger)
            turns.stop()
            waiting.join(30)
        assert [message.content for message in ledger.inbox.list("thread")] == ["now", "soon"]


def test_what_a_dead_worker_left_is_recovered_first(
    host: Host, ledger: Ledger, clock: Clock
) -> None:
    host.append("claimed", thread="a")
    host.append("dispatched", thread="b")
    host.claim("dead", thread="a")
    host.dispatch("call", "dead", thread="b")
    clock.advance(60)
    given = []
    for turn in ledger.turns(once=True):
        with turn:
            given.append(turn.submission["text"])
            turn.dispatch()
            turn.ack()
    assert given == ["claimed"]
    [failed] = ledger.queue.list("b")
    assert (failed.state, failed.outcome_unknown) == ("failed", True)


def test_a_turn_that_nobody_enters_is_given_up_after_its_lease(host: Host, ledger: Ledger) -> None:
    host.append("forgotten", thread="a")
    host.append("next", thread="b")
    with ledger.turns(lease=0.3) as turns:
        forgotten = next(turns)
        assert next(turns).submission == {"text": "next"}
        assert forgotten.is_lost


def test_a_turn_that_nobody_holds_any_more_isnt_kept(host: Host, ledger: Ledger) -> None:
    host.append("first", thread="a")
    host.append("second", thread="b")
    turns = ledger.turns(limit=2)
    turn = next(turns)
    assert len(ledger._renewer._due) == 1  # the second one, which is claimed ahead
    del turn, turns
    gc.collect()
    assert len(ledger._renewer._due) == 0


def test_closing_the_iterator_gives_back_what_was_claimed_ahead(host: Host, ledger: Ledger) -> None:
    host.append("first", thread="a")
    host.append("second", thread="b")
    with ledger.turns(limit=2) as turns:
        with next(turns) as turn:
            turn.dispatch()
            turn.ack()
        assert ledger.queue.list("b") == []
    [second] = ledger.queue.list("b")
    assert second.state == "pending"


def test_stopping_ends_the_iteration_of_a_waiting_worker(ledger: Ledger) -> None:
    turns = ledger.turns()
    threading.Timer(0.1, turns.stop).start()
    assert list(turns) == []


def test_a_read_only_ledger_has_no_workers(ledger: Ledger) -> None:
    ledger.queue.append("thread", {})
    with ledger.as_of(1) as past, pytest.raises(StoreReadOnly):
        past.turns()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"owner": ""}, InvalidIdentifier),
        ({"lease": 0}, InvalidDuration),
        ({"lease": timedelta(days=2)}, InvalidDuration),
        ({"limit": 0}, InvalidInput),
        ({"grace": -1}, InvalidDuration),
    ],
)
def test_what_cant_be_is_refused_at_once(
    ledger: Ledger, given: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ledger.turns(**given)  # type: ignore[arg-type]


def test_a_signal_can_only_be_asked_for_in_the_main_thread(ledger: Ledger) -> None:
    errors: list[BaseException] = []

    def asking() -> None:
        try:
            ledger.turns(stop_on=15)
        except ValueError as error:
            errors.append(error)

    thread = threading.Thread(target=asking)
    thread.start()
    thread.join()
    assert len(errors) == 1
