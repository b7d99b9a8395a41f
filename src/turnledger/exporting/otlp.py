"""Spans in the JSON encoding of OTLP, as an OpenTelemetry collector's `otlpjsonfile` reads them.

Each line is a whole message with some hundred spans. Field names are in lowerCamelCase, ids in
hexadecimal digits, and 64-bit numbers are strings (OTLP 1.x, "JSON Protobuf Encoding").
"""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from turnledger.domain.payload import encode
from turnledger.exporting.event import Page
from turnledger.exporting.spans import ERROR, NAMES, RULES, Span, Spans

_BATCH = 500  # spans of a line


class OtlpFile:
    """A file of lines, each with some spans."""

    def __init__(self, path: Path, ledger_id: str) -> None:
        """Open it."""
        self._file = path.open("w", encoding="utf-8", newline="")
        self._spans = Spans(ledger_id)
        self._waiting: list[dict[str, Any]] = []
        resource = {"service.name": "turnledger", "service.instance.id": ledger_id}
        self._resource = {"attributes": _attributes(resource)}

    def write(self, page: Page) -> None:
        """Take some events, and write the spans that end with them."""
        for event in page.events():
            self._waiting += map(_as_json, self._spans.follow(event))
            if len(self._waiting) >= _BATCH:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            scope = {"scope": {"name": "turnledger"}, "spans": self._waiting}
            message = {"resourceSpans": [{"resource": self._resource, "scopeSpans": [scope]}]}
            self._file.write(encode(message) + "\n")
        self._waiting = []

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what waits, and close the file."""
        if kind is None:
            self._flush()
        self._file.close()


def _as_json(span: Span) -> dict[str, Any]:
    tool = span.attributes.get("gen_ai.tool.name")
    name = NAMES[span.kind] if tool is None else f"{NAMES[span.kind]} {tool}"
    said = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": name,
        "kind": RULES[span.kind].kind,
        "startTimeUnixNano": _nanoseconds(span.begun_at),
        "endTimeUnixNano": _nanoseconds(span.ended_at),
        "attributes": _attributes(span.attributes),
        "events": [{"timeUnixNano": _nanoseconds(at), "name": name} for at, name in span.events],
        "status": {"code": ERROR} if span.status == ERROR else {},
    }
    if not span.parent_id:
        del said["parentSpanId"]
    return said


def _nanoseconds(microseconds: int) -> str:
    return str(microseconds * 1_000)


def _attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in given.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": str(value)}
