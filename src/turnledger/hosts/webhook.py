"""A webhook that takes CloudEvents into the inbox (extra `webhook`, Starlette).

Source: CloudEvents 1.0.2, HTTP protocol binding: binary, structured and batched mode. An event's id
and source are its key: sent again, it is one message.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from turnledger.asynchronous import AsyncLedger
from turnledger.domain.errors import (
    IdempotencyConflict,
    InvalidInput,
    LedgerError,
    PayloadTooLarge,
    StoreError,
    ThreadArchived,
    ThreadDeleted,
)
from turnledger.domain.inbox import InboxMessage

Delivery = Literal["after-turn", "steer-current-turn"]
ThreadOf = Callable[[Request, dict[str, Any]], str]

_ONE, _BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"
_PREFIX = "ce-"
_NEEDED = ("id", "source", "specversion", "type")
_STATUS: tuple[tuple[type[LedgerError], int], ...] = (
    (PayloadTooLarge, 413),
    (InvalidInput, 400),
    (IdempotencyConflict, 409),
    (ThreadArchived, 410),
    (ThreadDeleted, 410),
    (StoreError, 503),
)


class NoCloudEvent(ValueError):
    """What was sent is no CloudEvent."""


def by_path(request: Request, event: dict[str, Any]) -> str:
    """The thread is a part of the path."""
    del event
    return str(request.path_params["thread_id"])


def webhook(
    ledger: AsyncLedger,
    path: str = "/threads/{thread_id}/events",
    *,
    thread_of: ThreadOf = by_path,
    delivery: Delivery = "after-turn",
) -> Route:
    """A route that posts what it is sent into a thread's inbox, and answers once it is committed.

    Answers: 202 taken; 200 known already; 400 no CloudEvent; 409 the id was used for another one;
    410 the thread takes nothing any more; 413 too large; 503 try again.

    Args:
        ledger: Whose inbox.
        path: Of the route.
        thread_of: Says into which thread an event goes.
        delivery: See `ledger.inbox.post`.
    """

    async def receive(request: Request) -> Response:
        try:
            events = _events(request, await request.body())
            async with ledger.transaction():  # a batch is taken whole, or not at all
                posted = [
                    await _post(ledger, thread_of(request, event), event, delivery)
                    for event in events
                ]
        except NoCloudEvent as error:
            return JSONResponse({"error": str(error)}, 400)
        except LedgerError as error:
            return _refused(error)
        known = all(message.duplicate for message in posted)
        ids = [message.message_id for message in posted]
        return JSONResponse({"message_ids": ids, "duplicate": known}, 200 if known else 202)

    return Route(path, receive, methods=["POST"])


async def _post(
    ledger: AsyncLedger, thread_id: str, event: dict[str, Any], delivery: Delivery
) -> InboxMessage:
    identity = json.dumps([event["source"], event["id"]]).encode()
    return await ledger.inbox.post(
        thread_id,
        event,
        source=event["source"],
        delivery=delivery,
        idempotency_key=f"cloudevent:{hashlib.sha256(identity).hexdigest()}",
    )


def _events(request: Request, body: bytes) -> list[dict[str, Any]]:
    """The events that a request carries.

    Raises:
        NoCloudEvent: It carries none.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _BATCH:
        batch = _json(body)
        if not isinstance(batch, list):
            raise NoCloudEvent("a batch must be a list")
        return [_checked(event) for event in batch]
    if kind == _ONE:
        return [_checked(_json(body))]
    event: dict[str, Any] = {
        name.removeprefix(_PREFIX): value
        for name, value in request.headers.items()
        if name.startswith(_PREFIX)
    }
    if kind:
        event["datacontenttype"] = kind
    return [_checked({**event, **_data(kind, body)})]


def _data(kind: str, body: bytes) -> dict[str, Any]:
    """The body in binary mode, as structured mode would hold it."""
    if not body:
        return {}
    if kind == "application/json" or kind.endswith("+json"):
        return {"data": _json(body)}
    if kind.startswith("text/"):
        return {"data": body.decode(errors="replace")}
    return {"data_base64": base64.b64encode(body).decode()}


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise NoCloudEvent(f"the body is no JSON: {error}") from error


def _checked(event: Any) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise NoCloudEvent("an event must be an object")
    for name in _NEEDED:
        if not isinstance(event.get(name), str) or not event[name]:
            raise NoCloudEvent(f"the attribute {name} is missing")
    if event["specversion"] != "1.0":
        raise NoCloudEvent(f"version {event['specversion']} of CloudEvents isn't known here")
    return event


def _refused(error: LedgerError) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    headers = {"Retry-After": "1"} if status == 503 else {}  # noqa: PLR2004 - HTTP's own number
    return JSONResponse({"error": error.message, "code": error.code}, status, headers)
