"""What can't be read: it is kept and shown, named, and stops nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Unreadable

if TYPE_CHECKING:
    from tests.verify.conftest import File
    from turnledger import Ledger

LATER, BUSY = "thread_queue:later", "thread_queue:busy"
NEWER: dict[str, tuple[str, int, dict[str, Any]]] = {
    "a newer type": ("thread_queue.teleported", 1, {"queued_turn_id": "x", "to": [1, 2]}),
    "a newer version": ("thread_queue.paused", 2, {"reason": "x", "until": None}),
    "a newer field": ("thread_queue.paused", 1, {"reason": "x", "until": None}),
}


def newer(file: File, what: str, stream_id: str = LATER) -> int:
    """Append an event of a newer release by hand, as that would have."""
    kind, schema_version, data = NEWER[what]
    return file.forge(stream_id, kind, data, schema_version=schema_version)


@pytest.mark.parametrize("what", NEWER)
def test_an_event_of_a_newer_release_is_a_note(file: File, what: str) -> None:
    newer(file, what)
    verification = file.verify()
    assert (verification.findings, verification.ok) == ((), True)
    [note] = verification.notes
    assert LATER in note
    assert verification.events == file.last


@pytest.mark.parametrize("what", NEWER)
def test_an_event_of_a_newer_release_is_kept_and_shown(file: File, what: str) -> None:
    position = newer(file, what)
    kind, schema_version, data = NEWER[what]
    before = file.event(position)
    with file.open() as ledger:
        *others, shown = ledger.log.read()
        assert [shown] == ledger.log.read(types=[kind], streams=[LATER])
        ledger.queue.append("new", {})
    assert all(event.unreadable is None for event in others)
    assert (shown.position, shown.type, shown.schema_version) == (position, kind, schema_version)
    assert shown.data == data
    assert shown.unreadable
    assert file.event(position) == before
    assert file.verify().ok


def test_what_comes_behind_an_event_of_a_newer_release_is_no_finding(file: File) -> None:
    newer(file, "a newer type")
    with file.open() as ledger:
        ledger.queue.append("later", {"n": 2}, idempotency_key="key")
        ledger.queue.delete("later", ledger.queue.list("later")[0].queued_turn_id)
    verification = file.verify()
    assert (verification.findings, verification.ok) == ((), True)
    assert len(verification.notes) == 1


def test_an_event_whose_data_is_no_json_is_shown_and_found(file: File) -> None:
    file.damage("UPDATE events SET data = '{' WHERE position = 3")
    with file.open() as ledger:
        shown = ledger.log.read(after=2, limit=1)[0]
        assert (shown.position, shown.data) == (3, None)
        assert shown.unreadable
        assert len(ledger.log.read()) == file.last
    assert file.first_bad() == 3


def test_beside_a_newer_event_damage_elsewhere_is_found(file: File) -> None:
    newer(file, "a newer type")
    file.damage("UPDATE visible_queue SET attempts = 9 WHERE thread_id = 'busy'")
    assert {(one.where, one.row) for one in file.findings()} == {
        ("visible_queue", "busy, 2"),
        ("visible_queue", "busy, 3"),
    }
    file.damage("UPDATE events SET metadata = '{}' WHERE position = 4")
    assert file.first_bad() == 4


def test_behind_a_newer_event_the_chain_is_still_looked_at(file: File) -> None:
    newer(file, "a newer type")
    position = file.forge(LATER, "thread_queue.resumed", {})
    assert file.verify().ok
    file.damage("UPDATE events SET data = '{ }' WHERE position = ?", position)
    assert file.first_bad() == position


def test_a_newer_event_stops_no_other_thread(file: File) -> None:
    newer(file, "a newer type", BUSY)
    file.clock.advance(3_600)
    with file.open() as ledger:
        assert [claim.thread_id for claim in ledger.queue.claim_next("me", limit=9)] == ["later"]
        assert ledger.queue.list("paused")
        assert ledger.queue.append("paused", {"n": 1}).state == "pending"


DAMAGE: dict[str, tuple[str, Any]] = {
    "cut off": ("submission", '{"n":'),
    "empty": ("submission", ""),
    "no object": ("submission", "[1]"),
    "no number": ("submission", '{"n":NaN}'),
    "no text": ("submission", b"\xff\x00"),
    "a failure cut off": ("failure", "{"),
    "evidence cut off": ("evidence", "[{"),
    "strange evidence": ("evidence", '[{"strange":1}]'),
    "evidence of another type": ("evidence", "7"),
    "no time": ("created_at", "x"),
    "a time past all years": ("updated_at", 2**62),
    "a start past all years": ("not_before", 2**62),
}


def queues(file: File) -> None:
    """Three threads with two turns each; the first one's head is to be damaged."""
    with file.open() as ledger:
        ledger.threads.delete("later")
        for thread in ("bad", "good", "fine"):
            file.clock.advance(1)
            ledger.queue.append(thread, {"text": "head"}, queued_turn_id=f"{thread} head")
            ledger.queue.append(thread, {"text": "next"}, queued_turn_id=f"{thread} next")


