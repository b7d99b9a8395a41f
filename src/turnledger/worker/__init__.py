"""Workers for those who give a function: it is called with each turn, and the rest is done here."""

from turnledger.worker.book import Happening, Health
from turnledger.worker.coroutines import AsyncWorker
from turnledger.worker.threads import Worker

__all__ = ["AsyncWorker", "Happening", "Health", "Worker"]
