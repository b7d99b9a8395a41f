"""A command that comes in the middle of another one of the same thread is refused, not mixed in."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import turnledger

if TYPE_CHECKING:
    from pathlib import Path


def test_a_signal_handler_cannot_give_a_command_into_the_middle_of_another(tmp_path: Path) -> None:
    refusals: list[turnledger.LedgerError] = []
    raised = True  # set to False when the signal is to come

    def clock() -> datetime:  # it is read inside the transaction: a signal comes just then
        nonlocal raised
        if not raised:
            raised = True
            signal.raise_signal(signal.SIGUSR1)
        return datetime(2026, 1, 5, tzinfo=UTC)

    with turnledger.open(tmp_path / "ledger.db", clock=clock) as ledger:

        def handler(_number: int, _frame: object) -> None:
            try:
                ledger.queue.pause("thread", "shutting down")
            except turnledger.LedgerError as error:
                refusals.append(error)

        ledger.queue.append("thread", {"n": 0})
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            raised = False
            ledger.queue.append("thread", {"n": 1})
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert [type(error) for error in refusals] == [turnledger.StoreUnavailable]
        assert [turn.submission for turn in ledger.queue.list("thread")] == [{"n": 0}, {"n": 1}]
        ledger.queue.pause("thread", "now it works")
        assert ledger.queue.why_blocked("thread") == "paused"
        assert ledger.verify().ok


def test_a_command_that_failed_leaves_the_way_free(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        with pytest.raises(turnledger.QueuedTurnNotFound):
            ledger.queue.edit("thread", "never", {})
        assert ledger.queue.append("thread", {}).queue_order == 0
