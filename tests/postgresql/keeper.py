"""What cleans up behind servers, however those end that use them.

    python keeper.py FOLDER

Whoever uses the folder of servers holds a shared lock on its file `in-use`; the kernel takes the
lock from a process that dies, whatever it dies of. The keeper goes into the background and waits
until it can lock the file for itself. Then it stops the servers and removes the folder.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

IN_USE = "in-use"
KEPT = "keeper"  # locked as long as the keeper lives; its process id is in it
CONTROL = "pg_ctl"  # a link to that program


def main(folder: Path) -> None:
    """Return when a keeper is there; it is a process of its own."""
    with (folder / KEPT).open("w") as kept, (folder / IN_USE).open() as in_use:
        fcntl.flock(kept, fcntl.LOCK_EX)
        if os.fork():
            return
        os.setsid()
        kept.write(str(os.getpid()))
        kept.flush()
        fcntl.flock(in_use, fcntl.LOCK_EX)
        clean(folder)


def clean(folder: Path) -> None:
    """Stop the servers of a folder and remove it; the caller has its lock.

    The lock's file goes last: if something can't be removed, a later run finds the folder.
    """
    with suppress(FileNotFoundError):
        parts = [each for each in folder.iterdir() if each.is_dir()]
        for data in filter(listens, parts):
            stop(data)
        for part in parts:
            shutil.rmtree(part)
        shutil.rmtree(folder)


def listens(data: Path) -> bool:
    """Whether the server of a data directory takes connections.

    Its process id alone, if it was left behind, may long be another process's.
    """
    try:
        _, _, _, port, sockets, *_ = (data / "postmaster.pid").read_text().split("\n")
    except (OSError, ValueError):
        return False
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(f"{sockets}/.s.PGSQL.{port}") == 0


def stop(data: Path) -> None:
    """Stop a server at once; as the owner of its data, as root may not run PostgreSQL."""
    owner = data.stat()
    switch: dict[str, Any] = {}
    if os.geteuid() == 0:
        switch = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    control = (data.parent / CONTROL).resolve()
    with suppress(FileNotFoundError):  # without its data a server ends by itself, in a minute
        subprocess.run(
            [control, "stop", "-s", "-m", "immediate", "-D", data],
            cwd=data.parent,
            check=False,
            **switch,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
