"""A turn that is left without a result: what is known is recorded, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.turns.conftest import work
from turnledger import ClaimLost, StoreUnavailable
from turnledger.turns.standing import NO_RESULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host
    from tests.conformance.turns.conftest import Elsewhere
    from turnledger import Claim, Ledger, TurnInHand


class Broken(Exception):
    """What a body raises."""


class Untellable(Exception):
    """Its text can't be had."""

    def __str__(self) -> str:
        raise Broken


def nothing(turn: TurnInHand) -> None:
    del turn


def dispatching(turn: TurnInHand) -> None:
    turn.dispatch()


def breaking(turn: TurnInHand) -> None:
    del turn
    raise Broken("early")


def dispatching_and_breaking(turn: TurnInHand) -> None:
    turn.dispatch()
    raise Broken("late")


def interrupted(turn: TurnInHand) -> None:
    turn.dispatch()
    raise KeyboardInterrupt


def untellable(turn: TurnInHand) -> None:
    turn.dispatch()
    raise Untellable


@pytest.mark.parametrize(
    ("body", "state", "failure"),
    [
        (nothing, "pending", None),
        (breaking, "pending", None),
        (dispatching, "failed", NO_RESULT),
        (dispatching_and_breaking, "failed", "Broken: late"),
        (interrupted, "failed", "KeyboardInterrupt: "),
        (untellable, "failed", "Untellable"),
    ],
)
def test_a_turn_that_is_left_is_released_or_its_outcome_is_unknown(
    host: Host, ledger: Ledger, body: Callable[[TurnInHand], None], state: str, failure: str | None
) -> None:
    first, second = host.append("first", "second")
    raised: BaseException | None = None
    try:
        with next(ledger.turns()) as turn:
            body(turn)
    except (Broken, Untellable, KeyboardInterrupt) as error:
        raised = error
    assert (raised is None) is (body in (nothing, dispatching))
    left = host.turn(first)
    assert (left.state, left.failure, left.outcome_unknown) == (state, failure, state == "failed")
    assert host.texts() == ["first", "second"]
    assert host.turn(second).state == "pending"


def test_a_result_stands_whatever_is_raised_after_it(host: Host, ledger: Ledger) -> None:
    [only] = host.append("only")

    def working() -> None:
        with next(ledger.turns()) as turn:
            turn.dispatch()
            turn.ack()
            raise Broken

    with pytest.raises(Broken):
        working()
    assert host.turn(only).state == "acked"


def test_a_definite_failure_is_one_and_can_be_retried(host: Host, ledger: Ledger) -> None:
    [only] = host.append("only")
    with next(ledger.turns()) as turn:
        turn.dispatch()
        turn.fail({"status": 400})
    failed = host.turn(only)
    assert (failed.failure, failed.outcome_unknown) == ({"status": 400}, False)
    ledger.queue.retry("thread", only)
    with next(ledger.turns()) as turn:
        assert turn.attempts == 1
        turn.release()


def test_a_dispatch_of_which_nobody_heard_is_unknown_only_if_it_was_recorded(
    host: Host, ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    [recorded] = host.append("recorded")
    clock.advance(1)
    [lost] = host.append("lost", thread="b")
    start = ledger.queue.start_dispatch

    def unheard(claim: Claim, dispatch_id: str) -> None:
        if claim.queued_turn_id == recorded:
            start(claim, dispatch_id)
        raise StoreUnavailable("the store", "the answer got lost")

    monkeypatch.setattr(ledger.queue, "start_dispatch", unheard)
    with pytest.raises(StoreUnavailable):
        work(ledger, dispatching)
    with pytest.raises(StoreUnavailable):
        work(ledger, dispatching)
    done = {only: host.turn(only, thread) for thread, only in (("thread", recorded), ("b", lost))}
    assert [(turn.state, turn.outcome_unknown) for turn in done.values()] == [
        ("failed", True),
        ("pending", False),
    ]


# --- lost claims


def test_a_worker_that_was_too_slow_can_write_nothing(
    host: Host, ledger: Ledger, elsewhere: Elsewhere
) -> None:
    [only] = host.append("only")

    def body(turn: TurnInHand) -> None:
        elsewhere.takes_over()
        position = ledger.wait_for_change(0, 0)
        for command in (turn.dispatch, turn.release, turn.dispatch):
            with pytest.raises(ClaimLost):
                command()
        assert turn.is_lost
        assert ledger.wait_for_change(0, 0) == position
        raise Broken

    with pytest.raises(Broken):
        work(ledger, body)
    assert (host.turn(only).state, host.turn(only).owner) == ("claimed", "another")


def test_what_a_worker_knew_that_was_too_slow_is_kept_as_evidence(
    host: Host, ledger: Ledger, elsewhere: Elsewhere
) -> None:
    [only] = host.append("only")

    def body(turn: TurnInHand) -> None:
        turn.dispatch()
        elsewhere.takes_over()
        turn.ack()

    with pytest.raises(ClaimLost):
        work(ledger, body, owner="slow")
    failed = host.turn(only)
    assert (failed.state, failed.outcome_unknown) == ("failed", True)
    assert [(piece.owner, piece.kind) for piece in failed.evidence] == [("slow", "ack")]


def test_leaving_a_turn_whose_claim_is_lost_says_so(
    host: Host, ledger: Ledger, elsewhere: Elsewhere
) -> None:
    host.append("only")
    with pytest.raises(ClaimLost):
        work(ledger, lambda _: elsewhere.takes_over())


def test_a_lease_is_renewed_as_long_as_the_body_runs(host: Host, ledger: Ledger) -> None:
    host.append("only")
    with next(ledger.turns(lease=0.3)) as turn:
        position = 0
        while len(ledger.log.read(types=["thread_queue.renewed"])) < 3:
            position = ledger.wait_for_change(position, 10)
        assert not turn.is_lost
        turn.release()
    count = len(ledger.log.read())
    assert ledger.wait_for_change(count, 0.3) == count


def test_a_body_can_ask_whether_its_claim_is_lost(
    host: Host, ledger: Ledger, elsewhere: Elsewhere
) -> None:
    host.append("only")

    def body(turn: TurnInHand) -> None:
        elsewhere.takes_over()
        assert turn._settled.wait(30)  # the renewer finds out by itself
        assert turn.is_lost
        turn.check()

    with pytest.raises(ClaimLost):
        work(ledger, body, lease=0.3)


def test_a_lease_that_cant_be_renewed_in_time_counts_as_lost(
    host: Host, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.append("only")

    def refused(*_: object) -> None:
        raise StoreUnavailable("the store", "it is being moved")

    monkeypatch.setattr(ledger._renewer, "_renew", refused)
    turn = next(ledger.turns(lease=0.3))
    with turn:
        assert turn._settled.wait(30)
        assert turn.is_lost
        with pytest.raises(ClaimLost):
            turn.dispatch()
    assert turn.result == "released"  # the store works again, and it was never dispatched
