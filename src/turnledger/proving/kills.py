"""Rounds of kill -9: processes append and deliver, and are killed in the middle of it.

In the end, all that was acknowledged is there, once and in order; no effect happened twice; and
each turn whose outcome is unknown could be decided.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from turnledger.door import open as open_ledger
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.opening import is_on_server
from turnledger.ledger import Ledger
from turnledger.log import Log, RecordedEvent
from turnledger.proving.killed_worker import DELIVERING, SETTINGS, TOGETHER, append, work
from turnledger.proving.places import new_ledger
from turnledger.proving.rules import must

_CROWDS = (2, 2, 2, 3, 3, 4, 8)  # processes
_ROUNDS = 50  # in one ledger
_TYPES, _PAGE = ("thread_queue.appended", "thread_queue.acked"), 5_000
_LIFE, _LIFE_ON_SERVER = (0.15, 0.4), (0.3, 1.2)  # seconds until the kill
_PATIENCE_SECONDS = 60
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["turnledger.proving.killed_worker"])


@dataclass
class Kills:
    """What came of it.

    Attributes:
        rounds: How many there were; likewise killed processes.
        acked: Commands that were acknowledged before their process was killed.
        turns: Turns that those appended or acked.
        doubtful: Commands that were asked for and not acknowledged: each was given again.
        done: How many of those had been done.
        effects: Effects outside.
        unknown: Turns whose dispatch nobody answered for, each of which was decided.
    """

    rounds: int = 0
    killed: int = 0
    acked: int = 0
    turns: int = 0
    doubtful: int = 0
    done: int = 0
    effects: int = 0
    unknown: int = 0


@dataclass
class _Told:
    """What the workers of a ledger have noted."""

    asked: dict[str, None] = field(default_factory=dict[str, None])
    answered: set[str] = field(default_factory=set[str])
    effects: Counter[str] = field(default_factory=Counter[str])
    acked: set[str] = field(default_factory=set[str])

    def hear(self, lines: Iterator[str]) -> None:
        """Take in the lines of a file.

        Raises:
            Broken: A worker complained.
        """
        for line in lines:
            word, *rest = line.split()
            must(word != "error", "a call fails only because its process is killed", said=line)
            match word:
                case "?":
                    self.asked[rest[0]] = None
                case "!":
                    must(rest[1] == "0", "what was asked for once is no duplicate", said=line)
                    self.answered.add(rest[0])
                case "*":
                    self.effects[rest[0]] += 1
                case "+":
                    self.acked.add(rest[0])
                case _:
                    pass


def kill_rounds(place: str, rounds: int, *, seed: int = 0, seconds: float = float("inf")) -> Kills:
    """Let processes work, and kill them, again and again.

    Args:
        place: A folder, or a server's URL.
        rounds: So often.
        seed: Of how many there are, and how long they live.
        seconds: No round is begun after that.

    Raises:
        Broken: Something was lost, or happened twice.
    """
    random, total, end = Random(seed), Kills(), steady() + seconds  # noqa: S311 - repeatable
    while total.rounds < rounds and steady() < end:
        with ExitStack() as stack:
            url = stack.enter_context(new_ledger(place))
            folder = stack.enter_context(TemporaryDirectory(prefix="turnledger-notes-"))
            ledger = stack.enter_context(open_ledger(url, settings=SETTINGS))
            attack = _Attack(ledger, url, Path(folder), random, total)
            for _ in range(min(_ROUNDS, rounds - total.rounds)):
                if steady() >= end:
                    break
                attack.round()
            attack.finish()
    return total


def _all(log: Log) -> Iterator[RecordedEvent]:
    """Every append and ack."""
    page = log.read(types=_TYPES, limit=_PAGE)
    while page:
        yield from page
        page = log.read(after=page[-1].position, types=_TYPES, limit=_PAGE)


class _Attack:
    """The rounds on one ledger."""

    def __init__(
        self, ledger: Ledger, url: str, folder: Path, random: Random, total: Kills
    ) -> None:
        self._ledger, self._url, self._folder = ledger, url, folder
        self._random, self._total = random, total
        self._told = _Told()

    def round(self) -> None:
        """Some processes work and are killed, one after the other."""
        total, random = self._total, self._random
        total.rounds += 1
        crowd: list[Any] = []
        ready = _CONTEXT.Semaphore(0)
        names = [f"w{total.rounds}-{number}" for number in range(random.choice(_CROWDS))]
        for name in names:
            arguments = (self._url, name, self._folder / name, ready)
            crowd.append(_CONTEXT.Process(target=work, args=arguments, daemon=True))
            crowd[-1].start()
        must(ready.acquire(timeout=_PATIENCE_SECONDS), "a ledger can be opened after kills")
        time.sleep(random.uniform(*(_LIFE_ON_SERVER if is_on_server(self._url) else _LIFE)))
        for process in crowd:
            process.kill()
        for process in crowd:
            process.join()
        total.killed += len(crowd)
        self._look_after(names)

    def _look_after(self, names: list[str]) -> None:
        """What a host does that knows who is dead; and the callers ask again."""
        told = self._told
        before = (len(told.answered), len(told.acked))
        for name in names:
            path = self._folder / name
            if path.exists():
                told.hear(iter(path.read_text().splitlines()))
        appends, acks = len(told.answered) - before[0], len(told.acked) - before[1]
        self._total.acked += appends + acks
        self._total.turns += appends * TOGETHER + acks
        for key in [key for key in told.asked if key not in told.answered]:
            self._total.doubtful += 1
            self._total.done += append(self._ledger, key)
            told.answered.add(key)
        owners = [f"{name}.{number}" for name in names for number in DELIVERING]
        for owner in owners:
            for turn in self._ledger.queue.recover(owner=owner):
                if turn.outcome_unknown:
                    self._decide(turn.thread_id, turn.queued_turn_id)

    def _decide(self, thread_id: str, turn_id: str) -> None:
        happened = self._told.effects[turn_id] > 0
        decision: Any = "acked" if happened else "retry"
        self._ledger.queue.resolve(thread_id, turn_id, decision, by="the killer")
        self._total.unknown += 1

    def finish(self) -> None:
        """Look whether all is there, once.

        Raises:
            Broken: It isn't.
        """
        told = self._told
        twice = [turn for turn, count in told.effects.items() if count > 1]
        must(not twice, "no effect happens twice", turns=twice[:3])
        self._total.effects += len(told.effects)
        appended: Counter[str] = Counter()
        order: dict[str, tuple[int, int]] = {}
        acked: set[str] = set()
        for event in _all(self._ledger.log):
            if event.type == "thread_queue.acked":
                acked.add(event.data["queued_turn_id"])
                continue
            key, place = event.data["submission"]["key"], event.data["submission"]["place"]
            appended[key] += 1
            name, _, number = key.rpartition(".")
            last, here = order.get(name, (0, -1)), (int(number), place)
            must(here > last, "order is kept", key=key)
            order[name] = here
        lost = [key for key in told.answered if appended[key] != TOGETHER]
        must(not lost, "what was acknowledged is there, once", keys=lost[:3])
        must(told.acked <= acked, "what was acked stays acked", lost=len(told.acked - acked))
        found = self._ledger.verify()
        must(found.ok, "a verification finds nothing", found=found.findings[:3])
