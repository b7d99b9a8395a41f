"""Damage to a turn's row, to the event with its submission, or to its queue's head row.

It is shown and named, nothing of it is given out, and it stops no other thread.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Unreadable

if TYPE_CHECKING:
    from tests.verify.conftest import File, Row
    from turnledger import Ledger

EVENT = ("data", "schema_version")
DAMAGE: dict[str, tuple[str, Any]] = {
    "cut off": ("data", '{"submission":{"n":'),
    "empty": ("data", ""),
    "no object": ("data", '{"submission":[1]}'),
    "no submission": ("data", '{"queued_turn_id":"bad head"}'),
    "no event": ("data", "[1]"),
    "no number": ("data", '{"submission":{"n":NaN}}'),
    "no text": ("data", b"\xff\x00"),
    "a form of a newer release": ("schema_version", 2),
    "the submission of an event that isn't there": ("submission_version", 99),
    "the submission of no version": ("submission_version", "x"),
    "the submission of another turn": ("submission_version", 2),
    "a failure cut off": ("failure", "{"),
    "evidence cut off": ("evidence", "[{"),
    "strange evidence": ("evidence", '[{"strange":1}]'),
    "evidence of another type": ("evidence", "7"),
    "no time": ("created_at", "x"),
    "a time past all years": ("updated_at", 2**62),
    "a start past all years": ("not_before", 2**62),
}
SUBMISSIONS = [
    what for what, (column, _) in DAMAGE.items() if column in (*EVENT, "submission_version")
]


def queues(file: File) -> None:
    """Three threads with two turns each; the first one's head is to be damaged."""
    with file.open() as ledger:
        ledger.threads.delete("later")
        for thread in ("bad", "good", "fine"):
            file.clock.advance(1)
            ledger.queue.append(thread, {"text": "head"}, queued_turn_id=f"{thread} head")
            ledger.queue.append(thread, {"text": "next"}, queued_turn_id=f"{thread} next")


def damage(file: File, what: str) -> None:
    """Damage the row of the head, or the event with its submission."""
    column, value = DAMAGE[what]
    row = "queued_turns SET {} = ? WHERE queued_turn_id = 'bad head'"
    event = "events SET {} = ? WHERE stream_id = 'thread_queue:bad' AND version = 1"
    where = event if column in EVENT else row
    file.damage(f"UPDATE {where.format(column)}", value)


def stored(file: File) -> list[list[Row]]:
    """The events and the rows of the damaged thread."""
    events = file.rows("SELECT * FROM events WHERE stream_id = 'thread_queue:bad'")
    return [events, file.rows("SELECT * FROM queued_turns WHERE thread_id = 'bad'")]


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
    position = file.last - 5
    damage(file, what)
    if DAMAGE[what][0] in EVENT:
        assert file.first_bad() == position
        assert {found.where for found in file.findings()} == {"events"}
    else:
        [found] = file.findings()
        assert (found.where, found.row) == ("queued_turns", "bad, bad head")


