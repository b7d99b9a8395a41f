"""A process with many threads is killed while they append: what was acknowledged is there, once."""

from __future__ import annotations

import itertools
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.child import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.stores import Store
    from turnledger import Ledger

SCRIPT = Path(__file__).with_name("worker.py")
ROUNDS, THREADS = 2, 16
BEFORE_THE_KILL = 150


class Crowd(Child):
    """A process whose threads append, and say their keys."""

    def until_killed(self, answers: int) -> list[str]:
        """Listen to so many answers, and kill it while it goes on; returns all that it said."""
        heard = list(itertools.islice(self._output, answers))
        assert len(heard) == answers, self.errors.read_text()
        self._process.send_signal(signal.SIGKILL)
        heard += self._output
        assert self._process.wait() == -signal.SIGKILL
        return [line.strip() for line in heard if line.endswith("\n")]


@pytest.fixture
def start(store_url: str, tmp_path: Path) -> Iterator[Callable[[str, int], Crowd]]:
    """Starts a crowd."""
    started: list[Crowd] = []

    def starting(role: str, number: int) -> Crowd:
        errors = tmp_path / f"errors {number}"
        started.append(Crowd(SCRIPT, [store_url, role, f"crowd {number}"], errors))
        return started[-1]

    yield starting
    for crowd in started:
        crowd.close()


def appended(ledger: Ledger, half: str = "") -> Counter[Any]:
    """How often each key's turn is there."""
    turns = [turn for n in range(4) for turn in ledger.queue.list(f"thread {n}{half}")]
    return Counter((turn.submission or {})["key"] for turn in turns)


def test_every_append_that_was_acknowledged_is_there_exactly_once(
    start: Callable[[str, int], Crowd], open_ledger: Callable[..., Ledger]
) -> None:
    ledger = open_ledger(max_visible_turns=1_000_000)
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        acknowledged += start("one_by_one", number).until_killed(BEFORE_THE_KILL)
        there = appended(ledger)
        assert set(acknowledged) <= set(there)
        assert set(there.values()) == {1}
        assert len(there) <= len(acknowledged) + THREADS * (number + 1)
        assert ledger.verify().findings == ()
    for key in acknowledged[::10]:
        thread = f"thread {int(key.rpartition(' ')[2]) % 4}"
        assert ledger.queue.append(thread, {"key": key}, idempotency_key=key).duplicate


def test_every_block_is_there_whole_or_not_at_all(
    start: Callable[[str, int], Crowd], open_ledger: Callable[..., Ledger], store: Store
) -> None:
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        acknowledged += start("in_blocks", number).until_killed(BEFORE_THE_KILL)
        store.until_left()  # a server goes on for a while with what the killed one told it
        with open_ledger(max_visible_turns=1_000_000) as ledger:
            there = appended(ledger, " left")
            assert there == appended(ledger, " right")
            assert set(acknowledged) <= set(there)
            assert set(there.values()) == {1}
            assert ledger.verify().findings == ()
