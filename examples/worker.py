"""A worker, whole: it takes turns as they come, hands each over, and says what became of it.

    python examples/worker.py agents.db

Put work in from anywhere: `turnledger --db agents.db queue append thread-1 '{"text": "hi"}'`.
"""

import signal
import sys
from typing import Any

import turnledger


def call_model(submission: dict[str, Any]) -> None:
    """Hand the submission over: the effect that can't be taken back."""
    print("to the model:", submission)


def main(path: str) -> None:
    """Work until SIGTERM."""
    with turnledger.open(path) as ledger:
        for turn in ledger.turns(stop_on=signal.SIGTERM, grace=20):
            try:
                with turn:
                    turn.dispatch()  # recorded before it is made
                    call_model(turn.submission)
                    turn.ack()
            except Exception as error:  # noqa: BLE001 - what is known is recorded: go on
                print(f"{turn.thread_id} needs a look:", error)


if __name__ == "__main__":
    main(*sys.argv[1:])
