"""`post`: what comes in, what comes back, and the names that act as keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from turnledger import (
    IdempotencyConflict,
    InvalidIdentifier,
    InvalidPayload,
    InvalidTime,
    Ledger,
    PayloadTooLarge,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Store
    from tests.conformance.inbox.conftest import Box

JSON = {"b": 2**70, "a": ["\0", "é😀", {}, [], 0.5, None], "": True}


def test_what_was_posted_comes_back(ledger: Ledger, box: Box, clock: Clock) -> None:
    queued_at = clock.now - timedelta(minutes=5)
    posted = ledger.inbox.post(
        "thread",
        JSON,
        source="a webhook",
        delivery="steer-current-turn",
        instructions={"tone": "kind"},
        metadata={"z": 1, "a": JSON},
        queued_at=queued_at,
        message_id="m",
    )
    assert (posted.thread_id, posted.message_id, posted.source) == ("thread", "m", "a webhook")
    assert (posted.content, posted.instructions) == (JSON, {"tone": "kind"})
    assert list(posted.metadata) == ["z", "a"]
    assert (posted.queued_at, posted.created_at) == (queued_at, clock.now)
    assert (posted.state, posted.deliveries, posted.duplicate) == ("pending", 0, False)
    assert box.inbox.list("thread") == [posted]
    assert box.message("m") == posted


def test_what_isnt_said_is_as_the_page_says(box: Box, clock: Clock) -> None:
    posted = box.inbox.post("thread", "hi", source="test")
    assert posted.delivery == "after-turn"
    assert (posted.instructions, posted.metadata) == (None, {})
    assert posted.queued_at == clock.now
    assert str(UUID(posted.message_id)) == posted.message_id


@pytest.mark.parametrize("content", ["text", 0, None, [], {}, JSON])
def test_a_content_is_any_json(box: Box, content: Any) -> None:
    posted = box.inbox.post("thread", content, source="test")
    assert posted.content == content
    assert type(box.message(posted.message_id).content) is type(content)


@pytest.mark.parametrize("delivery", ["", "before-turn", None, "After-Turn", 1])
def test_an_unknown_delivery_of_a_caller_is_refused(box: Box, delivery: Any) -> None:
    with pytest.raises(InvalidPayload, match="delivery"):
        box.post("hi", delivery=delivery)
    assert box.texts() == []


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"source": ""}, InvalidIdentifier),
        ({"source": "a\nb"}, InvalidIdentifier),
        ({"thread": ""}, InvalidIdentifier),
        ({"thread": "x" * 257}, InvalidIdentifier),
        ({"message_id": ""}, InvalidIdentifier),
        ({"message_id": "x" * 257}, InvalidIdentifier),
        ({"message_id": "a\x85"}, InvalidIdentifier),
        ({"idempotency_key": ""}, InvalidIdentifier),
        ({"metadata": [1]}, InvalidPayload),
        ({"metadata": {"a": float("nan")}}, InvalidPayload),
        ({"instructions": {1}}, InvalidPayload),
        ({"queued_at": datetime(2026, 1, 1)}, InvalidTime),  # noqa: DTZ001 - that is the point
        ({"queued_at": "now"}, InvalidTime),
    ],
)
def test_bad_arguments_are_refused(box: Box, said: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        box.post("hi", **said)
    assert box.texts() == []


def test_what_json_doesnt_have_is_refused_wherever_it_stands(box: Box) -> None:
    deep: Any = {}
    for _ in range(100):
        deep = [deep]
    for bad in (float("nan"), float("inf"), "\ud800", {1: 2}, (1,), b"", 10**4_300, deep):
        for said in ({"content": bad}, {"instructions": bad}, {"metadata": {"key": bad}}):
            with pytest.raises(InvalidPayload):
                box.inbox.post("thread", **{"content": "hi", "source": "test", **said})
    assert box.texts() == []


def test_each_part_of_a_message_has_the_limit_for_itself(box: Box) -> None:
    most = "x" * (2**20 - 2)
    posted = box.inbox.post("thread", most, source="test", instructions=most)
    assert box.message(posted.message_id) == posted
    for said in ({"content": most + "x"}, {"instructions": most + "x"}, {"metadata": {"": most}}):
        with pytest.raises(PayloadTooLarge):
            box.inbox.post("thread", **{"content": "hi", "source": "test", **said})


def test_a_place_is_any_time_that_utc_has(box: Box) -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    east = timezone(timedelta(hours=5))
    for text, place in (("last", last), ("first", first)):
        assert box.inbox.post("thread", text, source="test", queued_at=place).queued_at == place
    (east_of,) = box.post("there", queued_at=datetime(2026, 1, 1, 5, tzinfo=east))
    assert box.message(east_of).queued_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert box.texts() == ["first", "there", "last"]
    with pytest.raises(InvalidTime):
        box.post("before all", queued_at=first.replace(tzinfo=east))


def test_what_comes_back_is_a_fresh_copy(box: Box) -> None:
    content = {"list": [1]}
    posted = box.inbox.post("thread", content, source="test")
    content["list"].append(2)
    posted.content["list"].append(3)
    posted.metadata["more"] = True
    assert box.message(posted.message_id).content == {"list": [1]}
    assert box.inbox.post("thread", "next", source="test").metadata == {}


def test_a_content_past_the_limit_is_too_large(open_ledger: Callable[..., Ledger]) -> None:
    ledger = open_ledger(max_payload_bytes=10)
    ledger.inbox.post("thread", "x" * 8, source="test")
    with pytest.raises(PayloadTooLarge):
        ledger.inbox.post("thread", "x" * 9, source="test")


# --- names that act as keys


def test_the_same_id_with_the_same_message_is_posted_once(box: Box) -> None:
    first = box.inbox.post("thread", JSON, source="test", message_id="m")
    box.inbox.confirm(box.claim())
    again = box.inbox.post("thread", JSON, source="test", message_id="m")
    assert again.duplicate
    assert (again.state, again.content, again.queued_at) == ("pending", JSON, first.queued_at)
    assert box.texts() == []


@pytest.mark.parametrize(
    "other",
    [
        {"content": "other"},
        {"source": "other"},
        {"delivery": "steer-current-turn"},
        {"instructions": "other"},
        {"metadata": {"a": 1}},
        {"thread_id": "other"},
    ],
)
def test_an_id_is_used_for_one_message_in_the_whole_ledger(box: Box, other: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"thread_id": "thread", "content": "hi", "source": "test"}
    box.inbox.post(**usual, message_id="m")
    with pytest.raises(IdempotencyConflict):
        box.inbox.post(**{**usual, **other}, message_id="m")
    assert box.texts() == ["hi"]
    assert box.texts("other") == []


def test_an_id_with_another_place_is_another_message(box: Box, clock: Clock) -> None:
    box.post("hi", message_id="m")
    with pytest.raises(IdempotencyConflict):
        box.post("hi", message_id="m", queued_at=clock.now)


def test_a_key_gives_the_first_result_again(box: Box, store: Store) -> None:
    first = box.inbox.post("thread", "hi", source="test", idempotency_key="k")
    events = len(store.events())
    again = box.inbox.post("thread", "hi", source="test", idempotency_key="k")
    assert again.duplicate
    assert again.message_id == first.message_id
    assert len(store.events()) == events


def test_a_key_with_another_content_is_a_conflict(box: Box) -> None:
    box.post("hi", idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        box.post("other", idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        box.ledger.queue.append("thread", {}, idempotency_key="k")


def test_the_scope_of_a_key_is_its_thread(box: Box) -> None:
    box.post("hi", idempotency_key="k")
    box.post("other", idempotency_key="k", thread="other")
    assert (box.texts(), box.texts("other")) == (["hi"], ["other"])


def test_a_key_is_looked_up_before_the_life_of_the_thread(box: Box) -> None:
    (first,) = box.post("hi", idempotency_key="k")
    box.ledger.threads.delete("thread")
    assert box.post("hi", idempotency_key="k") == [first]


# --- what is recorded


def test_the_event_and_the_record_of_the_command_hold_the_content_once(
    ledger: Ledger, box: Box
) -> None:
    with ledger.acting_as(actor="somebody"):
        box.post("a text that is looked for")
    (event,) = ledger.log.read(streams=["inbox:thread"])
    assert (event.type, event.version) == ("inbox.posted", 1)
    assert event.data["content"] == "a text that is looked for"
    assert "looked for" not in str(event.metadata)
    assert event.metadata["actor"] == "somebody"
    assert event.metadata["command"]["name"] == "post"


def test_a_thread_is_known_by_its_first_message(box: Box) -> None:
    assert box.ledger.threads.get("thread") is None
    box.post("hi")
    summary = box.ledger.threads.get("thread")
    assert summary is not None
    assert (summary.state, summary.why_blocked, summary.waiting) == ("idle", "empty", 0)
    assert box.ledger.threads.list() == [summary]


def test_a_queue_that_begins_later_goes_on_in_the_same_thread(box: Box) -> None:
    box.post("hi")
    box.ledger.queue.append("thread", {"text": "turn"})
    claim = box.ledger.queue.claim_head("thread", "worker")
    assert claim is not None
    assert [one.thread_id for one in box.ledger.threads.list()] == ["thread"]


def test_a_refused_or_empty_command_names_no_thread(box: Box) -> None:
    assert box.ask() is None
    assert box.inbox.delete("thread", "m") is False
    assert box.inbox.recover("thread").messages_expired == 0
    assert box.ledger.threads.get("thread") is None
