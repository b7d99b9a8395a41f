"""Where a command comes from, and what is recorded of that beside its events."""

from typing import NamedTuple

from turnledger.domain.command import RecordedCommand
from turnledger.domain.event import Receipt
from turnledger.domain.limits import Context
from turnledger.domain.payload import encode

_NAMES = ("actor", "correlation_id", "causation_id", "idempotency_key")
_NOBODY = (None, None, None, None)


class Origin(NamedTuple):
    """Where a command comes from, for the metadata of its events."""

    command_id: str
    actor: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    idempotency_key: str | None = None
    scope: str = ""
    content_hash: str = ""

    def receipt(self, command: RecordedCommand) -> Receipt | None:
        """What the command leaves behind, if it was given a key."""
        key = self.idempotency_key
        if key is None:
            return None
        return Receipt(self.scope, key, command.NAME, self.command_id, self.content_hash)


def recorded(command: RecordedCommand, origin: Origin, context: Context) -> str:
    """What is recorded beside the events, as JSON text: put together, since all but two are fixed.

    The caller's words are written by the JSON library; the rest needs no escapes.
    """
    record = (
        f'{{"command":{{"name":"{command.NAME}","id":"{origin.command_id}",'
        f'"arguments":{command.arguments()}{context.limits.recorded}'
    )
    if context.recorded_at is not context.now:
        record += f',"now":{encode(context.now)}'
    if origin[1:5] == _NOBODY:
        return record + "}}"
    given = zip(_NAMES, origin[1:5], strict=True)
    rest = encode({name: value for name, value in given if value is not None})
    return f"{record}}},{rest[1:]}"


def with_receipt(metadata: str, receipt: Receipt) -> str:
    """The metadata of the event that leaves a receipt."""
    said = {"scope": receipt.scope, "content_hash": receipt.content_hash}
    return f'{metadata[:-1]},"receipt":{encode(said)}}}'
