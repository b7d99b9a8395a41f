"""Spans and metrics of commands for OpenTelemetry (the extra `opentelemetry`).

They follow the semantic conventions for messaging, where a command is something of that kind; the
tables below say which is what. No content is in them, and without `instrument` nothing of this is
loaded. Where no SDK is set up, OpenTelemetry's API does nothing.
"""

from collections.abc import Callable, Iterator
from inspect import currentframe
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple

from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider, get_tracer

from turnledger.asynchronous import AsyncLedger
from turnledger.coordinator import Coordinator
from turnledger.domain.errors import LedgerError
from turnledger.inbox import Inbox
from turnledger.ledger import Ledger
from turnledger.operations import Operations
from turnledger.queue import Queue
from turnledger.runs import Runs
from turnledger.threads import Threads
from turnledger.timers import Timers

SERVICES: dict[str, tuple[type, str | None]] = {  # their module: the class, and its destination
    "queue": (Queue, "thread_queue"),
    "inbox": (Inbox, "inbox"),
    "timers": (Timers, "timers"),
    "coordinator": (Coordinator, "coordinator_turns"),
    "runs": (Runs, None),
    "operations": (Operations, None),
    "threads": (Threads, None),
}
TYPES = {  # what a command is in the conventions: messaging.operation.type
    **dict.fromkeys(("queue.append", "queue.append_many", "inbox.post"), "send"),
    **dict.fromkeys(("timers.create", "coordinator.begin"), "send"),
    **dict.fromkeys(("queue.claim_head", "queue.claim_next"), "receive"),
    **dict.fromkeys(("inbox.claim_next", "timers.claim_due", "timers.fire_due"), "receive"),
    **dict.fromkeys(("coordinator.claim", "coordinator.claim_next"), "receive"),
    **dict.fromkeys(("queue.ack", "queue.ack_dispatch", "queue.fail", "queue.release"), "settle"),
    **dict.fromkeys(("inbox.confirm", "inbox.release"), "settle"),
    **dict.fromkeys(("coordinator.complete", "coordinator.fail", "coordinator.ack"), "settle"),
    "coordinator.release": "settle",
}
KINDS = {"send": SpanKind.PRODUCER, "receive": SpanKind.CLIENT, "settle": SpanKind.CLIENT}
ATTRIBUTES = {  # arguments of commands: the attributes that say them
    "thread_id": "messaging.message.conversation_id",
    "work_item_id": "gen_ai.conversation.id",
    "queued_turn_id": "messaging.message.id",
    "message_id": "messaging.message.id",
    "turn_id": "messaging.message.id",
    "owner": "turnledger.owner",
    "epoch": "turnledger.epoch",
    "run_id": "turnledger.run.id",
    "key": "turnledger.operation.key",
}
DURATION = "messaging.client.operation.duration"
COMMAND_DURATION = "turnledger.command.duration"  # of what is no messaging
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


class Command(NamedTuple):
    """A command that is being carried out.

    Attributes:
        service: `queue`, `inbox` and so on.
        name: The method's.
        said: What its caller gave, by the attributes' names.
    """

    service: str
    name: str
    said: dict[str, str | int]


def instrument(
    ledger: Ledger | AsyncLedger,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> None:
    """Let each command of a ledger be a span, and be counted in histograms.

    Args:
        ledger: Until it is closed, or `ledger.observe(None)` is called.
        tracer_provider: Default the global one.
        meter_provider: Likewise.
    """
    ledger.observe(_Observer(tracer_provider, meter_provider))


class _Observer:
    def __init__(self, tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
        self._tracer = get_tracer("turnledger", tracer_provider=tracers)
        meter = get_meter("turnledger", meter_provider=meters)
        self._durations = {
            name: meter.create_histogram(
                name, unit="s", description=text, explicit_bucket_boundaries_advisory=_BUCKETS
            )
            for name, text in (
                (DURATION, "How long a messaging command took"),
                (COMMAND_DURATION, "How long another command took"),
            )
        }

    def __call__(self, carry_out: Callable[[], Any]) -> Any:
        command = _command(currentframe())  # what is called is said nowhere else
        if command is None:
            return carry_out()
        _, destination = SERVICES[command.service]
        known = _attributes(command, destination)
        kind = KINDS.get(known.get("messaging.operation.type", ""), SpanKind.INTERNAL)
        name = f"{command.name} {destination or command.service}"
        attributes = {**known, **command.said}
        start = perf_counter()
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False
        ) as span:
            try:
                return carry_out()
            except BaseException as error:
                known["error.type"] = _error_type(error)
                span.set_attribute("error.type", known["error.type"])
                span.set_status(Status(StatusCode.ERROR))
                raise
            finally:
                metric = COMMAND_DURATION if destination is None else DURATION
                self._durations[metric].record(perf_counter() - start, known)


def _attributes(command: Command, destination: str | None) -> dict[str, str]:
    """What is said of a command in spans and metrics alike: nothing that there are many of."""
    if destination is None:
        return {"turnledger.command": f"{command.service}.{command.name}"}
    known = {
        "messaging.system": "turnledger",
        "messaging.destination.name": destination,
        "messaging.operation.name": command.name,
    }
    kind = TYPES.get(f"{command.service}.{command.name}")
    return known if kind is None else {**known, "messaging.operation.type": kind}


def _command(frame: FrameType | None) -> Command | None:
    """The command that is being carried out: the nearest public method of a service."""
    for one in _outwards(frame):
        _, _, rest = one.f_globals.get("__name__", "").partition("turnledger.")
        service, name = rest.partition(".")[0], one.f_code.co_name
        kind, _ = SERVICES.get(service, (None, None))
        if kind is not None and not name.startswith("_") and hasattr(kind, name):
            return Command(service, name, _said(one.f_locals))
    return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _said(given: dict[str, Any]) -> dict[str, str | int]:
    claim = given.get("claim", given.get("run_claim"))
    found: dict[str, str | int] = {}
    for name, attribute in ATTRIBUTES.items():
        value = given.get(name, getattr(claim, name, None))
        if isinstance(value, str | int):
            found[attribute] = value
    return found


def _error_type(error: BaseException) -> str:
    return error.code if isinstance(error, LedgerError) else type(error).__qualname__
