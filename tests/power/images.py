"""What may lie on a disk after the power was cut, and what a ledger makes of it.

What was synced is there. Of what wasn't, each sector of 512 bytes is there or not, at random. Two
kinds of file systems: on one a file's name appears and disappears at once; on the other it is safe
once the file is synced, and the name of a removed file may come back until the folder is synced,
which SQLite does only where it says so.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple

import turnledger
from tests.power.recording import Recording, Write

SECTOR = 512
Files = dict[str, bytes]


class Outcome(NamedTuple):
    """What was found.

    Attributes:
        images: How many there were.
        lost: In which something that had been acknowledged was missing.
        corrupt: Which weren't a whole database.
    """

    images: int = 0
    lost: int = 0
    corrupt: int = 0


class _Disk:
    """Files as they are safe, and what isn't synced yet."""

    def __init__(self, random: Random, *, names_at_once: bool) -> None:
        self._random, self._at_once = random, names_at_once
        self._safe: dict[str, bytearray] = {}  # content, by the number of the file
        self._unsynced: dict[str, list[Write]] = defaultdict(list)
        self._names: dict[str, str] = {}  # which file has a name now
        self._safe_names: dict[str, str] = {}  # and after a cut at the latest sync of the folder
        self._count = 0

    def take(self, write: Write) -> None:
        """Something was asked of it."""
        if write.kind == "create":
            self._count += 1
            self._names[write.file] = f"{write.file} {self._count}"
            self._safe[self._names[write.file]] = bytearray()
        elif write.kind == "remove":
            self._names.pop(write.file, None)
            if write.place:
                self._sync_folder()
        elif write.kind == "sync":
            self._sync(self._names[write.file])
            self._safe_names[write.file] = self._names[write.file]
        else:
            self._unsynced[self._names[write.file]].append(write)
        if self._at_once:
            self._sync_folder()

    def _sync_folder(self) -> None:
        self._safe_names = dict(self._names)

    def _sync(self, file: str) -> None:
        for write in self._unsynced.pop(file, ()):
            apply(self._safe[file], write)

    def cut(self) -> Files:
        """What is there after a cut now."""
        random = self._random
        names = self._safe_names if random.random() < 0.5 else self._names
        names = names if "" in names else self._names
        found: Files = {}
        for name, file in names.items():
            content = bytearray(self._safe[file])
            for write in self._unsynced.get(file, ()):
                self._partly(content, write)
            found[name] = bytes(content)
        return found

    def _partly(self, content: bytearray, write: Write) -> None:
        if write.kind == "truncate":
            if self._random.random() < 0.5:
                apply(content, write)
            return
        for start in range(0, len(write.data), SECTOR):
            if self._random.random() < 0.5:
                part = write.data[start : start + SECTOR]
                apply(content, write._replace(place=write.place + start, data=part))


def apply(content: bytearray, write: Write) -> None:
    """Do a write, or a truncation, whole."""
    if write.kind == "truncate":
        del content[write.place :]
        return
    end = write.place + len(write.data)
    content.extend(bytes(max(0, end - len(content))))
    content[write.place : end] = write.data


def images(
    recording: Recording, count: int, random: Random, folder: Path, *, names_at_once: bool
) -> Outcome:
    """Cut the power at random, so often, and look at what is left."""
    cuts = sorted(random.randrange(len(recording.writes) + 1) for _ in range(count))
    disk = _Disk(random, names_at_once=names_at_once)
    outcome, acknowledged, taken = Outcome(), 0, 0
    for cut in cuts:
        for write in recording.writes[taken:cut]:
            if write.kind == "acknowledged":
                acknowledged = write.place
            else:
                disk.take(write)
        taken = cut
        whole, kept = _looked_at(disk.cut(), folder, recording.hashes)
        lost, counts = whole and kept < acknowledged, (1, 0, 0)
        counts = (1, int(lost), int(not whole))
        outcome = Outcome(*(a + b for a, b in zip(outcome, counts, strict=True)))
    return outcome


def _looked_at(files: Files, folder: Path, hashes: Sequence[bytes]) -> tuple[bool, int]:
    """Whether it is a whole database with a beginning of the events, and how many."""
    path = folder / "image.db"
    for tail in ("", "-wal", "-journal", "-shm"):
        path.with_name(f"image.db{tail}").unlink(missing_ok=True)
    for tail, content in files.items():
        path.with_name(f"image.db{tail}").write_bytes(content)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                return False, 0
            if not connection.execute("PRAGMA table_list('events')").fetchall():
                return True, 0
            rows = connection.execute("SELECT hash FROM events ORDER BY position").fetchall()
        except sqlite3.DatabaseError:
            return False, 0
    kept = [bytes(row[0]) for row in rows]
    return kept == list(hashes[: len(kept)]), len(kept)


def opened(path: Path) -> bool:
    """Whether a ledger opens on it, and finds itself whole."""
    with turnledger.open(path) as ledger:
        return ledger.verify().ok
