"""Arguments that are no arguments: each is refused in turnledger's words, or does what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidInput, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnledger import Ledger

CALLS: dict[str, Callable[[Ledger], Any]] = {
    "append_many of nothing": lambda ledger: ledger.queue.append_many("t", None),  # type: ignore[arg-type]
    "append_many of text": lambda ledger: ledger.queue.append_many("t", "text"),  # type: ignore[arg-type]
    "reorder by nothing": lambda ledger: ledger.queue.reorder("t", None),  # type: ignore[arg-type]
    "log of one stream": lambda ledger: ledger.log.read(streams="thread_queue:t"),
    "log of a surrogate": lambda ledger: ledger.log.read(streams=["\ud800"]),
    "log of an object": lambda ledger: ledger.log.read(types=[object()]),  # type: ignore[list-item]
    "log after text": lambda ledger: ledger.log.read("1"),  # type: ignore[arg-type]
    "log of none": lambda ledger: ledger.log.read(limit=0),
    "threads after a surrogate": lambda ledger: ledger.threads.list(after="\ud800"),
    "threads after a number": lambda ledger: ledger.threads.list(after=3),  # type: ignore[arg-type]
    "threads of less than none": lambda ledger: ledger.threads.list(limit=-1),
    "threads in no state": lambda ledger: ledger.threads.list("asleep"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_what_is_no_argument_is_refused(ledger: Ledger, call: Callable[[Ledger], Any]) -> None:
    with pytest.raises(LedgerError) as refusal:
        call(ledger)
    assert isinstance(refusal.value, InvalidInput)


def test_numbers_past_every_store_mean_what_they_say(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    assert ledger.queue.list("t", after=2**70) == []
    assert len(ledger.queue.list("t", after=-(2**70), limit=2**70)) == 1
    assert ledger.log.read(2**70) == []
    assert len(ledger.log.read(limit=2**70)) == 1
    assert len(ledger.queue.claim_next("worker", limit=2**70)) == 1


def test_text_that_settles_is_kept_whatever_it_is(ledger: Ledger) -> None:
    class Stubborn(dict[str, int]):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise RuntimeError

    turn = ledger.queue.append("t", {})
    claim = ledger.queue.claim_head("t", "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.fail(claim, Stubborn(a=1), outcome_unknown=True)
    [failed] = ledger.queue.list("t")
    assert (failed.failure, failed.altered) == ({"a": 1}, True)
    resolved = ledger.queue.resolve("t", turn.queued_turn_id, "acked", by=3)  # type: ignore[arg-type]
    assert resolved.state == "acked"
