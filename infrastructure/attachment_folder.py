"""The attachment folder: each file under the SHA-256 of its content.

A file is there before the command commits that refers to it. What nothing refers to, because its
command came to nothing, is swept out later. A sweep and a command that takes a file up again don't
meet: one holds the ledger's row alone, the others together. A file's time is the ledger's.
"""

import errno
import os
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import select

from turnledger.domain.errors import InvalidPayload, StoreFull, StoreReadOnly
from turnledger.domain.payload import shown
from turnledger.infrastructure.schema import ledger
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

_DIGITS = frozenset("0123456789abcdef")
_NAME_LENGTH = 64
_UNFINISHED = ".part"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TOGETHER = statement(select(ledger.c.ledger_id).with_for_update(read=True))
_ALONE = statement(select(ledger.c.ledger_id).with_for_update())


class AttachmentFolder:
    """A folder of files that are never changed.

    Attributes:
        path: Where it is; made with its first file.
    """

    def __init__(self, path: Path) -> None:
        """Take where it is."""
        self.path = path

    def keep(self, contents: Mapping[str, bytes], now: float) -> None:
        """Have these files there, as young as if they were written now.

        Args:
            contents: By their SHA-256.
            now: In seconds.

        Raises:
            StoreFull: There is no room.
            StoreReadOnly: The folder can't be written.
        """
        with self._in_words():
            self.path.mkdir(parents=True, exist_ok=True)
            for sha256, content in contents.items():
                path = self.path / sha256
                if not _is_touched(path, now):
                    _write(path, content, now)
            _sync_folder(self.path)

    def file(self, sha256: str) -> Path:
        """Where a file is, or would be.

        Raises:
            InvalidPayload: It is no name of a file here.
        """
        if not isinstance(sha256, str) or not _is_name(sha256):
            raise InvalidPayload("sha256", f"must be 64 hexadecimal digits, not {shown(sha256)}")
        return self.path / sha256

    def taken_up_before(self, time: float) -> list[Path]:
        """The files that nobody has taken up since, and what was left of unfinished ones.

        Raises:
            StoreReadOnly: The folder can't be read.
        """
        with self._in_words():
            if not self.path.is_dir():
                return []
            ours = (path for path in self.path.iterdir() if _is_ours(path.name))
            return sorted(path for path in ours if _is_older(path, time))

    def remove(self, path: Path) -> None:
        """Remove a file, if it is still there.

        Raises:
            StoreReadOnly: It can't be removed.
        """
        with self._in_words():
            path.unlink(missing_ok=True)

    @contextmanager
    def _in_words(self) -> Generator[None]:
        """Say what the folder's file system says no to.

        Raises:
            StoreFull: There is no room.
            StoreReadOnly: Anything else.
        """
        try:
            yield
        except OSError as error:
            kind = StoreFull if error.errno in _NO_ROOM else StoreReadOnly
            raise kind(str(self.path), str(error)) from error


def contents_of(given: Iterable[Any]) -> list[bytes]:
    """The contents of what a caller gave, in order.

    Raises:
        InvalidPayload: One is neither bytes nor a file that can be read.
    """
    return [bytes(one) if isinstance(one, bytes | bytearray) else _read(one) for one in given]


def hold(unit: UnitOfWork, *, alone: bool) -> None:
    """Keep sweeps off until the end of the unit; or, alone, all that takes files up."""
    unit.run(_ALONE if alone else _TOGETHER, {}).fetchall()


def _read(path: object) -> bytes:
    if not isinstance(path, str | os.PathLike):
        reason = f"must be paths or bytes, not {type(path).__name__}"
        raise InvalidPayload("attachments", reason)
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidPayload("attachments", f"can't be read: {error}") from error


def _is_touched(path: Path, now: float) -> bool:
    """Make a file as young as a new one; whether it is there at all."""
    try:
        os.utime(path, (now, now))
    except FileNotFoundError:
        return False
    return True


def _is_older(path: Path, time: float) -> bool:
    """Whether it is; one that is gone, as an unfinished one that was given its name, isn't."""
    try:
        return path.stat().st_mtime < time
    except FileNotFoundError:
        return False


def _write(path: Path, content: bytes, now: float) -> None:
    """The whole file, or none: it gets its name when its content is on the disk."""
    number, name = tempfile.mkstemp(_UNFINISHED, f"{path.name}.", path.parent)
    with os.fdopen(number, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.utime(name, (now, now))
    Path(name).replace(path)


def _sync_folder(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _is_name(name: str) -> bool:
    return len(name) == _NAME_LENGTH and set(name) <= _DIGITS


def _is_ours(name: str) -> bool:
    """A file of the folder, or what a crash left of one."""
    return _is_name(name) or (_is_name(name[:_NAME_LENGTH]) and name.endswith(_UNFINISHED))
