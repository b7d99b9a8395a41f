"""The demonstrations: what becomes of turns when workers are killed in the middle of them.

`turnledger demo` shows the queue, and `turnledger demo --coordinator` coordinators and a provider:
on a ledger of its own, in a temporary folder that is gone at the end. What is shown is looked up in
the ledger and in what the model or the provider got; nothing of it is written down beforehand, so
that it says so when something isn't as it ought to be.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from turnledger.demo import closing, coordinator, enqueuing, killing, recovering, refusing
from turnledger.demo.coordinator.stage import opened as coordinator_opened
from turnledger.demo.ending import ended_by_signals
from turnledger.demo.screen import Screen
from turnledger.demo.stage import opened
from turnledger.demo.worker_process import WorkerEnded

__all__ = ["run", "run_coordinator"]

_STEPS = (
    enqueuing.enqueue,
    killing.do_the_first_turn,
    killing.kill_after_the_dispatch,
    killing.kill_before_the_dispatch,
    recovering.recover,
    recovering.resolve,
    refusing.refuse_everything,
    closing.tell_the_history,
    closing.draw_the_balance,
)


def run(console: Console) -> int:
    """Show the whole of it.

    Args:
        console: Where to.

    Returns:
        The exit status: 0 if everything was as it ought to be, else 1.
    """
    return _shown(console, opened, _STEPS)


def run_coordinator(console: Console) -> int:
    """Likewise, of coordinators and a provider."""
    return _shown(console, coordinator_opened, coordinator.STEPS)


def _shown(
    console: Console,
    opened: Callable[[Path, Screen], AbstractContextManager[Any]],
    steps: Sequence[Callable[[Any], None]],
) -> int:
    screen = Screen(console)
    with ended_by_signals(), TemporaryDirectory(prefix="turnledger-demo-") as folder:
        try:
            with opened(Path(folder), screen) as stage:
                for step in steps:
                    step(stage)
        except (WorkerEnded, TimeoutError) as error:
            screen.wrong(str(error))
    return 1 if screen.wrongs else 0
