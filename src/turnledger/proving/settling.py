"""The way out: from wherever a history stands, all of it comes to an end."""

from collections.abc import Callable, Iterator
from typing import Any

from turnledger.proving.auditor import Auditor
from turnledger.proving.calls import Step
from turnledger.proving.rules import must

_PATIENCE = 400  # steps; a history of 60 needs fewer than 100
_LATER = 4_000.0  # seconds: past every lease and every wait

Wish = tuple[str, dict[str, Any]]


class WayOut:
    """Says what is to be done next, until nothing is left."""

    def __init__(self, auditor: Auditor, number: int, seconds: float) -> None:
        """Go on where a history ended: behind its last number, at its last time."""
        self._known = auditor
        self._number, self._seconds = number, seconds + _LATER

    def steps(self) -> Iterator[Step]:
        """One step after the other, each chosen by what the one before has led to.

        Raises:
            Broken: Nothing helps.
        """
        start = self._number
        yield self._step(("recovery.run_once", {}))
        while wish := self._next():
            must(self._number - start < _PATIENCE, "everything can be settled", left=wish)
            yield self._step(wish)

    def _step(self, wish: Wish) -> Step:
        self._number += 1
        return Step(self._number, self._seconds, *wish)

    def _next(self) -> Wish | None:
        ways: tuple[Callable[[], Wish | None], ...] = (
            self._threads,
            self._queues,
            self._timers,
            self._inboxes,
            self._turns,
            self._operations,
        )
        return next((wish for way in ways if (wish := way())), None)

    def _threads(self) -> Wish | None:
        for name, queue in self._known.queues.items():
            if queue.life == "archived":
                return "threads.unarchive", {"thread_id": name}
            if queue.paused and queue.life == "active":
                return "queue.resume", {"thread_id": name}
        return None

    def _queues(self) -> Wish | None:
        for name, queue in self._known.queues.items():
            if queue.held is not None:
                claim = [name, *queue.held[:2]]
                given = {"claim": claim, "dispatch_id": f"out {self._number}"}
                sent = queue.dispatch is not None
                return ("queue.ack", {"claim": claim}) if sent else ("queue.start_dispatch", given)
            for turn in queue.visible()[:1]:
                about = {"thread_id": name, "queued_turn_id": turn.id}
                if turn.state == "pending":
                    return "queue.claim_head", {"thread_id": name, "owner": "out", "lease": 60}
                if turn.unknown:
                    return "queue.resolve", {**about, "decision": "acked", "by": "out"}
                return "queue.retry", about
        return None

    def _timers(self) -> Wish | None:
        for name, timer in self._known.timers.items():
            life = self._known.queue(timer.thread_id).life
            if timer.state in ("live", "paused") and life == "active":
                return "timers.delete", {"thread_id": timer.thread_id, "timer_id": name}
        return None

    def _inboxes(self) -> Wish | None:
        can = {"can_after_turn": True, "can_steer_current_turn": True}
        for name, inbox in self._known.inboxes.items():
            if inbox.held is not None:
                return "inbox.confirm", {"claim": [name, *inbox.held[:2]]}
            if inbox.waiting():
                return "inbox.claim_next", {"thread_id": name, "owner": "out", "lease": 60, **can}
        return None

    def _turns(self) -> Wish | None:
        for name, turn in self._known.turns.items():
            if turn.latest is not None and turn.latest.status == "unknown":
                given = {"turn_id": name, "attempt": len(turn.attempts), "decision": "cancel"}
                return "coordinator.resolve", {**given, "by": "out"}
            if turn.held is not None:
                return "coordinator.complete", {"claim": [name, *turn.held[:2]], "result": "out"}
            if turn.status == "pending":
                return "coordinator.claim", {"turn_id": name, "owner": "out", "lease": 60}
        return None

    def _operations(self) -> Wish | None:
        for name, run in self._known.runs.items():
            if not run.over:
                return "runs.interrupt", {"run_id": name, "reason": "out"}
        for name, one in self._known.operations.items():
            if one.execution == "not_started" and one.run_id not in self._known.runs:
                about = {"run_id": one.run_id, "work_item_id": "v", "action_id": "act"}
                return "runs.start", {**about, "owner": "out", "lease": 60}
            if one.is_in_doubt:
                given = {"key": name, "decision": "confirm_not_applied", "by": "out"}
                return "operations.resolve", {**given, "evidence": None}
        unsettled = any(one.execution != "quiescent" for one in self._known.operations.values())
        return ("operations.recover", {}) if unsettled else None
