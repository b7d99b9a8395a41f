"""A proxy between a client and a server, which cuts the connection at a chosen moment.

It knows so much of the protocol: where a request ends, and where its answer does.
"""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple

from tests.postgresql.cluster import HOST

Moment = Literal["before", "after"]
Watch = Callable[[bytes], bool]

_SYNC, _QUERY, _TERMINATE = b"S", b"Q", b"X"  # what ends a request
_READY = b"Z"  # what ends an answer
_ANNOUNCING = (b"NOTIFY", b"turnledger announcer")  # another thread does it; nobody counts that


class Order(NamedTuple):
    """When to cut.

    Attributes:
        watch: Is asked about each request whether it is the one.
        moment: Before the server gets it, or after it has answered, when nobody has heard that.
        then: Is called once the connection is cut.
    """

    watch: Watch
    moment: Moment
    then: Callable[[], None]


class Proxy:
    """Listens on a port of its own.

    Attributes:
        port: It.
        requests: What was asked for since the last order.
        cuts: How many connections were cut since the last order.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._guard = threading.Lock()
        self._order: Order | None = None
        self.requests: list[bytes] = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def order(
        self, watch: Watch, moment: Moment = "before", then: Callable[[], None] = bool
    ) -> None:
        """Cut the next connection that asks for something; count anew."""
        with self._guard:
            self._order = Order(watch, moment, then)
            self.requests, self.cuts = [], 0

    def cut_at(self, number: int, moment: Moment) -> None:
        """Cut at the so-manyth request from now on, counted from 1."""
        self.order(lambda _: len(self.requests) == number, moment)

    def url(self, url: str) -> str:
        """The way to a database through here."""
        return f"{url.replace(f':{self._server_port}/', f':{self.port}/')}?{PLAIN}"

    def close(self) -> None:
        """Take no more connections; those that are there end with their clients."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError):
            server = socket.create_connection((HOST, self._server_port))
            with server:
                for side in (client, server):
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server.sendall(_first_message(client))
                client.sendall(_answer(server))
                while self._one_request(client, server):
                    pass

    def _one_request(self, client: socket.socket, server: socket.socket) -> bool:
        """Pass on one request and its answer; False when it was the last."""
        request = _request(client)
        if request[:1] == _TERMINATE:
            server.sendall(request)
            return False
        order = self._order_for(request)
        if order is None:
            server.sendall(request)
            client.sendall(_answer(server))
            return True
        if order.moment == "after":
            server.sendall(request)
            _answer(server)
        client.close()
        order.then()
        return False

    def _order_for(self, request: bytes) -> Order | None:
        """The order, if this is the moment for it; it is carried out once."""
        if any(words in request for words in _ANNOUNCING):
            return None
        with self._guard:
            self.requests.append(request)
            order = self._order
            if order is None or not order.watch(request):
                return None
            self._order, self.cuts = None, self.cuts + 1
            return order


PLAIN = "sslmode=disable&gssencmode=disable"


@contextmanager
def proxy(server_port: int) -> Generator[Proxy]:
    """A proxy, until the end of the block."""
    opened = Proxy(server_port)
    try:
        yield opened
    finally:
        opened.close()


def _exactly(source: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = source.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received


def _first_message(client: socket.socket) -> bytes:
    length = _exactly(client, 4)
    return length + _exactly(client, int.from_bytes(length) - 4)


def _message(source: socket.socket) -> bytes:
    head = _exactly(source, 5)
    return head + _exactly(source, int.from_bytes(head[1:]) - 4)


def _request(client: socket.socket) -> bytes:
    """All messages up to the one after which the server answers."""
    request = message = _message(client)
    while message[:1] not in (_SYNC, _QUERY, _TERMINATE):
        message = _message(client)
        request += message
    return request


def _answer(server: socket.socket) -> bytes:
    """All messages up to the one after which the server takes the next request."""
    answer = message = _message(server)
    while message[:1] != _READY:
        message = _message(server)
        answer += message
    return answer
