"""What a ledger offers to those who want to know how it goes: figures and flows of its history."""

from datetime import datetime

from turnledger.analytics import By, Stats, stats
from turnledger.analytics.reading import Reading
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
