"""Rule 9: what an identifier is, in every place that takes one."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Claim, ClaimLost, InvalidIdentifier, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Host, Store
    from turnledger import Ledger

BAD = {
    "empty": "",
    "257 characters": "x" * 257,
    "null": "a\0b",
    "newline": "a\n",
    "tab": "\t",
    "escape": "\x1b[31m",
    "delete": "a\x7f",
    "C1": "a\x85b",
    "last of C1": "\x9f",
    "high surrogate": "a\ud800",
    "low surrogate": "\udfff",
    "split pair": "\ud83d\ude00",
    "none": None,
    "bytes": b"thread",
    "number": 7,
    "list": ["thread"],
}

GOOD = [
    "x",
    "x" * 256,
    "😀" * 256,
    " ",
    " padded ",
    "-rf",
    "--",
    "a:b",
    "evidence:thread_queue:a",
    "thread_queue:a",
    "100%",
    "a_b",
    "'; DROP TABLE events; --",
    '"quoted"',
    "../../etc/passwd",
    "a\u200eb",
    "a\u2028b",
    "\ue000",
    "\U0010ffff",
    "ｆｕｌｌ",
    "{}",
    "null",
]


def of_a_thread(queue: Any, bad: Any) -> list[Callable[[], object]]:
    """Every command with a bad thread id."""
    return [
        lambda: queue.append(bad, {}),
        lambda: queue.append_many(bad, [{}]),
        lambda: queue.clear(bad),
        lambda: queue.list(bad),
        lambda: queue.get(bad, "turn"),
        lambda: queue.edit(bad, "turn", {}),
        lambda: queue.delete(bad, "turn"),
        lambda: queue.reorder(bad, []),
        lambda: queue.claim_head(bad, "worker"),
        lambda: queue.ack_dispatch(bad, "dispatch"),
        lambda: queue.retry(bad, "turn"),
        lambda: queue.resolve(bad, "turn", "acked", by="me"),
        lambda: queue.pause(bad, "reason"),
        lambda: queue.resume(bad),
        lambda: queue.fail_in_flight(bad, "failure"),
        lambda: queue.why_blocked(bad),
    ]


def of_a_turn(queue: Any, bad: Any) -> list[Callable[[], object]]:
    """Every command with a bad queued turn id."""
    return [
        lambda: queue.get("thread", bad),
        lambda: queue.edit("thread", bad, {}),
        lambda: queue.delete("thread", bad),
        lambda: queue.reorder("thread", [bad]),
        lambda: queue.retry("thread", bad),
        lambda: queue.resolve("thread", bad, "acked", by="me"),
    ]


def of_the_rest(queue: Any, bad: Any, claim: Claim) -> list[Callable[[], object]]:
    """Every command with a bad owner, or a bad dispatch id."""
    return [
        lambda: queue.claim_head("thread", bad),
        lambda: queue.claim_next(bad),
        lambda: queue.start_dispatch(claim, bad),
        lambda: queue.ack_dispatch("thread", bad),
    ]


def of_an_option(queue: Any, bad: Any) -> list[Callable[[], object]]:
    """Every command with a bad id that may be left out."""
    return [
        lambda: queue.append("thread", {}, queued_turn_id=bad),
        lambda: queue.append("thread", {}, idempotency_key=bad),
        lambda: queue.append_many("thread", [{}], idempotency_key=bad),
        lambda: queue.recover(bad),
        lambda: queue.recover(owner=bad),
    ]


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_identifier_is_refused_everywhere(host: Host, store: Store, bad: Any) -> None:
    host.append("only")
    claim, queue = host.claim(), host.ledger.queue
    before = store.events()
    calls = of_a_thread(queue, bad) + of_a_turn(queue, bad) + of_the_rest(queue, bad, claim)
    calls += [] if bad is None else of_an_option(queue, bad)
    for call in calls:
        with pytest.raises(InvalidIdentifier):
            call()
    assert store.events() == before


@pytest.mark.parametrize("word", ["thread_id", "owner"])
@pytest.mark.parametrize("bad", ["", "x" * 257, "\ud800", "a\0b"])
def test_a_claim_with_a_bad_identifier_does_nothing(
    host: Host, store: Store, word: str, bad: str
) -> None:
    host.append("only")
    given = host.claim()
    words: dict[str, Any] = {"thread_id": "thread", "owner": "worker", "epoch": given.epoch}
    claim = Claim(**{**words, word: bad}, generation=host.ledger.generation)
    before = store.events()
    for call in (host.ledger.queue.renew, host.ledger.queue.ack):
        with pytest.raises(LedgerError) as refusal:
            call(claim)
        assert refusal.value.code in ("invalid_identifier", "claim_lost")
    assert store.events() == before


def test_a_good_identifier_works_everywhere(ledger: Ledger) -> None:
    queue = ledger.queue
    for good in GOOD:
        turn = queue.append(good, {"text": good}, queued_turn_id=good, idempotency_key=good)
        assert (turn.thread_id, turn.queued_turn_id) == (good, good)
        claim = queue.claim_head(good, good)
        assert claim is not None
        assert (claim.thread_id, claim.owner, claim.queued_turn_id) == (good, good, good)
        queue.start_dispatch(claim, good)
        assert queue.ack_dispatch(good, good) is True
        known = queue.get(good, good)
        assert known is not None
        assert (known.state, known.dispatch_id) == ("acked", good)


def test_threads_with_good_identifiers_keep_apart(ledger: Ledger, host: Host) -> None:
    for good in GOOD:
        host.append(good, thread=good)
    assert [host.texts(good) for good in GOOD] == [[good] for good in GOOD]
    claimed = [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=100)]
    assert claimed == sorted(GOOD, key=lambda good: good.encode())


def test_identifiers_are_compared_by_bytes(ledger: Ledger) -> None:
    composed, decomposed = "\u00e9", unicodedata.normalize("NFD", "\u00e9")
    alike = ["thread", "Thread", "THREAD", " thread", "thread ", composed, decomposed]
    alike += ["ſ", "s", "K", "\u212a", "ß", "ss", "a%", "ab", "a_"]
    for one in alike:
        assert ledger.queue.append(one, {"text": one}, queued_turn_id="same").duplicate is False
        assert ledger.queue.append("same", {"text": one}, queued_turn_id=one).duplicate is False
        ledger.queue.append("keys", {"text": one}, idempotency_key=one)
    for one in alike:
        assert [turn.submission for turn in ledger.queue.list(one)] == [{"text": one}]
        known = ledger.queue.get("same", one)
        assert known is not None
        assert known.submission == {"text": one}
    assert len(ledger.queue.list("keys")) == len(alike)


def test_evidence_of_threads_with_similar_names_keeps_apart(ledger: Ledger, host: Host) -> None:
    threads = ["a", "a:b", "thread_queue:a", "evidence:a", "evidence:thread_queue:a", ":", "::"]
    turns = {}
    for thread in threads:
        [turns[thread]] = host.append("only", thread=thread)
        claim = host.dispatch(thread=thread)
        ledger.queue.fail_in_flight(thread, "restart")
        with pytest.raises(ClaimLost):
            ledger.queue.fail(claim, thread)
    for thread, turn in turns.items():
        assert [one.value for one in host.turn(turn, thread).evidence] == [thread]
