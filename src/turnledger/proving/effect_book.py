"""What must hold of runs, of operations, and of timers."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.proving.rules import Epochs, Fact, Held, Moment, instant, must, time


@dataclass
class RunBook:
    """One run, by its events."""

    held: Held | None = None
    over: bool = False
    about: tuple[str, str] = ("", "")
    epochs: Epochs = field(default_factory=Epochs)
    given: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def expected(self, moment: Moment) -> str | None:
        """See `QueueBook.expected`."""
        if moment.step.call in ("runs.renew", "runs.finish"):
            return "" if self.held is not None and self.held.live(moment) else "claim_lost"
        return None

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the run.

        Raises:
            Broken: It may not come now.
        """
        data = fact.data
        match fact.kind:
            case "started" | "taken_over":
                free = self.held is None or moment.over(self.held.expires_at)
                must(free and not self.over, "a live run isn't taken over")
                self.epochs.next(data["owner"], data["epoch"])
                self.given.append((data["owner"], data["epoch"]))
                self.held = Held(data["owner"], data["epoch"], time(data["expires_at"]))
            case "renewed":
                must(self.held and self.held.live(moment), "only a live claim is renewed")
                assert self.held is not None  # noqa: S101 - for the type checkers
                self.held = self.held._replace(expires_at=time(data["expires_at"]))
            case _:
                if fact.kind == "finished":
                    must(self.held and self.held.live(moment), "only a live claim finishes a run")
                must(not self.over, "a run ends once")
                self.held, self.over = None, True


@dataclass
class OperationBook:
    """One operation, by its events.

    Attributes:
        runs: All runs, which decide who may claim it.
    """

    runs: dict[str, RunBook]
    run_id: str = ""
    work_item_id: str = ""
    policy: str = ""
    execution: str = "not_started"
    effect: str = "pending"
    claimer: tuple[str, int] = ("", 0)
    epoch: int = 0

    @property
    def is_running(self) -> bool:
        """Whether its effect may happen just now."""
        return self.execution in ("running", "cancel_requested")

    @property
    def is_in_doubt(self) -> bool:
        """Whether somebody has to decide."""
        return self.execution == "hazardous_orphan" or self.effect == "unknown"

    def _run(self) -> Held | None:
        return self.runs[self.run_id].held if self.run_id in self.runs else None

    def _answered_for(self, moment: Moment) -> bool:
        held = self._run()
        return held is not None and held[:2] == self.claimer and not moment.over(held.expires_at)

    def expected(self, moment: Moment) -> str | None:
        """See `QueueBook.expected`."""
        if moment.step.call == "operations.resolve":
            return "" if self.is_in_doubt else "invalid_transition"
        return None

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the operation.

        Raises:
            Broken: It may not come now.
        """
        getattr(self, f"_{fact.kind}")(fact.data, moment)

    def _created(self, data: Any, _moment: Moment) -> None:
        must(not self.run_id, "an operation is created once for its key")
        self.run_id, self.work_item_id = data["run_id"], data["work_item_id"]
        self.policy = data["replay_policy"]

    def _claimed(self, data: Any, moment: Moment) -> None:
        held, shown = self._run(), moment.step.shown
        must(self.execution == "not_started", "an effect begins at most once between decisions")
        must(shown and shown[0] == self.run_id, "an operation is its own run's")
        must(held and held.live(moment), "only a live run begins an effect")
        must(data["execution_epoch"] == self.epoch + 1, "every claim adds 1 to the epoch")
        automatic = moment.step.given.get("automatic", True)
        must(not automatic or self.policy == "safe", "only what is safe is repeated by itself")
        self.execution, self.epoch = "running", data["execution_epoch"]
        self.claimer = (data["owner"], data["run_epoch"])
        must(held and held[:2] == self.claimer, "it is claimed by the owner of its run")

    def _cancel_requested(self, _data: Any, _moment: Moment) -> None:
        must(self.execution == "running", "only what runs can be asked to end")
        self.execution = "cancel_requested"

    def _completed(self, data: Any, moment: Moment) -> None:
        shown = moment.step.shown
        must(self.is_running, "an operation is completed once")
        must(shown and shown[1:] == self.claimer, "it is completed by its claimer")
        must(self._answered_for(moment), "a late completion is no completion")
        must(data["effect"] == moment.step.given["effect"], "the effect is the reported one")
        self.execution, self.effect = "quiescent", data["effect"]

    def _orphaned(self, _data: Any, moment: Moment) -> None:
        must(self.is_running, "only what runs is orphaned")
        must(not self._answered_for(moment), "recovery never touches a live claim")
        self.execution, self.effect = "hazardous_orphan", "unknown"

    def _never_claimed(self, _data: Any, _moment: Moment) -> None:
        must(self.execution == "not_started", "only what never began is never claimed")
        must(self.run_id in self.runs and self.runs[self.run_id].over, "its run is over")
        self.execution, self.effect = "quiescent", "failed_no_effect"

    def _resolved(self, data: Any, _moment: Moment) -> None:
        must(self.is_in_doubt, "only what is in doubt is decided, once")
        self.execution, self.effect = "quiescent", data["effect"]


@dataclass
class TimerBook:
    """One timer, by its events."""

    thread_id: str = ""
    state: str = "live"
    next_run_at: datetime | None = None
    idle: bool = False
    due: bool = False
    runs: int = 0
    last_run_at: datetime | None = None

    def has_come(self, moment: Moment) -> bool:
        """Whether its next run has come."""
        if self.state != "live":
            return False
        return self.idle or self.due or self._passed(moment)

    def _passed(self, moment: Moment) -> bool:
        return self.next_run_at is not None and self.next_run_at <= moment.now

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the timer.

        Raises:
            Broken: It may not come now.
        """
        data = fact.data
        match fact.kind:
            case "created":
                must(not self.thread_id, "a timer is created once")
                trigger = data["trigger"]
                self.thread_id = data["thread_id"]
                self.idle = bool(trigger.get("repeat")) and trigger.get("seconds") == 0
            case "fired":
                self._fired(data, moment)
            case "marked_due":
                must(self._passed(moment) and not self.due, "a run is marked due once, in time")
                self.due = True
                return
            case "paused" | "deleted":
                must(self.state in ("live", "paused", "ended"), "a deleted timer is gone")
                self.state = fact.kind
            case "resumed":
                must(self.state == "paused", "only a paused timer is resumed")
                self.state = "live"
            case _:
                must(fact.kind in ("updated", "skipped", "recomputed", "set_aside"), "it is known")
        if "next_run_at" in data:
            self._moved(data)

    def _moved(self, data: Any) -> None:
        self.next_run_at, self.due = instant(data["next_run_at"]), False
        if self.next_run_at is None and not self.idle and self.state == "live":
            self.state = "ended"

    def _fired(self, data: Any, moment: Moment) -> None:
        must(self.has_come(moment), "a timer fires when its run has come, and once for each")
        must(data["epoch"] == self.runs + 1, "the epoch counts the firings")
        if moment.step.call == "timers.fire_due":
            must(data["message_id"], "an occurrence isn't consumed without its message")
        last = time(data["last_run_at"])
        must(self.last_run_at is None or last > self.last_run_at, "runs come one after the other")
        self.runs, self.last_run_at = data["epoch"], last
