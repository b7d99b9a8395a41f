"""What a provider writes down, and how it is told to treat requests: files in a folder."""

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

REQUEST_HEADER = "X-Request-Id"

Manner = Literal["answer", "refuse", "hang", "die"]


class Record(NamedTuple):
    """A thing that happened at the provider.

    Attributes:
        word: received, answered or refused.
        request_id: The turn and the attempt.
        answer: What was answered; it is paid from then on.
    """

    word: str
    request_id: str
    answer: Any = None

    @property
    def turn_id(self) -> str:
        """The turn that it is about."""
        return self.request_id.rpartition("/")[0]


class Records:
    """The files of a provider. Every process that has the folder sees the same ones."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self._journal = folder / "provider.jsonl"
        self._manners = folder / "provider.json"
        self._port = folder / "provider.port"
        self._let_go = folder / "provider.let-go"

    def write(self, word: str, request_id: str, answer: Any = None) -> None:
        """Write down what happened."""
        with self._journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps([word, request_id, answer]) + "\n")

    def read(self, word: str, turn_id: str | None = None) -> list[Record]:
        """What happened, in its order; of one turn, if it is given."""
        if not self._journal.exists():
            return []
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        found = [Record(*json.loads(line)) for line in lines]
        return [
            one for one in found if one.word == word and (turn_id is None or one.turn_id == turn_id)
        ]

    def treat(self, manners: dict[str, Manner]) -> None:
        """Say how requests are to be treated, by their ids; all others are answered."""
        self._manners.write_text(json.dumps(manners), encoding="utf-8")

    def manner_of(self, request_id: str) -> Manner:
        """How a request is to be treated."""
        manners: dict[str, Manner] = json.loads(self._manners.read_text(encoding="utf-8"))
        return manners.get(request_id, "answer")

    def let_go(self) -> None:
        """Let those requests be answered that hang."""
        self._let_go.touch()

    def are_let_go(self) -> bool:
        """Whether they are to be answered."""
        return self._let_go.exists()

    def is_at(self, port: int) -> None:
        """Say where the provider listens now."""
        self._port.write_text(str(port), encoding="utf-8")

    def port(self) -> int:
        """Where the provider listens."""
        return int(self._port.read_text(encoding="utf-8"))
