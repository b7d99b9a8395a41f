"""The queries on the read models of runs and operations, and what their rows are read as."""

from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, or_, select, union
from sqlalchemy import literal_column as sql

from turnledger.domain import operation, run
from turnledger.domain.duration import from_microseconds
from turnledger.domain.operation import BlockingOperation, RecordedOperation
from turnledger.domain.payload import decode
from turnledger.domain.run import StartedRun
from turnledger.infrastructure.queue_rows import UNKNOWN_TIME, as_evidence
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import run as run_statement
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.store import Store
from turnledger.projections.operations import OPEN, RUNNING, WAITING, operations
from turnledger.projections.runs import runs

_o, _r = operations.c, runs.c
_LIMIT: Any = bindparam("limit")
_AFTER: Any = _o.key > bindparam("after")

# --- what nobody answers for

_LOST = or_(
    _r.status != sql("'running'"),
    _r.owner != _o.owner,
    _r.epoch != _o.run_epoch,
    _r.expires_at <= bindparam("now"),
    _r.expires_at > bindparam("latest"),
)
_OVER = _r.status.in_([sql("'finished'"), sql("'interrupted'")])
_OF_RUN = select(_o.key, _o.run_id).select_from(
    operations.join(runs, _r.run_id == _o.run_id, isouter=False)
)
_stale = union(
    _OF_RUN.where(RUNNING, _LOST, _AFTER), _OF_RUN.where(WAITING, _OVER, _AFTER)
).subquery("stale")
STALE = statement(select(_stale.c.key, _stale.c.run_id).order_by(_stale.c.key).limit(_LIMIT))

# --- one, and many

_created, _completed, _resolved = (
    events.alias(name) for name in ("created", "completed", "resolved")
)
_STREAM: Any = sql(f"'{operation.stream_id('')}'").concat(_o.key)


def _event(alias: Any, version: Any) -> Any:
    return and_(
        alias.c.stream_id == _STREAM,
        alias.c.version == version,
        alias.c.schema_version == sql("1"),
    )


_TOLD = select(
    *operations.columns, _created.c.data, _completed.c.data, _resolved.c.data
).select_from(
    operations.outerjoin(_created, _event(_created, sql("1")))
    .outerjoin(_completed, _event(_completed, _o.completed_version))
    .outerjoin(_resolved, _event(_resolved, _o.resolved_version))
)
OPERATION = statement(_TOLD.where(_o.key == bindparam("key")))
OF_WORK_ITEM = statement(_TOLD.where(_o.work_item_id == bindparam("work_item_id")).order_by(_o.key))
ALL = statement(_TOLD.order_by(_o.key))
_OPEN_OF = select(_o.key, _o.run_id, _o.execution, _o.effect).where(
    OPEN, _o.work_item_id == bindparam("work_item_id")
)
BLOCKING = statement(_OPEN_OF.order_by(_o.key))

_ended = events.alias("ended")
RUN = statement(
    select(*runs.columns, _ended.c.data)
    .select_from(
        runs.outerjoin(
            _ended,
            and_(
                _ended.c.stream_id == sql(f"'{run.stream_id('')}'").concat(_r.run_id),
                _ended.c.version == _r.version,
                _ended.c.schema_version == sql("1"),
                _r.status != sql("'running'"),
            ),
        )
    )
    .where(_r.run_id == bindparam("run_id"))
)


class OperationRow(NamedTuple):
    """An operation's row as stored, with the events that hold its payloads."""

    key: str
    run_id: str
    work_item_id: str
    action_id: str
    operation_type: str
    replay_policy: str
    execution: Any
    effect: Any
    execution_epoch: int
    owner: str | None
    run_epoch: int | None
    reason: str | None
    completed_version: int | None
    resolved_version: int | None
    evidence: str
    created_at: int
    updated_at: int
    version: int
    created: str | None
    completed: str | None
    resolved: str | None


class RunRow(NamedTuple):
    """A run's row as stored, with the event that ended it."""

    run_id: str
    work_item_id: str
    action_id: str
    status: Any
    owner: str
    epoch: int
    expires_at: int | None
    evidence: str
    created_at: int
    updated_at: int
    version: int
    ended: str | None


