"""F6: one stored record is damaged, or of a newer release. The rest goes on, and it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from tests.conformance.processes.conftest import Worker
    from turnledger import Ledger

DAMAGE = """UPDATE events SET data = ? WHERE (stream_id, version) IN (
    SELECT 'thread_queue:' || thread_id, submission_version FROM queued_turns
    WHERE queued_turn_id = ?
)"""
NEWER = "UPDATE events SET schema_version = 99, data = ? WHERE position = ?"
NEWER_DATA = '{"queued_turn_id":"of tomorrow","shape":"of tomorrow"}'
STORED = "SELECT count(*) FROM events WHERE data = ?"
BROKEN = ['{"text": "cut o', "", "null", "[1]", '{"submission": NaN}', '{"submission": [1]}']


def test_f6_a_damaged_turn_is_listed_as_what_it_is_between_the_others(
    host: Host, store: Store, begin: Callable[..., Worker]
) -> None:
    shown: list[tuple[str, list[Any]]] = []
    for thread, broken in enumerate(BROKEN):
        first, second, third = host.append("first", "second", "third", thread=str(thread))
        store.damage(DAMAGE, broken, second)
        shown += [
            ("turn", [first, "pending", {"text": "first"}, False]),
            ("turn", [second, "pending", None, True]),
            ("turn", [third, "pending", {"text": "third"}, False]),
        ]
    assert begin("look", *map(str, range(len(BROKEN)))).finish() == shown
    assert [store.rows(STORED, broken) for broken in BROKEN] == [[(1,)] for _ in BROKEN]


def test_f6_a_damaged_head_is_kept_and_given_to_nobody(
    ledger: Ledger, host: Host, clock: Clock, store: Store
) -> None:
    [damaged] = host.append("damaged", thread="bad")
    clock.advance(1)
    for thread in ("a", "b", "c"):
        host.append("fine", thread=thread)
    store.damage(DAMAGE, '{"text": "cut o', damaged)
    claims = ledger.queue.claim_next("worker", limit=3)
    assert [claim.thread_id for claim in claims] == ["a", "b", "c"]
    with pytest.raises(LedgerError) as refusal:
        ledger.queue.claim_head("bad", "worker")
    assert refusal.value.code == "unreadable"
    assert damaged in str(refusal.value)
    assert store.rows(STORED, '{"text": "cut o') == [(1,)]
    assert host.turn(damaged, "bad").state == "pending"


def test_f6_a_batch_of_one_isnt_held_up_by_a_damaged_head(
    ledger: Ledger, host: Host, clock: Clock, store: Store
) -> None:
    [damaged] = host.append("damaged", thread="bad")
    clock.advance(1)
    host.append("fine", thread="good")
    store.damage(DAMAGE, "", damaged)
    assert [claim.thread_id for claim in ledger.queue.claim_next("worker")] == ["good"]


def test_f6_a_damaged_turn_can_be_moved_edited_and_deleted(
    ledger: Ledger, host: Host, store: Store
) -> None:
    first, second, third = host.append("first", "second", "third")
    store.damage(DAMAGE, "", first)
    ledger.queue.reorder("thread", [second, first, third])
    ledger.queue.ack(host.dispatch())
    ledger.queue.edit("thread", first, {"text": "mended"})
    assert host.texts() == ["mended", "third"]
    store.damage(DAMAGE, "", first)
    assert ledger.queue.delete("thread", first) is True
    assert host.texts() == ["third"]


def test_f6_a_newer_record_is_shown_as_what_it_is_and_kept(
    ledger: Ledger, host: Host, store: Store
) -> None:
    host.append("first", "second", "third")
    position = store.events()[1].position
    store.damage(NEWER, NEWER_DATA, position)
    records = ledger.log.read()
    assert [record.position for record in records] == [event.position for event in store.events()]
    assert [record.unreadable is None for record in records] == [True, False, True]
    assert records[1].schema_version == 99
    host.append("fourth")
    kept = store.events()[1]
    assert (kept.schema_version, kept.data) == (99, NEWER_DATA)
    assert len(ledger.queue.list("thread")) == 4


def test_f6_a_newer_record_of_a_gone_turn_hides_no_other(
    ledger: Ledger, host: Host, store: Store
) -> None:
    first, second = host.append("first", "second")
    position = store.events()[0].position
    ledger.queue.ack(host.dispatch("one"))
    ledger.queue.ack(host.dispatch("two"))
    store.damage(NEWER, NEWER_DATA, position)
    turn = host.turn(first)
    assert (turn.state, turn.submission) == ("acked", None)
    assert turn.unreadable is not None
    assert host.turn(second).submission == {"text": "second"}
    assert host.turn(second).unreadable is None
