"""`python -m turnledger`: the command line."""

import sys

from turnledger.cli import main

if __name__ == "__main__":
    sys.exit(main(prog_name="turnledger"))
