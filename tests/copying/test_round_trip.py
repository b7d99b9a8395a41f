"""A ledger that was copied is the same ledger: nothing of it is lost, and work goes on there."""

from collections.abc import Callable
from typing import Any

import pytest
from eventsourcing.persistence import Tracking

import turnledger
from tests.copying.conftest import contents, reopened, url_of
from tests.verify.conftest import File, claimed

Places = Callable[[str], str]


@pytest.mark.parametrize("way", [("postgresql", "sqlite"), ("sqlite",), ("postgresql",) * 2])
def test_all_that_is_stored_is_the_same_at_the_end_of_the_way(
    file: File, new_place: Places, way: tuple[str, ...]
) -> None:
    with file.open() as ledger:
        ledger._backend.recorder.insert_tracking(Tracking("other", 7))
        ledger.queue.append("text", {"漢字": 'nul \0, quote ", large 9007199254740993'})
        stored = url_of(file)
    before = contents(stored)
    assert min(map(len, before.values())) > 0
    place = stored
    for kind in way:
        target = new_place(kind)
        copied = turnledger.copy(place, target)
        assert (copied.events, copied.copied) == (len(before["events"]),) * 2
        assert copied.verification.ok
        place = target
    assert contents(place) == before
    with reopened(place, file) as ledger:
        assert ledger.verify().findings == ()


def test_a_key_still_answers_with_its_first_result(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    with reopened(place, file) as ledger:
        first: dict[str, Any] = {"queued_turn_id": "busy 0", "idempotency_key": "0"}
        again = ledger.queue.append("busy", {"n": 0}, **first)
        assert (again.queued_turn_id, again.duplicate) == ("busy 0", True)
        with pytest.raises(turnledger.IdempotencyConflict):
            ledger.queue.append("busy", {"n": 1}, **first)
        many = ledger.queue.append_many("paused", [{}, {}], idempotency_key="many")
        assert [turn.duplicate for turn in many] == [True, True]
        assert ledger.wait_for_change(0, 0) == file.last


def test_a_claim_and_a_cursor_go_on_there_and_back(file: File, new_place: Places) -> None:
    with file.open() as ledger:
        ledger.queue.append("mine", {"text": "hi"}, queued_turn_id="mine 0")
        claim = claimed(ledger, "mine")
        cursor = ledger.log.read()[-1].cursor
    server, back = new_place("postgresql"), new_place("sqlite")
    turnledger.copy(file.path, server)
    with reopened(server, file) as ledger:
        ledger.queue.renew(claim, lease=300)
        ledger.queue.start_dispatch(claim, "call")
        assert [event.type for event in ledger.log.read(cursor)] == [
            *("thread_queue.renewed", "thread_queue.dispatch_started")
        ]
    turnledger.copy(server, back)
    with reopened(back, file) as ledger:
        ledger.queue.ack(claim)
        turn = ledger.queue.get("mine", "mine 0")
        assert turn is not None
        assert (turn.state, turn.dispatch_id) == ("acked", "call")
        assert len(ledger.log.read(cursor)) == 3
        assert ledger.verify().ok


def test_positions_go_on_without_a_gap(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    with reopened(place, file) as ledger:
        ledger.queue.append("new", {})
        ledger.queue.append("later", {})
        positions = [event.position for event in ledger.log.read(after=file.last)]
        assert positions == [file.last + 1, file.last + 2]
        assert ledger.verify().ok


def test_an_empty_ledger_is_copied_with_its_name(file: File, place: str) -> None:
    new = file.path.with_name("new.db")
    with turnledger.open(new) as ledger:
        names = (ledger.ledger_id, ledger.generation)
    copied = turnledger.copy(new, place)
    assert (copied.events, copied.ledger_id, copied.generation) == (0, *names)
    with reopened(place, file) as ledger:
        assert (ledger.ledger_id, ledger.generation) == names


def test_progress_is_told_of_both_steps(file: File, place: str) -> None:
    told: list[tuple[str, int, int]] = []
    turnledger.copy(file.path, place, lambda *said: told.append(said))
    assert told == [("copied", file.last, file.last), ("verified", file.last, file.last)]


@pytest.mark.parametrize(
    "stream_id",
    [
        *("thread_queue:busy", "thread:archived", "thread:late"),
        *("run:going on", "run:never was", "evidence:run:interrupted"),
        *("operation:running", "operation:never was", "evidence:operation:orphaned"),
    ],
)
def test_events_of_a_newer_release_are_copied_as_they_are(
    file: File, new_place: Places, stream_id: str
) -> None:
    file.forge(stream_id, "thread_queue.teleported", {"to": [1, 2]}, schema_version=7)
    with file.open() as ledger:
        ledger.queue.append("busy", {"n": "behind it"}, idempotency_key="behind")
        ledger.queue.append("late", {"n": 1})
    before = contents(url_of(file))
    server, back = new_place("postgresql"), new_place("sqlite")
    assert stream_id in turnledger.copy(file.path, server).verification.notes[0]
    turnledger.copy(server, back)
    assert contents(back) == before
    with reopened(server, file) as ledger:
        assert ledger.queue.append("busy", {"n": "behind it"}, idempotency_key="behind").duplicate
