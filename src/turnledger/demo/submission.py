"""The recorded submissions that the demonstration runs on."""

import json
from importlib import resources
from typing import Any, NamedTuple

MAIN, SIDE = "chat-1", "chat-2"

_LONG = 16  # a message id that is longer is a UUID: its first group is enough to tell it
_PREFIX = "client-"


class Submission(NamedTuple):
    """A message that a client sent, and under which names it goes into the ledger.

    Attributes:
        thread_id: A readable name in the place of the recorded one.
        message_id: Its clientUserMessageId, which is its idempotency key as well.
        queued_turn_id: The message id in a form that is short enough to be read.
        parameters: All that was sent.
    """

    thread_id: str
    message_id: str
    queued_turn_id: str
    parameters: dict[str, Any]


def recorded() -> list[Submission]:
    """What was recorded, in its order: the main thread's messages, then those of the others."""
    file = resources.files("turnledger.demo").joinpath("submissions.json")
    traffic = json.loads(file.read_text(encoding="utf-8"))
    messages = [*traffic["turn_start_params"], *traffic["queue_add"], *traffic["stored_rows"]]
    main = messages[0]["threadId"]
    given = [_submission(MAIN if one["threadId"] == main else SIDE, one) for one in messages]
    return sorted(given, key=lambda submission: submission.thread_id)


def said(parameters: dict[str, Any] | None) -> str:
    """What a message says, for people: its texts, and the kinds of what is no text."""
    parts: list[dict[str, Any]] = (parameters or {}).get("input", [])
    return " ".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts)


def _submission(thread_id: str, parameters: dict[str, Any]) -> Submission:
    message_id: str = parameters["clientUserMessageId"]
    return Submission(thread_id, message_id, _readable(message_id), parameters)


def _readable(message_id: str) -> str:
    short = message_id if len(message_id) <= _LONG else message_id.partition("-")[0]
    return short if short.startswith(_PREFIX) else _PREFIX + short
