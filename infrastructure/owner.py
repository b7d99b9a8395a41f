"""Who claims, if nobody says it: a name that is new for every boot of a process."""

import os
import socket
from uuid import uuid4


def new_owner() -> str:
    """The host's name, the process's number, and chance."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{uuid4().hex[:12]}"
