"""The demonstration: what becomes of queued turns when workers are killed in the middle of them.

`turnledger demo` shows it on a ledger of its own, in a temporary folder that is gone at the end.
What it shows is looked up in the ledger and in what the model got; nothing of it is written down
beforehand, so that it says so when something isn't as it ought to be.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from turnledger.demo import closing, enqueuing, killing, recovering, refusing
from turnledger.demo.ending import ended_by_signals
from turnledger.demo.screen import Screen
from turnledger.demo.stage import opened
from turnledger.demo.worker_process import WorkerEnded

__all__ = ["run"]

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
    screen = Screen(console)
    with ended_by_signals(), TemporaryDirectory(prefix="turnledger-demo-") as folder:
        try:
            with opened(Path(folder), screen) as stage:
                for step in _STEPS:
                    step(stage)
        except (WorkerEnded, TimeoutError) as error:
            screen.wrong(str(error))
    return 1 if screen.wrongs else 0
