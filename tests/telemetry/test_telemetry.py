"""Commands as spans and histograms of OpenTelemetry."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import turnledger
from turnledger import Claim, ClaimLost, Ledger
from turnledger.telemetry import ATTRIBUTES, SERVICES, TYPES, instrument


class Watched:
    """What OpenTelemetry was told."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.providers: dict[str, Any] = {
            "tracer_provider": tracers,
            "meter_provider": MeterProvider([self.reader]),
        }

    def names(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]

    def points(self) -> dict[str, dict[tuple[str, str], int]]:
        """How often each metric was recorded, by the command and its error."""
        data: Any = self.reader.get_metrics_data()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics
        return {
            metric.name: {
                (
                    point.attributes.get("messaging.operation.name")
                    or point.attributes["turnledger.command"],
                    point.attributes.get("error.type", ""),
                ): point.count
                for point in metric.data.data_points
            }
            for metric in metrics
        }


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def ledger(tmp_path: Path, watched: Watched) -> Any:
    with turnledger.open(tmp_path / "ledger.db") as opened:
        instrument(opened, **watched.providers)
        yield opened


def test_each_command_is_a_span_by_the_conventions(ledger: Ledger, watched: Watched) -> None:
    turn = ledger.queue.append("t", {"text": "a secret"})
    claim = ledger.queue.claim_head("t", "w")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "d")
    ledger.queue.ack(claim)
    append, claimed, _, ack = watched.exporter.get_finished_spans()
    assert watched.names() == [
        *("append thread_queue", "claim_head thread_queue"),
        *("start_dispatch thread_queue", "ack thread_queue"),
    ]
    assert [span.kind for span in (append, claimed, ack)] == [
        *(SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CLIENT)
    ]
    assert append.attributes is not None
    assert dict(append.attributes) == {
        "messaging.system": "turnledger",
        "messaging.destination.name": "thread_queue",
        "messaging.operation.name": "append",
        "messaging.operation.type": "send",
        "messaging.message.conversation_id": "t",
    }
    assert ack.attributes is not None
    assert ack.attributes["turnledger.epoch"] == claim.epoch
    assert turn.queued_turn_id
    assert "secret" not in "".join(span.to_json() for span in watched.exporter.get_finished_spans())


def test_a_refusal_is_an_error_of_its_kind(ledger: Ledger, watched: Watched) -> None:
    ledger.queue.append("t", {})
    lost = Claim(thread_id="t", owner="w", epoch=9, generation=ledger.generation)
    with pytest.raises(ClaimLost):
        ledger.queue.ack(lost)
    span = watched.exporter.get_finished_spans()[-1]
    assert (span.name, span.status.status_code) == ("ack thread_queue", StatusCode.ERROR)
    assert span.attributes is not None
    assert span.attributes["error.type"] == "claim_lost"
    assert watched.points()["messaging.client.operation.duration"]["ack", "claim_lost"] == 1


def test_metrics_count_what_is_no_messaging_apart(ledger: Ledger, watched: Watched) -> None:
    ledger.queue.append("t", {})
    ledger.queue.append("t", {})
    ledger.threads.archive("t")
    points = watched.points()
    assert points["messaging.client.operation.duration"] == {("append", ""): 2}
    assert points["turnledger.command.duration"] == {("threads.archive", ""): 1}


def test_nothing_is_said_any_more_when_nobody_observes(ledger: Ledger, watched: Watched) -> None:
    ledger.observe(None)
    ledger.queue.append("t", {})
    assert watched.names() == []


def test_commands_of_asyncio_are_inside_the_span_around_them(
    tmp_path: Path, watched: Watched
) -> None:
    tracer = watched.providers["tracer_provider"].get_tracer("test")

    async def work() -> None:
        async with turnledger.open_async(tmp_path / "async.db") as ledger:
            instrument(ledger, **watched.providers)
            with tracer.start_as_current_span("around"):
                await ledger.queue.append("t", {})

    asyncio.run(work())
    inner, around = watched.exporter.get_finished_spans()
    assert (inner.name, around.name) == ("append thread_queue", "around")
    assert inner.parent is not None
    assert around.context is not None
    assert inner.parent.span_id == around.context.span_id


def test_every_command_in_the_table_is_one_of_a_service() -> None:
    for command in TYPES:
        service, name = command.split(".")
        kind, destination = SERVICES[service]
        assert hasattr(kind, name), command
        assert destination is not None, command
    assert len(set(ATTRIBUTES.values())) > 5
