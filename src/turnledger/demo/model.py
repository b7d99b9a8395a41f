"""A stand-in for a model provider: the world outside, which can't be undone.

It writes down what it gets, in a file of its own. So the demonstration knows what was really sent,
whatever the ledger says.
"""

import json
import time
from pathlib import Path
from typing import Any

OK, BAD_REQUEST = 200, 400

_THOUGHT_SECONDS = 0.15


class Refused(Exception):
    """The provider took nothing in.

    Attributes:
        answer: What it answered.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        self.answer = answer


class Model:
    """A provider and what it got. Every process that has the folder talks to the same one."""

    def __init__(self, folder: Path) -> None:
        """Take the folder in which it keeps its files."""
        self._received = folder / "received.jsonl"
        self._outage = folder / "outage"

    def take(self, message: dict[str, Any]) -> None:
        """Give it a message.

        Raises:
            Refused: It has an outage; the message had no effect.
        """
        status = BAD_REQUEST if self._outage.exists() else OK
        with self._received.open("a", encoding="utf-8") as file:
            file.write(json.dumps([status, message]) + "\n")
        if status != OK:
            raise Refused({"status": status, "error": "bad request"})

    def think(self) -> None:
        """What a turn takes its time for."""
        time.sleep(_THOUGHT_SECONDS)

    def begin_outage(self) -> None:
        """Answer 400 to everything from now on."""
        self._outage.touch()

    def end_outage(self) -> None:
        """Take messages again."""
        self._outage.unlink()

    def got(self, status: int = OK) -> list[dict[str, Any]]:
        """The messages that it answered so, in the order of their arrival."""
        if not self._received.exists():
            return []
        lines = self._received.read_text(encoding="utf-8").splitlines()
        return [message for answered, message in map(json.loads, lines) if answered == status]

    def times(self, message_id: str) -> int:
        """How often it took a message in."""
        return [message["clientUserMessageId"] for message in self.got()].count(message_id)
