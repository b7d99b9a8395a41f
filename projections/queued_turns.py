"""Where each queued turn stands: one row for each, from its appending on, for ever.

A turn's row says pending, failed, acked or deleted. That it is in flight stands in the head row of
its thread's stream alone: a claim, a renewal and a dispatch change no row here, and what comes
back from flight is at its place as it was. The submission is in the event whose version
`submission_version` names, and nowhere else. The views `visible_queue` and `in_flight_turns` put
the three together.

No step reads what another step of the same event has written: a store may run them as one.
"""

from typing import Any

from sqlalchemy import (
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    case,
    insert,
    null,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Evidence
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.projections.evidence import NONE, keeping
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

queued_turns = Table(
    "queued_turns",
    metadata,
    text("thread_id"),
    text("queued_turn_id"),
    integer("queue_order"),
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
    PrimaryKeyConstraint("thread_id", "queued_turn_id"),
    sqlite_with_rowid=False,
)
_q = queued_turns.c


def live(columns: Any) -> Any:
    """Of a turn that is visible or in flight; a damaged state doesn't let it be passed over."""
    return columns.state.not_in([sql("'acked'"), sql("'deleted'")])


LIVE = live(_q)
Index(
    "queued_turns_live",
    _q.thread_id,
    _q.queue_order,
    unique=True,
    sqlite_where=LIVE,
    postgresql_where=LIVE,
)

_THREAD: Any = bindparam("thread_id")
_ID: Any = bindparam("queued_turn_id")
_FALSE: Any = sql("false")
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_KNOWN: dict[str, Any] = {"failure": null(), "altered": _FALSE, "outcome_unknown": _FALSE}
_AGAIN: dict[str, Any] = {
    "state": sql("'pending'"),
    "dispatch_id": null(),
    "attempts": _q.attempts + sql("1"),
    "claims": sql("0"),
    **_KNOWN,
}
_GIVEN_BACK: dict[str, Any] = {"claims": _q.claims + sql("1")}


def _this(**changes: Any) -> Step:
    """A change of the turn that the event names."""
    this = (_q.thread_id == _THREAD, _q.queued_turn_id == _ID)
    return Step(update(queued_turns).where(*this).values(**changes, **_STAMP))


def _parameter(*names: str) -> dict[str, Any]:
    return {name: bindparam(name) for name in names}


def _appended() -> Step:
    changed: dict[str, Any] = {
        **_parameter("thread_id", "queued_turn_id", "queue_order", "not_before", "created_at"),
        "submission_version": bindparam("version"),
        "appended_version": bindparam("version"),
        "state": sql("'pending'"),
        "dispatch_id": null(),
        "evidence": NONE,
        "attempts": sql("0"),
        "claims": sql("0"),
        **_KNOWN,
        **_STAMP,
    }
    return Step(insert(queued_turns).values(changed))


def _cleared() -> Step:
    live = (_q.thread_id == _THREAD, LIVE)
    flew: Any = _q.queued_turn_id == bindparam("in_flight_id", type_=Text())
    dispatch = case((flew, bindparam("dispatch_id", type_=Text())), else_=_q.dispatch_id)
    ended = {"state": sql("'deleted'"), "dispatch_id": dispatch}
    return Step(update(queued_turns).where(*live).values(**ended, **_STAMP))


def _reordered() -> Step:
    def rows(event: ThreadQueue.Reordered, given: Parameters) -> list[Parameters]:
        places = enumerate(event.queued_turn_ids, event.first_order)
        return [{**given, "queued_turn_id": i, "queue_order": order} for order, i in places]

    return _this(**_parameter("queue_order"))._replace(rows=rows)


def _resolved() -> tuple[Step, ...]:
    def only(decision: str) -> Any:
        return lambda event, given: [given] if event.decision == decision else []

    done = _this(state=sql("'acked'"), **_KNOWN)
    return _this(**_AGAIN)._replace(rows=only("retry")), done._replace(rows=only("acked"))


_FAILED = _this(
    state=sql("'failed'"),
    claims=sql("0"),
    **_parameter("failure", "altered", "outcome_unknown", "dispatch_id"),
)

ON: Reactions = {
    ThreadQueue.Appended: (_appended(),),
    ThreadQueue.Edited: (_this(submission_version=bindparam("version")),),
    ThreadQueue.Deleted: (_this(state=sql("'deleted'")),),
    ThreadQueue.Cleared: (_cleared(),),
    ThreadQueue.Reordered: (_reordered(),),
    ThreadQueue.Released: (_this(**_GIVEN_BACK),),
    ThreadQueue.Recovered: (_this(**_GIVEN_BACK),),
    ThreadQueue.Acked: (_this(state=sql("'acked'"), **_parameter("dispatch_id")),),
    ThreadQueue.Failed: (_FAILED,),
    ThreadQueue.Retried: (_this(**_AGAIN),),
    ThreadQueue.Resolved: _resolved(),
    Evidence.Kept: (keeping(queued_turns, _q.thread_id == _THREAD, _q.queued_turn_id == _ID),),
}
