"""Where each run stands: one row for each, from its start on, for ever."""

from typing import Any

from sqlalchemy import Index, PrimaryKeyConstraint, Table, bindparam, insert, null, update
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Evidence
from turnledger.domain.run.events import Run
from turnledger.projections.evidence import NONE, keeping
from turnledger.projections.schema import Reactions, Step, integer, metadata, text

runs = Table(
    "runs",
    metadata,
    text("run_id"),
    text("work_item_id"),
    text("action_id"),
    text("status"),
    text("owner"),
    integer("epoch"),
    integer("expires_at", nullable=True),
    text("evidence"),
    integer("created_at"),
    integer("updated_at"),
    integer("version"),
    PrimaryKeyConstraint("run_id"),
    sqlite_with_rowid=False,
)

Index("runs_of_work_item", runs.c.work_item_id, runs.c.run_id)

_THIS: Any = runs.c.run_id == bindparam("target")
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_CLAIM: dict[str, Any] = {name: bindparam(name) for name in ("owner", "epoch", "expires_at")}


def _this(**changes: Any) -> Step:
    return Step(update(runs).where(_THIS).values(**changes, **_STAMP))


def _started() -> Step:
    new: dict[str, Any] = {
        "run_id": bindparam("target"),
        "work_item_id": bindparam("work_item_id"),
        "action_id": bindparam("action_id"),
        "status": sql("'running'"),
        **_CLAIM,
        "evidence": NONE,
        "created_at": bindparam("recorded_at"),
        **_STAMP,
    }
    return Step(insert(runs).values(new))


ON: Reactions = {
    Run.Started: (_started(),),
    Run.TakenOver: (_this(**_CLAIM),),
    Run.Renewed: (_this(expires_at=bindparam("expires_at")),),
    Run.Finished: (_this(status=sql("'finished'"), expires_at=null()),),
    Run.Interrupted: (_this(status=sql("'interrupted'"), expires_at=null()),),
    Evidence.KeptOfRun: (keeping(runs, _THIS),),
}
