"""What isn't over of the requests to providers: one row for each.

Prepared and responded attempts of turns that aren't settled, and dispatching and unknown ones of
any turn. What leaves this table stands in the events of its turn. No step reads what another step
of the same event has written, and no two change the same row: a store may run them as one.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    case,
    delete,
    insert,
    null,
    select,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.projections.coordinator_mailbox import coordinator_mailbox, unsettled
from turnledger.projections.schema import (
    Parameters,
    Reactions,
    Step,
    count,
    integer,
    metadata,
    text,
)

in_flight_provider_turns = Table(
    "in_flight_provider_turns",
    metadata,
    text("provider_turn_id"),
    text("coordinator_turn_id"),
    text("work_item_id"),
    count("attempt"),
    text("status"),
    text("request_hash"),
    text("owner"),
    integer("epoch"),
    integer("lease_expires_at", nullable=True),
    integer("prepared_at"),
    integer("dispatched_at", nullable=True),
    PrimaryKeyConstraint("coordinator_turn_id", "attempt"),
    sqlite_with_rowid=False,
)
_p, _m = in_flight_provider_turns.c, coordinator_mailbox.c

DISPATCHING: Any = _p.status == sql("'dispatching'")
Index(
    "in_flight_provider_turns_dispatching",
    _p.coordinator_turn_id,
    _p.lease_expires_at,
    sqlite_where=DISPATCHING,
    postgresql_where=DISPATCHING,
)

_TURN: Any = bindparam("target")
_MINE: Any = _p.coordinator_turn_id == _TURN
_THIS: tuple[Any, ...] = (_MINE, _p.attempt == bindparam("attempt"))
_MOVES: Any = _p.status.in_([sql("'prepared'"), sql("'responded'")])
_STAYS: Any = _p.status.in_([sql("'dispatching'"), sql("'unknown'")])
_IS_OPEN: Any = select(sql("1")).where(_m.turn_id == _TURN, unsettled(_m)).correlate(None).exists()


def provider_turn_id(turn_id: str, attempt: int) -> str:
    """The name of an attempt in the whole ledger."""
    return f"{turn_id}/{attempt}"


def _of_turn(column: Any) -> Any:
    """What the turn's own row says."""
    return select(column).where(_m.turn_id == _TURN).correlate(None).scalar_subquery()


def _change(*where: Any, **changes: Any) -> Step:
    return Step(update(in_flight_provider_turns).where(*where).values(**changes))


def _end(*where: Any) -> Step:
    return Step(delete(in_flight_provider_turns).where(*where))


def _prepared() -> Step:
    new: dict[str, Any] = {
        "provider_turn_id": bindparam("provider_turn_id"),
        "coordinator_turn_id": _TURN,
        "work_item_id": _of_turn(_m.work_item_id),
        "attempt": bindparam("attempt"),
        "status": sql("'prepared'"),
        "request_hash": bindparam("request_hash"),
        "owner": bindparam("owner"),
        "epoch": bindparam("epoch"),
        "lease_expires_at": _of_turn(_m.lease_expires_at),
        "prepared_at": bindparam("recorded_at"),
        "dispatched_at": null(),
    }

    def rows(event: CoordinatorTurn.Prepared, given: Parameters) -> list[Parameters]:
        return [{**given, "provider_turn_id": provider_turn_id(given["target"], event.attempt)}]

    return Step(insert(in_flight_provider_turns).values(new), rows)


def _claimed() -> Step:
    """What moves goes over to the new owner; what doesn't has no lease any more."""
    owner, epoch = bindparam("owner", type_=Text()), bindparam("epoch", type_=BigInteger())
    expires_at = bindparam("expires_at", type_=BigInteger())
    return _change(
        _MINE,
        owner=case((_MOVES, owner), else_=_p.owner),
        epoch=case((_MOVES, epoch), else_=_p.epoch),
        lease_expires_at=case((_MOVES, expires_at), else_=null()),
    )


def _resolved() -> tuple[Step, ...]:
    claim: dict[str, Any] = {
        "owner": bindparam("owner"),
        "epoch": bindparam("epoch"),
        "lease_expires_at": _of_turn(_m.lease_expires_at),
    }
    adopted = _change(*_THIS, _IS_OPEN, status=sql("'responded'"), **claim)
    next_one: dict[str, Any] = {
        "attempt": bindparam("next_attempt"),
        "provider_turn_id": bindparam("provider_turn_id"),
        "status": sql("'prepared'"),
        "prepared_at": bindparam("recorded_at"),
        "dispatched_at": null(),
    }

    def only(decision: str) -> Any:
        return lambda event, given: [given] if event.decision == decision else []

    def again(event: CoordinatorTurn.Resolved, given: Parameters) -> list[Parameters]:
        if event.decision != "retry":
            return []
        number = event.attempt + 1
        name = provider_turn_id(given["target"], number)
        return [{**given, "next_attempt": number, "provider_turn_id": name}]

    return (
        adopted._replace(rows=only("adopt")),
        _end(*_THIS, ~_IS_OPEN)._replace(rows=only("adopt")),
        _end(*_THIS)._replace(rows=only("cancel")),
        _change(*_THIS, **next_one, **claim)._replace(rows=again),
    )


_NO_LEASE: dict[str, Any] = {"lease_expires_at": null()}
_OVER = (_change(_MINE, **_NO_LEASE),)
_SETTLED = (_end(_MINE, _MOVES), _change(_MINE, _STAYS, **_NO_LEASE))
_CANCELLED = (
    _end(_MINE, _MOVES),
    _change(_MINE, _STAYS, status=sql("'unknown'"), **_NO_LEASE),
)
_OWN: Any = _p.epoch == bindparam("epoch")

ON: Reactions = {
    CoordinatorTurn.Claimed: (_claimed(),),
    CoordinatorTurn.Renewed: (_change(_MINE, _OWN, lease_expires_at=bindparam("expires_at")),),
    CoordinatorTurn.Released: _OVER,
    CoordinatorTurn.Recovered: _OVER,
    CoordinatorTurn.Prepared: (_prepared(),),
    CoordinatorTurn.DispatchStarted: (
        _change(*_THIS, status=sql("'dispatching'"), dispatched_at=bindparam("recorded_at")),
    ),
    CoordinatorTurn.Responded: (_change(*_THIS, status=sql("'responded'")),),
    CoordinatorTurn.Refused: (_end(*_THIS),),
    CoordinatorTurn.Rejected: (_end(*_THIS),),
    CoordinatorTurn.OutcomeUnknown: (_change(*_THIS, status=sql("'unknown'"), **_NO_LEASE),),
    CoordinatorTurn.Resolved: _resolved(),
    CoordinatorTurn.Acked: _SETTLED,
    CoordinatorTurn.Failed: _SETTLED,
    CoordinatorTurn.Cancelled: _CANCELLED,
}
