"""Messages for the running turn: those that are to steer it, the oldest first, each once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.conformance.turns.conftest import work
from turnledger import ClaimLost

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host
    from tests.conformance.turns.conftest import Elsewhere
    from turnledger import Ledger, TurnInHand


def steer(ledger: Ledger, *contents: str) -> None:
    for content in contents:
        ledger.inbox.post("thread", content, source="user", delivery="steer-current-turn")


def test_the_messages_for_the_running_turn_come_in_order_and_are_delivered(
    host: Host, ledger: Ledger
) -> None:
    host.append("only")
    steer(ledger, "left", "faster")
    with next(ledger.turns()) as turn:
        turn.dispatch()
        assert [message.content for message in turn.steering()] == ["left", "faster"]
        assert list(turn.steering()) == []
        steer(ledger, "stop")
        assert [message.content for message in turn.steering()] == ["stop"]
        turn.ack()
    assert ledger.inbox.list("thread") == []
    assert len(ledger.log.read(types=["inbox.confirmed"])) == 3


def test_a_message_for_after_the_turn_waits_and_so_do_those_behind_it(
    host: Host, ledger: Ledger
) -> None:
    host.append("only")
    ledger.inbox.post("thread", "later", source="user")
    steer(ledger, "behind")
    with next(ledger.turns()) as turn:
        assert list(turn.steering()) == []
    assert [message.content for message in ledger.inbox.list("thread")] == ["later", "behind"]


def test_a_message_that_was_taken_counts_as_delivered_when_the_turn_is_acked(
    host: Host, ledger: Ledger
) -> None:
    host.append("only")
    steer(ledger, "left", "right")
    with next(ledger.turns()) as turn:
        turn.dispatch()
        assert next(iter(turn.steering())).content == "left"
        turn.ack()
    assert len(ledger.log.read(types=["inbox.confirmed"])) == 1
    assert [message.content for message in ledger.inbox.list("thread")] == ["right"]


def test_a_message_whose_turn_broke_is_neither_lost_nor_delivered_again(
    host: Host, ledger: Ledger, clock: Clock
) -> None:
    host.append("only")
    steer(ledger, "left")

    def body(turn: TurnInHand) -> None:
        turn.dispatch()
        for _ in turn.steering():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work(ledger, body)
    clock.advance(60)
    ledger.inbox.recover("thread")
    assert [message.content for message in ledger.inbox.undelivered("thread")] == ["left"]


def test_a_worker_whose_claim_is_lost_steers_nothing(
    host: Host, ledger: Ledger, elsewhere: Elsewhere
) -> None:
    host.append("only")

    def body(turn: TurnInHand) -> None:
        elsewhere.takes_over()
        steer(ledger, "for the other one")
        list(turn.steering())

    with pytest.raises(ClaimLost):
        work(ledger, body)
    [message] = ledger.inbox.list("thread")
    assert message.content == "for the other one"


def test_following_waits_for_more_until_the_turn_is_settled(host: Host, ledger: Ledger) -> None:
    host.append("only")
    seen: list[str] = []
    got = threading.Event()
    with next(ledger.turns()) as turn:
        turn.dispatch()

        def following() -> None:
            for message in turn.steering(follow=True):
                seen.append(message.content)
                got.set()

        thread = threading.Thread(target=following)
        thread.start()
        steer(ledger, "left")
        assert got.wait(30)
        turn.ack()
        thread.join(30)
        assert not thread.is_alive()
    assert seen == ["left"]
