"""A pump from the queue into a coding agent's app server: JSON-RPC, a line each, on its stdio.

It claims here, starts there with `turn/start`, and acks when `turn/completed` names that turn.
Messages that are to steer the running turn go there with `turn/steer`. What was started when this
process or the server dies is failed here, its outcome unknown; it isn't started again by itself.
No extra is needed.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

from turnledger.asynchronous import AsyncLedger, AsyncTurnInHand
from turnledger.domain.errors import NoEffect
from turnledger.domain.inbox import MessageClaim
from turnledger.worker import AsyncWorker

_log = logging.getLogger("turnledger.hosts")

OVERLOADED = -32001  # the server's code for: try again later
_NO_SUCH_METHOD = -32601
_LONGEST_LINE = 64 * 1024 * 1024
CLIENT = {"name": "turnledger", "title": "turnledger", "version": "0.1.0"}


class ServerGone(Exception):
    """The app server has ended, or its output can't be read any more."""


class Refusal(Exception):
    """The app server answered with an error: it did nothing.

    Attributes:
        code: JSON-RPC's.
        message: What it said.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message


class AppServer:
    """An app server's process, and the requests that wait for its answers. Use `async with`."""

    def __init__(
        self, command: Sequence[str], steer: Callable[[Any], list[Any]] | None = None
    ) -> None:
        """Say how it is started, and how a message's content becomes the input of `turn/steer`."""
        self._command = command
        self._steer_input = steer or as_input
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._completions: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._last_id = 0
        self._gone: Exception | None = None
        self._process: asyncio.subprocess.Process
        self._reading: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        """Start it, and shake hands."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=_LONGEST_LINE
        )
        self._reading = asyncio.create_task(self._read())
        await self.request("initialize", {"clientInfo": CLIENT})
        await self._send({"method": "initialized", "params": {}})
        return self

    async def __aexit__(self, *error: object) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        await self._process.wait()
        await self._reading

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask, and wait for the answer.

        Raises:
            Refusal: The answer is an error.
            ServerGone: None will come.
        """
        if self._gone is not None:
            raise ServerGone(str(self._gone))
        self._last_id += 1
        number = self._last_id
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        finally:
            self._answers.pop(number, None)

    async def do(self, turn: AsyncTurnInHand) -> None:
        """Do a turn: what a worker's function is for. Its dispatch is recorded before the call.

        Raises:
            NoEffect: The server is overloaded.
            ServerGone: Nobody knows what became of the turn.
        """
        try:
            started = await self._started(turn)
        except Refusal as error:
            if error.code == OVERLOADED:
                raise NoEffect({"code": error.code, "message": error.message}) from error
            await turn.fail({"code": error.code, "message": error.message})
            return
        steering = asyncio.create_task(self._steer(turn, started))
        try:
            completed = await self._completion(started)
        finally:
            steering.cancel()
            await asyncio.wait([steering])
            self._completions.pop(started, None)
        if completed.get("status") == "completed":
            await turn.ack()
        else:
            failure = {"turn": started, "status": completed.get("status")}
            await turn.fail({**failure, "error": completed.get("error")})

    async def _started(self, turn: AsyncTurnInHand) -> str:
        """Start a turn; its thread is loaded, if the server hasn't done that yet."""
        params = {**turn.submission, "threadId": turn.thread_id}
        try:
            answer = await self.request("turn/start", params)
        except Refusal as error:
            if "not found" not in error.message:
                raise
            await self.request("thread/resume", {"threadId": turn.thread_id})
            answer = await self.request("turn/start", params)
        return str(answer["turn"]["id"])

    async def _steer(self, turn: AsyncTurnInHand, started: str) -> None:
        async for message in turn.steering(follow=True):
            await self._steered(turn, started, message)

    async def _steered(self, turn: AsyncTurnInHand, started: str, message: MessageClaim) -> None:
        where = {"threadId": turn.thread_id, "expectedTurnId": started}
        try:
            await self.request("turn/steer", {**where, "input": self._steer_input(message.content)})
        except Refusal as error:
            _log.warning("message %s wasn't taken: %s", message.message_id, error)

    def _completion(self, turn_id: str) -> asyncio.Future[dict[str, Any]]:
        """What comes when a turn is over; it may have come already."""
        if turn_id not in self._completions:
            self._completions[turn_id] = asyncio.get_running_loop().create_future()
            if self._gone is not None:
                self._completions[turn_id].set_exception(ServerGone(str(self._gone)))
        return self._completions[turn_id]

    async def _send(self, message: dict[str, Any]) -> None:
        stream = self._process.stdin
        if stream is None:
            raise ServerGone("it has no standard input")
        try:
            stream.write(json.dumps(message).encode() + b"\n")
            await stream.drain()
        except ConnectionError as error:
            raise ServerGone(str(error)) from error

    async def _read(self) -> None:
        stream = self._process.stdout
        try:
            while stream is not None and (line := await stream.readline()):
                await self._heard(json.loads(line))
            self._over(ServerGone("the app server has ended"))
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody hears the server any more
            self._over(error)

    async def _heard(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        if "method" not in message:
            self._answered(message)
        elif "id" in message:  # it asks: there is nobody here to say yes
            error = {"code": _NO_SUCH_METHOD, "message": "nobody is here to answer"}
            await self._send({"id": message["id"], "error": error})
        elif message["method"] == "turn/completed":
            completion = self._completion(str(params["turn"]["id"]))
            if not completion.done():
                completion.set_result(params["turn"])

    def _answered(self, message: dict[str, Any]) -> None:
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            error = message["error"]
            answer.set_exception(Refusal(int(error["code"]), str(error["message"])))
        else:
            answer.set_result(message.get("result"))

    def _over(self, error: Exception) -> None:
        self._gone = error
        for future in (*self._answers.values(), *self._completions.values()):
            if not future.done():
                future.set_exception(ServerGone(str(error)))


def as_input(content: Any) -> list[Any]:
    """A message's content as the input of a turn: a list as it is, anything else as text."""
    if isinstance(content, list):
        return content
    text = content if isinstance(content, str) else json.dumps(content)
    return [{"type": "text", "text": text, "text_elements": []}]


def pump(ledger: AsyncLedger, server: AppServer, **given: Any) -> AsyncWorker:
    """A worker that does turns on an app server; `run` it. See `AsyncWorker` for what is given.

    A turn's submission holds the parameters of `turn/start`: `input`, `clientUserMessageId` and the
    like; its thread is the server's thread.
    """
    return AsyncWorker(ledger, server.do, **given)
