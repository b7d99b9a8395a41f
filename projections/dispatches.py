"""Every dispatch that was ever started in a thread: an id is used once, and whose it was."""

from sqlalchemy import PrimaryKeyConstraint, Table, bindparam, insert

from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.projections.schema import Reactions, Step, integer, metadata, text

dispatches = Table(
    "dispatches",
    metadata,
    text("thread_id"),
    text("dispatch_id"),
    text("queued_turn_id"),
    text("owner"),
    integer("epoch"),
    PrimaryKeyConstraint("thread_id", "dispatch_id"),
    sqlite_with_rowid=False,
)

ON: Reactions = {
    ThreadQueue.DispatchStarted: (
        Step(insert(dispatches).values({c.name: bindparam(c.name) for c in dispatches.columns})),
    ),
}
