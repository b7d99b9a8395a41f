"""What benchmarks/peers.py compares, the environment of each, and the programs that drive them."""

import json
import os
import signal
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

DRIVERS = Path(__file__).with_name("peers")
PATIENCE_SECONDS = 300.0
PSYCOPG = "psycopg[binary]>=3.2.2"
EVERYTHING = ("enqueue", "drain", "latency")


class PeerFailed(Exception):
    """A peer can't be installed, or doesn't do what it is told."""


class Side(NamedTuple):
    """A peer on a store, or turnledger.

    Attributes:
        name: As `--only` has it.
        store: sqlite or postgresql.
        peer: The module in the drivers' folder, and its class.
        packages: What its environment holds, the peer first; none: the environment of ours.
        measures: What is measured of it.
        plain: A table without history, against which enqueueing may be slower.
        label: If a name has more than one side on a store.
        fifo: It promises to handle each key's turns one behind the other, in their order.
    """

    name: str
    store: str
    peer: tuple[str, str]
    packages: tuple[str, ...] = ()
    measures: tuple[str, ...] = EVERYTHING
    plain: bool = False
    label: str = ""
    fifo: bool = False

    @property
    def title(self) -> str:
        """For tables."""
        return f"{self.name}, {self.label}" if self.label else self.name


_NO_WAKE_UP = ("enqueue", "drain")
_OURS: dict[str, Any] = {"peer": ("use_turnledger", "Turnledger"), "fifo": True}
_PROCESSES: dict[str, Any] = {"peer": ("use_turnledger", "Processes"), "fifo": True}
_DBOS: dict[str, Any] = {"packages": ("dbos", PSYCOPG), "fifo": True}
_HUEY: dict[str, Any] = {"peer": ("use_huey", "Huey"), "packages": ("huey", PSYCOPG)}
_EVENTS: dict[str, Any] = {
    "peer": ("use_eventsourcing", "Eventsourcing"),
    "packages": ("eventsourcing[postgres]", PSYCOPG),
    "measures": ("enqueue",),
}
SIDES = (
    Side("turnledger", "sqlite", label="4 threads", **_OURS),
    Side("turnledger", "sqlite", label="4 processes", measures=("drain",), **_PROCESSES),
    Side("dbos", "sqlite", ("use_dbos", "Dbos"), **_DBOS),
    Side("dbos", "sqlite", ("use_dbos", "DbosWal"), label="WAL", **_DBOS),
    Side("eventsourcing", "sqlite", **_EVENTS),
    Side("huey", "sqlite", plain=True, **_HUEY),
    Side(
        "litequeue",
        "sqlite",
        ("use_litequeue", "Litequeue"),
        packages=("litequeue",),
        measures=_NO_WAKE_UP,
        plain=True,
    ),
    Side(
        "persist-queue",
        "sqlite",
        ("use_persist_queue", "PersistQueue"),
        packages=("persist-queue",),
        measures=_NO_WAKE_UP,
        plain=True,
    ),
    Side("turnledger", "postgresql", **_OURS),
    Side("dbos", "postgresql", ("use_dbos", "Dbos"), **_DBOS),
    Side(
        "procrastinate",
        "postgresql",
        ("use_procrastinate", "Procrastinate"),
        packages=("procrastinate", PSYCOPG),
        fifo=True,
    ),
    Side(
        "pgqueuer",
        "postgresql",
        ("use_pgqueuer", "Pgqueuer"),
        packages=("pgqueuer", PSYCOPG),
    ),
    Side(
        "absurd-sdk",
        "postgresql",
        ("use_absurd", "AbsurdQueue"),
        packages=("absurd-sdk", "absurdctl", PSYCOPG),
    ),
    Side("huey", "postgresql", **_HUEY),
    Side("eventsourcing", "postgresql", **_EVENTS),
)


class Environments:
    """A virtual environment for each peer, in a folder that may be kept."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self._folder = folder
        self._found: dict[str, tuple[str, str] | PeerFailed] = {}

    def of(self, side: Side) -> tuple[str, str]:
        """The interpreter of a side's environment, made if it isn't there, and the version.

        Raises:
            PeerFailed: It can't be made.
        """
        if side.name not in self._found:
            try:
                self._found[side.name] = self._made(side)
            except PeerFailed as failed:
                self._found[side.name] = failed
        found = self._found[side.name]
        if isinstance(found, PeerFailed):
            raise found
        return found

    def _made(self, side: Side) -> tuple[str, str]:
        if not side.packages:
            return sys.executable, _own_version()
        folder = self._folder / side.name
        python = str(folder / "bin" / "python")
        complete = folder / "complete"
        wanted = "\n".join(side.packages)
        if not complete.exists() or complete.read_text() != wanted:
            venv.create(folder, clear=True, with_pip=True)
            _output(python, "-m", "pip", "install", "--quiet", *side.packages)
            complete.write_text(wanted)
        return python, _version(python, side.name)


def _own_version() -> str:
    """The checkout's, with the commit, and whether files differ from it: they are what runs."""
    root = Path(__file__).parents[1]
    with root.joinpath("pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    try:
        commit = _output("git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*")
    except (PeerFailed, OSError):
        commit = "no commit known"
    return f"{version} (checkout, {commit.strip()})"


def _version(python: str, package: str) -> str:
    code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    return _output(python, "-c", code, package).strip()


def _output(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise PeerFailed(said[-1] if said else f"{command[:4]} exits with {done.returncode}")
    return done.stdout


class Program:
    """The driver of a side, running in its environment."""

    def __init__(self, side: Side, python: str, folder: Path) -> None:
        """Start it.

        Args:
            side: Whose driver.
            python: The interpreter.
            folder: Its own, for its log and a database in files.
        """
        self.side = side
        self._log = folder / "driver.log"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(  # noqa: S603 - ours
                [python, DRIVERS / "drive.py", *side.peer],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )

    def ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """Have something done.

        Raises:
            PeerFailed: It isn't.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise PeerFailed("it has no pipes")
        timer = Timer(PATIENCE_SECONDS, self.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as error:
            raise PeerFailed(f"its driver is gone: {error}") from error
        finally:
            timer.cancel()
        if not line:
            said = self._log.read_text(errors="replace").strip().splitlines()
            raise PeerFailed(f"its driver ended: {said[-1] if said else 'no word'}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerFailed(answer["error"])
        return answer

    def close(self) -> None:
        """End it, and whatever it started."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill it and its workers: they are a group of their own."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._process.wait()
