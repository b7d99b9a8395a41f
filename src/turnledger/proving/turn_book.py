"""What must hold of a coordinator turn, and of its attempts."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.proving.rules import Epochs, Fact, Held, Moment, instant, must, time

SETTLED = ("cancelled", "refused")


@dataclass
class Attempt:
    """An attempt: one request to a provider."""

    request: Any
    hash: str
    owner: str
    epoch: int
    status: str = "prepared"
    sent: int = 0


@dataclass
class TurnBook:
    """One coordinator turn, by its events."""

    work_item_id: str = ""
    order: int = 0
    status: str = ""
    held: Held | None = None
    not_before: datetime | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    epochs: Epochs = field(default_factory=Epochs)
    given: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    @property
    def latest(self) -> Attempt | None:
        """The last attempt."""
        return self.attempts[-1] if self.attempts else None

    def claimable(self, moment: Moment) -> bool:
        """Whether `claim` gives it out."""
        over = self.held is not None and moment.over(self.held.expires_at)
        return self.status == "pending" or over

    def _unanswered(self, moment: Moment) -> bool:
        latest, held = self.latest, self.held
        if latest is None or latest.status != "dispatching":
            return False
        own = held is not None and held[:2] == (latest.owner, latest.epoch)
        return not own or (held is not None and moment.over(held.expires_at))

    def expected(self, moment: Moment) -> str | None:
        """See `QueueBook.expected`."""
        verb = moment.step.call.partition(".")[2]
        if verb in ("renew", "release", "complete", "prepare"):
            live = self.held is not None and self.held.live(moment)
            return ("" if verb in ("renew", "release") else None) if live else "claim_lost"
        before = {"start_dispatch": "prepared", "respond": "dispatching"}
        before |= {"refuse": "dispatching", "reject": "responded"}
        if verb in before:
            return self._of_attempt(before[verb], moment)
        if verb == "ack":
            return "" if self.held is not None and self.held.current(moment) else "claim_lost"
        if verb == "fail":
            return self._of_fail(moment)
        return None

    def _of_fail(self, moment: Moment) -> str:
        if self.held is None or not self.held.live(moment):
            return "claim_lost"
        paid = self.latest is not None and self.latest.status == "responded"
        return "invalid_transition" if paid else ""

    def _of_attempt(self, status: str, moment: Moment) -> str:
        if self.held is None or not self.held.live(moment):
            return "claim_lost"
        number = moment.step.given["attempt"]
        if not 1 <= number <= len(self.attempts):
            return "invalid_transition"
        attempt = self.attempts[number - 1]
        own = (attempt.owner, attempt.epoch) == self.held[:2]
        if not own or attempt.status != status:
            return "invalid_transition"
        same = moment.step.given.get("request_hash") in (None, attempt.hash)
        return "" if same else "request_changed"

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the turn.

        Raises:
            Broken: It may not come now.
        """
        getattr(self, f"_{fact.kind}")(fact.data, moment)
        must(all(one.sent <= 1 for one in self.attempts), "a request is dispatched at most once")
        open_ = [one for one in self.attempts if one.status not in SETTLED]
        must(len(open_) <= 1, "an attempt comes once the one before it is settled")

    def _live(self, moment: Moment) -> Held:
        must(self.held and self.held.live(moment), "only a live claim changes its turn")
        assert self.held is not None  # noqa: S101 - for the type checkers
        return self.held

    def _attempt(self, data: Any, status: str) -> Attempt:
        known = 1 <= data["attempt"] <= len(self.attempts)
        attempt = self.attempts[data["attempt"] - 1] if known else None
        must(attempt and attempt.status == status, f"it must be {status} before", event=data)
        assert isinstance(attempt, Attempt)  # noqa: S101 - for the type checkers
        return attempt

    def _own(self, data: Any, status: str, moment: Moment) -> Attempt:
        held, attempt = self._live(moment), self._attempt(data, status)
        own = (attempt.owner, attempt.epoch) == held[:2] and data["epoch"] == held.epoch
        must(own, "an attempt is changed by its own owner only", event=data)
        return attempt

    def _begun(self, data: Any, _moment: Moment) -> None:
        must(not self.status, "a turn begins once")
        self.work_item_id, self.order = data["work_item_id"], data["turn_order"]
        self.status = "pending"

    def _claimed(self, data: Any, moment: Moment) -> None:
        must(self.claimable(moment), "a live claim isn't taken away", status=self.status)
        if self.held is not None and moment.step.call == "coordinator.resume":
            must(not self._unanswered(moment), "what is under way at a takeover is unknown first")
        self.epochs.next(data["owner"], data["epoch"])
        self.given.append((data["owner"], data["epoch"]))
        self.held = Held(data["owner"], data["epoch"], time(data["expires_at"]))
        self.status = "claimed"
        latest = self.latest
        if latest is not None and latest.status in ("prepared", "responded"):
            latest.owner, latest.epoch = data["owner"], data["epoch"]

    def _renewed(self, data: Any, moment: Moment) -> None:
        self.held = self._live(moment)._replace(expires_at=time(data["expires_at"]))

    def _released(self, _data: Any, moment: Moment) -> None:
        self._live(moment)
        self.held, self.status = None, "pending"

    def _recovered(self, _data: Any, moment: Moment) -> None:
        over = self.held is not None and moment.over(self.held.expires_at)
        must(over, "recovery never touches a live claim")
        must(not self._unanswered(moment), "what is under way becomes unknown first")
        self.held, self.status = None, "pending"

    def _prepared(self, data: Any, moment: Moment) -> None:
        held = self._live(moment)
        must(data["attempt"] == len(self.attempts) + 1, "attempts come one after the other")
        must((data["owner"], data["epoch"]) == held[:2], "an attempt is its claimer's")
        about = (data["request"], data["request_hash"], data["owner"], data["epoch"])
        self.attempts.append(Attempt(*about))
        self.not_before = None

    def _dispatch_started(self, data: Any, moment: Moment) -> None:
        attempt = self._own(data, "prepared", moment)
        attempt.status, attempt.sent = "dispatching", attempt.sent + 1

    def _responded(self, data: Any, moment: Moment) -> None:
        attempt = self._own(data, "dispatching", moment)
        shown = moment.step.given.get("request_hash")
        must(shown == attempt.hash, "an answer is to the very request that was sent")
        attempt.status = "responded"

    def _refused(self, data: Any, moment: Moment) -> None:
        self._own(data, "dispatching", moment).status = "refused"
        self.not_before = instant(data.get("not_before"))

    def _rejected(self, data: Any, moment: Moment) -> None:
        self._own(data, "responded", moment).status = "cancelled"

    def _outcome_unknown(self, data: Any, moment: Moment) -> None:
        attempt = self._attempt(data, "dispatching")
        must(self._unanswered(moment), "recovery never touches a live claim")
        attempt.status = "unknown"

    def _resolved(self, data: Any, _moment: Moment) -> None:
        attempt = self._attempt(data, "unknown")
        decision = data["decision"]
        attempt.status = "responded" if decision == "adopt" else "cancelled"
        owner, epoch = data["owner"], data["epoch"]
        if decision == "adopt":
            attempt.owner, attempt.epoch = owner, epoch
        if decision == "retry":
            must(self.status in ("pending", "claimed"), "a settled turn isn't tried again")
            self.attempts.append(Attempt(attempt.request, attempt.hash, owner, epoch))

    def _end(self, status: str) -> None:
        must(self.status in ("pending", "claimed"), "a turn is settled at most once")
        self.held, self.status = None, status

    def _acked(self, data: Any, moment: Moment) -> None:
        if data["completed"]:
            self._live(moment)
        must(self.held and self.held.current(moment), "a turn is acked by its last claim")
        self._end("acked")

    def _failed(self, _data: Any, moment: Moment) -> None:
        self._live(moment)
        paid = self.latest is not None and self.latest.status == "responded"
        must(not paid, "an answer that was paid for is never overwritten by a failure")
        self._end("acked")

    def _cancelled(self, _data: Any, _moment: Moment) -> None:
        self._end("cancelled")
        if self.latest is not None and self.latest.status == "dispatching":
            self.latest.status = "unknown"
