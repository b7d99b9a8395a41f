"""Where each operation stands: one row for each, from its creation on, for ever.

The payload is in its first event, the result in the event whose version `completed_version` names,
a decision in that of `resolved_version`, and nowhere else. The view `open_operations` shows those
that aren't settled with a known effect. Partial indexes hold only these, those that run, and those
that haven't begun, so that the cost of a search doesn't grow with what is settled.
"""

from typing import Any

from sqlalchemy import Index, PrimaryKeyConstraint, Table, bindparam, insert, null, or_, update
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Evidence
from turnledger.domain.operation.events import Operation
from turnledger.projections.evidence import NONE, keeping
from turnledger.projections.schema import Reactions, Step, integer, metadata, text

operations = Table(
    "operations",
    metadata,
    text("key"),
    text("run_id"),
    text("work_item_id"),
    text("action_id"),
    text("operation_type"),
    text("replay_policy"),
    text("execution"),
    text("effect"),
    integer("execution_epoch"),
    text("owner", nullable=True),
    integer("run_epoch", nullable=True),
    text("reason", nullable=True),
    integer("completed_version", nullable=True),
    integer("resolved_version", nullable=True),
    text("evidence"),
    integer("created_at"),
    integer("updated_at"),
    integer("version"),
    PrimaryKeyConstraint("key"),
    sqlite_with_rowid=False,
)
_o = operations.c

OPEN: Any = or_(_o.execution != sql("'quiescent'"), _o.effect == sql("'unknown'"))
RUNNING: Any = _o.execution.in_([sql("'running'"), sql("'cancel_requested'")])
WAITING: Any = _o.execution == sql("'not_started'")


def _partial(name: str, where: Any, *columns: Any) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


Index("operations_of_work_item", _o.work_item_id, _o.key)
_partial("operations_open", OPEN, _o.work_item_id, _o.key)
_partial("operations_running", RUNNING, _o.key)
_partial("operations_waiting", WAITING, _o.key)

_THIS: Any = _o.key == bindparam("target")
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_ABOUT = ("run_id", "work_item_id", "action_id", "operation_type", "replay_policy", "created_at")


def _parameters(*names: str) -> dict[str, Any]:
    return {name: bindparam(name) for name in names}


def _becomes(execution: str, **changes: Any) -> Step:
    changed = {"execution": sql(f"'{execution}'"), **changes, **_STAMP}
    return Step(update(operations).where(_THIS).values(**changed))


def _created() -> Step:
    new: dict[str, Any] = {
        "key": bindparam("target"),
        **_parameters(*_ABOUT),
        "execution": sql("'not_started'"),
        "effect": sql("'pending'"),
        "execution_epoch": sql("0"),
        "owner": null(),
        "run_epoch": null(),
        "reason": null(),
        "completed_version": null(),
        "resolved_version": null(),
        "evidence": NONE,
        **_STAMP,
    }
    return Step(insert(operations).values(new))


_CLAIM = _parameters("owner", "run_epoch", "execution_epoch")
_REASON = _parameters("reason")
_EFFECT = _parameters("effect")

ON: Reactions = {
    Operation.Created: (_created(),),
    Operation.Claimed: (_becomes("running", **_CLAIM),),
    Operation.CancelRequested: (_becomes("cancel_requested"),),
    Operation.Completed: (
        _becomes("quiescent", **_EFFECT, completed_version=bindparam("version")),
    ),
    Operation.Orphaned: (_becomes("hazardous_orphan", effect=sql("'unknown'"), **_REASON),),
    Operation.NeverClaimed: (_becomes("quiescent", effect=sql("'failed_no_effect'"), **_REASON),),
    Operation.Resolved: (_becomes("quiescent", **_EFFECT, resolved_version=bindparam("version")),),
    Evidence.KeptOfOperation: (keeping(operations, _THIS),),
}
