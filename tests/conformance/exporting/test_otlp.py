"""Spans in OTLP's JSON: as the protocol has them, and as it happened."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtocolSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status, TracesData

from turnledger import Exported, Ledger

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host

Written = Callable[..., tuple[Path, Exported]]
IDS = ("traceId", "spanId", "parentSpanId")


def raw(path: Path) -> list[dict[str, Any]]:
    """All spans of a file, as JSON."""
    messages = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        span
        for message in messages
        for resource in message["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def read(path: Path) -> list[ProtocolSpan]:
    """The same as the protocol's own messages; unknown fields and wrong types are refused."""
    found: list[ProtocolSpan] = []
    for line in path.read_text().splitlines():
        message = json.loads(line)
        for span in message["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for name in IDS:  # OTLP has them in hex, where protobuf's JSON has base64
                if name in span:
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        data = ParseDict(message, TracesData())
        found += data.resource_spans[0].scope_spans[0].spans
    return found


def attributes(span: ProtocolSpan) -> dict[str, Any]:
    return {
        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes
    }


def test_every_span_is_one_by_the_protocol(busy: Ledger, written: Written) -> None:
    spans = read(written(busy, "otlp-json")[0])
    assert len(spans) > 10
    for span in spans:
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids)
    assert {span.name.split()[0] for span in spans} >= {"invoke_agent", "attempt", "run"}


def test_the_same_history_gives_the_same_spans(busy: Ledger, written: Written) -> None:
    first, again = (raw(written(busy, "otlp-json")[0]) for _ in range(2))
    assert first == again


def test_a_dispatch_is_inside_its_turn(
    ledger: Ledger, host: Host, clock: Clock, written: Written
) -> None:
    (first,) = host.append("a")
    clock.advance(5)
    claim = host.dispatch("d")
    clock.advance(2)
    ledger.queue.ack(claim)
    turn, dispatch = read(written(ledger, "otlp-json")[0])
    assert (turn.name, dispatch.name) == ("process thread_queue", "send thread_queue")
    assert (dispatch.parent_span_id, dispatch.trace_id) == (turn.span_id, turn.trace_id)
    assert turn.end_time_unix_nano - turn.start_time_unix_nano == 7_000_000_000
    assert dispatch.end_time_unix_nano - dispatch.start_time_unix_nano == 2_000_000_000
    assert [event.name.partition(".")[2] for event in turn.events] == [
        *("appended", "claimed", "dispatch_started", "acked"),
    ]
    said = attributes(turn)
    assert said["messaging.message.conversation_id"] == "thread"
    assert (said["turnledger.id"], said["turnledger.epoch"]) == (f"thread/{first}", 1)
    assert turn.status.code == Status.STATUS_CODE_UNSET


def test_a_turn_that_failed_and_is_done_again_is_two_spans(
    ledger: Ledger, host: Host, written: Written
) -> None:
    (first,) = host.append("a")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.retry("thread", first)
    ledger.queue.ack(host.dispatch("d"))
    spans = [span for span in read(written(ledger, "otlp-json")[0]) if span.kind == 5]
    assert [span.status.code for span in spans] == [
        Status.STATUS_CODE_ERROR,
        Status.STATUS_CODE_UNSET,
    ]
    assert len({span.trace_id for span in spans}) == 1


def test_what_is_still_open_is_no_span_yet(ledger: Ledger, host: Host, written: Written) -> None:
    host.append("a")
    assert raw(written(ledger, "otlp-json")[0]) == []


def test_an_operation_is_inside_its_run(ledger: Ledger, written: Written) -> None:
    run = ledger.runs.start("r", "item", "act", "w")
    assert run is not None
    ledger.operations.create_and_claim(run, "k", "send_mail", {}, replay_policy="safe")
    ledger.operations.complete(run, "k", "applied", {})
    ledger.runs.finish(run)
    operation, around = read(written(ledger, "otlp-json")[0])
    assert (operation.name, around.name) == ("execute_tool send_mail", "run")
    assert operation.parent_span_id == around.span_id
    assert attributes(operation)["gen_ai.tool.name"] == "send_mail"
    assert attributes(operation)["turnledger.effect"] == "applied"
