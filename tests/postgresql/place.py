"""A private folder for servers, which is gone when nobody uses it any more; see keeper.py."""

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from tests.postgresql import keeper
from tests.postgresql.binaries import Account, Unavailable

PREFIX = "turnledger-pg-"  # short, as the path of a socket has to be


class Place:
    """A folder that this process uses until it leaves.

    Attributes:
        folder: Where it is.
    """

    def __init__(self, folder: Path, in_use: IO[str]) -> None:
        self.folder = folder
        self._in_use = in_use

    def leave(self, *, wait: bool = False) -> None:
        """Use it no longer; the last one to leave may wait until all of it is gone."""
        if not wait:
            self._in_use.close()
            return
        with (self.folder / keeper.KEPT).open() as kept:
            self._in_use.close()
            fcntl.flock(kept, fcntl.LOCK_SH)


@contextmanager
def private_place(account: Account | None) -> Generator[Place]:
    """A new place, used by this process only, and removed at the end."""
    place = new_place(account)
    try:
        yield place
    finally:
        place.leave(wait=True)


def new_place(account: Account | None) -> Place:
    """Make a folder, first of all clearing away what others have left behind.

    Args:
        account: Whose it is to be; None for the user that runs the tests.

    Raises:
        Unavailable: There is none where the account could reach it.
    """
    base = _base(account)
    _sweep(base)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, folder)
        in_use = undo.enter_context(_locked(folder))
        if account is not None:
            os.chown(folder, account.user, account.group)
        _start_keeper(folder)
        undo.pop_all()
    return Place(folder, in_use)


def join(folder: Path) -> Place | None:
    """Use a place that others have made; None if it is gone, or about to go."""
    path = folder / keeper.IN_USE
    try:
        in_use = path.open()
    except FileNotFoundError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(in_use, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if path.exists():
            return Place(folder, in_use)
    in_use.close()
    return None


def _locked(folder: Path) -> IO[str]:
    """Make the lock's file, which is locked before it gets its name: no sweep comes between."""
    unnamed = folder / "new"
    in_use = unnamed.open("w")
    fcntl.flock(in_use, fcntl.LOCK_SH)
    unnamed.rename(folder / keeper.IN_USE)
    return in_use


def _start_keeper(folder: Path) -> None:
    """Start the one that cleans up; nobody is to wait for its output, or sit in its folder."""
    program = [sys.executable, "-I", "-S", keeper.__file__, str(folder)]
    none = subprocess.DEVNULL
    subprocess.run(program, stdin=none, stdout=none, stderr=none, cwd="/", check=True)


def _base(account: Account | None) -> Path:
    """A folder for temporary files, all parents of which the account may pass through."""
    usual = Path(tempfile.gettempdir()).resolve()
    if account is None:
        return usual
    for base in (usual, Path("/tmp").resolve(), Path("/var/tmp").resolve()):
        if all(each.stat().st_mode & stat.S_IXOTH for each in (base, *base.parents)):
            return base
    raise Unavailable(f"{account.name} can reach no folder for temporary files")


def _sweep(base: Path) -> None:
    """Remove the places whose users, and whose keeper, are all dead."""
    for path in base.glob(f"{PREFIX}*/{keeper.IN_USE}"):
        with suppress(OSError):  # in use, or gone meanwhile, or not ours
            if path.stat(follow_symlinks=False).st_uid == os.geteuid():
                with path.open() as in_use:
                    fcntl.flock(in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    keeper.clean(path.parent)
