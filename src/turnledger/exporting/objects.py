"""Which objects an event is about, which belong together, and what an event changes of them.

These tables are what process mining sees of a ledger (OCEL 2.0): no content is in it.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from turnledger.exporting.event import REPEATED, ExportedEvent, category_and_id


class Related(NamedTuple):
    """An object that an event is about.

    Attributes:
        kind: Its type.
        id: Unique among all objects.
        qualifier: What it is to the event.
    """

    kind: str
    id: str
    qualifier: str


class Change(NamedTuple):
    """What an event changes of the objects of a kind that it is about.

    Attributes:
        kind: Of which objects.
        field: Which attribute.
        value: The new value; or
        taken_from: the event's field that has it.
    """

    kind: str
    field: str
    value: str = ""
    taken_from: str = ""


PART_OF = {  # which is part of which, if an event is about both
    "turn": "thread",
    "message": "thread",
    "timer": "thread",
    "dispatch": "turn",
    "coordinator_turn": "work_item",
    "attempt": "coordinator_turn",
    "run": "work_item",
    "operation": "run",
}

FIRST = {  # what is known of an object for good, by the event that begins it
    "thread_queue.appended": ("turn", ("queue_order",)),
    "inbox.posted": ("message", ("source", "delivery")),
    "timer.created": ("timer", ("source", "delivery")),
    "coordinator_turn.begun": ("coordinator_turn", ("kind", "target", "turn_order")),
    "run.started": ("run", ("action_id",)),
    "operation.created": ("operation", ("operation_type", "action_id", "replay_policy")),
}


def _states(kind: str, category: str, states: dict[str, str]) -> dict[str, tuple[Change, ...]]:
    return {f"{category}.{name}": (Change(kind, "state", new),) for name, new in states.items()}


CHANGES: dict[str, tuple[Change, ...]] = {
    **_states(
        "turn",
        "thread_queue",
        {
            **dict.fromkeys(("appended", "released", "recovered", "retried"), "pending"),
            **dict.fromkeys(("deleted", "cleared"), "deleted"),
            "claimed": "in_flight",
            "dispatch_started": "dispatched",
            "acked": "acked",
            "failed": "failed",
        },
    ),
    "thread_queue.resolved": (Change("turn", "state", taken_from="decision"),),
    **_states(
        "message",
        "inbox",
        {
            **dict.fromkeys(("posted", "released", "recovered", "requeued"), "waiting"),
            "claimed": "in_flight",
            "confirmed": "confirmed",
            "expired": "expired",
            "deleted": "deleted",
            "rejected": "rejected",
        },
    ),
    **_states(
        "timer",
        "timer",
        {
            **dict.fromkeys(("created", "resumed", "skipped"), "active"),
            "paused": "paused",
            "deleted": "deleted",
            "marked_due": "due",
            "fired": "fired",
            "set_aside": "set_aside",
        },
    ),
    **_states(
        "coordinator_turn",
        "coordinator_turn",
        {
            **dict.fromkeys(("begun", "released", "recovered"), "pending"),
            "claimed": "in_flight",
            "acked": "acked",
            "failed": "failed",
            "cancelled": "cancelled",
        },
    ),
    **_states(
        "attempt",
        "coordinator_turn",
        {
            "prepared": "prepared",
            "dispatch_started": "sent",
            "responded": "responded",
            "refused": "refused",
            "rejected": "rejected",
            "outcome_unknown": "unknown",
        },
    ),
    "coordinator_turn.resolved": (Change("attempt", "state", taken_from="decision"),),
    **_states(
        "run",
        "run",
        {
            **dict.fromkeys(("started", "taken_over"), "running"),
            "finished": "finished",
            "interrupted": "interrupted",
        },
    ),
    **_states(
        "operation",
        "operation",
        {
            "created": "created",
            "claimed": "claimed",
            "cancel_requested": "cancel_requested",
            "orphaned": "orphaned",
            "never_claimed": "never_claimed",
        },
    ),
    "operation.completed": (Change("operation", "state", taken_from="effect"),),
    "operation.resolved": (Change("operation", "state", taken_from="effect"),),
    **_states(
        "thread",
        "thread",
        {"archived": "archived", "unarchived": "active", "deleted": "deleted"},
    ),
}

_IN_THREADS = {"thread_queue", "inbox"}
_OWN = {"thread", "timer", "coordinator_turn", "work_item", "run", "operation"}
_NAMED = {  # fields that hold an object's id: its type, and its qualifier
    "thread_id": ("thread", "thread"),
    "work_item_id": ("work_item", "work_item"),
    "turn_id": ("coordinator_turn", "turn"),
    "run_id": ("run", "run"),
    "forked_from": ("thread", "forked from"),
    "owner": ("worker", "owner"),
}


def related(event: ExportedEvent, said: dict[str, Any]) -> list[Related]:
    """The objects that an event is about, each once.

    Args:
        event: The stored one.
        said: Its fields.
    """
    category, name = category_and_id(event.stream_id)
    if category == "evidence":  # about what happened in another stream
        category, name = category_and_id(name)
    found = [*_of_stream(category, name)]
    if category in _IN_THREADS:
        found += _in_thread(name, said)
    elif category == "coordinator_turn" and isinstance(said.get("attempt"), int):
        found.append(Related("attempt", f"attempt:{name}/{said['attempt']}", "attempt"))
    for field, (kind, qualifier) in _NAMED.items():
        if isinstance(said.get(field), str):
            found.append(Related(kind, f"{kind}:{said[field]}", qualifier))
    return list(dict.fromkeys(found))


@lru_cache(maxsize=REPEATED)
def _of_stream(category: str, name: str) -> tuple[Related, ...]:
    """What a stream itself is of."""
    kind = "thread" if category in _IN_THREADS else category
    return (Related(kind, f"{kind}:{name}", kind),) if kind in _OWN else ()


def _in_thread(thread_id: str, said: dict[str, Any]) -> Iterator[Related]:
    place = thread_id.replace("%", "%25").replace("/", "%2F")  # so that ids stay apart
    several = said.get("queued_turn_ids")
    turns = several if isinstance(several, list) else [said.get("queued_turn_id")]
    for turn in turns:
        if isinstance(turn, str):
            yield Related("turn", f"turn:{place}/{turn}", "turn")
    if isinstance(said.get("message_id"), str):
        yield Related("message", f"message:{place}/{said['message_id']}", "message")
    if isinstance(said.get("dispatch_id"), str):
        yield Related("dispatch", f"dispatch:{place}/{said['dispatch_id']}", "dispatch")
