"""The command line: one noun, one verb, as in `turnledger queue append`.

Standard out carries the answer, standard error what is to be said about it. The exit status is
0 fine, 1 a finding or a refusal, 2 wrong usage or bad input, 3 the store can't be read.
"""

from turnledger.cli.root import main

__all__ = ["main"]