@pytest.mark.parametrize("what", SUBMISSIONS)
def test_a_damaged_submission_is_not_given_out_and_is_named(
    file: File, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    queues(file)
    damage(file, what)
    before = stored(file)
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
    assert stored(file) == before


@pytest.mark.parametrize("turn", ["bad head", "bad next"])
def test_a_submission_that_is_no_utf8_any_more_stops_no_other_thread(file: File, turn: str) -> None:
    queues(file)
    place = "WHERE stream_id = 'thread_queue:bad' AND json_extract(data, '$.queued_turn_id') = ?"
    text = b'{"queued_turn_id":"x","submission":{"text":"\xff"}}'
    file.damage(f"UPDATE events SET data = CAST(? AS TEXT) {place}", text, turn)
    with file.open() as ledger:
        listed = ledger.queue.list("bad")
        assert [one.queued_turn_id for one in listed if one.unreadable] == [turn]
        if turn == "bad head":
            with pytest.raises(Unreadable):
                ledger.queue.claim_head("bad", "worker")
        assert other_heads(ledger) == ["good", "fine"]


@pytest.mark.parametrize(("version", "text"), [(1, {"text": "new"}), (3, None)])
def test_of_an_edited_turn_the_last_submission_counts(
    file: File, version: int, text: dict[str, str] | None
) -> None:
    queues(file)
    with file.open() as ledger:
        ledger.queue.edit("bad", "bad head", {"text": "new"})
    place = "stream_id = 'thread_queue:bad' AND version = ?"
    file.damage(f"UPDATE events SET data = '{{' WHERE {place}", version)
    with file.open() as ledger:
        [shown, _] = ledger.queue.list("bad")
        claims = {claim.thread_id: claim for claim in ledger.queue.claim_next("worker", limit=9)}
    assert (shown.submission, shown.unreadable is None) == (text, text is not None)
    assert set(claims) == {"good", "fine"} | ({"bad"} if text else set())
    assert text is None or claims["bad"].submission == text


@pytest.mark.parametrize("what", SUBMISSIONS)
def test_a_damaged_submission_stops_nobody_who_reads_the_view(file: File, what: str) -> None:
    queues(file)
    damage(file, what)
    view = "SELECT queued_turn_id, submission FROM visible_queue WHERE thread_id IN {} ORDER BY 1"
    seen = file.rows(view.format("('bad', 'good')"))
    ids = ["bad head", "bad next", "good head", "good next"]
    texts = ['{"text":"next"}', '{"text":"head"}', '{"text":"next"}']
    assert [row["queued_turn_id"] for row in seen] == ids
    assert [row["submission"] for row in seen[1:]] == texts


def test_a_head_whose_state_is_damaged_is_not_passed_over(file: File) -> None:
    queues(file)
    file.damage("UPDATE queued_turns SET state = 'x' WHERE queued_turn_id = 'bad head'")
    with file.open() as ledger:
        listed = [turn.queued_turn_id for turn in ledger.queue.list("bad")]
        assert listed == ["bad head", "bad next"]
        assert ledger.queue.claim_head("bad", "worker") is None
        assert other_heads(ledger) == ["good", "fine"]


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


STATES = ["", "{", "[]", "[1,2,3]", '{"strange":1}', "null"]
LATE = 2**62  # past all years
FLIGHTS = [
    ["bad head", 0, LATE, None, "me", 1, 1, 1, None],
    ["bad head", 0, 1e300, None, "me", 1, 1, 1, None],
    ["bad head", 0, 1, LATE, "me", 1, 1, 1, None],
    ["bad head", 0, 1, None, "me", 1, LATE, 1, None],
    ["bad head", 0, 1, None],
]
STATES += [json.dumps([2, 1, 0, 0, None, flight]) for flight in FLIGHTS]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_a_damaged_head_row_stops_no_other_thread(file: File, state: str) -> None:
    queues(file)
    file.damage("UPDATE streams SET state = ? WHERE stream_id = 'thread_queue:bad'", state)
    assert {(one.where, one.row) for one in file.findings()} == {("streams", "thread_queue:bad")}
    with file.open() as ledger:
        assert [turn.unreadable for turn in ledger.queue.list("bad")] == [None, None]
        assert {"bad", "good", "fine"} <= {thread.thread_id for thread in ledger.threads.list()}
        assert other_heads(ledger) == ["good", "fine"]


def test_a_damaged_head_row_of_a_threads_life_stops_no_other_thread(file: File) -> None:
    queues(file)
    with file.open() as ledger:
        ledger.threads.archive("bad")
        ledger.threads.unarchive("bad")
    file.damage("UPDATE streams SET state = '{' WHERE stream_id = 'thread:bad'")
    with file.open() as ledger:
        assert other_heads(ledger) == ["good", "fine"]
