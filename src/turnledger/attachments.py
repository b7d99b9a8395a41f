"""`ledger.attachments`: the files that coordinator turns were begun with."""

from pathlib import Path

from turnledger.domain.errors import InvalidPayload
from turnledger.infrastructure.attachment_folder import AttachmentFolder, hold
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.turn_rows import REFERRED
from turnledger.infrastructure.unit_of_work import UnitOfWork

_YOUNG_SECONDS = 3_600.0  # a command that is under way may still refer to it


class AttachmentStore:
    """The commands and queries of `ledger.attachments`."""

    def __init__(self, backend: Backend, folder: AttachmentFolder | None) -> None:
        """Take what the ledger's services share, and the folder."""
        self._backend = backend
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where the file with this content is.

        Raises:
            InvalidPayload: The ledger has no folder, or it is no SHA-256 in hex.
        """
        if self._folder is None:
            raise InvalidPayload("attachments", "there is no folder; give one to turnledger.open")
        return self._folder.file(sha256)

    def sweep(self) -> int:
        """Remove the files that no event refers to, and that are older than an hour.

        Returns:
            How many there were.
        """
        folder = self._folder
        if folder is None:
            return 0

        def work(unit: UnitOfWork) -> int:
            hold(unit, alone=True)
            time = self._backend.clock().timestamp() - _YOUNG_SECONDS
            old = folder.taken_up_before(time)
            loose = [path for path in old if not _is_referred_to(unit, path.name)]
            for path in loose:
                path.unlink(missing_ok=True)
            return len(loose)

        return self._backend.transact(work, several=True)


def _is_referred_to(unit: UnitOfWork, sha256: str) -> bool:
    return unit.run(REFERRED, {"sha256": sha256, "limit": 1}).fetchone() is not None
