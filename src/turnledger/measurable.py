"""What a ledger offers to those who want to know how it goes: figures and flows of its history."""

import os
from collections.abc import Sequence
from datetime import datetime

from turnledger.analytics import (
    CHARTS,
    By,
    Chart,
    Flow,
    Of,
    Reading,
    Stats,
    checked_path,
    draw,
    flow,
    measured,
    stats,
)
from turnledger.infrastructure.backend import Backend


class Measurable:
    """The part of `Ledger` for those who look for what is slow, and what goes wrong."""

    _backend: Backend

    def stats(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by: By | None = None,
        thread_id: str | None = None,
        work_item_id: str | None = None,
    ) -> Stats:
        """How long things waited and ran, how they came out, and what was lost on the way.

        All events are read once, in order, also those before the range: what began there and went
        on in it counts with what happened in it. A waiting time counts where it ended, with a
        claim; a running time where the claim ended.

        Args:
            since: Only what happened from then on; with its timezone.
            until: Only what happened before then.
            by: Figures of each `thread` (or work item), `owner` or `day` (UTC), too.
            thread_id: Only this thread: its queue, its inbox, its timers.
            work_item_id: Only this work item: its turns and operations.

        Raises:
            InvalidInput: A time has no timezone; the range ends before it begins; or both ids are
                given.
        """
        reading = Reading(self._backend, thread_id=thread_id, work_item_id=work_item_id)
        return stats(reading, since=since, until=until, by=by)

    def flow(
        self,
        of: Of = "queued_turns",
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        thread_id: str | None = None,
        work_item_id: str | None = None,
    ) -> Flow:
        """Which ways things went: what followed directly on what, how often, and how long it took.

        Renewals, edits and changes of order aren't told. A step counts where it ended; a way counts
        where it came to its end, whole, also with what was before the range.

        Args:
            of: queued_turns, coordinator_turns, operations or messages.
            since: Only what happened from then on; with its timezone.
            until: Only what happened before then.
            thread_id: Only of this thread.
            work_item_id: Only of this work item.

        Raises:
            InvalidInput: A time has no timezone; the range ends before it begins; there are no
                such things; or both ids are given.
        """
        reading = Reading(self._backend, thread_id=thread_id, work_item_id=work_item_id)
        return flow(reading, of, since=since, until=until)

    def plot(  # noqa: PLR0913 - where, what, and of what
        self,
        path: str | os.PathLike[str],
        charts: Sequence[Chart] = CHARTS,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        thread_id: str | None = None,
        work_item_id: str | None = None,
    ) -> None:
        """Draw what `stats` tells, with matplotlib: the extra `analytics`.

        Args:
            path: The picture: .svg, .png or .pdf. One that is there is replaced.
            charts: waiting, depth, outcomes, lateness.
            since: Only what happened from then on; with its timezone.
            until: Only what happened before then.
            thread_id: Only of this thread.
            work_item_id: Only of this work item.

        Raises:
            InvalidInput: The file can't be a picture, or its folder doesn't exist; matplotlib isn't
                installed; a time has no timezone; the range ends before it begins; or both ids are
                given.
        """
        file = checked_path(path, charts)
        reading = Reading(self._backend, thread_id=thread_id, work_item_id=work_item_id)
        draw(measured(reading, since=since, until=until, by="day"), file, charts)
