"""The races in a copy of the package whose claims aren't compared: their checker must reject it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.mutants import MUTANTS, put_in

ROOT = Path(__file__).parents[2]
NAME = "a stale epoch is as good as the latest"
PROGRAM = """
import sys
from turnledger.proving.races import races
from turnledger.proving.rules import Broken
if __name__ == "__main__":
    try:
        print(races(sys.argv[1], 200))
    except Broken as error:
        print("broken:", error.rule)
"""


def unfenced() -> str:
    """What the races say of it; "" if they find it good."""
    [mutant] = [one for one in MUTANTS if one.name == NAME]
    with TemporaryDirectory(prefix="turnledger-unfenced-") as folder:
        package = Path(folder) / "turnledger"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "turnledger", package, ignore=ignored)
        put_in(mutant, package)
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM)
        done = subprocess.run(
            [sys.executable, str(program), folder],
            env={**os.environ, "PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    said = done.stdout.strip()
    return said if said.startswith("broken:") else ""
