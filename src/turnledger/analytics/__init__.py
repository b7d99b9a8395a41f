"""What the events of a ledger add up to: figures, flows and charts. It only reads."""

from turnledger.analytics.board import By, Kind
from turnledger.analytics.depth import Depth
from turnledger.analytics.flow import Flow, FlowStep, Of, Variant, flow
from turnledger.analytics.reading import Reading
from turnledger.analytics.stats import Stats, stats
from turnledger.analytics.tally import Figures, Spread

__all__ = [
    "By",
    "Depth",
    "Figures",
    "Flow",
    "FlowStep",
    "Kind",
    "Of",
    "Reading",
    "Spread",
    "Stats",
    "Variant",
    "flow",
    "stats",
]
