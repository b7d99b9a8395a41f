"""What the tests of the ledger for asyncio share: opening it, and holding a command midway."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import turnledger
from turnledger import Settings
from turnledger.asynchronous.ledger import Opening

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class HoldingClock:
    """A clock that stands; a command reads it in the middle of its work, and can be held there."""

    def __init__(self) -> None:
        self.now = START
        self._reached = threading.Event()
        self._let_go = threading.Event()
        self._let_go.set()

    def __call__(self) -> datetime:
        self._reached.set()
        assert self._let_go.wait(30)
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def hold(self) -> None:
        """Let every command stop that reads it."""
        self._let_go.clear()
        self._reached.clear()

    async def reached(self) -> None:
        """Wait until a command is stopped."""
        assert await asyncio.to_thread(self._reached.wait, 30)

    def let_go(self) -> None:
        """Let them go on."""
        self._let_go.set()


@pytest.fixture
def clock() -> HoldingClock:
    """The clock of the test's ledgers."""
    return HoldingClock()


@pytest.fixture
def open_async(store_url: str, clock: HoldingClock) -> Callable[..., Opening]:
    """Opens the test's ledger; takes fields of Settings."""

    def opening(**fields: Any) -> Opening:
        settings = Settings(**{"synchronous": "NORMAL", **fields})
        return turnledger.open_async(store_url, clock=clock, settings=settings)

    return opening