def damage(file: File, what: str) -> None:
    column, value = DAMAGE[what]
    statement = f"UPDATE visible_queue SET {column} = ? WHERE queued_turn_id = 'bad head'"
    file.damage(statement, value)


def other_heads(ledger: Ledger) -> list[str]:
    claims = ledger.queue.claim_next("worker", limit=9)
    return [claim.thread_id for claim in claims if claim.thread_id != "bad"]


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_turn_is_listed_as_what_it_is_among_the_others(file: File, what: str) -> None:
    queues(file)
    damage(file, what)
    with file.open() as ledger:
        bad, good = ledger.queue.list("bad")
        alone = ledger.queue.get("bad", "bad head")
    assert (bad.queued_turn_id, good.queued_turn_id) == ("bad head", "bad next")
    assert bad.unreadable
    assert (good.unreadable, good.submission) == (None, {"text": "next"})
    assert alone == bad


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_head_stops_no_other_thread(file: File, what: str) -> None:
    queues(file)
    damage(file, what)
    with file.open() as ledger:
        assert other_heads(ledger) == ["good", "fine"]


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_turn_is_found_and_named(file: File, what: str) -> None:
    queues(file)
    damage(file, what)
    [found] = file.findings()
    assert (found.where, found.row) == ("visible_queue", "bad, 0")


@pytest.mark.parametrize("what", ["cut off", "empty", "no object", "no text"])
def test_a_damaged_submission_is_not_given_out_and_is_named(
    file: File, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    queues(file)
    damage(file, what)
    with file.open() as ledger:
        with pytest.raises(Unreadable, match="bad head"):
            ledger.queue.claim_head("bad", "worker")
        assert [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=2)] == [
            "good",
            "fine",
        ]
        assert "bad head" in caplog.text
        assert [turn.queued_turn_id for turn in ledger.queue.list("bad")] == [
            "bad head",
            "bad next",
        ]
    stored = file.rows("SELECT submission FROM visible_queue WHERE queued_turn_id = 'bad head'")
    assert stored == [{"submission": DAMAGE[what][1]}]


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_counts_what_is_given_out(file: File, limit: int) -> None:
    queues(file)
    damage(file, "cut off")
    with file.open() as ledger:
        claims = ledger.queue.claim_next("worker", limit=limit)
    assert [claim.thread_id for claim in claims] == ["good", "fine"][:limit]


def test_an_undamaged_head_is_given_out_with_the_others(file: File) -> None:
    queues(file)
    with file.open() as ledger:
        assert [turn.unreadable for turn in ledger.queue.list("bad")] == [None, None]
        claims = ledger.queue.claim_next("worker", limit=9)
    assert [claim.thread_id for claim in claims] == ["bad", "good", "fine"]


@pytest.mark.parametrize("state", ["", "{", "[]", "[1,2,3]", '{"strange":1}', "null"])
def test_a_damaged_head_row_stops_no_other_thread(file: File, state: str) -> None:
    queues(file)
    file.damage("UPDATE streams SET state = ? WHERE stream_id = 'thread_queue:bad'", state)
    assert {(one.where, one.row) for one in file.findings()} == {("streams", "thread_queue:bad")}
    with file.open() as ledger:
        assert [turn.unreadable for turn in ledger.queue.list("bad")] == [None, None]
        assert other_heads(ledger) == ["good", "fine"]


def test_a_damaged_head_row_of_a_threads_life_stops_no_other_thread(file: File) -> None:
    queues(file)
    with file.open() as ledger:
        ledger.threads.archive("bad")
        ledger.threads.unarchive("bad")
    file.damage("UPDATE streams SET state = '{' WHERE stream_id = 'thread:bad'")
    with file.open() as ledger:
        assert other_heads(ledger) == ["good", "fine"]


def test_evidence_about_a_thread_with_a_newer_event_stays(file: File) -> None:
    newer(file, "a newer type", BUSY)
    with file.open() as ledger:
        turn = ledger.queue.get("busy", "busy 2")
    assert turn is not None
    assert json.dumps(turn.evidence[0].value) == '{"too": "late"}'
