"""Ctrl-C at whatever line of a command: all of it happened, or nothing, and work goes on."""

import linecache
import sys
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import turnledger
from turnledger import Ledger, Settings

SETTINGS = Settings(
    max_visible_turns=10_000, busy_timeout=timedelta(milliseconds=20), synchronous="NORMAL"
)


class Interrupt:
    """Raises KeyboardInterrupt when turnledger comes to its nth line.

    The line of a `with` doesn't count: coming back to it means that its `__exit__` is called
    next, and between the two no signal is handled.
    """

    def __init__(self, line: int) -> None:
        self._left = line
        self.place = ""

    def __call__(self, frame: FrameType, event: str, _value: Any) -> Any:
        code = frame.f_code
        if "turnledger" not in code.co_filename:
            return None
        text = linecache.getline(code.co_filename, frame.f_lineno).strip()
        if event == "line" and not text.startswith("with "):
            self._left -= 1
            if self._left == 0:
                self.place = f"{Path(code.co_filename).name}: {code.co_name}: {text}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def appended(ledger: Ledger, interrupt: Interrupt) -> bool:
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        ledger.queue.append("thread", {"interrupted": True})
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True


def next_command(ledger: Ledger, place: str) -> str | None:
    """What the thread's next command says of the interrupt, if it says anything."""
    try:
        ledger.queue.append("thread", {"interrupted": False})
    except turnledger.LedgerError as error:
        ledger.queue.append("thread", {"interrupted": False})
        return f"after {place}: {error}"
    return None


def test_an_interrupt_at_any_line_leaves_the_thread_able_to_go_on_and_the_ledger_whole(
    made: Path,
) -> None:
    faults: list[str] = []
    line = 1
    with turnledger.open(made, settings=SETTINGS) as ledger:
        while not appended(ledger, interrupt := Interrupt(line)):
            said = next_command(ledger, interrupt.place)
            faults += [said] if said else []
            line += 1

        orders = [turn.queue_order for turn in ledger.queue.list("thread")]
        assert orders == list(range(len(orders)))
        assert len(orders) >= line
        assert ledger.verify().findings == ()
    assert faults == []
