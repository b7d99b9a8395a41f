"""Where each coordinator turn stands: one row for each, from its begin on, for ever.

The message is in the turn's first event, and nowhere else. Partial indexes hold the turns that
aren't settled, in the order in which they were begun, and those that are claimed; so the cost of a
search doesn't grow with what is settled.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Index,
    PrimaryKeyConstraint,
    Table,
    bindparam,
    case,
    insert,
    null,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.event import Event
from turnledger.projections.schema import (
    Parameters,
    Reactions,
    Step,
    count,
    integer,
    metadata,
    text,
)

coordinator_mailbox = Table(
    "coordinator_mailbox",
    metadata,
    text("turn_id"),
    text("work_item_id"),
    integer("turn_order"),
    text("status"),
    text("kind"),
    text("target"),
    text("outcome", nullable=True),
    text("owner", nullable=True),
    integer("epoch"),
    integer("lease_expires_at", nullable=True),
    integer("not_before", nullable=True),
    count("attempt"),
    text("attempt_status", nullable=True),
    integer("created_at"),
    integer("updated_at"),
    integer("version"),
    PrimaryKeyConstraint("turn_id"),
    sqlite_with_rowid=False,
)
_m = coordinator_mailbox.c


def unsettled(columns: Any) -> Any:
    """Of a turn that hasn't ended; a damaged status doesn't let it be passed over."""
    return columns.status.not_in([sql("'acked'"), sql("'cancelled'")])


UNSETTLED: Any = unsettled(_m)
CLAIMED: Any = _m.status == sql("'claimed'")
PLACE = (_m.created_at, _m.turn_id)


def _partial(name: str, where: Any, *columns: Any) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


Index("coordinator_mailbox_order", _m.work_item_id, _m.turn_order)
_partial("coordinator_mailbox_waiting", UNSETTLED, _m.work_item_id, _m.turn_order)
_partial("coordinator_mailbox_oldest", UNSETTLED, *PLACE)
_partial("coordinator_mailbox_claimed", CLAIMED, _m.turn_id, _m.lease_expires_at)

_THIS: Any = _m.turn_id == bindparam("target")
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_FREE: dict[str, Any] = {"owner": null(), "lease_expires_at": null()}


def _this(**changes: Any) -> Step:
    return Step(update(coordinator_mailbox).where(_THIS).values(**changes, **_STAMP))


def _becomes(status: str, **changes: Any) -> Step:
    return _this(status=sql(f"'{status}'"), **changes)


def _attempt(status: str, **changes: Any) -> Step:
    """The latest attempt has another status now; no other one's ever changes."""
    return _this(attempt_status=sql(f"'{status}'"), **changes)


def _begun() -> Step:
    new: dict[str, Any] = {
        "turn_id": bindparam("target"),
        "work_item_id": bindparam("work_item_id"),
        "turn_order": bindparam("turn_order"),
        "status": sql("'pending'"),
        "kind": bindparam("kind"),
        "target": bindparam("meant_for"),
        "outcome": null(),
        **_FREE,
        "epoch": sql("0"),
        "not_before": null(),
        "attempt": sql("0"),
        "attempt_status": null(),
        "created_at": bindparam("created_at"),
        **_STAMP,
    }

    def rows(event: CoordinatorTurn.Begun, given: Parameters) -> list[Parameters]:
        return [{**given, "meant_for": event.target}]

    return Step(insert(coordinator_mailbox).values(new), rows)


def _resolved() -> tuple[Step, ...]:
    def only(decision: str) -> Any:
        return lambda event, given: [given] if event.decision == decision else []

    again = _attempt("prepared", attempt=_m.attempt + sql("1"))
    return (
        _attempt("responded")._replace(rows=only("adopt")),
        _attempt("cancelled")._replace(rows=only("cancel")),
        again._replace(rows=only("retry")),
    )


def _acked() -> Step:
    outcome = bindparam("outcome", type_=_m.outcome.type)

    def rows(event: Event, given: Parameters) -> list[Parameters]:
        word = "completed" if getattr(event, "completed", False) else None
        failed = isinstance(event, CoordinatorTurn.Failed)
        return [{**given, "outcome": "failed" if failed else word}]

    return _becomes("acked", outcome=outcome, **_FREE)._replace(rows=rows)


def _cancelled() -> Step:
    dispatching = _m.attempt_status == sql("'dispatching'")
    word = case((dispatching, sql("'unknown'")), else_=_m.attempt_status)
    return _becomes("cancelled", attempt_status=word, **_FREE)


_CLAIM: dict[str, Any] = {"owner": bindparam("owner"), "epoch": bindparam("epoch")}
_LEASE: dict[str, Any] = {"lease_expires_at": bindparam("expires_at")}
_LATER: dict[str, Any] = {"not_before": bindparam("not_before", type_=BigInteger())}

ON: Reactions = {
    CoordinatorTurn.Begun: (_begun(),),
    CoordinatorTurn.Claimed: (_becomes("claimed", **_CLAIM, **_LEASE),),
    CoordinatorTurn.Renewed: (_this(**_LEASE),),
    CoordinatorTurn.Released: (_becomes("pending", **_FREE),),
    CoordinatorTurn.Recovered: (_becomes("pending", **_FREE),),
    CoordinatorTurn.Prepared: (
        _attempt("prepared", attempt=bindparam("attempt"), not_before=null()),
    ),
    CoordinatorTurn.DispatchStarted: (_attempt("dispatching"),),
    CoordinatorTurn.Responded: (_attempt("responded"),),
    CoordinatorTurn.Refused: (_attempt("refused", **_LATER),),
    CoordinatorTurn.Rejected: (_attempt("cancelled"),),
    CoordinatorTurn.OutcomeUnknown: (_attempt("unknown"),),
    CoordinatorTurn.Resolved: _resolved(),
    CoordinatorTurn.Acked: (_acked(),),
    CoordinatorTurn.Failed: (_acked(),),
    CoordinatorTurn.Cancelled: (_cancelled(),),
}
