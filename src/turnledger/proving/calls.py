"""Calls of a ledger as plain data, so that a history can be kept, repeated and made shorter."""

import json
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from turnledger.domain.coordinator_turn import TurnClaim
from turnledger.domain.errors import Refusal
from turnledger.domain.inbox import MessageClaim
from turnledger.domain.run import RunClaim
from turnledger.domain.thread_queue import Claim
from turnledger.ledger import Ledger

_CLAIMS: dict[str, tuple[type[Any], str]] = {
    "queue": (Claim, "thread_id"),
    "inbox": (MessageClaim, "thread_id"),
    "coordinator": (TurnClaim, "turn_id"),
    "runs": (RunClaim, "run_id"),
    "operations": (RunClaim, "run_id"),
}
CLAIM_NAMES = ("claim", "run_claim")
_TIMES = ("not_before", "queued_at", "retry_at")

Given = dict[str, Any]


class Step(NamedTuple):
    """A call of a history.

    Attributes:
        number: Its own; identifiers that are made in it come from that.
        seconds: When, in seconds after the start of the history.
        call: `queue.append`, say.
        given: Its arguments, as JSON; a claim is its target, owner and epoch, a time is in seconds
            as above.
    """

    number: int
    seconds: float
    call: str
    given: Given

    @property
    def service(self) -> str:
        """The name before the dot."""
        return self.call.partition(".")[0]

    @property
    def shown(self) -> tuple[str, str, int] | None:
        """The claim that it shows: the target, the owner, the epoch."""
        for name in CLAIM_NAMES:
            if name in self.given:
                target, owner, epoch = self.given[name]
                return target, owner, epoch
        return None

    def __str__(self) -> str:
        """For people."""
        given = ", ".join(f"{name}={json.dumps(one)}" for name, one in self.given.items())
        return f"{self.number:3} at {self.seconds:g} s  {self.call}({given})"


def carry_out(ledger: Ledger, step: Step, start: datetime) -> str:
    """Give a command, and tell its answer or the code of its refusal as JSON.

    Raises:
        StoreError: The store says no.
    """
    service, _, verb = step.call.partition(".")
    given = {name: _argument(ledger, step, name, start) for name in step.given}
    try:
        answer = getattr(getattr(ledger, service), verb)(**given)
    except Refusal as refusal:
        return refused(refusal.code)
    return json.dumps(plain(answer), sort_keys=True)


def refused(code: str) -> str:
    """The answer that is a refusal."""
    return json.dumps({"refused": code})


def _argument(ledger: Ledger, step: Step, name: str, start: datetime) -> Any:
    value = step.given[name]
    if name in CLAIM_NAMES:
        kind, target = _CLAIMS[step.service]
        return kind(
            **{target: value[0]}, owner=value[1], epoch=value[2], generation=ledger.generation
        )
    if name in _TIMES and value is not None:
        return start + timedelta(seconds=value)
    return value


def plain(value: Any) -> Any:
    """An answer as JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return plain(vars(value)) if hasattr(value, "__dict__") else str(value)
