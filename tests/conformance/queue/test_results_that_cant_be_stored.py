"""What settles something never blocks the settling, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Claim, ClaimLost, PayloadTooLarge, QueuedTurn

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


class Broken:
    """A value that can't even say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError


class Talkative:
    """A value with much to say."""

    def __repr__(self) -> str:
        return "x" * 1_000_000


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def by_fail(host: Host, _clock: Clock, failure: Any) -> QueuedTurn:
    [turn] = host.append("only")
    host.ledger.queue.fail(host.claim(), failure)
    return host.turn(turn)


def by_recover(host: Host, clock: Clock, failure: Any) -> QueuedTurn:
    host.append("only")
    host.dispatch()
    clock.advance(60)
    [turn] = host.ledger.queue.recover("thread", failure=failure)
    return turn


def by_fail_in_flight(host: Host, _clock: Clock, failure: Any) -> QueuedTurn:
    [turn] = host.append("only")
    host.claim()
    assert host.ledger.queue.fail_in_flight("thread", failure) == 1
    return host.turn(turn)


WAYS = [by_fail, by_recover, by_fail_in_flight]
Way = Callable[..., QueuedTurn]


@pytest.mark.parametrize("way", WAYS)
def test_lone_surrogates_are_replaced_and_marked(host: Host, clock: Clock, way: Way) -> None:
    turn = way(host, clock, {"text": "a\ud800b", "list": ["\udfff"], "\udc00": 1})
    assert turn.failure == {"text": "a\ufffdb", "list": ["\ufffd"], "\ufffd": 1}
    assert (turn.state, turn.altered) == ("failed", True)


REPRS: list[Any] = [
    float("nan"),
    {"n": float("inf")},
    {1: 2},
    (1, 2),
    {
        1,
    },
    b"bytes",
    datetime(2026, 1, 5, tzinfo=UTC),
    ValueError("no"),
    ["list", b"bytes"],
]


@pytest.mark.parametrize("failure", REPRS, ids=repr)
def test_what_isnt_json_is_kept_as_its_repr_and_marked(
    host: Host, clock: Clock, failure: Any
) -> None:
    for way in WAYS:
        turn = way(host, clock, failure)
        assert (turn.failure, turn.altered, turn.state) == (repr(failure), True, "failed")
        host.ledger.queue.clear("thread")


@pytest.mark.parametrize("way", WAYS)
def test_a_long_repr_is_cut(host: Host, clock: Clock, way: Way) -> None:
    turn = way(host, clock, Talkative())
    assert isinstance(turn.failure, str)
    assert len(turn.failure) <= 10_000
    assert turn.failure.startswith("x" * 9_000)
    assert turn.altered is True


@pytest.mark.parametrize(
    "make",
    [Broken, lambda: {"a": Broken()}, deep, lambda: 10**5000, lambda: {"a": 10**5000}],
    ids=["broken repr", "broken repr inside", "deep", "5,001 digits", "5,001 digits inside"],
)
def test_what_has_no_repr_settles_as_well(
    host: Host, clock: Clock, make: Callable[[], Any]
) -> None:
    turn = by_fail(host, clock, make())
    assert (turn.state, turn.altered) == ("failed", True)
    assert isinstance(turn.failure, str)
    assert len(turn.failure) <= 10_000


@pytest.mark.parametrize("way", WAYS)
def test_a_null_character_is_no_fault(host: Host, clock: Clock, way: Way) -> None:
    turn = way(host, clock, {"\0": "a\0b"})
    assert (turn.failure, turn.altered) == ({"\0": "a\0b"}, False)


def test_a_failure_may_be_larger_than_a_submission(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    failure = "x" * (2 * 1024 * 1024)
    ledger.queue.fail(host.claim(), failure)
    assert host.turn(only).failure == failure


def test_a_failure_past_its_limit_changes_nothing(
    open_ledger: Callable[..., Ledger], store: Store
) -> None:
    queue = open_ledger(max_result_bytes=100).queue
    only = queue.append("thread", {}).queued_turn_id
    claim = queue.claim_head("thread", "worker")
    assert claim is not None
    queue.start_dispatch(claim, "dispatch")
    before = store.events()
    with pytest.raises(PayloadTooLarge) as refusal:
        queue.fail(claim, "x" * 99)
    assert (refusal.value.size, refusal.value.limit) == (101, 100)
    with pytest.raises(PayloadTooLarge):
        queue.fail_in_flight("thread", "x" * 99)
    assert store.events() == before
    queue.fail(claim, "x" * 98)
    turn = queue.get("thread", only)
    assert turn is not None
    assert turn.failure == "x" * 98


def unknown(host: Host) -> tuple[str, Claim]:
    [turn] = host.append("only")
    claim = host.dispatch()
    host.ledger.queue.fail(claim, "no answer", outcome_unknown=True)
    return turn, claim


@pytest.mark.parametrize(
    "grounds",
    [
        b"log",
        {"at": float("nan")},
        "\ud800",
        Broken(),
        {
            1,
        },
    ],
)
def test_a_decision_is_made_whatever_its_grounds(host: Host, grounds: Any) -> None:
    turn, _ = unknown(host)
    host.ledger.queue.resolve("thread", turn, "acked", by="\ud800me\0", evidence=grounds)
    assert host.turn(turn).state == "acked"


def test_who_decided_is_recorded_without_what_cant_be_stored(host: Host, store: Store) -> None:
    turn, _ = unknown(host)
    host.ledger.queue.resolve("thread", turn, "retry", by="the \ud800 operator")
    assert "the \ufffd operator" in store.events()[-1].data


def test_a_pause_holds_whatever_its_reason(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("only")
    ledger.queue.pause("thread", "the \udc00 reason\0")
    assert ledger.queue.why_blocked("thread") == "paused"
    assert "the \ufffd reason" in store.events()[-1].data


def test_late_evidence_is_kept_whatever_it_is(host: Host) -> None:
    turn, claim = unknown(host)
    with pytest.raises(ClaimLost):
        host.ledger.queue.fail(claim, {"text": "\ud800", "n": 1})
    [one] = host.turn(turn).evidence
    assert (one.value, one.altered) == ({"text": "\ufffd", "n": 1}, True)
