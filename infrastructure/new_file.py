"""A file that is there whole or not at all, and never takes the place of another."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from turnledger.domain.errors import InvalidPayload

_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite may have left of one that wasn't finished


@contextmanager
def new_file(target: Path, name: str) -> Generator[Path]:
    """Let a file be written under another name beside it; it gets its own when it is whole.

    Args:
        target: Its path.
        name: What it is, for the message.

    Yields:
        Where to write it. It has to be closed at the end of the block.

    Raises:
        InvalidPayload: There is a file of that name, and it is left as it is; or no such folder.
        OSError: It can't be written.
    """
    if target.exists():
        raise _taken(target, name)
    if not target.parent.is_dir():
        raise InvalidPayload(name, f"can't be written: there is no folder {target.parent}")
    partial = target.with_name(f"{target.name}.partial")
    _remove(partial)
    try:
        yield partial
        _sync(partial)
        try:
            os.link(partial, target)  # unlike a rename, it leaves what is there by now
        except FileExistsError as error:
            raise _taken(target, name) from error
        except OSError:  # a file system without links
            partial.rename(target)
        _sync(target.parent)
    finally:
        _remove(partial)


def _taken(target: Path, name: str) -> InvalidPayload:
    return InvalidPayload(name, f"would overwrite {target}; choose another name")


def _remove(partial: Path) -> None:
    for ending in _BESIDE:
        partial.with_name(partial.name + ending).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
