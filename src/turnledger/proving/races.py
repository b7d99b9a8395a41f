"""Processes that race for the claims of the same threads, and what each was answered when."""

import random as chance
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import inf
from multiprocessing import get_context
from typing import Any, NamedTuple

from turnledger.domain.errors import Refusal
from turnledger.domain.settings import Settings
from turnledger.domain.thread_queue import Claim
from turnledger.door import open as open_ledger
from turnledger.infrastructure.clock import steady
from turnledger.ledger import Ledger
from turnledger.proving.linear import Op, corrupted, in_log_order, is_linearizable
from turnledger.proving.places import new_ledger
from turnledger.proving.rules import must

CLIENTS, CALLS, TURNS = 5, 8, 6
_LOST = 0.03  # this part of the answers is lost
_TOGETHER, _AT_LEAST = 200, 20  # threads in one ledger
_SHORT_SECONDS = 30
SETTINGS = Settings(synchronous="NORMAL")
_VERBS = ("claim", "claim", "renew", "dispatch", "dispatch", "ack", "ack", "release")
_WORDS = {"claimed": "claim", "acked": "ack", "released": "release"}


class Races(NamedTuple):
    """What came of it.

    Attributes:
        histories: One for each thread.
        calls: In all of them.
        unknown: Calls whose answer was lost.
        refused: Calls that showed a claim which wasn't current.
        corrupted: Histories to which a stale success was added by hand: the control.
        noticed: How many of those were rejected.
    """

    histories: int = 0
    calls: int = 0
    unknown: int = 0
    refused: int = 0
    corrupted: int = 0
    noticed: int = 0


def races(place: str, histories: int, *, seed: int = 0, seconds: float = inf) -> Races:
    """Let processes race, and check each thread's history.

    Args:
        place: A folder, or a server's URL.
        histories: So many, of 40 calls by 5 processes.
        seed: Of what they call.
        seconds: None is begun after that.

    Raises:
        Broken: A history isn't one that a single caller could have had.
    """
    total, end = Races(), steady() + seconds
    together = _AT_LEAST if seconds < _SHORT_SECONDS else _TOGETHER
    while total.histories < histories and steady() < end:
        count = min(together, histories - total.histories)
        with new_ledger(place) as url, open_ledger(url, settings=SETTINGS) as ledger:
            found = _raced(url, ledger, count, f"{seed} {total.histories}")
            total = _sum(total, _checked(ledger, found))
    return total


def _raced(url: str, ledger: Ledger, count: int, seed: str) -> dict[str, list[Op]]:
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    threads = [f"thread {number}" for number in range(count)]
    for thread in threads:
        ledger.queue.append_many(thread, [{}] * TURNS)
    barrier, answers = context.Barrier(CLIENTS), context.SimpleQueue()
    crowd = [
        context.Process(target=_race, args=(url, f"c{number}", threads, seed, barrier, answers))
        for number in range(CLIENTS)
    ]
    for process in crowd:
        process.start()
    found: dict[str, list[Op]] = defaultdict(list)
    for _ in crowd:
        told = answers.get()
        must(isinstance(told, list), "a call is answered, or refused with a reason", said=told)
        for thread, op in told:
            found[thread].append(Op(*op))
    for process in crowd:
        process.join()
    return found


def _race(  # noqa: PLR0913, PLR0917 - what a process is given
    url: str, owner: str, threads: Sequence[str], seed: str, barrier: Any, answers: Any
) -> None:
    random = chance.Random(f"{seed} {owner}")  # noqa: S311 - repeatable
    told: list[tuple[str, tuple[Any, ...]]] = []
    try:
        with open_ledger(url, settings=SETTINGS) as ledger:
            for thread in threads:
                barrier.wait(timeout=60)
                told += [(thread, tuple(op)) for op in _calls(ledger, thread, owner, random)]
    except Exception as error:
        barrier.abort()
        answers.put(repr(error))
        raise
    answers.put(told)


def _calls(ledger: Ledger, thread: str, owner: str, random: chance.Random) -> Iterator[Op]:
    """What one process calls: mostly what its last claim is for, now and then with an older one."""
    epochs: list[int] = []
    for _ in range(CALLS):
        verb = random.choice(_VERBS) if epochs else "claim"
        stale = len(epochs) > 1 and random.random() < 0.3  # noqa: PLR2004
        epoch = epochs[-2 if stale else -1] if epochs else 0
        start = time.monotonic()
        answer: int | None = _answer(ledger, thread, owner, verb, epoch)
        end = time.monotonic()
        if verb == "claim" and answer:
            epochs.append(answer)
        if random.random() < _LOST:
            answer, end = None, inf
        yield Op(verb, owner, 0 if verb == "claim" else epoch, answer, start, end)


def _answer(ledger: Ledger, thread: str, owner: str, verb: str, epoch: int) -> int:
    queue = ledger.queue
    if verb == "claim":
        taken = queue.claim_head(thread, owner)
        return taken.epoch if taken else 0
    claim = Claim(thread_id=thread, owner=owner, epoch=epoch, generation=ledger.generation)
    with suppress(Refusal):
        match verb:
            case "renew":
                queue.renew(claim)
            case "dispatch":
                queue.start_dispatch(claim, f"d{epoch}")
            case "release":
                queue.release(claim)
            case _:
                queue.ack(claim)
        return 1
    return 0


def _checked(ledger: Ledger, found: dict[str, list[Op]]) -> Races:
    done = Races()
    logs = _logs(ledger)
    for thread, history in found.items():
        must(is_linearizable(history, TURNS), "calls are as if one by one", history=history)
        must(in_log_order(history, logs[thread]), "the log is in the order of the calls")
        wrong = corrupted(history)
        noticed = wrong is not None and not is_linearizable(wrong, TURNS)
        counts = (1, len(history), sum(op.answer is None for op in history))
        refused = sum(op.answer == 0 and op.verb != "claim" for op in history)
        done = _sum(done, Races(*counts, refused, wrong is not None, noticed))
    must(ledger.verify().ok, "a verification finds nothing")
    return done


def _logs(ledger: Ledger) -> dict[str, list[tuple[str, int]]]:
    """What was recorded of each thread: verbs and epochs."""
    logs: dict[str, list[tuple[str, int]]] = defaultdict(list)
    page = ledger.log.read(limit=5_000)
    while page:
        for event in page:
            word = event.type.partition(".")[2]
            if word in _WORDS:
                thread = event.stream_id.partition(":")[2]
                logs[thread].append((_WORDS[word], event.data["epoch"]))
        page = ledger.log.read(after=page[-1].position, limit=5_000)
    return logs


def _sum(one: Races, other: Races) -> Races:
    return Races(*(a + b for a, b in zip(one, other, strict=True)))
