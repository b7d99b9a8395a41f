"""Stopping a worker's loop by a signal: no new claims, a grace period, then the end."""

import os
import signal
import threading
import weakref
from types import FrameType
from typing import Any, Protocol


class Stoppable(Protocol):
    """What can be told to stop."""

    def stop(self) -> None:
        """Begin nothing new."""
        ...


class StopSignal:
    """Handles a signal for a loop in the main thread, from `install` to `restore`.

    The first one stops the loop: what is in hand goes on. When the grace period is over, or a
    second one comes, `SystemExit` is raised wherever the main thread is.
    """

    def __init__(self, number: int, grace_seconds: float, loop: Stoppable) -> None:
        """Take which signal, for how long what is in hand may go on, and the loop."""
        self._number = signal.Signals(number)
        self._grace = grace_seconds
        self._loop = weakref.ref(loop)
        self._former: Any = None
        self._timer: threading.Timer | None = None
        self._guard = threading.Lock()
        self._is_installed = False

    def install(self) -> None:
        """Handle the signal from now on.

        Raises:
            ValueError: This isn't the main thread.
        """
        self._former = signal.signal(self._number, self._handle)
        self._is_installed = True

    def restore(self) -> None:
        """Let it be handled as before."""
        with self._guard:
            if not self._is_installed:
                return
            self._is_installed = False
            if self._timer is not None:
                self._timer.cancel()
        signal.signal(self._number, self._former)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        loop = self._loop()
        if loop is None or self._timer is not None:
            raise SystemExit(128 + number)
        self._timer = threading.Timer(self._grace, self._end)
        self._timer.daemon = True
        self._timer.start()
        loop.stop()

    def _end(self) -> None:
        """The grace period is over: a signal also ends what the main thread waits for."""
        with self._guard:
            if self._is_installed:
                os.kill(os.getpid(), self._number)
