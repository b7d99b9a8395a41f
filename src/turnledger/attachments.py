"""`ledger.attachments`: the files that coordinator turns were begun with."""

import re
from pathlib import Path

from turnledger.domain.coordinator_turn import CoordinatorTurn
from turnledger.domain.errors import InvalidPayload
from turnledger.infrastructure.attachment_folder import AttachmentFolder, hold
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.turn_rows import ATTACHED, REFERRED
from turnledger.infrastructure.unit_of_work import UnitOfWork

_YOUNG_SECONDS = 3_600.0  # a command that is under way may still refer to it
_NAMES = re.compile('"([0-9a-f]{64})"')


class AttachmentStore:
    """The commands and queries of `ledger.attachments`."""

    def __init__(self, backend: Backend, folder: AttachmentFolder | None) -> None:
        """Take what the ledger's services share, and the folder."""
        self._backend = backend
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where the file with this content is; an encrypted ledger's is encrypted: `read` it.

        Raises:
            InvalidPayload: The ledger has no folder, or it is no SHA-256 in hex.
        """
        if self._folder is None:
            raise InvalidPayload("attachments", "there is no folder; give one to turnledger.open")
        return self._folder.file(sha256)

    def read(self, sha256: str) -> bytes:
        """The content of a file, also where it is stored encrypted.

        Raises:
            InvalidPayload: There is no such file.
            Unreadable: It was purged or damaged, or its key isn't here.
        """
        path = self.path(sha256)
        try:
            stored = path.read_bytes()
        except OSError as error:
            raise InvalidPayload("sha256", f"names no file that can be read: {error}") from error
        return self._backend.contents.opened_file(sha256, stored)

    def sweep(self) -> int:
        """Remove the files that no event refers to, and that are older than an hour.

        The rows say which those are; before anything is removed the events themselves are asked.

        Returns:
            How many there were.

        Raises:
            StoreReadOnly: The folder can't be read, or a file not be removed.
        """
        folder = self._folder
        old = set() if folder is None else set(folder.taken_up_before(self._an_hour_ago()))
        mentioned = self._backend.look(_mentioned) if old else set[str]()
        candidates = {path for path in old if path.name not in mentioned}
        if folder is None or not candidates:
            return 0

        def work(unit: UnitOfWork) -> int:
            hold(unit, alone=True)
            still = folder.taken_up_before(self._an_hour_ago())
            old = [path for path in still if path in candidates]
            loose = [path for path in old if not _is_referred_to(unit, path.name)]
            for path in loose:
                folder.remove(path)
            return len(loose)

        return self._backend.transact(work, several=True)

    def _an_hour_ago(self) -> float:
        return self._backend.clock().timestamp() - _YOUNG_SECONDS


def _mentioned(unit: UnitOfWork) -> set[str]:
    """What the events mention that could be a file here, whether or not a row says so."""
    given = {"type": CoordinatorTurn.Begun.TOPIC, "pattern": '%"attachments":["%'}
    return {name for (data,) in unit.run(ATTACHED, given) for name in _NAMES.findall(data)}


def _is_referred_to(unit: UnitOfWork, sha256: str) -> bool:
    return unit.run(REFERRED, {"sha256": sha256, "limit": 1}).fetchone() is not None
