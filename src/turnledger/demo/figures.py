"""What came of it, counted in the ledger and in what the model got."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from turnledger import Ledger
from turnledger.demo.model import Model
from turnledger.demo.submission import Submission

_GONE = frozenset(("acked", "deleted"))
_APPENDED = "thread_queue.appended"


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of it.

    Attributes:
        submitted: How many messages the ledger accepted.
        sent: How many of them the model got.
        sent_twice: How many of them it got more than once.
        lost: How many are gone, though the model never got them as they were submitted.
    """

    submitted: int
    sent: int
    sent_twice: int
    lost: int


def counted(ledger: Ledger, model: Model, submissions: Sequence[Submission]) -> Figures:
    """Count what came of submissions."""
    got = model.got()
    times = Counter(str(message["clientUserMessageId"]) for message in got)
    sent = [times[one.message_id] for one in submissions]
    appended = {event.data["queued_turn_id"] for event in ledger.log.read(types=[_APPENDED])}
    return Figures(
        submitted=sum(one.queued_turn_id in appended for one in submissions),
        sent=sum(count > 0 for count in sent),
        sent_twice=sum(count > 1 for count in sent),
        lost=sum(one.parameters not in got and _is_gone(ledger, one) for one in submissions),
    )


def _is_gone(ledger: Ledger, submission: Submission) -> bool:
    turn = ledger.queue.get(submission.thread_id, submission.queued_turn_id)
    return turn is None or turn.state in _GONE or turn.submission != submission.parameters
