"""A checkpoint and its text: the note of a transparency log (C2SP's tlog-checkpoint)."""

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import datetime

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import LARGEST
from turnledger.infrastructure.merkle import HASH_BYTES

_ORIGIN = "turnledger/"
_SIGNATURE = "\N{EM DASH} "  # how a signature line of a signed note begins
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What the first events of a log are; `str` gives it as text, to be kept or signed.

    Attributes:
        ledger_id: Whose log.
        generation: Which generation the ledger was of. It isn't part of what is compared.
        size: How many events.
        root: The root of the Merkle tree of their hashes (RFC 6962, 2.1): 64 hex digits.
        recorded_at: When the last of them was recorded; None if there is none.
    """

    ledger_id: str
    generation: str
    size: int
    root: str
    recorded_at: datetime | None

    def __str__(self) -> str:
        """The text of a note as C2SP's tlog-checkpoint has it: lines, each with its end."""
        lines = [
            f"{_ORIGIN}{self.ledger_id}",
            str(self.size),
            b64encode(bytes.fromhex(self.root)).decode(),
            f"generation {self.generation}",
        ]
        if self.recorded_at is not None:
            at = self.recorded_at.isoformat(timespec="microseconds")
            lines.append(f"recorded {at.replace('+00:00', 'Z')}")
        return "".join(f"{line}\n" for line in lines)

    @staticmethod
    def read(text: str) -> "tuple[Checkpoint, ...]":
        """The checkpoints in a text: one behind the other, signed or not.

        Signatures aren't looked at: that is for the tool that made them.

        Raises:
            InvalidPayload: There is none, or one that can't be read.
        """
        notes: list[list[str]] = []
        for line in map(str.strip, text.split("\n")):
            if line.startswith(_ORIGIN):
                notes.append([])
            elif line and not line.startswith(_SIGNATURE) and not notes:
                raise InvalidPayload("checkpoint", f"doesn't begin with {_ORIGIN}…: it is none")
            if line and not line.startswith(_SIGNATURE):
                notes[-1].append(line)
        if not notes:
            raise InvalidPayload("checkpoint", "is empty")
        return tuple(map(_read, notes))


def _read(lines: list[str]) -> Checkpoint:
    """One checkpoint's lines; unknown ones at the end are let be."""
    said = {name: value for name, _, value in (line.partition(" ") for line in lines[3:])}
    ledger_id, generation = lines[0].removeprefix(_ORIGIN), said.get("generation", "")
    try:
        size, root = lines[1:3]
        decoded = b64decode(root, validate=True)
        whole = [_ID.fullmatch(ledger_id), _ID.fullmatch(generation), _SIZE.fullmatch(size)]
        recorded = datetime.fromisoformat(said["recorded"]) if size != "0" else None
    except (ValueError, KeyError) as error:
        raise _not_whole(lines) from error
    if not all(whole) or len(decoded) != HASH_BYTES or int(size) > LARGEST:
        raise _not_whole(lines)
    return Checkpoint(
        ledger_id=ledger_id,
        generation=generation,
        size=int(size),
        root=decoded.hex(),
        recorded_at=recorded,
    )


def _not_whole(lines: list[str]) -> InvalidPayload:
    form = "origin, size, root in base64, generation, and when the last event was recorded"
    return InvalidPayload("checkpoint", f"{lines[0]!r} isn't whole: its lines have to be {form}")
