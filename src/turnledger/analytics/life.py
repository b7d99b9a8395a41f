"""What happens to turns, operations and messages, in the few words that they have in common.

Each waits, is held by somebody under a claim, or rests: it has failed, or nobody knows its outcome,
and it waits for a decision. Then it is over.
"""

from typing import Literal

from turnledger.analytics.board import Board, Kind
from turnledger.analytics.tally import outcome

Phase = Literal["waiting", "held", "resting"]
Key = tuple[str, str]

_SECOND = 1e6
_IN_DEPTH = ("queued_turns", "coordinator_turns")


class Life:
    """One of them.

    Attributes:
        place: Its thread or work item.
        phase: How it stands.
        since: From when on it can be claimed, or is held; microseconds.
        not_before: It can't be claimed before.
        owner: Who held it last.
        attempts: How often it was handed over.
        sent: It is handed over, and nobody knows yet what came of it.
    """

    __slots__ = ("attempts", "not_before", "owner", "phase", "place", "sent", "since")

    def __init__(self, place: str, at: int, not_before: int) -> None:
        """Begin to wait."""
        self.place = place
        self.phase: Phase = "waiting"
        self.since = max(at, not_before)
        self.not_before = not_before
        self.owner: str | None = None
        self.attempts = 0
        self.sent = False


class Places:
    """Which ones of a stream aren't over: all of them may end at once, and there may be many."""

    def __init__(self) -> None:
        """Begin with none."""
        self._keys: dict[str, dict[Key, None]] = {}

    def add(self, key: Key) -> None:
        """One begins. Those whose stream is of them alone aren't kept."""
        if key[1]:
            self._keys.setdefault(key[0], {})[key] = None

    def remove(self, key: Key) -> None:
        """One is over."""
        keys = self._keys.get(key[0], {})
        keys.pop(key, None)
        if not keys:
            self._keys.pop(key[0], None)

    def of(self, name: str) -> list[Key]:
        """Those of a stream, in the order in which they began."""
        return list(self._keys.get(name, ()))


class Lives:
    """Those of one kind that aren't over, and what is put down about them.

    Attributes:
        open: The ones that aren't over.
        places: Where they are.
    """

    def __init__(self, kind: Kind, board: Board) -> None:
        """Begin with none."""
        self.kind: Kind = kind
        self.open: dict[Key, Life] = {}
        self.places = Places()
        self._board = board
        self._in_depth = kind in _IN_DEPTH

    def begin(self, key: Key, place: str, at: int, not_before: int = 0) -> None:
        """One waits, that wasn't there."""
        self.open[key] = life = Life(place, at, not_before)
        self.places.add(key)
        self._count(life, at, "begun")
        self._depth(at, 1, 0)

    def claim(self, key: Key, at: int, owner: str) -> None:
        """Somebody holds it; who held it up to now has lost it."""
        life = self.open[key]
        if life.phase == "held":
            self.lose(key, at)
            self.wait(key, at)
        life.owner = owner
        self._count(life, at, "claims")
        self._number(life, at, "waiting", max(at - life.since, 0) / _SECOND)
        self._becomes(life, at, "held")

    def hand_over(self, key: Key) -> None:
        """It is about to be sent."""
        life = self.open[key]
        life.attempts += 1
        life.sent = True

    def answered(self, key: Key, not_before: int = 0) -> None:
        """What came of it is known; perhaps it is to wait for a time."""
        life = self.open[key]
        life.sent = False
        life.not_before = not_before

    def unknown(self, key: Key, at: int) -> None:
        """Nobody knows what came of it."""
        life = self.open[key]
        life.sent = False
        self._count(life, at, "unknown_outcomes")

    def lose(self, key: Key, at: int) -> None:
        """Its owner said no word, and the claim is over."""
        self._count(self.open[key], at, "lease_losses")

    def wait(self, key: Key, at: int) -> None:
        """It waits again."""
        self._becomes(self.open[key], at, "waiting")

    def rest(self, key: Key, at: int, word: str) -> None:
        """It came out so, and waits for a decision."""
        life = self.open[key]
        self._count(life, at, outcome(word))
        self._becomes(life, at, "resting")

    def end(self, key: Key, at: int, word: str) -> None:
        """It came out so, and is over."""
        life = self.open[key]
        self._count(life, at, outcome(word))
        self._number(life, at, "attempts", life.attempts)
        self._becomes(life, at, "resting")
        del self.open[key]
        self.places.remove(key)

    def _becomes(self, life: Life, at: int, phase: Phase) -> None:
        before = life.phase
        if before == "held":
            self._number(life, at, "running", max(at - life.since, 0) / _SECOND)
        waits = (phase == "waiting") - (before == "waiting")
        self._depth(at, waits, (phase == "held") - (before == "held"))
        life.phase = phase
        life.since = max(at, life.not_before) if phase == "waiting" else at

    def _depth(self, at: int, waiting: int, held: int) -> None:
        if self._in_depth:
            self._board.gauge.change(at, waiting, held)

    def _count(self, life: Life, at: int, name: str) -> None:
        self._board.count(self.kind, at, life.place, life.owner, name)

    def _number(self, life: Life, at: int, name: str, number: float) -> None:
        self._board.add(self.kind, at, life.place, life.owner, name, number)
