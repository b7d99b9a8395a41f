"""What kind of file system a path is on: a shared one can't hold a write-ahead log."""

import re
from pathlib import Path

_SHARED = ("nfs", "cifs", "smb", "9p", "virtiofs", "afs", "ceph", "gluster", "lustre", "fuse.")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how blanks and the like are written there
_MOUNTS = Path("/proc/self/mounts")


def shared_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """The name of the network or shared file system that a path is on, or None.

    Where the system doesn't list its mounts, nothing is known, and None is said.
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").split("\n")
    except OSError:
        return None
    path, name, longest = path.resolve(), "", -1
    for line in lines:
        _, mount, kind, *_ = [*line.split(" "), "", "", ""]
        point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), mount)
        if point and path.is_relative_to(point) and len(point) >= longest:
            name, longest = kind, len(point)
    return name if name.startswith(_SHARED) else None
