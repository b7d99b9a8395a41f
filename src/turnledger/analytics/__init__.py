"""What the events of a ledger add up to: figures, flows and charts. It only reads."""

from turnledger.analytics.board import By
from turnledger.analytics.depth import Depth
from turnledger.analytics.stats import Stats, stats
from turnledger.analytics.tally import Figures, Spread

__all__ = ["By", "Depth", "Figures", "Spread", "Stats", "stats"]
