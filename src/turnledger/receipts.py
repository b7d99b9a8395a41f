"""Idempotency keys: has this been done before, and what came of it?"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from turnledger.domain.errors import IdempotencyConflict
from turnledger.domain.event import Envelope
from turnledger.domain.identifier import check_identifier
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.projections.receipts import receipts

_RECEIPT = statement(
    select(
        receipts.c.command,
        receipts.c.command_id,
        receipts.c.content_hash,
        receipts.c.stream_id,
        receipts.c.version,
    ).where(
        receipts.c.scope == bindparam("scope"),
        receipts.c.idempotency_key == bindparam("idempotency_key"),
    )
)


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A key with what it stands for.

    Attributes:
        scope: The thread or work item within which the key is unique.
        key: 1 to 256 characters.
        command: The command's name.
        content_hash: Of the command's name and all its caller's arguments.
    """

    scope: str
    key: str
    command: str
    content_hash: str

    @classmethod
    def of_thread(
        cls, thread_id: str, key: str | None, command: str, content: dict[str, Any], intake: Intake
    ) -> "Idempotency | None":
        """A key within a thread; None if there is no key.

        Args:
            thread_id: The thread.
            key: What the caller chose.
            command: The command's name.
            content: Its arguments, as they are stored.
            intake: Through which they came.

        Raises:
            InvalidIdentifier: The key is no identifier.
        """
        if key is None:
            return None
        check_identifier("idempotency_key", key)
        arguments = {"thread_id": thread_id, **content}
        return cls(f"thread:{thread_id}", key, command, intake.hash([command, arguments]))

    @classmethod
    def of_work_item(
        cls,
        work_item_id: str,
        key: str | None,
        command: str,
        content: dict[str, Any],
        intake: Intake,
    ) -> "Idempotency | None":
        """A key within a work item; see `of_thread`.

        Raises:
            InvalidIdentifier: The key is no identifier.
        """
        if key is None:
            return None
        check_identifier("idempotency_key", key)
        arguments = {"work_item_id": work_item_id, **content}
        return cls(f"work_item:{work_item_id}", key, command, intake.hash([command, arguments]))

    def marked(self, origin: Origin) -> Origin:
        """The origin of a command that leaves a receipt under this key."""
        facts = {"scope": self.scope, "content_hash": self.content_hash}
        return origin._replace(idempotency_key=self.key, **facts)


def first_events(
    backend: Backend, unit: UnitOfWork, idempotency: Idempotency
) -> list[Envelope] | None:
    """What the key led to before, or None if it is new.

    Raises:
        IdempotencyConflict: It was used for something else.
    """
    row = unit.run(
        _RECEIPT, {"scope": idempotency.scope, "idempotency_key": idempotency.key}
    ).fetchone()
    if row is None:
        return None
    command, command_id, known_hash, stream_id, version = row
    if known_hash != idempotency.content_hash:
        raise IdempotencyConflict(idempotency.scope, idempotency.key, command)
    found: list[Envelope] = []
    for envelope in backend.application.envelopes(stream_id, after=version - 1):
        if envelope.metadata.get("command", {}).get("id") != command_id:
            break
        found.append(envelope)
    return found
