"""What the tests of transactions share: threads, and waiting until one can't go on."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import turnledger
from turnledger import Ledger, Settings

THREADS = 16


class Undo(Exception):
    """What a block raises so that nothing of it stays."""


@contextmanager
def failing(
    ledger: Ledger, kind: type[BaseException]
) -> "Iterator[pytest.ExceptionInfo[BaseException]]":
    """A block out of which an error is to come."""
    with pytest.raises(kind) as caught, ledger.transaction():
        yield caught


def until_done_or_waiting(ledger: Ledger, command: "Future[Any]") -> None:
    """Look until another thread's command is done, or waits for the file's writer."""
    writer = ledger._backend.store.writer
    while not command.done() and not (writer is not None and writer._waiting):
        pass


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that give commands."""
    with ThreadPoolExecutor(THREADS) as started:
        yield started


@pytest.fixture
def other_ledger(fresh_store: Callable[[str], str], clock: Callable[[], Any]) -> Iterator[Ledger]:
    """A ledger in a store of its own, beside the test's."""
    settings = Settings(synchronous="NORMAL")
    with turnledger.open(fresh_store("other"), clock=clock, settings=settings) as opened:
        yield opened
