"""Damage to what the head row says of a flight: the claim goes on, and nothing else is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.verify.conftest import File
    from turnledger import Claim

DAMAGE: dict[str, tuple[str, Any]] = {
    "no turn": ("in_flight_id", None),
    "the turn behind it": ("in_flight_id", "bad next"),
    "a turn that never was": ("in_flight_id", "never"),
    "a turn whose id is no text": ("in_flight_id", b"\xff"),
    "a dispatch": ("dispatch_id", "never"),
    "a dispatch whose id is no text": ("dispatch_id", b"\xff"),
    "no owner": ("owner", None),
    "another owner": ("owner", "another"),
    "an owner that is no text": ("owner", b"\xff"),
    "no end": ("expires_at", None),
    "an end long ago": ("expires_at", 1),
    "an end that is no time": ("expires_at", "x"),
    "an end past all years": ("expires_at", 2**62),
    "no start": ("in_flight_at", None),
    "a start that is no time": ("in_flight_at", "x"),
    "a start past all years": ("in_flight_at", 2**62),
}
NO_TIME = [what for what in DAMAGE if "no time" in what or "all years" in what]


def queues(file: File) -> None:
    """Three threads with two turns each."""
    with file.open() as ledger:
        ledger.threads.delete("later")
        ledger.threads.delete("flying")
        for thread in ("bad", "good", "fine"):
            file.clock.advance(1)
            ledger.queue.append(thread, {"text": "head"}, queued_turn_id=f"{thread} head")
            ledger.queue.append(thread, {"text": "next"}, queued_turn_id=f"{thread} next")


def damage(file: File, column: str, value: Any) -> None:
    file.damage(f"UPDATE streams SET {column} = ? WHERE stream_id = 'thread_queue:bad'", value)


def flights(file: File, what: str) -> Claim:
    """Three threads whose heads are in flight; one of them is damaged. Returns its claim."""
    queues(file)
    with file.open() as ledger:
        claim, *_ = ledger.queue.claim_next("worker", limit=9)
    damage(file, *DAMAGE[what])
    assert claim.thread_id == "bad"
    return claim


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_flight_is_found_and_named(file: File, what: str) -> None:
    flights(file, what)
    [found] = file.findings()
    assert (found.where, found.row) == ("streams", "thread_queue:bad")
    assert found.message == f"{DAMAGE[what][0]} isn't what the events say"


@pytest.mark.parametrize("what", NO_TIME)
def test_a_flight_with_a_damaged_time_is_shown_as_such(file: File, what: str) -> None:
    flights(file, what)
    with file.open() as ledger:
        turn = ledger.queue.get("bad", "bad head")
    assert turn is not None
    assert turn.unreadable


@pytest.mark.parametrize("what", DAMAGE)
def test_beside_a_damaged_flight_the_other_turns_of_its_thread_can_be_read(
    file: File, what: str
) -> None:
    flights(file, what)
    with file.open() as ledger:
        behind = ledger.queue.get("bad", "bad next")
    assert behind is not None
    assert (behind.unreadable, behind.submission) == (None, {"text": "next"})
    assert behind.expires_at is None or what == "the turn behind it"


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_flight_is_not_given_out_again(file: File, what: str) -> None:
    flights(file, what)
    with file.open() as ledger:
        assert ledger.queue.claim_head("bad", "second") is None
        assert ledger.queue.claim_next("second", limit=9) == []
        assert ledger.queue.why_blocked("bad") == "in_flight"


@pytest.mark.parametrize("what", DAMAGE)
def test_the_holder_of_a_damaged_flight_goes_on(file: File, what: str) -> None:
    claim = flights(file, what)
    with file.open() as ledger:
        ledger.queue.renew(claim)
        ledger.queue.start_dispatch(claim, "mine")
        ledger.queue.ack(claim)
        turn = ledger.queue.get("bad", "bad head")
        assert turn is not None
        assert (turn.state, turn.dispatch_id) == ("acked", "mine")
        [following] = ledger.queue.claim_next("second", limit=9)
        assert following.queued_turn_id == "bad next"
    assert file.verify().ok


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_flight_stops_no_other_threads_recovery(file: File, what: str) -> None:
    flights(file, what)
    file.clock.advance(3_600)
    with file.open() as ledger:
        recovered = [turn.thread_id for turn in ledger.queue.recover()]
        assert [thread for thread in recovered if thread != "bad"] == ["fine", "good"]


@pytest.mark.parametrize("what", DAMAGE)
def test_recovering_its_thread_ends_a_damaged_flight(file: File, what: str) -> None:
    flights(file, what)
    file.clock.advance(3_600)
    with file.open() as ledger:
        [turn] = ledger.queue.recover("bad")
        assert (turn.queued_turn_id, turn.state) == ("bad head", "pending")
        assert ledger.queue.claim_head("bad", "second") is not None
        assert [turn.queued_turn_id for turn in ledger.queue.list("bad")] == ["bad next"]


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("command", ["clear", "delete"])
def test_damage_to_a_flight_never_gets_into_the_log(file: File, what: str, command: str) -> None:
    flights(file, what)
    with file.open() as ledger:
        if command == "clear":
            assert ledger.queue.clear("bad") == 2
        else:
            ledger.threads.delete("bad")
    assert file.verify().ok


@pytest.mark.parametrize("command", ["claim_head", "claim_next", "delete", "clear"])
@pytest.mark.parametrize("turn", ["bad head", "bad next", "never", b"\xff"])
def test_a_flight_that_never_was_passes_over_no_turn(
    file: File, turn: str | bytes, command: str
) -> None:
    queues(file)
    damage(file, "in_flight_id", turn)
    with file.open() as ledger:
        match command:
            case "claim_head":
                claim = ledger.queue.claim_head("bad", "worker")
                assert claim is not None
                assert claim.queued_turn_id == "bad head"
            case "claim_next":
                claim, *_ = ledger.queue.claim_next("worker")
                assert claim.queued_turn_id == "bad head"
            case "delete":
                assert ledger.queue.delete("bad", "bad head")
                assert ledger.queue.delete("bad", "bad next")
            case _:
                assert ledger.queue.clear("bad") == 2
    assert file.verify().ok
