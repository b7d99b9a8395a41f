"""The door: `turnledger.open`, and what takes a ledger's place."""

import os
from contextlib import closing
from pathlib import Path

from turnledger.backup import restore as restore_file
from turnledger.domain.errors import StoreError
from turnledger.domain.redactor import Redactor
from turnledger.domain.settings import Settings
from turnledger.infrastructure.attachment_folder import AttachmentFolder
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import Clock, checked, host_clock
from turnledger.infrastructure.contents import contents_of
from turnledger.infrastructure.opening import (
    is_on_server,
    open_store,
    path_of,
    without_password,
)
from turnledger.infrastructure.statement import SQLITE
from turnledger.ledger import Ledger
from turnledger.timers.zones import recompute


def open(  # noqa: A001, PLR0913 - the door's name; used as turnledger.open
    url_or_path: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    settings: Settings | None = None,
    attachments: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    encrypt: bool = False,
    redact: Redactor | None = None,
) -> Ledger:
    """Open a ledger; make it if it isn't there.

    Args:
        url_or_path: A file, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE.
        clock: Gives the time, as an aware datetime; default this machine's for a file, and the
            server's on PostgreSQL.
        settings: Limits and durability.
        attachments: The folder for them; default beside a file, and none on PostgreSQL.
        read_only: Make and change nothing; works beside a writer, and on read-only media.
        encrypt: Make it an encrypted one, whose contents can be purged (docs/encryption.md). One
            that is encrypted already needs no saying so.
        redact: Is given the name and the JSON of each content before it is stored, and gives what
            is stored instead; such as `turnledger.redaction.secrets()`.

    Raises:
        NotEncrypted: It was made without encryption.
        StoreError: It can't be opened; the subclass says why.
    """
    backend = open_backend(
        url_or_path,
        clock=clock,
        settings=settings,
        read_only=read_only,
        encrypt=encrypt,
        redact=redact,
    )
    return Ledger(backend, attachment_folder(url_or_path, attachments))


def attachment_folder(
    url_or_path: str | os.PathLike[str], given: str | os.PathLike[str] | None
) -> AttachmentFolder | None:
    """Where a ledger's attachments lie; None if nowhere."""
    if given is not None:
        return AttachmentFolder(Path(given).absolute())
    if is_on_server(url_or_path):
        return None
    path = path_of(url_or_path).absolute()
    return AttachmentFolder(path.with_name(f"{path.name}.attachments"))


def open_backend(  # noqa: PLR0913 - all that `open` takes
    url_or_path: str | os.PathLike[str],
    *,
    clock: Clock | None,
    settings: Settings | None,
    read_only: bool,
    encrypt: bool,
    redact: Redactor | None,
) -> Backend:
    """Open what a ledger works with; see `open`."""
    chosen = None if clock is None else checked(clock)
    wanted = settings or Settings()
    store = open_store(url_or_path, wanted, read_only=read_only)
    if chosen is None and store.dialect == SQLITE:
        chosen = host_clock
    backend = Backend(store, chosen, wanted, contents_of(store, wanted, redact, encrypt=encrypt))
    if not read_only:
        recompute(backend)
    return backend


def restore(backup_path: str | os.PathLike[str], ledger_path: str | os.PathLike[str]) -> None:
    """Put a backup in the place of a ledger, as a new generation of it.

    Claims and cursors of before are refused from then on; processes that have the old ledger open
    get `StoreReplaced`.

    Raises:
        StoreError: A database says no; or the ledger is on a server: pg_restore does it there.
    """
    if is_on_server(ledger_path):
        url = without_password(os.fspath(ledger_path))
        reason = "use pg_restore, and then `turnledger migrate --new-generation`"
        raise StoreError(url, f"a server's database isn't restored from a file of ours; {reason}")
    restore_file(path_of(backup_path), path_of(ledger_path))


def new_generation(url_or_path: str | os.PathLike[str]) -> str:
    """Give a ledger a new generation, as `restore` does: after pg_restore has put an older state.

    Claims and cursors of before are refused from then on. Let no process have it open meanwhile:
    it would go on with the generation that it knows.

    Returns:
        The new generation.

    Raises:
        StoreError: It can't be opened or written; the subclass says why.
    """
    settings = Settings()
    store = open_store(url_or_path, settings, read_only=False)
    with closing(store):
        backend = Backend(store, host_clock, settings, contents_of(store, settings))
        backend.renew()
        return backend.generation
