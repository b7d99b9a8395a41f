"""What each event means for the figures. Events that mean nothing for them aren't even decoded.

An event about something whose beginning isn't known is passed over: a bundle may be of a part.
"""

from collections.abc import Callable
from datetime import datetime

from turnledger.analytics.board import Board
from turnledger.analytics.life import Key, Lives
from turnledger.analytics.reading import Seen
from turnledger.analytics.tally import outcome
from turnledger.domain.duration import to_microseconds

Meaning = Callable[[Lives, Key, Seen], None]
Means = dict[str, Callable[[Seen], None]]

_RECOVER = "recover"


class Measuring:
    """Takes events in order, and puts down what they mean.

    Attributes:
        means: By the type of an event.
    """

    def __init__(self, board: Board) -> None:
        """Take where it is put down."""
        self.means: Means = {
            **_of_each(Lives("queued_turns", board), "thread_queue", "queued_turn_id", _QUEUE),
            **_of_each(Lives("coordinator_turns", board), "coordinator_turn", None, _COORDINATOR),
            **_of_each(Lives("operations", board), "operation", None, _OPERATION),
            **_of_each(Lives("messages", board), "inbox", "message_id", _INBOX),
            **_Timers(board).means,
        }

    def take(self, event: Seen) -> None:
        """The next event, of a type that means something.

        Raises:
            KeyError: Something is missing in it.
        """
        self.means[event.type](event)


def _of_each(lives: Lives, category: str, named: str | None, meanings: dict[str, Meaning]) -> Means:
    """What the events of a category mean; the stream, or a field, says what each is about."""

    def meaning(word: str, do: Meaning) -> Callable[[Seen], None]:
        def take(event: Seen) -> None:
            key = (event.name, event.fields[named] if named else "")
            if key in lives.open or word in _BEGINNINGS:
                do(lives, key, event)

        return take

    def take_all(event: Seen) -> None:
        _cleared(lives, event)

    means = {f"{category}.{word}": meaning(word, do) for word, do in meanings.items()}
    return {**means, f"{category}.cleared": take_all} if named else means


_BEGINNINGS = ("appended", "begun", "created", "posted")


def _microseconds(text: str | None) -> int:
    return to_microseconds(datetime.fromisoformat(text)) if text else 0


def _begun(lives: Lives, key: Key, event: Seen) -> None:
    place = event.fields.get("work_item_id", event.name)
    lives.begin(key, place, event.recorded_at, _microseconds(event.fields.get("not_before")))


def _claimed(lives: Lives, key: Key, event: Seen) -> None:
    lives.claim(key, event.recorded_at, event.fields["owner"])


def _executed(lives: Lives, key: Key, event: Seen) -> None:
    """Whoever claims it hands it over with that."""
    lives.claim(key, event.recorded_at, event.fields["owner"])
    lives.hand_over(key)


def _waits(lives: Lives, key: Key, event: Seen) -> None:
    lives.wait(key, event.recorded_at)


def _lost(lives: Lives, key: Key, event: Seen) -> None:
    lives.lose(key, event.recorded_at)
    lives.wait(key, event.recorded_at)


def _handed_over(lives: Lives, key: Key, _event: Seen) -> None:
    lives.hand_over(key)


def _answered(lives: Lives, key: Key, event: Seen) -> None:
    lives.answered(key, _microseconds(event.fields.get("not_before")))


def _unknown(lives: Lives, key: Key, event: Seen) -> None:
    lives.unknown(key, event.recorded_at)


def _ends(word: str) -> Meaning:
    def end(lives: Lives, key: Key, event: Seen) -> None:
        lives.end(key, event.recorded_at, word)

    return end


def _rests(word: str) -> Meaning:
    def rest(lives: Lives, key: Key, event: Seen) -> None:
        lives.rest(key, event.recorded_at, word)

    return rest


def _failed(lives: Lives, key: Key, event: Seen) -> None:
    if event.command == _RECOVER:
        lives.lose(key, event.recorded_at)
    if event.fields.get("outcome_unknown"):
        lives.unknown(key, event.recorded_at)
    lives.rest(key, event.recorded_at, "failed")


