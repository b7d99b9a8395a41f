"""What a ledger stores that was made with `encrypt=True`."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from tests.conformance.audit.conftest import Host, Known, asked
from turnledger import Delay, IdempotencyConflict, Ledger, NotEncrypted

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock
    from tests.conformance.encryption.conftest import Traces

STEPS = 120
IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
CONTENTS = (
    *(b'"n"', b"edited", b'"ask"', b"answer", b"a pause", b"busy", b"enough", b"seen", b"why"),
    *(b'"result":{"result"', b'"to"', b'"late"', b'"done"'),
)


def said(ledger: Ledger) -> str:
    """All answers as text, without what differs between any two ledgers of the same history."""
    found: Any = asked(ledger, Known(ledger))
    text = json.dumps(found, default=repr, sort_keys=True)
    names = dict.fromkeys(IDS.findall(text))
    for number, name in enumerate(sorted(names)):
        text = text.replace(name, f"id {number}")
    return re.sub(r"'?[0-9a-f]{64}'?", "a hash", text)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_question_is_answered_as_by_a_plain_ledger(
    ledger: Ledger, new_url: Callable[[str], str], clock: Clock, seed: int
) -> None:
    begun = clock.now
    answers = []
    for one in (ledger, turnledger.open(new_url("plain.db"), clock=clock)):
        clock.now = begun
        host = Host(one, clock, seed)
        for _ in range(STEPS):
            host.act()
        answers.append(said(one))
        assert one.verify().ok
        assert one.replay().ok
    assert answers[0] == answers[1]


@pytest.mark.parametrize("seed", [3])
def test_no_content_is_readable_in_what_is_stored(
    opening: Callable[..., Ledger], clock: Clock, traces: Traces, seed: int
) -> None:
    ledger = opening()
    host = Host(ledger, clock, seed)
    for _ in range(3 * STEPS):
        host.act()
    assert len({event.type for event in ledger.log.read(limit=100_000)}) > 30
    ledger.close()
    stored = traces("ledger")
    assert b"$sealed" in stored
    assert [content for content in CONTENTS if content in stored] == []


def test_the_same_life_of_a_plain_ledger_shows_them(url: str, clock: Clock, traces: Traces) -> None:
    with turnledger.open(url, clock=clock) as ledger:
        host = Host(ledger, clock, 3)
        for _ in range(3 * STEPS):
            host.act()
    stored = traces("ledger").replace(b'\\"', b'"')
    assert len([content for content in CONTENTS if content in stored]) > len(CONTENTS) * 3 / 4


def test_a_content_comes_back_as_it_was(ledger: Ledger, clock: Clock) -> None:
    content = {"text": "žluťoučký", "n": [1, 2.5, None, True, 2**70], "deep": {"a": {"b": []}}}
    assert ledger.queue.append("t", content).submission == content
    assert ledger.queue.list("t")[0].submission == content
    claim = ledger.queue.claim_head("t", "worker")
    assert claim is not None
    assert claim.submission == content
    ledger.queue.fail(claim, {"code": 1})
    assert ledger.queue.list("t")[0].failure == {"code": 1}
    ledger.timers.create("t", Delay(seconds=60), content, metadata={"a": 1})
    clock.advance(61)
    (message,) = ledger.timers.fire_due("scheduler")
    assert (message.content, message.metadata) == (content, {"a": 1})
    assert ledger.log.read(limit=1)[0].data["submission"] == content


@pytest.mark.parametrize(
    "content", [{"$sealed": "x"}, {"$sealed": f"{'0' * 32}.AAAA"}, {"$purged": True}, {}]
)
def test_a_content_that_looks_like_a_sealed_one_comes_back_as_it_was(
    ledger: Ledger, new_url: Callable[[str], str], content: dict[str, Any]
) -> None:
    with turnledger.open(new_url("plain.db")) as plain:
        for one in (ledger, plain):
            one.queue.append("t", content)
            assert [turn.submission for turn in one.queue.list("t")] == [content]
            assert one.log.read(limit=1)[0].data["submission"] == content


def test_keys_compare_contents_as_canonical_json(ledger: Ledger) -> None:
    first = ledger.queue.append("t", {"a": 1, "b": 2.0}, idempotency_key="k")
    again = ledger.queue.append("t", {"b": 2, "a": 1}, idempotency_key="k")
    assert (again.queued_turn_id, again.duplicate) == (first.queued_turn_id, True)
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("t", {"a": 2}, idempotency_key="k")
    ledger.coordinator.begin("item", "hello", turn_id="turn")
    assert ledger.coordinator.begin("item", "hello", turn_id="turn").duplicate
    with pytest.raises(IdempotencyConflict):
        ledger.coordinator.begin("item", "goodbye", turn_id="turn")


def test_a_hash_says_nothing_to_those_without_the_key(ledger: Ledger, traces: Traces) -> None:
    claim = ledger.coordinator.begin("item", "m", owner="worker", idempotency_key="k").claim
    assert claim is not None
    prepared = ledger.coordinator.prepare(claim, {"ask": 1})
    ledger.coordinator.start_dispatch(claim, 1)
    done = ledger.coordinator.respond(claim, 1, prepared.request_hash, "yes")
    assert done.status == "responded"
    stored = traces("ledger")
    for plain in (b'{"ask":1}', b'"yes"', b'"m"'):
        assert hashlib.sha256(plain).hexdigest().encode() not in stored
    assert prepared.request_hash.encode() in stored


def test_two_threads_seal_the_same_content_differently(ledger: Ledger, traces: Traces) -> None:
    ledger.queue.append("t", {"text": "same"})
    ledger.queue.append("t", {"text": "same"})
    ledger.queue.append("u", {"text": "same"})
    tokens = re.findall(rb'\$sealed\\*":\s*\\*"([0-9a-f]{32})\.([^"\\]+)', traces("ledger"))
    by_key: dict[bytes, set[bytes]] = {}
    for key_id, ciphertext in tokens:
        by_key.setdefault(key_id, set()).add(ciphertext)
    first, second = by_key.values()
    assert (len(first), len(second), first & second) == (1, 1, set())


def test_owners_that_come_together_make_one_key(ledger: Ledger) -> None:
    gate = threading.Barrier(6)

    def put(number: int) -> None:
        gate.wait()
        ledger.queue.append("t", {"n": number})

    threads = [threading.Thread(target=put, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [turn.submission and turn.submission["n"] for turn in ledger.queue.list("t")]
    assert sorted(map(str, numbers)) == ["0", "1", "2", "3", "4", "5"]


def test_attachments_are_encrypted_and_can_be_read(ledger: Ledger, traces: Traces) -> None:
    begun = ledger.coordinator.begin("item", "m", attachments=[b"a report", b"", b"a report"])
    assert len(begun.attachments) == 2
    assert [ledger.attachments.read(name) for name in begun.attachments] == [b"a report", b""]
    assert b"a report" not in traces("ledger")
    assert hashlib.sha256(b"a report").hexdigest() not in begun.attachments
    ledger.attachments.path(begun.attachments[0]).write_bytes(b"turnledger sealed file 1\nnonsense")
    with pytest.raises(turnledger.Unreadable):
        ledger.attachments.read(begun.attachments[0])


def test_a_plain_ledger_stays_plain(new_url: Callable[[str], str]) -> None:
    place = new_url("plain.db")
    turnledger.open(place).close()
    with pytest.raises(NotEncrypted):
        turnledger.open(place, encrypt=True)
    with turnledger.open(place) as ledger:
        ledger.queue.append("t", {})
        with pytest.raises(NotEncrypted):
            ledger.purge(thread_id="t")


def test_an_encrypted_ledger_is_one_for_all_who_open_it(
    opening: Callable[..., Ledger],
) -> None:
    opening().queue.append("t", {"text": "hi"})
    again = opening()
    assert again.queue.list("t")[0].submission == {"text": "hi"}
    assert [check.status for check in again.doctor() if check.name == "keys"] == ["ok"]


def test_a_ledger_as_it_was_can_be_read(ledger: Ledger) -> None:
    turn = ledger.queue.append("t", {"text": "before"})
    ledger.queue.edit("t", turn.queued_turn_id, {"text": "after"})
    with ledger.as_of(1) as then:
        assert then.queue.list("t")[0].submission == {"text": "before"}
    assert ledger.queue.list("t")[0].submission == {"text": "after"}
    with ledger.as_of(1, thread_id="t") as then:
        assert then.history(thread_id="t")[0].data["submission"] == {"text": "before"}


def test_a_bundle_proves_itself_and_shows_no_content(ledger: Ledger, tmp_path: Path) -> None:
    ledger.queue.append("t", {"text": "hidden text"})
    path = tmp_path / "t.bundle"
    ledger.bundle(path, thread_id="t")
    assert b"hidden text" not in path.read_bytes()
    with turnledger.open(path, read_only=True) as bundle:
        assert bundle.verify().ok
        submission = bundle.queue.list("t")[0].submission
        assert submission is not None
        assert list(submission) == ["$sealed"]
