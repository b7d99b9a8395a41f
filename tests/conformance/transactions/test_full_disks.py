"""The disk is full in the middle of a block, on SQLite: nothing of it is kept, and it is said."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import turnledger
from tests.conformance.transactions.conftest import Undo, failing
from turnledger import ClaimLost, LedgerError, Settings, StoreError, StoreFull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from turnledger import Claim, Ledger

LARGE = {"text": "x" * 900_000}
SMALL = {"text": "x"}


@pytest.fixture
def ledger(tmp_path: Path, empty_ledger: bytes) -> Iterator[Ledger]:
    path = tmp_path / "ledger.db"
    path.write_bytes(empty_ledger)
    with turnledger.open(path, settings=Settings(synchronous="NORMAL")) as opened:
        yield opened


@pytest.fixture
def fill(ledger: Ledger) -> Callable[[int], None]:
    """Leaves room for so many more pages."""

    def filling(room: int) -> None:
        with ledger._backend.store.reading() as cursor:
            pages = cursor.execute("PRAGMA page_count").fetchone()[0] + room
            cursor.execute(f"PRAGMA max_page_count={pages}").fetchall()

    return filling


@pytest.fixture
def lost(ledger: Ledger) -> Claim:
    """A claim that was recovered after its dispatch had begun."""
    ledger.queue.append("lost", {})
    claim = ledger.queue.claim_head("lost", "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.recover("lost", owner="worker")
    return claim


def kept(ledger: Ledger) -> list[str]:
    [turn] = ledger.queue.list("lost")
    return [one.kind for one in turn.evidence]


@pytest.mark.parametrize("room", [0, 20])
def test_a_block_that_finds_the_disk_full_says_so_and_keeps_nothing(
    ledger: Ledger, fill: Callable[[int], None], room: int
) -> None:
    fill(room)
    with failing(ledger, StoreFull) as caught:
        ledger.queue.append("thread", SMALL)
        ledger.queue.append("thread", LARGE)
    assert caught.value.retryable
    assert ledger.queue.list("thread") == []
    fill(1000)
    with ledger.transaction():
        ledger.queue.append("thread", SMALL)
        ledger.queue.append("thread", LARGE)
    assert len(ledger.queue.list("thread")) == 2
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("room", [0, 20])
def test_a_block_that_passes_over_a_full_disk_is_whole_but_for_that_command_or_isnt_there(
    ledger: Ledger, fill: Callable[[int], None], room: int
) -> None:
    fill(room)
    done: list[str] = []
    try:
        with ledger.transaction():
            for name, submission in [("1", SMALL), ("2", LARGE), ("3", SMALL)]:
                with suppress(LedgerError):
                    ledger.queue.append(name, submission)
                    done.append(name)
    except StoreError:
        done = []
    assert [name for name in "123" if ledger.queue.list(name)] == done
    assert "2" not in done
    fill(1000)
    ledger.queue.append("after", LARGE)
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("room", [0, 20])
def test_an_inner_block_that_finds_the_disk_full_doesnt_lead_to_half_of_the_outer_one(
    ledger: Ledger, fill: Callable[[int], None], room: int
) -> None:
    fill(room)
    done = ["1", "3"]
    try:
        with ledger.transaction():
            ledger.queue.append("1", SMALL)
            with suppress(LedgerError), ledger.transaction():
                ledger.queue.append("2", SMALL)
                ledger.queue.append("2", LARGE)
            ledger.queue.append("3", SMALL)
    except StoreError:
        done = []
    assert [name for name in "123" if ledger.queue.list(name)] == done
    fill(1000)
    ledger.queue.append("after", LARGE)
    assert ledger.verify().findings == ()


def test_evidence_stays_though_the_disk_was_full_in_the_block(
    ledger: Ledger, fill: Callable[[int], None], lost: Claim
) -> None:
    """There is room for it, when there wasn't for the block."""
    fill(20)
    with failing(ledger, StoreError):
        with pytest.raises(ClaimLost):
            ledger.queue.ack(lost)
        ledger.queue.append("thread", LARGE)
    assert kept(ledger) == ["ack"]
    assert ledger.queue.list("thread") == []
    assert ledger.verify().findings == ()


def test_evidence_of_an_inner_block_stays_though_the_disk_was_full_in_it(
    ledger: Ledger, fill: Callable[[int], None], lost: Claim
) -> None:
    fill(20)
    with failing(ledger, StoreError), ledger.transaction():
        with pytest.raises(ClaimLost):
            ledger.queue.ack(lost)
        ledger.queue.append("thread", LARGE)
    assert kept(ledger) == ["ack"]
    assert ledger.verify().findings == ()


def test_what_is_asked_in_a_block_after_the_disk_was_full_doesnt_break_it_further(
    ledger: Ledger, fill: Callable[[int], None]
) -> None:
    fill(0)
    with failing(ledger, Undo):
        with pytest.raises(LedgerError):
            ledger.queue.append("thread", LARGE)
        assert ledger.queue.list("thread") == []
        assert ledger.threads.list() == []
        raise Undo
    fill(1000)
    ledger.queue.append("thread", LARGE)
    assert ledger.verify().findings == ()
