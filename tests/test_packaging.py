"""What is built and installed: sdist, then the wheel from it, then a new environment."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("domain", "projections", "infrastructure")
FILES, FOLDERS = ("pyproject.toml", "README.md", "LICENSE"), ("src", *ROOMS)

USE_IT = """
import importlib.metadata, importlib.util, sys
import turnledger

assert turnledger.__file__.startswith(sys.prefix), turnledger.__file__
assert importlib.metadata.version("turnledger") == "0.1.0"
for name in ("domain", "projections", "infrastructure"):
    assert importlib.util.find_spec(name) is None, name
with turnledger.open("ledger.db") as ledger:
    ledger.queue.append("thread", {"text": "fix it"})
    claim = ledger.queue.claim_head("thread", "worker")
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.ack(claim)
    assert ledger.verify().ok
print("used")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist, and the wheel that was built from it alone."""
    folder = tmp_path_factory.mktemp("built")
    copy = folder / "copy"
    copy.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, copy)
    return folder


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel; what it depends on is this environment's."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel(built))
    site = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run(*command: object, cwd: Path | None = None) -> str:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def shipped() -> set[str]:
    """The files of the package's folder, with what its links lead to."""
    source = ROOT / "src"
    found: set[str] = set()
    for folder, folders, names in os.walk(source / "turnledger", followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found |= {(Path(folder) / name).relative_to(source).as_posix() for name in names}
    return found


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built: Path) -> None:
    names = set(zipfile.ZipFile(wheel(built)).namelist())

    assert {name for name in names if ".dist-info/" not in name} == shipped()
    assert "turnledger/py.typed" in names
    assert "turnledger/infrastructure/migrations/versions/0001_first_schema.py" in names


def test_the_wheel_owns_one_top_level_name_and_carries_its_licence(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        about = "turnledger-0.1.0.dist-info"
        assert archive.read(f"{about}/top_level.txt") == b"turnledger\n"
        assert b"the turnledger developers" in archive.read(f"{about}/licenses/LICENSE")
        assert b"License-Expression: MIT" in archive.read(f"{about}/METADATA")


def test_the_sdist_holds_files_where_the_repository_has_links(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert [member.name for member in archive if member.issym() or member.islnk()] == []


def test_the_wheel_works_in_a_new_environment(environment: Path, tmp_path: Path) -> None:
    assert run(environment / "bin/python", "-W", "error", "-c", USE_IT, cwd=tmp_path) == "used\n"


def test_the_wheel_brings_the_command_line(environment: Path, tmp_path: Path) -> None:
    assert "queue" in run(environment / "bin/turnledger", "--help", cwd=tmp_path)
