"""The past of a ledger with streams that can't be replayed: known as far as it goes, and named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import Unreadable

if TYPE_CHECKING:
    from tests.verify.conftest import File

LATER = "thread_queue:later"


def test_a_whole_ledger_has_a_whole_past(file: File) -> None:
    with file.open() as ledger, ledger.as_of(file.last) as past:
        assert (past.unread, past.verify().findings) == ({}, ())
        assert past.log.read(limit=10_000) == ledger.log.read(limit=10_000)


def test_a_stream_with_an_event_of_a_newer_release_is_named(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    position = file.forge(LATER, "thread_queue.teleported", {"to": [1, 2]})
    with file.open() as ledger:
        with ledger.as_of(position - 1) as past:
            assert (past.unread, past.queue.why_blocked("later")) == ({}, "not_yet")
        assert caplog.records == []
        with ledger.as_of(position) as past:
            assert list(past.unread) == [LATER]
            [said] = caplog.records
            assert LATER in said.getMessage()
            assert [turn.queued_turn_id for turn in past.queue.list("later")] == ["later 0"]
            with pytest.raises(Unreadable, match=LATER):
                past.queue.why_blocked("later")
            summary = past.threads.get("later")
            assert summary is not None
            assert summary.unreadable
            assert past.queue.why_blocked("paused") == "paused"
            assert past.log.read(position - 1)[0].type == "thread_queue.teleported"
        with ledger.as_of(position, thread_id="paused") as past:
            assert past.unread == {}


def test_a_stream_that_begins_with_a_newer_event_isnt_empty(file: File) -> None:
    position = file.forge("thread_queue:unheard of", "thread_queue.teleported", {})
    with file.open() as ledger, ledger.as_of(position, thread_id="unheard of") as past:
        with pytest.raises(Unreadable, match="unheard of"):
            past.queue.why_blocked("unheard of")
        [summary] = past.threads.list()
        assert summary.unreadable


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("data = '{}'", "its bytes don't give its hash"),
        ("data = CAST(x'7b22ff227d' AS TEXT)", "its bytes don't give its hash"),
        ("recorded_at = 'x'", "isn't of its type"),
        ("hash = x'00'", "its bytes don't give its hash"),
    ],
)
def test_a_damaged_stream_is_named(
    file: File, change: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with file.open() as ledger:
        position = ledger.history(thread_id="later")[0].position
        shown = ledger.log.read(position, limit=10_000)
    file.damage(f"UPDATE events SET {change} WHERE position = {position}")
    with file.open() as ledger, ledger.as_of(file.last) as past:
        assert list(past.unread) == [LATER]
        assert f"event {position} is damaged" in past.unread[LATER]
        assert said in past.unread[LATER]
        assert LATER in caplog.records[-1].getMessage()
        with pytest.raises(Unreadable, match="is damaged"):
            past.queue.why_blocked("later")
        assert past.log.read(position, limit=10_000) == shown
        assert past.queue.why_blocked("paused") == "paused"


def test_events_that_break_a_rule_are_named(file: File) -> None:
    position = file.forge(LATER, "thread_queue.acked", {"queued_turn_id": "x", "dispatch_id": "d"})
    with file.open() as ledger, ledger.as_of(position) as past:
        assert list(past.unread) == [LATER]


def test_a_log_with_many_streams_that_cant_be_replayed_stays_readable(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(25):
        file.forge(f"thread_queue:{number}", "thread_queue.teleported", {})
    with file.open() as ledger, ledger.as_of(file.last) as past:
        assert len(past.unread) == 25
    assert len(caplog.records) == 21
    assert caplog.records[-1].getMessage().endswith("and 5 more streams")
