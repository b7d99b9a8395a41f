"""What an archived and a deleted thread do with their inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, MessageClaim, ThreadArchived, ThreadDeleted

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Store
    from tests.conformance.inbox.conftest import Box


# --- archived


def test_an_archived_thread_takes_no_message(box: Box) -> None:
    box.post("one")
    box.ledger.threads.archive("thread")
    with pytest.raises(ThreadArchived):
        box.post("two")
    assert box.texts() == ["one"]


def test_a_thread_that_was_archived_before_anything_else_takes_no_message(box: Box) -> None:
    box.ledger.threads.archive("thread")
    with pytest.raises(ThreadArchived):
        box.post("one")
    box.ledger.threads.unarchive("thread")
    box.post("one")
    assert box.texts() == ["one"]


def test_every_claim_of_an_archived_thread_gives_none(box: Box) -> None:
    box.post("one")
    box.ledger.threads.archive("thread")
    assert box.ask() is None
    assert box.ask(idle=False) is None


def test_what_is_in_flight_in_an_archived_thread_may_end(box: Box, clock: Clock) -> None:
    one, two, three = box.post("one", "two", "three")
    claim = box.claim()
    box.ledger.threads.archive("thread")
    assert box.ask() is None
    box.inbox.release(claim)
    box.ledger.threads.unarchive("thread")
    claim = box.claim()
    box.ledger.threads.archive("thread")
    box.inbox.confirm(claim)
    box.ledger.threads.unarchive("thread")
    box.claim()
    clock.advance(60)
    box.ledger.threads.archive("thread")
    assert box.inbox.recover("thread").messages_expired == 1
    assert box.inbox.delete("thread", three) is True
    assert [box.state(one) for one in (one, two, three)] == ["confirmed", "expired", "deleted"]


def test_no_unknown_delivery_is_rejected_while_the_thread_is_archived(box: Box) -> None:
    new = box.from_a_newer_release("by-pigeon")
    box.ledger.threads.archive("thread")
    assert box.ask() is None
    assert box.state(new) == "pending"


def test_unarchiving_gives_everything_back_as_it_was(box: Box) -> None:
    box.post("one", "two")
    before = box.inbox.list("thread")
    box.ledger.threads.archive("thread")
    assert box.inbox.list("thread") == before
    box.ledger.threads.unarchive("thread")
    assert box.inbox.list("thread") == before
    assert box.claim().content == "one"


# --- deleted


@pytest.fixture
def ended(box: Box, clock: Clock) -> tuple[list[str], MessageClaim]:
    """A deleted thread with an undelivered message, one in flight, a pending one, a done one."""
    ids = box.post("undelivered", "done", "flying", "pending")
    box.claim()
    clock.advance(60)
    box.inbox.recover()
    box.inbox.confirm(box.claim())
    claim = box.claim()
    box.post("other", thread="other")
    assert box.ledger.threads.delete("thread").messages == 3
    return ids, claim


def test_every_message_of_a_deleted_thread_ends(
    box: Box, ended: tuple[list[str], MessageClaim]
) -> None:
    states = [box.state(message) for message in ended[0]]
    assert states == ["deleted", "confirmed", "deleted", "deleted"]
    flying = box.message(ended[0][2])
    assert (flying.owner, flying.expires_at, flying.content) == (None, None, "flying")


@pytest.mark.usefixtures("ended")
def test_reads_of_a_deleted_thread_are_empty(box: Box) -> None:
    assert (box.texts(), box.undelivered()) == ([], [])
    assert box.ask() is None
    assert box.inbox.recover().messages_expired == 0


@pytest.mark.usefixtures("ended")
def test_other_threads_are_not_touched(box: Box) -> None:
    assert box.texts("other") == ["other"]
    assert box.claim(thread="other").content == "other"


def test_its_claim_is_fenced_off_and_the_evidence_kept(
    box: Box, ended: tuple[list[str], MessageClaim]
) -> None:
    ids, claim = ended
    for command in (box.inbox.release, box.inbox.confirm):
        with pytest.raises(ClaimLost):
            command(claim)
    (piece,) = box.message(ids[2]).evidence
    assert (piece.kind, piece.epoch) == ("confirm", claim.epoch)


@pytest.mark.usefixtures("ended")
def test_all_else_is_refused(box: Box) -> None:
    for command in (
        lambda: box.post("late"),
        lambda: box.inbox.delete("thread", "m"),
        lambda: box.inbox.requeue("thread", "m"),
        lambda: box.inbox.recover("thread"),
    ):
        with pytest.raises(ThreadDeleted):
            command()


def test_deleting_again_ends_nothing_more(box: Box, store: Store) -> None:
    box.post("one")
    box.ledger.threads.delete("thread")
    before = len(store.events())
    assert box.ledger.threads.delete("thread").messages == 0
    assert len(store.events()) == before


def test_one_command_ends_queue_and_inbox(box: Box) -> None:
    box.post("one")
    box.ledger.queue.append("thread", {})
    summary = box.ledger.threads.delete("thread")
    assert (summary.queued_turns, summary.messages) == (1, 1)
    last = [event for event in box.ledger.log.read() if event.type.endswith(("cleared", "deleted"))]
    assert [event.type for event in last] == [
        *("thread_queue.cleared", "inbox.cleared", "thread.deleted")
    ]
    assert len({event.metadata["command"]["id"] for event in last}) == 1


def test_clearing_the_queue_leaves_the_inbox_alone(box: Box) -> None:
    box.post("one")
    box.ledger.queue.append("thread", {})
    box.ledger.queue.clear("thread")
    assert box.texts() == ["one"]
