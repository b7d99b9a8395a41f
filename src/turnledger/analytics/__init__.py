"""What the events of a ledger add up to: figures, flows and charts. It only reads."""

from turnledger.analytics.board import By, Kind
from turnledger.analytics.depth import Depth
from turnledger.analytics.flow import Flow, FlowStep, Of, Variant, flow
from turnledger.analytics.plotting import CHARTS, Chart, checked_path, draw
from turnledger.analytics.reading import Reading
from turnledger.analytics.stats import Stats, measured, stats
from turnledger.analytics.tally import Figures, Spread

__all__ = [
    "CHARTS",
    "By",
    "Chart",
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
    "checked_path",
    "draw",
    "flow",
    "measured",
    "stats",
]
