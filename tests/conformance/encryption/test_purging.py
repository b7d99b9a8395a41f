"""`ledger.purge`: contents are gone, and everything else is as it was."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
import pytest

import turnledger
from tests.conformance.audit.conftest import ITEMS, THREADS, Host
from turnledger import Claim, ContentPurged, InvalidInput, Ledger, Unreadable
from turnledger.infrastructure.key_store import KeyStore

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock
    from tests.conformance.encryption.conftest import Traces

PURGED = {"$purged": True}


def keys(ledger: Ledger) -> KeyStore:
    found = ledger._backend.contents._keys
    assert found is not None
    return found


def test_contents_of_a_thread_are_gone_and_those_of_others_are_not(ledger: Ledger) -> None:
    for thread in ("t", "u"):
        ledger.queue.append(thread, {"text": thread})
        ledger.inbox.post(thread, {"text": thread}, source="host", instructions="be kind")
        ledger.timers.create(thread, turnledger.Delay(seconds=60), {"text": thread})
        ledger.queue.pause(thread, f"because of {thread}")
    assert ledger.purge(thread_id="t") is True
    assert ledger.queue.list("t")[0].submission == PURGED
    (message,) = ledger.inbox.list("t")
    assert (message.content, message.instructions) == (PURGED, PURGED)
    assert ledger.timers.list("t")[0].content == PURGED
    reasons = [event.data["reason"] for event in ledger.log.read(types=["thread_queue.paused"])]
    assert reasons == ["[purged]", "because of u"]
    assert ledger.queue.list("u")[0].submission == {"text": "u"}
    assert ledger.inbox.list("u")[0].content == {"text": "u"}
    with ledger.as_of(1) as then:
        assert then.queue.list("t")[0].submission == PURGED


def test_contents_of_a_work_item_are_gone(ledger: Ledger) -> None:
    turns = ledger.coordinator
    claim = turns.begin("item", "m", owner="worker", turn_id="turn", attachments=[b"file"]).claim
    assert claim is not None
    turns.prepare(claim, {"ask": 1})
    turns.start_dispatch(claim, 1)
    run = ledger.runs.start("run", "item", "action", "worker")
    assert run is not None
    ledger.operations.once(run, "key", "send", {"to": "me"}, lambda: "sent")
    assert ledger.purge(work_item_id="item") is True
    turn = turns.get("turn")
    assert turn is not None
    assert (turn.message, turn.attempts[0].request) == (PURGED, PURGED)
    operation = ledger.operations.get("key")
    assert operation is not None
    assert (operation.payload, operation.result) == (PURGED, PURGED)
    with pytest.raises(Unreadable, match="purged"):
        ledger.attachments.read(turn.attachments[0])


@pytest.mark.parametrize("seed", [5, 6])
def test_events_chain_and_read_models_stay_whole(ledger: Ledger, clock: Clock, seed: int) -> None:
    host = Host(ledger, clock, seed)
    for _ in range(150):
        host.act()
    before = ledger.checkpoint()
    hashes = [event.hash for event in ledger.log.read(limit=100_000)]
    for thread in THREADS:
        ledger.purge(thread_id=thread)
    for item in ITEMS:
        ledger.purge(work_item_id=item)
    assert ledger.verify().ok
    assert ledger.replay().ok
    ledger.rebuild()
    assert ledger.verify().ok
    assert ledger.check(before).ok
    assert [event.hash for event in ledger.log.read(limit=100_000)] == hashes
    for _ in range(50):  # what is under way comes to its end
        with suppress(Unreadable):
            host.act()
    assert ledger.verify().ok


def test_no_byte_of_the_key_is_left(ledger: Ledger, kind: str, url: str, traces: Traces) -> None:
    ledger.queue.append("t", {"text": "hi"})
    ledger.queue.append("u", {"text": "hi"})
    secret, other = keys(ledger).of("thread:t").secret, keys(ledger).of("thread:u").secret
    assert secret is not None
    assert other is not None
    as_stored = (lambda one: one) if kind == "sqlite" else (lambda one: one.hex().encode())
    assert as_stored(secret) in traces("keys")
    before = files_of_the_keys(kind, url)
    ledger.purge(thread_id="t")
    left = traces("keys")
    assert as_stored(secret) not in left
    assert as_stored(other) in left
    assert kind == "sqlite" or files_of_the_keys(kind, url) != before  # rewritten: no old row in it


def files_of_the_keys(kind: str, url: str) -> list[object]:
    if kind == "sqlite":
        return []
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return list(connection.execute("SELECT pg_relation_filepath('public_keys.keys')"))


def test_what_waits_isnt_given_out_any_more(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.queue.append("t", {"text": "hi"})
    ledger.inbox.post("t", "hi", source="host")
    ledger.coordinator.begin("item", "m", turn_id="turn")
    ledger.queue.append("u", {"text": "hi"})
    ledger.purge(thread_id="t")
    ledger.purge(work_item_id="item")
    with pytest.raises(Unreadable, match="purged"):
        ledger.queue.claim_head("t", "worker")
    with caplog.at_level(logging.WARNING):
        assert [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=5)] == ["u"]
    assert "purged" in caplog.text
    with pytest.raises(Unreadable, match="purged"):
        ledger.inbox.claim_next("t", "worker", can_after_turn=True, can_steer_current_turn=True)
    with pytest.raises(Unreadable, match="purged"):
        ledger.coordinator.claim("turn", "worker")
    assert ledger.queue.clear("t") == 1
    assert ledger.verify().ok


def test_nothing_more_is_taken_in(ledger: Ledger) -> None:
    turn = ledger.queue.append("t", {"text": "hi"}, idempotency_key="k")
    ledger.purge(thread_id="t")
    refused: tuple[Callable[[], object], ...] = (
        lambda: ledger.queue.append("t", {"text": "hi"}, idempotency_key="k"),
        lambda: ledger.queue.edit("t", turn.queued_turn_id, {}),
        lambda: ledger.inbox.post("t", "hi", source="host"),
        lambda: ledger.timers.create("t", turnledger.Delay(seconds=60), "hi"),
    )
    for command in refused:
        with pytest.raises(ContentPurged):
            command()
    assert ledger.queue.append("u", {}).thread_id == "u"


def test_what_is_under_way_is_settled_all_the_same(ledger: Ledger) -> None:
    claims: dict[str, Claim] = {}
    for thread in ("t", "u"):
        ledger.queue.append(thread, {"text": "hi"})
        claim = ledger.queue.claim_head(thread, "worker")
        assert claim is not None
        ledger.queue.start_dispatch(claim, "d")
        claims[thread] = claim
        ledger.purge(thread_id=thread)
    ledger.queue.ack(claims["t"])
    ledger.queue.fail(claims["u"], {"secret": "reason"})
    failed = ledger.queue.list("u")[0]
    assert (failed.failure, failed.state) == (PURGED, "failed")
    assert ledger.verify().ok


def test_a_purge_can_be_given_again(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    assert ledger.purge(thread_id="t") is True
    assert ledger.purge(thread_id="t") is False
    assert ledger.purge(thread_id="nobody") is False
    ledger.queue.append("nobody", {})


def test_a_purge_is_of_one_thing(ledger: Ledger) -> None:
    for wrong in ({}, {"thread_id": "t", "work_item_id": "i"}, {"thread_id": ""}):
        with pytest.raises(InvalidInput):
            ledger.purge(**wrong)


def test_a_reader_cant_purge(ledger: Ledger, opening: Callable[..., Ledger]) -> None:
    ledger.queue.append("t", {"text": "hi"})
    with pytest.raises(turnledger.StoreReadOnly):
        opening(read_only=True).purge(thread_id="t")
    with ledger.as_of(1) as then:
        for command in (then.purge, lambda thread_id: then.queue.append(thread_id, {})):
            with pytest.raises(turnledger.StoreReadOnly):
                command(thread_id="new")
    assert keys(ledger).rows() == [("thread:t", *keys(ledger).of("thread:t"))]
    assert ledger.queue.list("t")[0].submission == {"text": "hi"}
