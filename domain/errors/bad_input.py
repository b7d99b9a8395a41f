"""The call itself is wrong: the same call never succeeds."""

from typing import Any

from turnledger.domain.errors.root import LedgerError


class InvalidInput(LedgerError):
    """The call itself is wrong: the same call can never succeed."""

    name: str
    reason: str

    def __init__(self, name: str, reason: str, **facts: Any) -> None:
        super().__init__(f"{name} {reason}", name=name, reason=reason, **facts)


class InvalidIdentifier(InvalidInput):
    """An identifier is empty, too long, or holds characters that identifiers can't have."""


class InvalidPayload(InvalidInput):
    """A value is not JSON as turnledger stores it, or not one of the words a command takes."""


class InvalidDuration(InvalidInput):
    """A lease or time-out is not finite, too short, or past its setting."""


class InvalidTime(InvalidInput):
    """A time without a timezone, or no time at all."""


class InvalidTrigger(InvalidInput):
    """A timer's trigger is none, has no occurrence left, or none that can be found."""

    def __init__(self, reason: str) -> None:
        super().__init__("trigger", reason)


class PayloadTooLarge(InvalidInput):
    """A payload is larger than its setting. Store it elsewhere and pass a reference."""

    size: int
    limit: int

    def __init__(self, name: str, size: int, limit: int) -> None:
        reason = f"is {size:,} bytes of JSON, more than the limit of {limit:,}"
        advice = "store it elsewhere and pass a reference"
        super().__init__(name, f"{reason}; {advice}", size=size, limit=limit)
