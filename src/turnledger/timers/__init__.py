"""`ledger.timers`: prompts for threads at a later time, once or again and again."""

from functools import partial

from turnledger.domain.identifier import check_identifier
from turnledger.timers.firing import Firings
from turnledger.timers.running import Report, Scheduler
from turnledger.timers.setting import Setting

__all__ = ["Scheduler", "Timers"]


class Timers(Setting, Firings):
    """The commands and queries of `ledger.timers`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """

    def scheduler(self, owner: str, report: Report | None = None) -> Scheduler:
        """What fires the ledger's timers, once it is `run`: one of as many as you like.

        Args:
            owner: Who fires them.
            report: Is told of the messages that were posted.
        """
        check_identifier("owner", owner)
        return Scheduler(self._backend, partial(self.fire_due, owner), report)
