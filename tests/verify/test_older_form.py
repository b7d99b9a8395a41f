"""A head row whose state has another form is rebuilt from the events at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, InvalidTransition, ThreadArchived, ThreadDeleted

if TYPE_CHECKING:
    from tests.verify.conftest import File

FORMS = pytest.mark.parametrize("form", [0, 99])


def other_form(file: File, stream_id: str, form: int) -> None:
    """What another release has left in a head row."""
    statement = "UPDATE streams SET form = ?, state = ? WHERE stream_id = ?"
    file.damage(statement, form, '{"of":"another form"}', stream_id)


@FORMS
def test_commands_are_decided_as_before(file: File, form: int) -> None:
    other_form(file, "thread_queue:busy", form)
    with file.open() as ledger:
        assert ledger.queue.why_blocked("busy") == "failed_head"
        with pytest.raises(InvalidTransition):
            ledger.queue.retry("busy", "busy 2")
        new = ledger.queue.append("busy", {"n": "new"})
        assert new.queue_order == 4
        ledger.queue.resolve("busy", "busy 2", "retry", by="me")
        claim = ledger.queue.claim_head("busy", "me")
        assert claim is not None
        assert (claim.queued_turn_id, claim.epoch) == ("busy 2", 3)
    assert file.verify().ok


@FORMS
def test_the_first_command_that_records_something_writes_the_new_form(
    file: File, form: int
) -> None:
    query = "SELECT form, state FROM streams WHERE stream_id = 'thread_queue:busy'"
    [before] = file.rows(query)
    other_form(file, "thread_queue:busy", form)
    with file.open() as ledger:
        ledger.queue.edit("busy", "busy 3", {"n": "again"})
    assert file.rows(query) == [before]
    assert file.verify().ok


@FORMS
def test_a_claim_goes_on_across_the_forms(file: File, form: int) -> None:
    file.clock.advance(-3_600)
    with file.open() as ledger:
        ledger.queue.append("held", {})
        claim = ledger.queue.claim_head("held", "worker", 60)
        assert claim is not None
    other_form(file, "thread_queue:held", form)
    with file.open() as ledger:
        assert ledger.queue.why_blocked("held") == "in_flight"
        ledger.queue.renew(claim)
        ledger.queue.start_dispatch(claim, "mine")
        ledger.queue.ack(claim)
        with pytest.raises(ClaimLost):
            ledger.queue.renew(claim)
    assert file.verify().ok


@FORMS
def test_a_dispatch_in_flight_is_recovered_across_the_forms(file: File, form: int) -> None:
    other_form(file, "thread_queue:flying", form)
    file.clock.advance(3_600)
    with file.open() as ledger:
        assert ledger.queue.why_blocked("flying") == "expired_claim"
        [turn] = ledger.queue.recover()
        assert (turn.queued_turn_id, turn.outcome_unknown) == ("flying 0", True)
    assert file.verify().ok


@FORMS
def test_paused_and_early_queues_are_that_across_the_forms(file: File, form: int) -> None:
    other_form(file, "thread_queue:paused", form)
    other_form(file, "thread_queue:later", form)
    with file.open() as ledger:
        assert ledger.queue.why_blocked("paused") == "paused"
        assert ledger.queue.why_blocked("later") == "not_yet"
        assert ledger.queue.claim_next("me", limit=9) == []
        ledger.queue.resume("paused")
        file.clock.advance(3_600)
        claims = ledger.queue.claim_next("me", limit=9)
    assert [claim.thread_id for claim in claims] == ["later", "paused"]
    assert file.verify().ok


@FORMS
def test_an_archived_and_a_deleted_thread_are_that_across_the_forms(file: File, form: int) -> None:
    other_form(file, "thread:archived", form)
    other_form(file, "thread:ended", form)
    with file.open() as ledger:
        with pytest.raises(ThreadArchived):
            ledger.queue.append("archived", {})
        with pytest.raises(ThreadDeleted):
            ledger.queue.append("ended", {})
        assert ledger.queue.why_blocked("archived") == "archived"
        assert ledger.queue.why_blocked("ended") == "deleted"


@FORMS
def test_the_life_of_a_thread_goes_on_across_the_forms(file: File, form: int) -> None:
    other_form(file, "thread:archived", form)
    with file.open() as ledger:
        ledger.threads.archive("archived")
        ledger.threads.unarchive("archived")
        assert ledger.queue.append("archived", {}).state == "pending"
    assert file.verify().ok


def test_the_control_has_the_form_of_this_release(file: File) -> None:
    with file.open() as ledger:
        assert ledger.queue.why_blocked("busy") == "failed_head"
        assert ledger.queue.append("busy", {}).queue_order == 4
    assert file.verify().ok


def test_what_else_such_a_row_says_is_looked_at(file: File) -> None:
    statement = "UPDATE streams SET form = 0, expires_at = expires_at + 1 WHERE stream_id = ?"
    file.damage(statement, "thread_queue:flying")
    [finding] = file.findings()
    assert (finding.where, finding.row) == ("streams", "thread_queue:flying")
    assert finding.message == "expires_at isn't what the events say"
