"""Rule 3: a command whose claim isn't live is refused, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import Claim, ClaimLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def released(host: Host, _clock: Clock) -> Claim:
    claim = host.claim()
    host.ledger.queue.release(claim)
    return claim


def recovered(host: Host, clock: Clock) -> Claim:
    claim = host.claim()
    clock.advance(60)
    host.ledger.queue.recover()
    return claim


def recovered_while_dispatching(host: Host, clock: Clock) -> Claim:
    claim = host.dispatch()
    clock.advance(60)
    host.ledger.queue.recover()
    return claim


def recovered_by_owner(host: Host, _clock: Clock) -> Claim:
    claim = host.claim("gone")
    host.ledger.queue.recover(owner="gone")
    return claim


def cleared(host: Host, _clock: Clock) -> Claim:
    claim = host.dispatch()
    host.ledger.queue.clear("thread")
    return claim


def acked(host: Host, _clock: Clock) -> Claim:
    claim = host.dispatch()
    host.ledger.queue.ack(claim)
    return claim


def acked_by_dispatch(host: Host, _clock: Clock) -> Claim:
    claim = host.dispatch("dispatch")
    host.ledger.queue.ack_dispatch("thread", "dispatch")
    return claim


def failed(host: Host, _clock: Clock) -> Claim:
    claim = host.dispatch()
    host.ledger.queue.fail(claim, "no")
    return claim


def failed_by_the_host(host: Host, _clock: Clock) -> Claim:
    claim = host.claim()
    host.ledger.queue.fail_in_flight("thread", "restart")
    return claim


def taken_by_another(host: Host, _clock: Clock) -> Claim:
    claim = host.claim()
    host.ledger.queue.release(claim)
    host.claim("another")
    return claim


def taken_by_the_same_owner(host: Host, _clock: Clock) -> Claim:
    claim = host.claim()
    host.ledger.queue.release(claim)
    host.claim()
    return claim


def of_the_wrong_owner(host: Host, _clock: Clock) -> Claim:
    return host.hand_made("stranger", host.claim().epoch)


def of_an_epoch_to_come(host: Host, _clock: Clock) -> Claim:
    return host.hand_made("worker", host.claim().epoch + 1)


def of_another_thread(host: Host, _clock: Clock) -> Claim:
    host.append("other", thread="other")
    host.claim(thread="other")
    host.ledger.queue.release(host.claim())
    host.claim()
    return host.hand_made("worker", 2, thread="other")


def never_given_out(host: Host, _clock: Clock) -> Claim:
    return host.hand_made("worker", 1)


IN_FLIGHT = "SELECT queued_turn_id, dispatch_id, owner, epoch, expires_at FROM in_flight_turns"
LOST = (
    released,
    recovered,
    recovered_while_dispatching,
    recovered_by_owner,
    cleared,
    acked,
    acked_by_dispatch,
    failed,
    failed_by_the_host,
    taken_by_another,
    taken_by_the_same_owner,
    of_the_wrong_owner,
    of_an_epoch_to_come,
    of_another_thread,
    never_given_out,
)


@pytest.mark.parametrize("lose", LOST, ids=lambda way: way.__name__)
def test_a_lost_claim_is_refused_and_changes_nothing(
    host: Host, clock: Clock, store: Store, lose: Callable[[Host, Clock], Claim]
) -> None:
    host.append("first", "second")
    claim = lose(host, clock)
    targets = {event.stream_id for event in store.events()}
    before, rows = store.events(), store.rows(IN_FLIGHT)
    queue = host.ledger.queue
    commands: tuple[Callable[[], object], ...] = (
        lambda: queue.renew(claim),
        lambda: queue.release(claim),
        lambda: queue.start_dispatch(claim, "late"),
        lambda: queue.ack(claim),
        lambda: queue.fail(claim, "late"),
    )
    for command in commands:
        with pytest.raises(ClaimLost) as refusal:
            command()
        facts = (refusal.value.thread_id, refusal.value.owner, refusal.value.epoch)
        assert facts == (claim.thread_id, claim.owner, claim.epoch)
    assert [event for event in store.events() if event.stream_id in targets] == before
    assert store.rows(IN_FLIGHT) == rows


@pytest.mark.parametrize("dispatching", [False, True])
def test_an_expired_claim_renews_releases_and_starts_nothing(
    host: Host, clock: Clock, store: Store, *, dispatching: bool
) -> None:
    host.append("only")
    claim = host.dispatch() if dispatching else host.claim()
    clock.advance(60)
    before = store.events()
    queue = host.ledger.queue
    for command in (queue.renew, queue.release):
        with pytest.raises(ClaimLost):
            command(claim)
    with pytest.raises(ClaimLost):
        queue.start_dispatch(claim, "dispatch")
    assert store.events() == before


def test_an_expired_but_current_claim_acks(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    claim = host.dispatch()
    clock.advance(86_400 * 365)
    ledger.queue.ack(claim)
    assert host.turn(only).state == "acked"


@pytest.mark.parametrize("dispatching", [False, True])
def test_an_expired_but_current_claim_fails(
    ledger: Ledger, host: Host, clock: Clock, *, dispatching: bool
) -> None:
    [only] = host.append("only")
    claim = host.dispatch() if dispatching else host.claim()
    clock.advance(86_400 * 365)
    ledger.queue.fail(claim, "late")
    turn = host.turn(only)
    assert (turn.state, turn.failure, turn.outcome_unknown) == ("failed", "late", False)


def test_a_claim_put_together_by_hand_does_as_well(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    given = host.claim("me")
    claim = host.hand_made("me", given.epoch)
    ledger.queue.renew(claim)
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.ack(claim)
    assert host.turn(only).state == "acked"


@pytest.mark.parametrize("back", ["release", "recover", "fail"])
def test_giving_back_keeps_the_epoch(ledger: Ledger, host: Host, clock: Clock, back: str) -> None:
    [only] = host.append("only")
    claim = host.claim()
    if back == "release":
        ledger.queue.release(claim)
    elif back == "recover":
        clock.advance(60)
        ledger.queue.recover("thread")
    else:
        ledger.queue.fail(claim, "no")
        ledger.queue.retry("thread", only)
    assert host.claim("next").epoch == claim.epoch + 1
