"""Which files of the attachment folder some event refers to, by the SHA-256 of their content."""

from typing import Any

from sqlalchemy import PrimaryKeyConstraint, Table, bindparam, insert

from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.projections.schema import Parameters, Reactions, Step, metadata, text

attachments = Table(
    "attachments",
    metadata,
    text("sha256"),
    text("turn_id"),
    PrimaryKeyConstraint("sha256", "turn_id"),
    sqlite_with_rowid=False,
)

_new: dict[str, Any] = {"sha256": bindparam("sha256"), "turn_id": bindparam("target")}


def _of_each(event: CoordinatorTurn.Begun, given: Parameters) -> list[Parameters]:
    return [{**given, "sha256": sha256} for sha256 in dict.fromkeys(event.attachments)]


ON: Reactions = {
    CoordinatorTurn.Begun: (Step(insert(attachments).values(_new), _of_each),),
}
