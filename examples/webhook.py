"""A webhook that takes CloudEvents into the inboxes of threads.

    TURNLEDGER_DB=agents.db uvicorn --factory examples.webhook:app

An event for thread-1 goes to /threads/thread-1/events; sent again, it is one message.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

import turnledger
from turnledger.hosts.webhook import webhook


def app() -> Starlette:
    """The application; the ledger is open as long as it runs."""

    @asynccontextmanager
    async def open_ledger(app: Starlette) -> AsyncGenerator[None]:
        path = os.environ.get("TURNLEDGER_DB", "./turnledger.db")
        async with turnledger.open_async(path) as ledger:
            app.router.routes.append(webhook(ledger))
            yield

    return Starlette(lifespan=open_ledger)
