"""Histories of a whole ledger: random, but each repeats with its seed; audited, and crashed.

Several owners work on all aggregates of one ledger, rightly and wrongly, while the clock jumps.
Every answer and every event is audited. Some calls are given twice, from the same state: once
whole, and once with crashes before or after a statement, or between the commit and the answer,
after which the caller asks again. Both must have the same answer, and leave the same rows in every
table; so what comes after is the same as well. It goes on from the crashed one.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from turnledger.proving.auditor import Auditor, first_result
from turnledger.proving.calls import Step
from turnledger.proving.rules import Broken, must
from turnledger.proving.settling import WayOut
from turnledger.proving.wishes import Wishes
from turnledger.proving.world import SETTINGS, Point, Snapshot, Tables, World

STEPS = 60
_CRASHES, _AGAIN = 0.05, 0.2  # this part of the calls crashes, and crashes again
IN_PARTS = (  # these commit once for each thing: what is done stays done, and isn't counted again
    *("recovery.run_once", "queue.recover", "inbox.recover", "coordinator.recover"),
    *("operations.recover", "timers.mark_due"),
)


class Taken(NamedTuple):
    """A step that was taken.

    Attributes:
        answer: What came of it.
        statements: How many it ran.
    """

    step: Step
    answer: str
    statements: int


class Failure(Exception):
    """A history in which a rule is broken.

    Attributes:
        seed: Of the history, or of its crashes.
        steps: Those taken so far, the last one is the one that shows it.
        wished: Those of them that were before its way out.
        rule: Which rule, in words.
    """

    def __init__(self, seed: int, steps: Sequence[Step], error: Exception, wished: int) -> None:
        """Take the history, what went wrong, and how many steps there were before the way out."""
        self.seed, self.steps, self.error = seed, tuple(steps), error
        self.wished = self.steps[:wished]
        self.rule = error.rule if isinstance(error, Broken) else type(error).__name__
        super().__init__(f"seed {seed}, step {len(self.steps)}: {error}")


class Simulation:
    """Runs histories in a world.

    Attributes:
        world: Where.
        calls: How many were given so far.
        points: How many of them crashed on their way.
    """

    def __init__(self, world: World, steps: int = STEPS) -> None:
        """Take the world, and how many steps a history has before its way out."""
        self.world, self._steps = world, steps
        self.calls = self.points = self._wished = 0

    def history(self, seed: int) -> list[Step]:
        """A random history.

        Raises:
            Failure: A rule is broken.
        """
        auditor = Auditor(SETTINGS)
        wishes = Wishes(Random(seed), auditor)  # noqa: S311 - to be repeated, not to be secret
        return self._run(auditor, (wishes.next() for _ in range(self._steps)), seed)

    def repeat(self, steps: Sequence[Step], seed: int) -> list[Step]:
        """A history that is given; the seed says where it crashes.

        Raises:
            Failure: A rule is broken.
        """
        return self._run(Auditor(SETTINGS), iter(steps), seed)

    def _run(self, auditor: Auditor, wished: Iterable[Step], seed: int) -> list[Step]:
        steps: list[Step] = []
        try:
            self._go(auditor, wished, steps, seed)
        except Exception as error:
            raise Failure(seed, steps, error, self._wished) from error
        return steps

    def _go(self, auditor: Auditor, wished: Iterable[Step], steps: list[Step], seed: int) -> None:
        self.world.put_back()
        for step in wished:
            steps.append(step)
            self._wished = len(steps)
            self._take(auditor, step, seed)
        self._as_shown(auditor)
        number = max((one.number for one in steps), default=0)
        latest = max((one.seconds for one in steps), default=0.0)
        for step in WayOut(auditor, number, latest).steps():
            steps.append(step)
            self._take(auditor, step, seed)
        found = self.world.verify()
        must(not found.findings, "a verification finds nothing", found=found.findings[:3])

    def _take(self, auditor: Auditor, step: Step, seed: int) -> None:
        """Take a step; of some, what comes of it with crashes is what counts from then on."""
        self.calls += 1
        random = Random(f"{seed} {step.number}")  # noqa: S311
        crashes = random.random() < _CRASHES
        before = self.world.snapshot() if crashes else None
        answer = self.world.call(step)
        must(answer is not None, "nothing crashes by itself")
        taken = Taken(step, answer or "", self.world.statements)
        if before is not None and taken.statements:
            self.points += 1
            crashed(self.world, taken, before, list(points(taken.statements, random)))
        auditor.hear(step, self.world.now(step), taken.answer, self.world.events(auditor.position))

    def _as_shown(self, auditor: Auditor) -> None:
        """What the queries show is what the events say."""
        ledger = self.world.ledger
        moment = auditor.moment(Step(0, 0, "", {}), self.world.clock())
        for name, queue in auditor.queues.items():
            shown = [(one.queued_turn_id, one.submission) for one in ledger.queue.list(name)]
            ought = [(one.id, one.submission) for one in queue.visible()]
            if queue.life != "deleted":
                must(shown == ought, "the queue shows what waits", shown=shown, ought=ought)
            reason, known = ledger.queue.why_blocked(name), queue.why_blocked(moment)
            must(reason == known, "it says why a thread doesn't move", said=reason, ought=known)
        for name, inbox in auditor.inboxes.items():
            waiting = [one.message_id for one in ledger.inbox.list(name)]
            letters = [one.id for one in inbox.waiting()]
            must(waiting == letters, "the inbox shows what waits", shown=waiting, ought=letters)
        for name, turn in auditor.turns.items():
            got = ledger.coordinator.get(name)
            parts = [(one.status, one.owner, one.epoch) for one in got.attempts] if got else []
            ought_parts = [(one.status, one.owner, one.epoch) for one in turn.attempts]
            must(got and got.status == turn.status, "a turn is shown as it is", turn=name)
            must(parts == ought_parts, "attempts are shown as they are", shown=parts, turn=name)
        for key, one in auditor.operations.items():
            there = ledger.operations.get(key)
            axes = (there.execution, there.effect) if there else ()
            must(axes == (one.execution, one.effect), "an operation is shown as it is", shown=axes)


def points(statements: int, random: Random) -> Iterator[Point]:
    """Where a call crashes; now and then the next process does as well."""
    yield Point(random.randint(1, statements), random.choice(("before", "after")))
    while random.random() < _AGAIN:
        yield Point(random.randint(1, statements), random.choice(("before", "after")))


def crashed(
    world: World,
    taken: Taken,
    before: Snapshot,
    points: Iterable[Point],
    expected: Tables | None = None,
) -> None:
    """Take a step again, with crashes; the caller asks again until there is an answer.

    A call with a key is simply given again. Of one without, the caller looks whether its events are
    there, as everybody can, and gives it again if they aren't.

    Args:
        world: Where the step was taken whole just now; in the end, where it was taken with crashes.
        taken: The step, and what came of it.
        before: The state in which it was taken.
        points: Where the process crashes.
        expected: What lies there after the whole step; default what lies there now.

    Raises:
        Broken: It is answered otherwise, or leaves other rows.
    """
    expected, step = expected or world.tables(), taken.step
    world.put_back(before)
    position, lost = world.last_committed(), False
    answer: str | None = None
    for point in points:
        answer = world.call(step, point)
        done = world.last_committed() > position
        lost = lost or (answer is None and done)
        keyed = step.given.get("idempotency_key") is not None
        if answer is not None or (done and not keyed and step.call not in IN_PARTS):
            break
    else:
        answer = world.call(step)
    if answer is not None and not (lost and step.call in IN_PARTS):
        same = _alike(answer, taken.answer) if lost else answer == taken.answer
        facts = {"call": str(step), "got": answer, "ought": taken.answer}
        must(same, "after a crash, the same call has the same answer", **facts)
    compare(world.tables(), expected, parts=lost and step.call in IN_PARTS)


def _alike(one: str, other: str) -> bool:
    return first_result(one) == first_result(other)


def compare(found: Tables, expected: Tables, *, parts: bool = False) -> None:
    """Compare every row of two states of a ledger.

    Args:
        found: One state.
        expected: The other.
        parts: What happened stands in several transactions, and may do so in another order: only
            what happened to each thing is compared.

    Raises:
        Broken: A row differs.
    """
    if parts:
        found, expected = ({"events": _facts(one["events"])} for one in (found, expected))
    for name, rows in expected.items():
        if rows != found[name]:
            extra = [row for row in found[name] if row not in rows][:2]
            missing = [row for row in rows if row not in found[name]][:2]
            rule = "a crash leaves no trace in the tables"
            raise Broken(rule, table=name, there=extra, ought=missing)


def _facts(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Stream, version, type and fields of events."""
    return sorted((row[1], row[2], row[3], row[5]) for row in rows)
