"""Where each queued turn stands: visible, in flight or settled.

Three tables of one shape, and a turn is a row in exactly one of them. `visible_queue` is what
people see and reorder; `in_flight_turns` what an owner holds; `settled_turns` what is gone and
stays known (its submission is in the event whose version `submission_version` names). A row
moves as it is, so that a turn comes back to the place that it had.

No step reads what another step of the same event has written: a store may run them as one.
"""

from typing import Any

from sqlalchemy import (
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    case,
    delete,
    func,
    insert,
    null,
    select,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Evidence
from turnledger.domain.payload import encode
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.projections.schema import (
    Parameters,
    Reactions,
    Step,
    count,
    flag,
    integer,
    metadata,
    text,
)


def _columns() -> list[Column[Any]]:
    return [
        text("thread_id"),
        integer("queue_order"),
        text("queued_turn_id"),
        text("submission", nullable=True),
        integer("submission_version"),
        integer("appended_version"),
        text("state"),
        text("failure", nullable=True),
        flag("altered"),
        flag("outcome_unknown"),
        text("dispatch_id", nullable=True),
        text("evidence"),
        count("attempts"),
        count("claims"),
        integer("not_before", nullable=True),
        integer("created_at"),
        integer("updated_at"),
        integer("version"),
    ]


visible_queue = Table(
    "visible_queue",
    metadata,
    *_columns(),
    PrimaryKeyConstraint("thread_id", "queue_order"),
    Index("visible_queue_id", "thread_id", "queued_turn_id", unique=True),
    sqlite_with_rowid=False,
)

in_flight_turns = Table(
    "in_flight_turns",
    metadata,
    *_columns(),
    text("owner"),
    integer("epoch"),
    integer("expires_at"),
    PrimaryKeyConstraint("thread_id"),
    sqlite_with_rowid=False,
)

settled_turns = Table(
    "settled_turns",
    metadata,
    *_columns(),
    PrimaryKeyConstraint("thread_id", "queued_turn_id"),
    sqlite_with_rowid=False,
)

_NAMES = tuple(column.name for column in visible_queue.columns)
_v, _f, _s = visible_queue.c, in_flight_turns.c, settled_turns.c
_THREAD: Any = bindparam("thread_id")
_ID: Any = bindparam("queued_turn_id")
_FALSE: Any = sql("false")
_ONE: Any = sql("1")
_NONE: Any = sql("'[]'")
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_THIS_VISIBLE = (_v.thread_id == _THREAD, _v.queued_turn_id == _ID)
_ALL_VISIBLE = (_v.thread_id == _THREAD,)
_IN_FLIGHT = (_f.thread_id == _THREAD,)
_AGAIN: dict[str, Any] = {
    "state": sql("'pending'"),
    "failure": null(),
    "altered": _FALSE,
    "outcome_unknown": _FALSE,
    "dispatch_id": null(),
    "attempts": _v.attempts + _ONE,
    "claims": sql("0"),
    **_STAMP,
}


def _move(source: Table, target: Table, where: Any, **changes: Any) -> tuple[Step, Step]:
    """Move rows from one table to another, with some columns changed."""
    names = [*_NAMES, *(name for name in changes if name not in _NAMES)]
    columns = [changes[name] if name in changes else source.c[name] for name in names]
    copied = insert(target).from_select(names, select(*columns).where(*where))
    return Step(copied), Step(delete(source).where(*where))


def _settle(source: Table, where: Any, word: str, **known: Any) -> tuple[Step, Step]:
    changes = {"state": sql(f"'{word}'"), "submission": null(), **known, **_STAMP}
    return _move(source, settled_turns, where, **changes)


def _back(**changes: Any) -> tuple[Step, Step]:
    return _move(in_flight_turns, visible_queue, _IN_FLIGHT, **changes, **_STAMP)


def _appended() -> Step:
    values = {
        "thread_id": _THREAD,
        "queue_order": bindparam("queue_order"),
        "queued_turn_id": _ID,
        "submission": bindparam("submission"),
        "submission_version": bindparam("version"),
        "appended_version": bindparam("version"),
        "state": sql("'pending'"),
        "failure": null(),
        "altered": _FALSE,
        "outcome_unknown": _FALSE,
        "dispatch_id": null(),
        "evidence": _NONE,
        "attempts": sql("0"),
        "claims": sql("0"),
        "not_before": bindparam("not_before"),
        "created_at": bindparam("created_at"),
        **_STAMP,
    }
    return Step(insert(visible_queue).values(values))


def _edited() -> Step:
    changed: dict[str, Any] = {
        "submission": bindparam("submission"),
        "submission_version": bindparam("version"),
    }
    return Step(update(visible_queue).where(*_THIS_VISIBLE).values(**changed, **_STAMP))


def _reordered() -> Step:
    def rows(event: ThreadQueue.Reordered, given: Parameters) -> list[Parameters]:
        places = enumerate(event.queued_turn_ids, event.first_order)
        return [{**given, "queued_turn_id": i, "queue_order": order} for order, i in places]

    place = {"queue_order": bindparam("queue_order"), **_STAMP}
    return Step(update(visible_queue).where(*_THIS_VISIBLE).values(**place), rows)


def _claimed() -> tuple[Step, Step]:
    held: dict[str, Any] = {
        name: bindparam(name) for name in ("owner", "epoch", "expires_at", "claims")
    }
    changes = {"state": sql("'claimed'"), **held, **_STAMP}
    return _move(visible_queue, in_flight_turns, _THIS_VISIBLE, **changes)


def _change_in_flight(**changes: Any) -> Step:
    return Step(update(in_flight_turns).where(*_IN_FLIGHT).values(**changes, **_STAMP))


def _resolved() -> tuple[Step, ...]:
    def only(decision: str) -> Any:
        return lambda event, given: [given] if event.decision == decision else []

    again = Step(update(visible_queue).where(*_THIS_VISIBLE).values(_AGAIN), only("retry"))
    known = {"failure": null(), "altered": _FALSE, "outcome_unknown": _FALSE}
    done = _settle(visible_queue, _THIS_VISIBLE, "acked", **known)
    return again, *(step._replace(rows=only("acked")) for step in done)


def _kept(table: Table) -> Step:
    """Add to the JSON array as text, since its bytes must be the same on every store."""
    kept, item = table.c.evidence, bindparam("item", type_=Text())
    rest = func.substr(kept, _ONE, func.length(kept) - _ONE)
    longer: Any = case(
        (kept == _NONE, sql("'['").concat(item).concat(sql("']'"))),
        else_=rest.concat(sql("','")).concat(item).concat(sql("']'")),
    )
    this = (table.c.thread_id == _THREAD, table.c.queued_turn_id == _ID)
    return Step(update(table).where(*this).values(evidence=longer), _evidence_item)


def _evidence_item(event: Evidence.Kept, given: Parameters) -> list[Parameters]:
    item = event.model_dump(include={"owner", "epoch", "kind", "value", "altered"})
    return [{**given, "item": encode({**item, "recorded_at": given["recorded_at"]})}]


_FAILED = _back(
    state=sql("'failed'"),
    failure=bindparam("failure"),
    altered=bindparam("altered"),
    outcome_unknown=bindparam("outcome_unknown"),
)

ON: Reactions = {
    ThreadQueue.Appended: (_appended(),),
    ThreadQueue.Edited: (_edited(),),
    ThreadQueue.Deleted: _settle(visible_queue, _THIS_VISIBLE, "deleted"),
    ThreadQueue.Cleared: (
        *_settle(visible_queue, _ALL_VISIBLE, "deleted"),
        *_settle(in_flight_turns, _IN_FLIGHT, "deleted"),
    ),
    ThreadQueue.Reordered: (_reordered(),),
    ThreadQueue.Claimed: _claimed(),
    ThreadQueue.Renewed: (_change_in_flight(expires_at=bindparam("expires_at")),),
    ThreadQueue.Released: _back(state=sql("'pending'")),
    ThreadQueue.Recovered: _back(state=sql("'pending'")),
    ThreadQueue.DispatchStarted: (
        _change_in_flight(
            state=sql("'dispatching'"), dispatch_id=bindparam("dispatch_id"), claims=sql("0")
        ),
    ),
    ThreadQueue.Acked: _settle(in_flight_turns, _IN_FLIGHT, "acked"),
    ThreadQueue.Failed: _FAILED,
    ThreadQueue.Retried: (Step(update(visible_queue).where(*_THIS_VISIBLE).values(_AGAIN)),),
    ThreadQueue.Resolved: _resolved(),
    Evidence.Kept: (_kept(visible_queue), _kept(in_flight_turns), _kept(settled_turns)),
}