def _decided(lives: Lives, key: Key, event: Seen) -> None:
    if event.fields["decision"] == "retry":
        lives.wait(key, event.recorded_at)
    else:
        lives.end(key, event.recorded_at, "acked")


def _acked(lives: Lives, key: Key, event: Seen) -> None:
    lives.end(key, event.recorded_at, "completed" if event.fields["completed"] else "acked")


def _cancelled(lives: Lives, key: Key, event: Seen) -> None:
    if lives.open[key].sent:
        lives.unknown(key, event.recorded_at)
    lives.end(key, event.recorded_at, "cancelled")


def _took_effect(lives: Lives, key: Key, event: Seen) -> None:
    """Or not, or nobody knows it."""
    effect = event.fields["effect"]
    if effect == "unknown":
        lives.unknown(key, event.recorded_at)
        lives.rest(key, event.recorded_at, effect)
    else:
        lives.end(key, event.recorded_at, effect)


def _orphaned(lives: Lives, key: Key, event: Seen) -> None:
    lives.lose(key, event.recorded_at)
    lives.unknown(key, event.recorded_at)
    lives.rest(key, event.recorded_at, "unknown")


def _cleared(lives: Lives, event: Seen) -> None:
    """All of a thread are over."""
    for key in lives.places.of(event.name):
        lives.end(key, event.recorded_at, "deleted")


_QUEUE: dict[str, Meaning] = {
    "appended": _begun,
    "claimed": _claimed,
    "released": _waits,
    "recovered": _lost,
    "dispatch_started": _handed_over,
    "acked": _ends("acked"),
    "failed": _failed,
    "retried": _waits,
    "resolved": _decided,
    "deleted": _ends("deleted"),
}
_COORDINATOR: dict[str, Meaning] = {
    "begun": _begun,
    "claimed": _claimed,
    "released": _waits,
    "recovered": _lost,
    "prepared": _answered,
    "dispatch_started": _handed_over,
    "responded": _answered,
    "refused": _answered,
    "rejected": _answered,
    "outcome_unknown": _unknown,
    "acked": _acked,
    "failed": _ends("failed"),
    "cancelled": _cancelled,
}
_OPERATION: dict[str, Meaning] = {
    "created": _begun,
    "claimed": _executed,
    "completed": _took_effect,
    "orphaned": _orphaned,
    "never_claimed": _ends("failed_no_effect"),
    "resolved": _took_effect,
}
_INBOX: dict[str, Meaning] = {
    "posted": _begun,
    "claimed": _executed,
    "released": _waits,
    "recovered": _lost,
    "confirmed": _ends("confirmed"),
    "expired": _rests("expired"),
    "rejected": _rests("rejected"),
    "requeued": _waits,
    "deleted": _ends("deleted"),
}


class _Timers:
    """The timers, and how late they were."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._threads: dict[str, str] = {}
        self.means: Means = {
            "timer.created": self._created,
            "timer.fired": self._fired,
            "timer.skipped": self._skipped,
            "timer.set_aside": self._set_aside,
        }

    def _created(self, event: Seen) -> None:
        self._threads[event.name] = event.fields["thread_id"]
        self._note(event, "begun")

    def _fired(self, event: Seen) -> None:
        said = event.fields
        late = _microseconds(said["fired_at"]) - _microseconds(said["planned_at"])
        where = self._where(event)
        self._board.add("timers", *where, "lateness", late / 1e6)
        self._note(event, outcome("fired"))
        self._note(event, "missed", said["missed"])

    def _skipped(self, event: Seen) -> None:
        self._note(event, outcome("skipped"))
        self._note(event, "missed", event.fields["missed"])

    def _set_aside(self, event: Seen) -> None:
        self._note(event, outcome("set aside"))

    def _note(self, event: Seen, name: str, times: int = 1) -> None:
        self._board.count("timers", *self._where(event), name, times)

    def _where(self, event: Seen) -> tuple[int, str, str | None]:
        thread = self._threads.get(event.name, "")
        return event.recorded_at, thread, event.fields.get("owner")
