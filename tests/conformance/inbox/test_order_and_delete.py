"""The order of messages, `get`, and taking one out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger import ThreadDeleted

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock
    from tests.conformance.inbox.conftest import Box


def test_messages_of_one_time_come_in_the_order_of_their_arrival(box: Box) -> None:
    box.post("one", "two", "three")
    assert box.texts() == ["one", "two", "three"]
    assert [message.arrival for message in box.inbox.list("thread")] == [0, 1, 2]


def test_a_back_dated_message_goes_ahead(box: Box) -> None:
    box.post("one")
    box.back_dated("older", 60)
    box.back_dated("oldest", 3_600)
    box.back_dated("as old", 60)
    assert box.texts() == ["oldest", "older", "as old", "one"]


def test_a_time_ahead_only_orders(box: Box, clock: Clock) -> None:
    box.post("later", queued_at=clock.now + timedelta(days=1))
    clock.advance(1)
    box.post("now")
    assert box.texts() == ["now", "later"]
    box.inbox.confirm(box.claim())
    assert box.claim().content == "later"


def test_a_message_that_goes_ahead_leaves_the_one_in_flight_alone(box: Box) -> None:
    box.post("one", "two")
    claim = box.claim()
    box.back_dated("older", 60)
    box.inbox.confirm(claim)
    assert box.claim().content == "older"


def test_a_list_is_of_one_thread(box: Box) -> None:
    box.post("one")
    box.post("other", thread="other")
    assert (box.texts(), box.texts("other"), box.texts("never")) == (["one"], ["other"], [])


def test_a_message_in_flight_isnt_listed(box: Box) -> None:
    box.post("one", "two")
    claim = box.claim()
    assert box.texts() == ["two"]
    flying = box.message(claim.message_id)
    assert (flying.state, flying.owner, flying.epoch) == ("claimed", "worker", 1)
    assert flying.expires_at == claim.expires_at


def test_delete_takes_a_message_out_once(box: Box) -> None:
    one, _ = box.post("one", "two")
    assert box.inbox.delete("thread", one) is True
    assert box.inbox.delete("thread", one) is False
    assert box.texts() == ["two"]
    assert box.state(one) == "deleted"
    assert box.message(one).content == "one"


def test_delete_is_scoped_to_the_thread(box: Box) -> None:
    (one,) = box.post("one")
    box.post("other", thread="other")
    assert box.inbox.delete("other", one) is False
    assert box.inbox.get("other", one) is None
    assert box.texts() == ["one"]


def test_what_is_in_flight_or_settled_isnt_deleted(box: Box) -> None:
    (one,) = box.post("one")
    claim = box.claim()
    assert box.inbox.delete("thread", one) is False
    box.inbox.confirm(claim)
    assert box.inbox.delete("thread", one) is False
    assert box.state(one) == "confirmed"


def test_an_undelivered_message_can_be_deleted(box: Box, clock: Clock) -> None:
    (one,) = box.post("one")
    box.claim()
    clock.advance(60)
    box.inbox.recover("thread")
    assert box.inbox.delete("thread", one) is True
    assert (box.undelivered(), box.state(one)) == ([], "deleted")


def test_get_answers_none_only_for_what_never_was(box: Box) -> None:
    assert box.inbox.get("thread", "never") is None
    (one,) = box.post("one")
    assert box.message(one).content == "one"


def test_nothing_is_deleted_of_a_deleted_thread(box: Box) -> None:
    (one,) = box.post("one")
    box.ledger.threads.delete("thread")
    with pytest.raises(ThreadDeleted):
        box.inbox.delete("thread", one)
