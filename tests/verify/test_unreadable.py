"""What can't be read: it is kept and shown, named, and stops nothing else.

Here are the events of newer releases; damaged turns have tests of their own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InboxRecovery, Unreadable

if TYPE_CHECKING:
    from tests.verify.conftest import File

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
    file.damage("UPDATE queued_turns SET attempts = 9 WHERE thread_id = 'busy'")
    assert {(one.where, one.row) for one in file.findings()} == {
        ("queued_turns", f"busy, busy {number}") for number in range(4)
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


def test_recovering_all_threads_passes_over_the_only_one_that_cant_be_read(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    for stream_id in ("thread_queue:flying", "inbox:mail"):
        newer(file, "a newer type", stream_id)
        file.damage("UPDATE streams SET state = 'x' WHERE stream_id = ?", stream_id)
    file.clock.advance(3_600)
    with file.open() as ledger:
        assert ledger.queue.recover() == []
        assert ledger.inbox.recover() == InboxRecovery()
        for recover, thread in ((ledger.queue.recover, "flying"), (ledger.inbox.recover, "mail")):
            with pytest.raises(Unreadable):
                recover(thread)
    assert [record.getMessage()[:11] for record in caplog.records] == ["passed over"] * 2


def test_evidence_about_a_thread_with_a_newer_event_stays(file: File) -> None:
    newer(file, "a newer type", BUSY)
    with file.open() as ledger:
        turn = ledger.queue.get("busy", "busy 2")
    assert turn is not None
    assert json.dumps(turn.evidence[0].value) == '{"too": "late"}'
