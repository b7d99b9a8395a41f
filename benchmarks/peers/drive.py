"""A driver of benchmarks/peers.py, in the environment of its peer: drive.py MODULE CLASS.

It is told what to do in lines of JSON on its standard input, and answers each with one on its
standard output.
"""

import importlib
import json
import os
import sys
import traceback

from driving import Driver


def main(module: str, name: str) -> None:
    """Answer, line by line, until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever the peer prints is no answer
    driver = Driver(getattr(importlib.import_module(module), name))
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(driver, order.pop("do"))(**order)
        except Exception as error:  # noqa: BLE001 - the benchmark says what went wrong, and goes on
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
    driver.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
