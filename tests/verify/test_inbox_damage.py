"""Inboxes whose history breaks a rule, and head rows that are of no use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import MessageClaim, Unreadable

if TYPE_CHECKING:
    from tests.verify.conftest import File

END = "2026-01-05T09:02:00Z"
INBOX = "inbox:mail"
POSTED = {
    "message_id": "new",
    "arrival": 5,
    "content": 1,
    "source": "forger",
    "created_at": END,
    "delivery": "after-turn",
    "instructions": None,
    "metadata": {},
}
HELD = {"message_id": "mail 3", "epoch": 3}
CLAIM = {"owner": "forger", "expires_at": END, "claims": 1, "deliveries": 1}
CAN = {"can_after_turn": True, "can_steer_current_turn": False}


def test_a_forged_event_that_breaks_no_rule_shows_in_the_rows_only(file: File) -> None:
    file.forge(INBOX, "inbox.confirmed", HELD)
    found = {finding.where for finding in file.findings()}
    assert found == {"inbox_messages", "streams"}


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a message twice": ("posted", {**POSTED, "message_id": "mail 1"}),
    "an arrival twice": ("posted", {**POSTED, "arrival": 4}),
    "an arrival left out": ("posted", {**POSTED, "arrival": 6}),
    "a second flight": ("claimed", {**CLAIM, "message_id": "mail 4", "epoch": 4}),
    "a rejection in flight": ("rejected", {"message_id": "mail 4", "reason": "no"}),
    "a confirmation of another": ("confirmed", {**HELD, "message_id": "mail 4"}),
    "a confirmation of another epoch": ("confirmed", {**HELD, "epoch": 2}),
    "a release of another": ("released", {**HELD, "message_id": "mail 1"}),
    "a recovery of another epoch": ("recovered", {**HELD, "epoch": 4}),
    "an expiry of another": (
        "expired",
        {**HELD, "message_id": "mail 0", "deliveries": 1, "reason": "no"},
    ),
    "a requeue of what waits": ("requeued", {"message_id": "mail 4"}),
    "a requeue of what never was": ("requeued", {"message_id": "never"}),
    "a deletion of what is done": ("deleted", {"message_id": "mail 1", "undelivered": False}),
    "a deletion as something else": ("deleted", {"message_id": "mail 4", "undelivered": True}),
    "a clearing with other counts": (
        "cleared",
        {"waiting": 2, "undelivered": 1, "in_flight_id": "mail 3"},
    ),
    "a clearing that leaves a flight": (
        "cleared",
        {"waiting": 1, "undelivered": 1, "in_flight_id": None},
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_an_event_that_breaks_a_rule_is_named(file: File, broken: str) -> None:
    kind, data = BROKEN[broken]
    position = file.forge(INBOX, f"inbox.{kind}", data)
    assert file.first_bad() == position


def test_only_the_oldest_message_is_claimed(file: File) -> None:
    with file.open() as ledger:
        claim = MessageClaim(
            thread_id="mail", owner="worker", epoch=3, generation=ledger.generation
        )
        ledger.inbox.confirm(claim)
        ledger.inbox.post("mail", "behind", source="test", message_id="behind")
    forged = {**CLAIM, "message_id": "behind", "epoch": 4}
    position = file.forge(INBOX, "inbox.claimed", forged)
    assert file.first_bad() == position


def test_a_message_id_is_of_one_message_in_the_ledger(file: File) -> None:
    with file.open() as ledger:
        ledger.inbox.post("other", 1, source="test")
    forged = {**POSTED, "message_id": "mail 1", "arrival": 1}
    assert file.forge("inbox:other", "inbox.posted", forged) == file.first_bad()


def test_evidence_of_an_epoch_that_was_never_given_out_is_named(file: File) -> None:
    forged = {"owner": "x", "epoch": 9, "kind": "confirm", "value": None, "altered": False}
    position = file.forge(
        "evidence:inbox:mail", "evidence.kept_of_message", {"message_id": "mail 0", **forged}
    )
    assert file.first_bad() == position


# --- what goes on in spite of damage


@pytest.mark.parametrize(
    "damage", ["state = '[]'", "state = 'x'", "form = 0", "form = 99, state = '{}'"]
)
def test_a_head_row_of_no_use_is_folded_from_the_events(file: File, damage: str) -> None:
    file.damage(f"UPDATE streams SET {damage} WHERE stream_id = '{INBOX}'")
    file.clock.advance(60)
    with file.open() as ledger:
        assert ledger.inbox.recover("mail").messages_expired == 1
        assert ledger.inbox.requeue("mail", "mail 3").state == "pending"
        claim: Any = ledger.inbox.claim_next("mail", "worker", **CAN)
        assert (claim.message_id, claim.epoch) == ("mail 3", 4)
    assert file.verify().ok


def test_a_content_that_cant_be_read_stays_where_it_is_and_holds_up_its_own_inbox_only(
    file: File,
) -> None:
    file.clock.advance(60)
    with file.open() as ledger:
        ledger.inbox.recover()
        ledger.inbox.post("other", "fine", source="test")
    file.damage("UPDATE events SET data = 'x' WHERE data LIKE '%\"message_id\":\"mail 4\"%'")
    with file.open() as ledger:
        (message,) = ledger.inbox.list("mail")
        assert (message.content, message.unreadable is None) == (None, False)
        with pytest.raises(Unreadable, match="message mail 4"):
            ledger.inbox.claim_next("mail", "worker", **CAN)
        assert isinstance(ledger.inbox.claim_next("other", "worker", **CAN), MessageClaim)
        known = ledger.inbox.get("mail", "mail 4")
        assert known is not None
        assert known.state == "pending"
        assert ledger.inbox.delete("mail", "mail 4")


def test_a_damaged_row_is_named_and_not_acted_on(file: File) -> None:
    file.damage("UPDATE inbox_messages SET queued_at = 'x' WHERE message_id = 'mail 4'")
    with file.open() as ledger:
        (message,) = ledger.inbox.list("mail")
        assert message.unreadable is not None
        with pytest.raises(Unreadable):
            ledger.inbox.delete("mail", "mail 4")
