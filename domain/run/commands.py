"""The commands of a run: what is wished, checked and complete."""

from datetime import timedelta
from typing import Any

from turnledger.domain.command import RecordedCommand, claim_record, event_record
from turnledger.domain.payload import encode
from turnledger.domain.value import value


@value
class RunCommand(RecordedCommand):
    """A command of a run."""

    run_id: str


@value
class Start(RunCommand):
    """Begin the run for the time of a lease, or take it over if its lease is over."""

    NAME = "start"
    work_item_id: str
    action_id: str
    owner: str
    lease: timedelta

    def arguments(self) -> str:
        """The lease in seconds; of a takeover the event says less."""
        said = {"work_item_id": self.work_item_id, "action_id": self.action_id}
        lease = self.lease.total_seconds()
        return encode({**said, "owner": self.owner, "lease_seconds": lease})


@value
class ClaimCommand(RunCommand):
    """A command that must show a claim."""

    owner: str
    epoch: int

    def arguments(self) -> str:
        """The epoch stands in the event; so do all of `RECORD`."""
        return claim_record(self.owner, **self.RECORD)


@value
class Renew(ClaimCommand):
    """Give the lease a new end."""

    NAME = "renew"
    lease: timedelta

    def arguments(self) -> str:
        """The claim, and the lease in seconds."""
        return claim_record(self.owner, lease_seconds=self.lease.total_seconds())


@value
class Finish(ClaimCommand):
    """Say what came of the run."""

    NAME = "finish"
    RECORD = event_record("outcome", "altered")
    outcome: Any
    altered: bool = False


@value
class Interrupt(RunCommand):
    """End the run, whoever holds it."""

    NAME = "interrupt"
    RECORD = event_record("reason", "altered")
    reason: Any
    altered: bool = False


AnyCommand = Start | Renew | Finish | Interrupt
