"""Leaving nothing behind, also when the demonstration is told to end."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Let a request to end raise `SystemExit`, so that everything is closed and removed on the way.

    Python does so for Ctrl-C alone. What somebody ignores (nohup) or handles already stays as it
    is, and only a program's main thread may change it.
    """
    changed: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        changed = [one for one in _SIGNALS if signal.getsignal(one) is signal.SIG_DFL]
    for one in changed:
        signal.signal(one, _end)
    try:
        yield
    finally:
        for one in changed:
            signal.signal(one, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_IGN)  # a second one mustn't stop the tidying up
    raise SystemExit(128 + number)  # what a shell reports of a process that the signal ended
