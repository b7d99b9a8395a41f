"""What must hold of the queue of a thread."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.proving.rules import Epochs, Fact, Held, Moment, instant, must, time

_GONE = ("acked", "deleted")


@dataclass
class Entry:
    """A queued turn."""

    id: str
    order: int
    submission: Any
    created_at: datetime
    not_before: datetime | None
    state: str = "pending"
    unknown: bool = False


@dataclass
class QueueBook:
    """One thread's queue, by its events.

    Attributes:
        limit: Of visible turns.
        life: Of the thread: active, archived or deleted.
    """

    limit: int
    life: str = "active"
    paused: bool = False
    turns: dict[str, Entry] = field(default_factory=dict[str, Entry])
    held: Held | None = None
    flying: str = ""
    dispatch: str | None = None
    dispatches: set[str] = field(default_factory=set[str])
    epochs: Epochs = field(default_factory=Epochs)
    given: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def visible(self) -> list[Entry]:
        """Pending and failed turns, in order."""
        found = [one for one in self.turns.values() if one.state in ("pending", "failed")]
        return sorted(found, key=lambda one: one.order)

    def why_blocked(self, moment: Moment) -> str | None:
        """Why a claim wouldn't be given out now; None if one would."""
        if self.life != "active":
            return self.life
        if self.paused:
            return "paused"
        if self.held is not None:
            return "expired_claim" if moment.over(self.held.expires_at) else "in_flight"
        return self._why_head(moment)

    def _why_head(self, moment: Moment) -> str | None:
        head = next(iter(self.visible()), None)
        if head is None:
            return "empty"
        if head.state == "failed":
            return "failed_head"
        late = head.not_before is not None and moment.now < head.not_before
        return "not_yet" if late else None

    def expected(self, moment: Moment) -> str | None:
        """The refusal that a call must get; "" for none, and None where nothing is foretold."""
        verb = moment.step.call.partition(".")[2]
        if verb in ("renew", "release", "start_dispatch"):
            live = self.held is not None and self.held.live(moment)
            return self._of_claim(verb, moment) if live else "claim_lost"
        if verb in ("ack", "fail"):
            if self.held is None or not self.held.current(moment):
                return "claim_lost"
            return "invalid_transition" if verb == "ack" and self.dispatch is None else ""
        if verb == "retry" and self.life == "active":
            return self._of_failed(moment, unknown=False)
        if verb == "resolve" and self.life != "deleted":
            return self._of_failed(moment, unknown=True)
        return None

    def _of_claim(self, verb: str, moment: Moment) -> str:
        if verb == "release":
            return "" if self.dispatch is None else "invalid_transition"
        dispatch_id = moment.step.given.get("dispatch_id")
        if verb == "renew" or self.dispatch == dispatch_id:
            return ""
        if self.life == "archived":
            return "thread_archived"
        used = self.dispatch is not None or dispatch_id in self.dispatches
        return "invalid_transition" if used else ""

    def _of_failed(self, moment: Moment, *, unknown: bool) -> str | None:
        turn = self.turns.get(moment.step.given["queued_turn_id"])
        if turn is None:
            return None
        return "" if (turn.state, turn.unknown) == ("failed", unknown) else "invalid_transition"

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the queue.

        Raises:
            Broken: It may not come now.
        """
        getattr(self, f"_{fact.kind}")(fact.data, moment)
        orders = [turn.order for turn in self.turns.values()]
        must(len(set(orders)) == len(orders), "orders within a thread are distinct")
        flying = [t.id for t in self.turns.values() if t.state in ("claimed", "dispatching")]
        expected = [self.flying] if self.held else []
        must(flying == expected, "at most one queued turn of a thread is in flight", turns=flying)

    def _named(self, data: Any, *states: str) -> Entry:
        turn = self.turns.get(data["queued_turn_id"])
        must(turn and turn.state in states, "a queued turn is in exactly one state", event=data)
        assert turn is not None  # noqa: S101 - for the type checkers
        return turn

    def _of_held(self, data: Any) -> Entry:
        turn = self._named(data, "claimed", "dispatching")
        held = self.held
        must(held and turn.id == self.flying, "what is settled is what is in flight", event=data)
        must(held and data["epoch"] == held.epoch, "it is settled under its latest epoch")
        return turn

    def _land(self, turn: Entry, state: str) -> None:
        turn.state, self.held, self.flying, self.dispatch = state, None, "", None

    def _appended(self, data: Any, _moment: Moment) -> None:
        must(self.life == "active", "an archived or deleted thread takes no work")
        must(data["queued_turn_id"] not in self.turns, "a queued turn is appended once")
        behind = max((turn.order for turn in self.turns.values()), default=-1)
        must(data["queue_order"] > behind, "what is appended goes behind everything")
        must(len(self.visible()) < self.limit, "no more turns are visible than the limit")
        created, late = time(data["created_at"]), instant(data.get("not_before"))
        about = (data["queued_turn_id"], data["queue_order"], data["submission"])
        self.turns[about[0]] = Entry(*about, created, late)

    def _edited(self, data: Any, _moment: Moment) -> None:
        must(self.life == "active", "nothing is edited in an archived thread")
        self._named(data, "pending", "failed").submission = data["submission"]

    def _deleted(self, data: Any, _moment: Moment) -> None:
        self._named(data, "pending", "failed").state = "deleted"

    def _cleared(self, data: Any, _moment: Moment) -> None:
        there = {turn.id for turn in self.visible()}
        must(set(data["queued_turn_ids"]) == there, "all that is visible is cleared")
        must(data["in_flight_id"] == (self.flying or None), "what is in flight is cleared as well")
        for turn in self.turns.values():
            turn.state = turn.state if turn.state in _GONE else "deleted"
        self.held, self.flying, self.dispatch = None, "", None

    def _reordered(self, data: Any, _moment: Moment) -> None:
        ids = list(data["queued_turn_ids"])
        there = sorted(turn.id for turn in self.visible())
        must(sorted(ids) == there, "a new order is a permutation of the visible queue")
        for number, turn_id in enumerate(ids):
            self.turns[turn_id].order = data["first_order"] + number

    def _claimed(self, data: Any, moment: Moment) -> None:
        reason = self.why_blocked(moment)
        must(reason is None, "a blocked thread gives out no claim", reason=reason)
        turn = self._named(data, "pending")
        must(turn is self.visible()[0], "the head of the queue is claimed first", turn=turn.id)
        end = time(data["expires_at"])
        must(not moment.over(end), "a fresh claim is live", expires_at=end)
        self.epochs.next(data["owner"], data["epoch"])
        self.given.append((data["owner"], data["epoch"]))
        self.held, self.flying = Held(data["owner"], data["epoch"], end), turn.id
        turn.state = "claimed"

    def _renewed(self, data: Any, moment: Moment) -> None:
        self._of_held(data)
        must(self.held and self.held.live(moment), "only a live claim is renewed")
        assert self.held is not None  # noqa: S101 - for the type checkers
        self.held = self.held._replace(expires_at=time(data["expires_at"]))

    def _released(self, data: Any, moment: Moment) -> None:
        turn = self._of_held(data)
        must(self.held and self.held.live(moment), "only a live claim is released")
        must(self.dispatch is None, "what is being dispatched isn't given back")
        self._land(turn, "pending")

    def _stale(self, moment: Moment) -> bool:
        former = moment.step.given.get("owner")
        held = self.held
        return held is not None and (moment.over(held.expires_at) or held.owner == former)

    def _recovered(self, data: Any, moment: Moment) -> None:
        turn = self._of_held(data)
        must(self._stale(moment), "recovery never touches a live claim")
        must(self.dispatch is None, "what may have been sent isn't sent again by itself")
        self._land(turn, "pending")

    def _dispatch_started(self, data: Any, moment: Moment) -> None:
        turn = self._of_held(data)
        must(self.held and self.held.live(moment), "only a live claim starts a dispatch")
        must(turn.state == "claimed", "a claim starts one dispatch")
        must(data["dispatch_id"] not in self.dispatches, "a dispatch id is used once in a thread")
        must(self.life == "active", "an archived thread starts no dispatch")
        self.dispatches.add(data["dispatch_id"])
        self.dispatch, turn.state = data["dispatch_id"], "dispatching"

    def _acked(self, data: Any, moment: Moment) -> None:
        turn = self._of_held(data)
        must(data["dispatch_id"] == self.dispatch, "what is acked was dispatched under that id")
        if moment.step.shown is not None:
            must(self.held and self.held.current(moment), "only a current claim is acked")
        self._land(turn, "acked")

    def _failed(self, data: Any, moment: Moment) -> None:
        turn = self._of_held(data)
        unknown, verb = data["outcome_unknown"], moment.step.call.partition(".")[2]
        if moment.step.shown is not None:
            must(self.held and self.held.current(moment), "only a current claim is failed")
        elif verb != "fail_in_flight":
            must(self._stale(moment), "recovery never touches a live claim")
        if moment.step.shown is None:
            sent = self.dispatch is not None
            must(unknown == sent, "what may have been sent is of unknown outcome", sent=sent)
        self._land(turn, "failed")
        turn.unknown = unknown

    def _retried(self, data: Any, _moment: Moment) -> None:
        turn = self._named(data, "failed")
        must(not turn.unknown, "an unknown outcome isn't tried again without a decision")
        turn.state = "pending"

    def _resolved(self, data: Any, _moment: Moment) -> None:
        turn = self._named(data, "failed")
        must(turn.unknown, "only an unknown outcome is decided")
        turn.state = "acked" if data["decision"] == "acked" else "pending"
        turn.unknown = False

    def _paused(self, _data: Any, _moment: Moment) -> None:
        must(not self.paused, "a paused queue isn't paused again")
        self.paused = True

    def _resumed(self, _data: Any, _moment: Moment) -> None:
        must(self.paused, "only a paused queue is resumed")
        self.paused = False
