"""The timezone of this host, by its IANA name."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from turnledger.domain.trigger import time_zone

_LINK = Path("/etc/localtime")
_FILE = Path("/etc/timezone")


def host_time_zone() -> str:
    """The name that this host gives, if it is one; else UTC."""
    return next((name for name in _said() if name in time_zone.names()), "UTC")


def _said() -> Iterator[str]:
    """What the process, the link and the file say, in this order."""
    yield _name(os.environ.get("TZ", "").removeprefix(":"))
    with suppress(OSError):
        yield _name(str(_LINK.readlink()))
    with suppress(OSError, UnicodeDecodeError):
        yield _FILE.read_text(encoding="ascii").strip()


def _name(path: str) -> str:
    return path.rpartition("zoneinfo/")[2]
