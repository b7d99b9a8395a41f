"""The gauges of a ledger for Prometheus, by its own client library (the extra `prometheus`)."""

from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from turnledger.gauges import Gauges

METRICS = {  # the field of `Gauges`: the metric, its label if it has one, and what it is
    "position": ("turnledger_log_position", None, "The position of the last event."),
    "turns": ("turnledger_queue_turns", "state", "Queued turns that aren't ended."),
    "oldest_pending_seconds": (
        "turnledger_queue_oldest_pending_age_seconds",
        None,
        "The age of the oldest queued turn that waits; 0 if none does.",
    ),
    "blocked_threads": (
        "turnledger_threads_blocked",
        "reason",
        "Threads in which something waits that can't be claimed.",
    ),
    "unknown_outcomes": (
        "turnledger_unknown_outcomes",
        "kind",
        "Queued turns and attempts of which nobody knows what came.",
    ),
    "operations_in_doubt": (
        "turnledger_operations_in_doubt",
        None,
        "Operations whose effect is unknown.",
    ),
    "followers": (
        "turnledger_follower_lag_events",
        "follower",
        "By how many events a follower is behind.",
    ),
}


class LedgerCollector(Collector):
    """Asks the ledger at each scrape; register it in a `CollectorRegistry`."""

    def __init__(self, gauges: Callable[[], Gauges]) -> None:
        """Take the question, such as `ledger.gauges`."""
        self._gauges = gauges

    def collect(self) -> Iterable[Any]:
        """The metrics as they are now."""
        found = self._gauges()
        for name, (metric, label, text) in METRICS.items():
            value: Any = getattr(found, name)
            if label is None:
                yield GaugeMetricFamily(metric, text, value=value)
                continue
            family = GaugeMetricFamily(metric, text, labels=[label])
            for of, count in sorted(value.items()):
                family.add_metric([of], count)
            yield family


def as_text(gauges: Callable[[], Gauges]) -> str:
    """The metrics in Prometheus's text exposition format."""
    return generate_latest(_registry(gauges)).decode()


def listen(gauges: Callable[[], Gauges], address: str, port: int) -> tuple[Any, Any]:
    """Answer scrapes from now on, in threads of the library's.

    Returns:
        The server, whose `shutdown` ends it, and its thread.
    """
    return start_http_server(port, address, _registry(gauges))


def _registry(gauges: Callable[[], Gauges]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(LedgerCollector(gauges))
    return registry
