"""`ledger.export`: the events, or what they tell, in a file that other tools read."""

from turnledger.exporting.exporter import FORMATS, Exported, Format, Progress, export

__all__ = ["FORMATS", "Exported", "Format", "Progress", "export"]
