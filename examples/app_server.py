"""Pump queued turns into a coding agent's app server, which speaks JSON-RPC on its stdio.

    python examples/app_server.py agents.db -- codex app-server

Put work in from anywhere; the thread is one of the server's:

    turnledger --db agents.db queue append THREAD '{"input": [{"type": "text", "text": "hi"}]}'
"""

import asyncio
import signal
import sys

import turnledger
from turnledger.hosts.app_server import AppServer, pump


async def main(path: str, *command: str) -> None:
    """Work until SIGTERM."""
    async with turnledger.open_async(path) as ledger, AppServer(command) as server:
        worker = pump(ledger, server, concurrency=8, report=print)
        await worker.run(stop_on=signal.SIGTERM)


if __name__ == "__main__":
    asyncio.run(main(*(word for word in sys.argv[1:] if word != "--")))
