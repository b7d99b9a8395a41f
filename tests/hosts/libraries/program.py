"""Runs an example: program.py EXAMPLE LEDGER OUTBOX [--die | --later | --much-later].

With --die its tool has its effect, and then the process is gone, as by SIGKILL.
"""

import asyncio
import os
import runpy
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

LATER = {"--later": 2, "--much-later": 4}  # hours


def send(text: str) -> str:
    """Send a text.

    Args:
        text: Which one.
    """
    with Path(sys.argv[3]).open("a") as file:
        file.write(f"{text}\n")
    if "--die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    return "sent"


def clock() -> Callable[[], datetime]:
    """So late it is: leases of before are over."""
    hours = sum(LATER.get(word, 0) for word in sys.argv)
    return lambda: datetime.now(UTC) + timedelta(hours=hours)


if __name__ == "__main__":
    example = runpy.run_path(sys.argv[1])
    asyncio.run(example["main"](sys.argv[2], send, clock()))
