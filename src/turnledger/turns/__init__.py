"""`ledger.turns`: the loop of a worker, and the turns that it has in hand."""

from turnledger.turns.in_hand import TurnInHand
from turnledger.turns.taking import Turns

__all__ = ["TurnInHand", "Turns"]
