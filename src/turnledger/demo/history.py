"""How recorded events are shown: a line each, without what differs from run to run."""

import json
from typing import Any, cast

from turnledger import RecordedEvent
from turnledger.demo.submission import said


def event_row(event: RecordedEvent) -> tuple[str, str, str, str]:
    """Its version, what happened, to which queued turn, and the rest in words."""
    data = _fields(event.data)
    kind = event.type.rpartition(".")[2]
    rest = event.unreadable or _rest(kind, data) or _by(event)
    return f"{event.version:>2}", kind, str(data.get("queued_turn_id", "")), rest


def _rest(kind: str, data: dict[str, Any]) -> str:
    match kind:
        case "appended":
            return said(data["submission"])
        case "claimed":
            return f"by {data['owner']}, epoch {data['epoch']}"
        case "dispatch_started" | "acked":
            return f"dispatch {data['dispatch_id']}"
        case "failed":
            return _failure(data["failure"])
        case "resolved":
            return f"{data['decision']}, by {data['by']}"
        case _:
            return ""


def _failure(failure: object) -> str:
    return failure if isinstance(failure, str) else json.dumps(failure, separators=(",", ":"))


def _by(event: RecordedEvent) -> str:
    actor = _fields(event.metadata).get("actor")
    return f"by {actor}" if actor else ""


def _fields(stored: object) -> dict[str, Any]:
    return cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
