"""Claims: whether one is current or live, and what is kept of what an owner knew when it is lost.

A claim is current while the thing is still claimed and its owner and epoch are those of the latest
claim. It is live while it is current and its lease isn't over.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol, TypeVar

from turnledger.domain.errors import ClaimLost
from turnledger.domain.limits import Context

_KINDS = ("turn", "run", "thread")  # of what is claimed


class Named(Protocol):
    """Says which claim it is about."""

    @property
    def owner(self) -> str:
        """Who was given it."""
        ...

    @property
    def epoch(self) -> int:
        """Which one it is."""
        ...


class Held(Named, Protocol):
    """What a state knows of the latest claim."""

    @property
    def expires_at(self) -> datetime:
        """The end of its lease."""
        ...


class Shown(Named, Protocol):
    """What a command on a claim shows; a field says on what: see `claimed`."""


Flying = TypeVar("Flying", bound=Held)


def current(flying: Flying | None, shown: Shown) -> Flying:
    """What is in flight, if the claim that is shown is the current one.

    Raises:
        ClaimLost: It isn't.
    """
    if flying is None:
        lose(shown, "nothing is in flight (it was given back, settled or cleared)")
    if flying.epoch != shown.epoch or flying.owner != shown.owner:
        lose(shown, f"{flying.owner} holds it now, at epoch {flying.epoch}")
    return flying


def live(flying: Flying | None, shown: Shown, context: Context) -> Flying:
    """What is in flight, if the claim that is shown is current and its lease isn't over.

    Raises:
        ClaimLost: It isn't live.
    """
    held = current(flying, shown)
    if context.lease_is_over(held.expires_at):
        lose(shown, f"its lease ended at {held.expires_at.isoformat()}")
    return held


def is_live(flying: Held | None, shown: Named, context: Context) -> bool:
    """Whether the claim that is shown is current, and its lease isn't over."""
    if flying is None or context.lease_is_over(flying.expires_at):
        return False
    return (flying.owner, flying.epoch) == (shown.owner, shown.epoch)


def is_stale(flying: Held | None, context: Context) -> bool:
    """Whether a claim is over."""
    return flying is not None and context.lease_is_over(flying.expires_at)


def claimed(shown: object) -> tuple[str, str]:
    """What a claim, or a command on one, is about: its kind, and its id."""
    kind = next(one for one in _KINDS if hasattr(shown, f"{one}_id"))
    return kind, getattr(shown, f"{kind}_id")


def lose(shown: Shown, reason: str) -> NoReturn:
    """Say that a claim is lost."""
    kind, target = claimed(shown)
    raise ClaimLost(target, shown.owner, shown.epoch, reason, kind=kind)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an owner knew whose claim was lost.

    Attributes:
        owner: Who reported.
        epoch: The claim under which it worked.
        kind: What it wanted to do: ack, ack_dispatch, fail or confirm.
        value: What it reported.
        recorded_at: When.
        altered: Whether the value had to be changed to be storable.
    """

    owner: str
    epoch: int
    kind: str
    value: Any
    recorded_at: datetime
    altered: bool = False
