"""A model provider, as a process of its own: a small HTTP server, the world outside.

    python -m turnledger.demo.coordinator.provider FOLDER

It says its port on its standard output, and ends at the end of its standard input. What it gets
and what it answers it writes down in FOLDER, so that the demonstration knows what was really sent
and paid, whatever the ledger says. How it treats a request stands there, too; see records.py.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from turnledger.demo.coordinator.records import REQUEST_HEADER, Records

_GIVE_UP_SECONDS = 120  # as a worker: a demonstration that hangs must come to an end
_GLANCE_SECONDS = 0.02


class Provider(ThreadingHTTPServer):
    """Answers requests, each in a thread."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        """Listen on a free port of this machine alone."""
        self.records = Records(folder)
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Treats one request."""

    def do_POST(self) -> None:
        """Answer, refuse, hang or die."""
        request_id = self.headers[REQUEST_HEADER]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        records = cast("Provider", self.server).records
        records.write("received", request_id)
        match records.manner_of(request_id):
            case "refuse":
                records.write("refused", request_id)
                self._send(HTTPStatus.TOO_MANY_REQUESTS, {"error": "rate limit"})
                return
            case "die":
                os._exit(1)
            case "hang":
                while not records.are_let_go():
                    time.sleep(_GLANCE_SECONDS)
            case _:
                pass
        answer = {"text": f"answer to: {request['prompt']}"}
        records.write("answered", request_id, answer)
        self._send(HTTPStatus.OK, answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing: there are the records."""

    def _send(self, status: HTTPStatus, answer: dict[str, str]) -> None:
        body = json.dumps(answer).encode()
        with suppress(ConnectionError):  # nobody waits for it any more
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


def main(folder: str) -> None:
    """Serve until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    signal.alarm(_GIVE_UP_SECONDS)
    provider = Provider(Path(folder))
    sys.stdout.write(f"{provider.server_port}\n")
    sys.stdout.flush()
    ending = threading.Thread(target=_end_with_the_input, args=(provider,), daemon=True)
    ending.start()
    provider.serve_forever(_GLANCE_SECONDS)


def _end_with_the_input(provider: Provider) -> None:
    sys.stdin.read()
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
