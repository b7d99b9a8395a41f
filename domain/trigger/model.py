"""The kinds of triggers: what a caller gives, as models or as dicts of the same fields."""

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, NaiveDatetime, ValidationError

from turnledger.domain.errors import InvalidTrigger

Misfire = Literal["coalesce", "skip", "catch_up"]

SHORTEST_PERIOD = 0.001  # seconds
LONGEST_TEXT = 1_000  # characters of a rule
LONGEST_NAME = 256  # likewise of a timezone

_Zone = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] | None


class _Model(BaseModel):
    """Fields that are checked; what is wrong with them is said in turnledger's words."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        """Take the fields.

        Raises:
            InvalidTrigger: One of them is wrong, or unknown, or missing.
        """
        try:
            super().__init__(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise InvalidTrigger(f"has a wrong field: {name}: {first['msg']}") from error


class Delay(_Model):
    """After so many seconds; with `repeat`, again and again on the grid that begins there.

    Attributes:
        seconds: From 0 on. With `repeat`, 0 is *idle-recurring*: due whenever the thread is idle.
        repeat: Whether it recurs.
        misfire: What becomes of occurrences that nobody was awake for.
    """

    kind: Literal["delay"] = "delay"
    seconds: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
    repeat: Annotated[bool, Field(strict=True)] = False
    misfire: Misfire = "coalesce"

    def model_post_init(self, _context: Any) -> None:
        """Refuse a period that is no duration."""
        if self.repeat and 0 < self.seconds < SHORTEST_PERIOD:
            raise InvalidTrigger(f"repeats every {self.seconds} s; 0.001 s is the least")


class Schedule(_Model):
    """At a local time, or by a recurrence rule (RFC 5545) that begins there.

    Attributes:
        dtstart: A local time in the timezone; default, with a rule, is now.
        rrule: Such as FREQ=DAILY;BYHOUR=9; a leading `RRULE:` is accepted.
        timezone: An IANA name; default the host's.
        misfire: What becomes of occurrences that nobody was awake for.
    """

    kind: Literal["schedule"] = "schedule"
    dtstart: NaiveDatetime | None = None
    rrule: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)] | None = None
    timezone: _Zone = None
    misfire: Misfire = "coalesce"

    def model_post_init(self, _context: Any) -> None:
        """Refuse one that says nothing."""
        if self.dtstart is None and self.rrule is None:
            raise InvalidTrigger("needs a dtstart or an rrule")


class Cron(_Model):
    """By a cron expression of five fields.

    Attributes:
        expression: Minute, hour, day of month, month, day of week.
        timezone: An IANA name; default the host's.
        misfire: What becomes of occurrences that nobody was awake for.
    """

    kind: Literal["cron"] = "cron"
    expression: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    timezone: _Zone = None
    misfire: Misfire = "coalesce"


Trigger = Delay | Schedule | Cron

_KINDS: dict[str, type[Trigger]] = {"delay": Delay, "schedule": Schedule, "cron": Cron}


def as_trigger(given: object) -> Trigger:
    """The trigger that a caller gave, or that was stored.

    Raises:
        InvalidTrigger: It is none.
    """
    if isinstance(given, Delay | Schedule | Cron):
        return type(given)(**given.model_dump())  # it may have been made without a check
    if not isinstance(given, dict):
        other = type(given).__name__
        raise InvalidTrigger(f"must be a Delay, Schedule or Cron, or a dict of one, not {other}")
    kind = given.get("kind")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        said, known = _shown(kind), ", ".join(_KINDS)
        raise InvalidTrigger(f"has the kind {said}; known are {known}")
    if not all(isinstance(name, str) for name in given):
        raise InvalidTrigger("has a field whose name is no text")
    return model(**given)


def _shown(kind: object) -> str:
    """What was given as a kind, shortly: it may be as long and as deep as you like."""
    return repr(kind[:LONGEST_NAME]) if isinstance(kind, str) else type(kind).__name__


def in_timezone(trigger: Trigger, default: str) -> Trigger:
    """The trigger with its timezone said, if it is of a kind that has one."""
    if isinstance(trigger, Delay) or trigger.timezone is not None:
        return trigger
    return trigger.model_copy(update={"timezone": default})


def is_idle(trigger: Trigger) -> bool:
    """Whether it is idle-recurring: always due, while the thread has nothing else to do."""
    return isinstance(trigger, Delay) and trigger.repeat and not trigger.seconds


def says_idle(fields: dict[str, Any]) -> bool:
    """Whether the stored fields of a trigger are those of an idle-recurring one."""
    return (fields.get("kind"), fields.get("repeat"), fields.get("seconds")) == ("delay", True, 0)


def recurs(trigger: Trigger) -> bool:
    """Whether it has more than one occurrence to come, by its kind."""
    match trigger:
        case Delay():
            return trigger.repeat
        case Schedule():
            return trigger.rrule is not None
        case _:
            return True


def period_of(delay: Delay) -> timedelta:
    """The seconds of a delay, to the microsecond.

    Raises:
        InvalidTrigger: It is too large.
    """
    try:
        return timedelta(seconds=delay.seconds)
    except OverflowError as error:
        raise InvalidTrigger(f"has a delay of {delay.seconds} s, which is too large") from error
