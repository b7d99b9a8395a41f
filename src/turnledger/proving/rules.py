"""What is known of a ledger by its events alone, and the rules that must hold of it.

This side knows nothing of the code that decides: it is written from what the documents promise, so
that a mistake there isn't made here as well.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from turnledger.proving.calls import Step


class Broken(Exception):
    """A rule doesn't hold.

    Attributes:
        rule: In words.
    """

    def __init__(self, rule: str, **facts: Any) -> None:
        """Take the rule, and what is to be seen."""
        self.rule = rule
        shown = ", ".join(f"{name}: {fact}" for name, fact in facts.items())
        super().__init__(f"{rule} ({shown})" if facts else rule)


def must(holds: object, rule: str, **facts: Any) -> None:
    """Say that a rule is broken, unless it holds.

    Raises:
        Broken: It doesn't.
    """
    if not holds:
        raise Broken(rule, **facts)


class Fact(NamedTuple):
    """An event, as it is read in a store.

    Attributes:
        subject: What its stream is about.
        kind: Its type behind the dot.
        data: Its fields.
    """

    subject: str
    kind: str
    data: Mapping[str, Any]


class Happened(NamedTuple):
    """An event as it is stored; `recorded_at` in microseconds."""

    position: int
    stream_id: str
    type: str
    data: Any
    recorded_at: int


class Moment(NamedTuple):
    """When something is judged.

    Attributes:
        now: The clock's reading.
        longest: The longest lease.
        step: The call that is under way.
    """

    now: datetime
    longest: timedelta
    step: Step

    def over(self, expires_at: datetime) -> bool:
        """Whether a lease is over; one too far ahead is as well."""
        return not self.now < expires_at <= self.now + self.longest


class Held(NamedTuple):
    """A claim that was given out and isn't settled."""

    owner: str
    epoch: int
    expires_at: datetime

    def current(self, moment: Moment) -> bool:
        """Whether the call shows it."""
        shown = moment.step.shown
        return shown is not None and shown[1:] == (self.owner, self.epoch)

    def live(self, moment: Moment) -> bool:
        """Whether it shows it in time."""
        return self.current(moment) and not moment.over(self.expires_at)


def instant(text: str | None) -> datetime | None:
    """A stored time."""
    return None if text is None else datetime.fromisoformat(text)


def time(text: str) -> datetime:
    """A stored time that is there."""
    return datetime.fromisoformat(text)


class Epochs:
    """The epochs of what is claimed: each belongs to one owner, and each is the next."""

    def __init__(self) -> None:
        """Begin with none."""
        self.last = 0
        self.owners: dict[int, str] = {}

    def next(self, owner: str, epoch: int) -> None:
        """One more is given out.

        Raises:
            Broken: It isn't the next one.
        """
        must(epoch == self.last + 1, "every claim adds 1 to the epoch", epoch=epoch, last=self.last)
        self.last = epoch
        self.owners[epoch] = owner