_REASONS = {
    "not_started": "it hasn't begun: claim it, or end its run and recover",
    "running": "it is running; if the lease of its run is over, recover",
    "cancel_requested": "its cancellation was requested; if the lease is over, recover",
    "hazardous_orphan": "the claim of its run was lost while it ran; resolve it",
}


def work_item_of(store: Store, run_id: str) -> str | None:
    """Whose a run is; None if it was never started."""
    with store.reading(damaged=True) as cursor:
        row = run_statement(cursor, store.dialect, RUN, {"run_id": run_id}).fetchone()
    return None if row is None else str(RunRow(*row).work_item_id)


def as_blocking(key: str, run_id: str, execution: Any, effect: Any) -> BlockingOperation:
    """A row as those see it who want to go on."""
    reason = _REASONS.get(execution, "its effect is unknown; resolve it")
    facts = {"execution": execution, "effect": effect}
    return BlockingOperation(key=key, run_id=run_id, **facts, reason=reason)


def as_operation(row: OperationRow) -> RecordedOperation:
    """A row as the value that callers see."""
    said: dict[str, Any] = {"payload": None}
    evidence: Any = ()
    unreadable: str | None = None
    try:
        said = _said(row)
        evidence = tuple(map(as_evidence, decode(row.evidence)))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        unreadable = f"damaged: {error}"
    return RecordedOperation(
        key=row.key,
        run_id=row.run_id,
        work_item_id=row.work_item_id,
        action_id=row.action_id,
        operation_type=row.operation_type,
        replay_policy=row.replay_policy,
        execution=row.execution,
        effect=row.effect,
        created_at=_time(row.created_at),
        updated_at=_time(row.updated_at),
        execution_epoch=row.execution_epoch,
        owner=row.owner,
        run_epoch=row.run_epoch,
        reason=row.reason,
        evidence=evidence,
        unreadable=unreadable,
        **said,
    )


def as_created(row: OperationRow) -> RecordedOperation:
    """An operation as it was when it was created."""
    nothing: dict[str, Any] = {"owner": None, "run_epoch": None, "reason": None}
    nothing |= {"execution": "not_started", "effect": "pending", "execution_epoch": 0}
    nothing |= {"completed_version": None, "resolved_version": None, "evidence": "[]"}
    return as_operation(row._replace(**nothing, updated_at=row.created_at))


def as_run(row: RunRow) -> StartedRun:
    """A row as the value that callers see."""
    said: dict[str, Any] = {}
    evidence: Any = ()
    unreadable: str | None = None
    try:
        ended = {} if row.status == "running" else _fields(row.ended)
        said = {name: ended[name] for name in ("outcome", "reason", "altered") if name in ended}
        evidence = tuple(map(as_evidence, decode(row.evidence)))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        unreadable = f"damaged: {error}"
    return StartedRun(
        run_id=row.run_id,
        work_item_id=row.work_item_id,
        action_id=row.action_id,
        status=row.status,
        owner=row.owner,
        epoch=row.epoch,
        expires_at=None if row.expires_at is None else _time(row.expires_at),
        created_at=_time(row.created_at),
        updated_at=_time(row.updated_at),
        evidence=evidence,
        unreadable=unreadable,
        **said,
    )


def _said(row: OperationRow) -> dict[str, Any]:
    """What only the events hold."""
    said: dict[str, Any] = {"payload": _fields(row.created)["payload"]}
    if row.completed_version is not None:
        completed = _fields(row.completed)
        said |= {"result": completed["result"], "altered": completed["altered"]}
    if row.resolved_version is not None:
        resolved = _fields(row.resolved)
        said |= {"resolved_by": resolved["by"], "resolution": resolved["evidence"]}
        said["altered"] = said.get("altered", False) or resolved["altered"]
    return said


def _fields(data: str | None) -> dict[str, Any]:
    """The fields of a stored event.

    Raises:
        ValueError: It isn't JSON.
        TypeError: It isn't there, or of another form.
    """
    fields = None if data is None else decode(data)
    if not isinstance(fields, dict):
        msg = "an event isn't there, or is of a newer release"
        raise TypeError(msg)
    return fields


def _time(stored: int) -> Any:
    try:
        return from_microseconds(stored)
    except (TypeError, OverflowError):
        return UNKNOWN_TIME
