"""Which parts of an event are contents, and an event without them.

What stays are names, numbers, times and states; everything else is a content, also what this
release doesn't know. Hashes of contents go as well: a short content could be guessed from its hash.
"""

from collections.abc import Callable
from typing import Any

from turnledger.domain.payload import decode, encode
from turnledger.exporting.event import ExportedEvent

REDACTED = {"$redacted": True}
Hook = Callable[[str, Any], Any]

_NAMES = """
action_id altered anchored_at arrival attempt attempts by claims client_id completed created_at
decision deliveries delivery dispatch_id effect epoch execution_epoch expected_revision
expires_at fired_at first_order forked_from in_flight_id key kind last_run_at lease_seconds
limit message_id missed next_run_at not_before now operation_type outcome_unknown owner
planned_at queue_order queued_at queued_turn_id queued_turn_ids replay_policy retryable revision
run_epoch run_id source target thread_id time_zone_data trigger turn_id turn_order undelivered
waiting work_item_id
"""
_CONTENTS = """
content error evidence failure instructions message metadata outcome payload reason request
response result submission value
"""
_HASHES = "attachments content_hash request_hash response_hash"

KEPT = frozenset(_NAMES.split())
CONTENTS = frozenset(_CONTENTS.split())
HASHES = frozenset(_HASHES.split())
NESTED = frozenset({"changed"})  # fields of the same names


def dropped(_name: str, _value: Any) -> Any:
    """The hook that leaves nothing of a content."""
    return dict(REDACTED)


def redacted(event: ExportedEvent, hook: Hook) -> ExportedEvent:
    """An event whose contents a hook has seen, and without hashes of them."""
    data, metadata = event.data, event.metadata
    return event._replace(
        data=None if data is None else encode(_clean(decode(data), hook)),
        metadata=None if metadata is None else encode(_clean_context(decode(metadata), hook)),
        hash=None,
    )


def _clean(said: Any, hook: Hook) -> Any:
    if not isinstance(said, dict):
        return hook("data", said)
    return {name: _clean_field(name, value, hook) for name, value in said.items()}


def _clean_field(name: str, value: Any, hook: Hook) -> Any:
    if value is None or name in KEPT or _is_pointer(value):
        return value
    if name in NESTED and isinstance(value, dict):
        return _clean(value, hook)
    return dict(REDACTED) if name in HASHES else hook(name, value)


def _clean_context(said: Any, hook: Hook) -> Any:
    if not isinstance(said, dict):
        return dict(REDACTED)
    clean = dict(said)
    command, receipt = said.get("command"), said.get("receipt")
    if isinstance(command, dict):
        clean["command"] = {**command, "arguments": _clean(command.get("arguments"), hook)}
    if isinstance(receipt, dict):
        clean["receipt"] = {**receipt, "content_hash": dict(REDACTED)}
    return clean


def _is_pointer(value: Any) -> bool:
    """Whether a recorded argument only says in which field of the event it stands."""
    return isinstance(value, dict) and (value.keys() == {"$event"} or value.keys() == {"$events"})
