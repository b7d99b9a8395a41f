"""What commands on a claim share, whatever is claimed: showing it, and keeping what is lost."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, select

from turnledger.domain import evidence, payload
from turnledger.domain.claim import Evidence, Shown, claimed
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import ClaimLost, InvalidPayload
from turnledger.domain.event import Event
from turnledger.domain.identifier import LARGEST, check_identifier
from turnledger.domain.payload import decode
from turnledger.domain.settings import Settings
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

MINUTE = timedelta(seconds=60)
Seconds = float | timedelta

_CLAIMS = statement(
    select(events.c.data)
    .where(
        events.c.stream_id == bindparam("stream_id"),
        events.c.type == bindparam("type"),
    )
    .order_by(events.c.version.desc())
)


def claimer(settings: Settings, owner: str, lease: Seconds) -> dict[str, Any]:
    """Who claims and for how long, as commands take it.

    Raises:
        InvalidInput: One of them can't be.
    """
    duration = check_duration("lease", lease, settings.max_lease)
    return {"owner": check_identifier("owner", owner), "lease": duration}


def shown(backend: Backend, claim: Any, kind: type[Any]) -> dict[str, Any]:
    """The part of a claim that a command must show.

    Args:
        backend: Whose generation the claim must be of.
        claim: What the caller gave.
        kind: What it must be.

    Raises:
        InvalidInput: It is no claim.
        ClaimLost: It is of another generation.
    """
    target, target_id = checked_claim(claim, kind)
    if claim.generation != backend.generation:
        reason = "it was given out before the ledger was restored from a backup"
        raise ClaimLost(target_id, claim.owner, claim.epoch, reason, kind=target)
    return {f"{target}_id": target_id, "owner": claim.owner, "epoch": claim.epoch}


def checked_claim(claim: Any, kind: type[Any]) -> tuple[str, str]:
    """What a claim is on: its kind, and its id.

    Raises:
        InvalidInput: It is no claim.
    """
    if not isinstance(claim, kind):
        raise InvalidPayload("claim", f"must be a {kind.__name__}, not {type(claim).__name__}")
    target, target_id = claimed(claim)
    check_identifier(f"{target}_id", target_id)
    check_identifier("owner", claim.owner)
    epoch = claim.epoch
    if not isinstance(epoch, int) or isinstance(epoch, bool) or abs(epoch) > LARGEST:
        raise InvalidPayload("claim", f"has the epoch {payload.shown(epoch)}, which is none")
    return target, target_id


def claimed_id(
    unit: UnitOfWork, stream_id: str, kind: type[Event], name: str, claim: Shown
) -> str | None:
    """What a claim was given out for, or None if it never was.

    Args:
        unit: Where to look.
        stream_id: Of what was claimed.
        kind: The event of a claim.
        name: Its field with the id.
        claim: The claim.
    """
    for (data,) in unit.run(_CLAIMS, {"stream_id": stream_id, "type": kind.TOPIC}):
        claimed = _readable(data)
        if claimed["epoch"] <= claim.epoch:
            same = (claimed["epoch"], claimed["owner"]) == (claim.epoch, claim.owner)
            return str(claimed[name]) if same else None
    return None


def keep_evidence(
    backend: Backend,
    unit: UnitOfWork,
    stream_id: str,
    known: Iterable[Evidence],
    command: evidence.KeepCommand,
) -> None:
    """Keep a result in the evidence stream of another stream, unless the same was kept before."""
    decided = evidence.decide([(one.owner, one.epoch, one.kind) for one in known], command)
    if decided:
        head = unit.head(evidence.stream_id(stream_id))
        change = HeadChange(head, head.epoch, evidence.STATE_FORM, head.state)
        unit.save(change, decided, command, backend.origin(), unit.context(head))


def _readable(data: object) -> dict[str, Any]:
    """A claimed event's fields; of a damaged one, nothing that fits a claim."""
    try:
        fields = decode(str(data))
        return {"epoch": int(fields["epoch"]), **fields}
    except (ValueError, TypeError, KeyError):
        return {"epoch": LARGEST}
