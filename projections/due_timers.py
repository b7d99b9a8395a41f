"""When each timer runs next: one row for each, from its creation on, for ever.

The scan for due timers reads one partial index: of those that may fire, by next_run_at. What can't
fire now isn't in it: timers that are paused, have ended, were set aside, or whose thread is
archived; and the idle-recurring ones, which have an index of their own. So the cost of a scan
doesn't grow with the timers that aren't due.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    case,
    func,
    insert,
    null,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.event import Event
from turnledger.domain.payload import encode
from turnledger.domain.thread import Thread
from turnledger.domain.timer.events import Timer
from turnledger.domain.trigger import says_idle
from turnledger.projections.schema import (
    Parameters,
    Reactions,
    Step,
    flag,
    integer,
    metadata,
    text,
)

due_timers = Table(
    "due_timers",
    metadata,
    text("timer_id"),
    text("thread_id"),
    integer("next_run_at", nullable=True),
    flag("due"),
    integer("last_run_at", nullable=True),
    integer("runs"),
    flag("paused"),
    text("trigger"),
    text("delivery"),
    text("content"),
    text("instructions"),
    text("metadata"),
    text("source"),
    text("client_id", nullable=True),
    integer("created_at"),
    text("state"),
    text("error", nullable=True),
    flag("idle"),
    flag("archived"),
    integer("unarchived_at", nullable=True),
    text("message_id", nullable=True),
    text("time_zone_data"),
    integer("version"),
    PrimaryKeyConstraint("timer_id"),
    sqlite_with_rowid=False,
)
_t = due_timers.c

LIVE: Any = _t.state.in_([sql("'scheduled'"), sql("'error'")])
_FALSE: Any = sql("false")
_SCHEDULED: Any = _t.state == sql("'scheduled'")
_MAY_FIRE: Any = _SCHEDULED & (_t.paused == _FALSE) & (_t.archived == _FALSE)
PLANNED: Any = _MAY_FIRE & (_t.idle == _FALSE)
IDLE: Any = _MAY_FIRE & (_t.idle == sql("true"))
ZONED: Any = LIVE & (_t.time_zone_data != sql("''"))


def _partial(name: str, where: Any, *columns: Any) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


_partial("due_timers_planned", PLANNED, _t.next_run_at)
_partial("due_timers_idle", IDLE, _t.thread_id)
_partial("due_timers_live", LIVE, _t.thread_id, _t.created_at, _t.timer_id)
_partial("due_timers_zoned", ZONED, _t.time_zone_data)

Index("due_timers_of_thread", _t.thread_id, _t.timer_id)

_THIS = _t.timer_id == bindparam("target")
_VERSION: dict[str, Any] = {"version": bindparam("version")}
_TEXTS = ("delivery", "content", "instructions", "metadata", "source")


def _parameters(*names: str) -> dict[str, Any]:
    return {name: bindparam(name) for name in names}


def _this(**changes: Any) -> Step:
    """A change of the event's timer."""
    return Step(update(due_timers).where(_THIS).values(**changes, **_VERSION))


def _created() -> Step:
    new: dict[str, Any] = {
        **_parameters("thread_id", "next_run_at", "trigger", "client_id", "created_at", *_TEXTS),
        **_parameters("time_zone_data", "idle"),
        "timer_id": bindparam("target"),
        "due": bindparam("idle"),
        "last_run_at": null(),
        "runs": sql("0"),
        "paused": _FALSE,
        "state": sql("'scheduled'"),
        "error": null(),
        "archived": _FALSE,
        "unarchived_at": null(),
        "message_id": null(),
        **_VERSION,
    }

    def rows(event: Timer.Created, given: Parameters) -> list[Parameters]:
        return [{**given, "idle": says_idle(event.trigger)}]

    return Step(insert(due_timers).values(new), rows)


def _updated() -> Step:
    """One statement for whatever changed: what didn't is null, and stays."""
    trigger = bindparam("trigger", type_=Text())
    new: Any = trigger.is_not(None)
    idle = bindparam("idle", type_=Boolean())
    changed: dict[str, Any] = {
        name: func.coalesce(bindparam(name, type_=Text()), _t[name]) for name in _TEXTS
    }
    renamed: Any = bindparam("renamed", type_=Boolean())
    changed |= {
        "client_id": case((renamed, bindparam("client_id", type_=Text())), else_=_t.client_id),
        "trigger": func.coalesce(trigger, _t.trigger),
        "idle": case((new, idle), else_=_t.idle),
        "due": case((new, idle), else_=_t.due),
        "state": case((new, sql("'scheduled'")), else_=_t.state),
        "error": case((new, null()), else_=_t.error),
        **_parameters("next_run_at", "time_zone_data"),
    }

    def rows(event: Timer.Updated, given: Parameters) -> list[Parameters]:
        said = event.changed
        fields: Parameters = dict.fromkeys((*_TEXTS, "trigger", "client_id"))
        fields |= {name: _as_stored(name, value) for name, value in said.items()}
        idle = says_idle(said.get("trigger", {}))
        return [{**given, **fields, "idle": idle, "renamed": "client_id" in said}]

    return _this(**changed)._replace(rows=rows)


def _as_stored(name: str, value: Any) -> str | None:
    """A field as its column holds it: names as they are, the rest as JSON."""
    plain = name in {"delivery", "source", "client_id"}
    return value if plain else encode(value)


def _next(**changes: Any) -> Step:
    """The timer has another next run; without one, it has ended, or is set aside."""
    error = bindparam("error", type_=Text())
    next_run_at = bindparam("next_run_at", type_=BigInteger())
    none: Any = next_run_at.is_(None)
    over = none & ~_t.idle & (_t.state == sql("'scheduled'"))
    word = case((error.is_not(None), sql("'error'")), (over, sql("'ended'")), else_=_t.state)
    moved: dict[str, Any] = {"next_run_at": next_run_at, "due": _t.idle, "state": word, **changes}
    moved["error"] = func.coalesce(error, _t.error)

    def rows(event: Event, given: Parameters) -> list[Parameters]:
        return [{**given, "error": getattr(event, "error", None)}]

    return _this(**moved)._replace(rows=rows)


def _of_thread(**changes: Any) -> Step:
    """A change of all live timers of a thread."""
    mine = (_t.thread_id == bindparam("target"), LIVE)
    return Step(update(due_timers).where(*mine).values(**changes))


_DATA = _parameters("time_zone_data")
_RAN = {"runs": bindparam("epoch"), **_parameters("last_run_at", "message_id")}
_BACK = {"archived": _FALSE, "unarchived_at": bindparam("recorded_at")}

ON: Reactions = {
    Timer.Created: (_created(),),
    Timer.Updated: (_updated(),),
    Timer.Paused: (_this(paused=sql("true")),),
    Timer.Resumed: (_this(paused=_FALSE),),
    Timer.Deleted: (_this(state=sql("'deleted'"), due=_FALSE),),
    Timer.MarkedDue: (_this(due=sql("true")),),
    Timer.Fired: (_next(**_RAN, **_DATA),),
    Timer.Skipped: (_next(**_DATA),),
    Timer.Recomputed: (_next(**_DATA, due=_t.due),),
    Timer.SetAside: (_this(state=sql("'error'"), due=_FALSE, **_parameters("error")),),
    Thread.Archived: (_of_thread(archived=sql("true")),),
    Thread.Unarchived: (_of_thread(**_BACK),),
}
