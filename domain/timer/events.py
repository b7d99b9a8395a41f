"""The events of a timer. Names and fields are the storage format: add, never change.

A trigger is stored as the dict of its fields: one that this release would refuse stays readable.
"""

from typing import Any

from turnledger.domain.event import Event, Instant

CATEGORY = "timer"


def stream_id(timer_id: str) -> str:
    """The stream that holds a timer."""
    return f"{CATEGORY}:{timer_id}"


class Timer:
    """The events, under the name of their aggregate: `Timer.Created` and so on."""

    class Created(Event):
        """A timer was set; its trigger is resolved: it has a timezone, and a rule's dtstart."""

        TOPIC = "timer.created"
        thread_id: str
        trigger: dict[str, Any]
        content: Any
        instructions: Any = None
        metadata: dict[str, Any]
        delivery: str
        source: str
        client_id: str | None = None
        created_at: Instant
        next_run_at: Instant | None
        time_zone_data: str

    class Updated(Event):
        """Fields have other values; with a new trigger, the next run is computed from it."""

        TOPIC = "timer.updated"
        changed: dict[str, Any]
        anchored_at: Instant
        next_run_at: Instant | None
        time_zone_data: str

    class Paused(Event):
        """It doesn't fire until it is resumed."""

        TOPIC = "timer.paused"

    class Resumed(Event):
        """It fires again; so many occurrences passed meanwhile, which its policy treats."""

        TOPIC = "timer.resumed"
        missed: int

    class Deleted(Event):
        """It ended before its last run, by a caller or with its thread."""

        TOPIC = "timer.deleted"

    class MarkedDue(Event):
        """Its next run has come, and nobody has claimed it yet."""

        TOPIC = "timer.marked_due"
        planned_at: Instant

    class Fired(Event):
        """An occurrence was consumed, with those that were missed and ended with it.

        `error` says why the next run can't be computed, if so; without one and without a next run,
        it was the last.
        """

        TOPIC = "timer.fired"
        owner: str
        epoch: int
        planned_at: Instant
        fired_at: Instant
        missed: int
        last_run_at: Instant
        next_run_at: Instant | None
        message_id: str | None = None
        time_zone_data: str
        error: str | None = None

    class Skipped(Event):
        """Occurrences were missed, and aren't run: that is its policy."""

        TOPIC = "timer.skipped"
        planned_at: Instant
        missed: int
        next_run_at: Instant | None
        time_zone_data: str

    class Recomputed(Event):
        """The time zone data is another one, and the next run is computed from it."""

        TOPIC = "timer.recomputed"
        next_run_at: Instant | None
        time_zone_data: str
        error: str | None = None

    class SetAside(Event):
        """Its next run can't be computed."""

        TOPIC = "timer.set_aside"
        error: str


EVENTS: tuple[type[Event], ...] = (
    Timer.Created,
    Timer.Updated,
    Timer.Paused,
    Timer.Resumed,
    Timer.Deleted,
    Timer.MarkedDue,
    Timer.Fired,
    Timer.Skipped,
    Timer.Recomputed,
    Timer.SetAside,
)
