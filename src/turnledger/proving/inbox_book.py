"""What must hold of the inbox of a thread."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.proving.rules import Epochs, Fact, Held, Moment, instant, must, time


@dataclass
class Letter:
    """A message."""

    id: str
    arrival: int
    queued_at: datetime
    delivery: str
    source: str
    state: str = "pending"
    deliveries: int = 0


@dataclass
class InboxBook:
    """One thread's inbox, by its events."""

    life: str = "active"
    messages: dict[str, Letter] = field(default_factory=dict[str, Letter])
    held: Held | None = None
    flying: str = ""
    epochs: Epochs = field(default_factory=Epochs)
    given: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def waiting(self) -> list[Letter]:
        """Pending messages, the oldest first."""
        found = [one for one in self.messages.values() if one.state == "pending"]
        return sorted(found, key=lambda one: (one.queued_at, one.arrival))

    def may_claim(self, moment: Moment) -> bool:
        """Whether a claim would be given out."""
        oldest = next(iter(self.waiting()), None)
        if oldest is None or self.life != "active" or self.held is not None:
            return False
        after_turn, steer = (
            moment.step.given[name] for name in ("can_after_turn", "can_steer_current_turn")
        )
        return bool(after_turn or (steer and oldest.delivery == "steer-current-turn"))

    def expected(self, moment: Moment) -> str | None:
        """See `QueueBook.expected`."""
        verb = moment.step.call.partition(".")[2]
        if verb == "release":
            return "" if self.held is not None and self.held.live(moment) else "claim_lost"
        if verb == "confirm":
            return "" if self.held is not None and self.held.current(moment) else "claim_lost"
        return None

    def take(self, fact: Fact, moment: Moment) -> None:
        """The next event of the inbox.

        Raises:
            Broken: It may not come now.
        """
        getattr(self, f"_{fact.kind}")(fact.data, moment)
        flying = [one.id for one in self.messages.values() if one.state == "claimed"]
        must(flying == ([self.flying] if self.held else []), "one message is in flight at a time")

    def _named(self, data: Any, *states: str) -> Letter:
        message = self.messages.get(data["message_id"])
        must(message and message.state in states, "a message is in exactly one state", event=data)
        assert message is not None  # noqa: S101 - for the type checkers
        return message

    def _of_held(self, data: Any) -> Letter:
        message = self._named(data, "claimed")
        must(self.held and data["epoch"] == self.held.epoch, "it is settled under its last epoch")
        return message

    def _land(self, message: Letter, state: str) -> None:
        message.state, self.held, self.flying = state, None, ""

    def _posted(self, data: Any, _moment: Moment) -> None:
        must(self.life == "active", "an archived or deleted thread takes no messages")
        must(data["message_id"] not in self.messages, "a message is posted once")
        queued = instant(data.get("queued_at")) or time(data["created_at"])
        about = (data["message_id"], data["arrival"], queued, data["delivery"], data["source"])
        self.messages[about[0]] = Letter(*about)

    def _claimed(self, data: Any, moment: Moment) -> None:
        must(self.may_claim(moment), "a message is handed over only when it can be delivered")
        message = self._named(data, "pending")
        must(message is self.waiting()[0], "only ever the oldest message is handed over")
        self.epochs.next(data["owner"], data["epoch"])
        self.given.append((data["owner"], data["epoch"]))
        self.held = Held(data["owner"], data["epoch"], time(data["expires_at"]))
        self.flying, message.state = message.id, "claimed"
        message.deliveries += 1
        counted = data["deliveries"] == message.deliveries
        must(counted, "deliveries are counted, but for those given back", event=data)

    def _confirmed(self, data: Any, moment: Moment) -> None:
        message = self._of_held(data)
        must(self.held and self.held.current(moment), "only a current claim is confirmed")
        self._land(message, "delivered")

    def _released(self, data: Any, moment: Moment) -> None:
        message = self._of_held(data)
        must(self.held and self.held.live(moment), "only a live claim is released")
        message.deliveries -= 1
        self._land(message, "pending")

    def _recovered(self, data: Any, moment: Moment) -> None:
        message = self._of_held(data)
        must(self.held and moment.over(self.held.expires_at), "recovery touches no live claim")
        once = moment.step.given.get("mode") != "at_least_once"
        must(not once, "a message isn't delivered a second time unless that was wished")
        self._land(message, "pending")

    def _expired(self, data: Any, moment: Moment) -> None:
        message = self._of_held(data)
        over = self.held is not None and moment.over(self.held.expires_at)
        poison = moment.step.call == "inbox.release" and self.held and self.held.live(moment)
        must(over or poison, "recovery touches no live claim")
        message.deliveries = data["deliveries"]
        self._land(message, "expired")

    def _requeued(self, data: Any, _moment: Moment) -> None:
        self._named(data, "expired").state = "pending"

    def _deleted(self, data: Any, _moment: Moment) -> None:
        self._named(data, "pending", "expired").state = "deleted"

    def _cleared(self, data: Any, _moment: Moment) -> None:
        must(data["in_flight_id"] == (self.flying or None), "what is in flight is cleared as well")
        for message in self.messages.values():
            if message.state in ("pending", "expired", "claimed"):
                message.state = "deleted"
        self.held, self.flying = None, ""
