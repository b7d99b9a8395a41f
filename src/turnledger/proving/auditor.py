"""Follows a history: each call, its answer, its events; and says which rule was broken, if one."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from turnledger.domain.settings import Settings
from turnledger.proving.calls import Step, refused
from turnledger.proving.effect_book import OperationBook, RunBook, TimerBook
from turnledger.proving.inbox_book import InboxBook
from turnledger.proving.queue_book import QueueBook
from turnledger.proving.rules import Fact, Happened, Moment, must
from turnledger.proving.turn_book import TurnBook

_LIVES = {"archived": "archived", "unarchived": "active", "deleted": "deleted"}
_REPORTS = {  # what is kept of these calls, if their claim is lost
    *("queue.ack", "queue.fail", "inbox.confirm", "coordinator.respond", "coordinator.refuse"),
    *("coordinator.complete", "coordinator.fail"),
}
_CALL_NAMES = ("owner", "lease")  # not part of the content of a call with a key

Book = QueueBook | InboxBook | TurnBook | RunBook | OperationBook


class Auditor:
    """What is known of a ledger by its events, and of the answers that were given.

    Attributes:
        queues: By thread; likewise inboxes.
        turns: Coordinator turns by id; likewise runs, operations by key, timers.
        revisions: Of each work item.
    """

    def __init__(self, settings: Settings) -> None:
        """Begin with an empty ledger."""
        self._longest, self._limit = settings.max_lease, settings.max_visible_turns
        self.queues: dict[str, QueueBook] = {}
        self.inboxes: dict[str, InboxBook] = {}
        self.turns: dict[str, TurnBook] = {}
        self.runs: dict[str, RunBook] = {}
        self.operations: dict[str, OperationBook] = {}
        self.timers: dict[str, TimerBook] = {}
        self.revisions: dict[str, int] = {}
        self.position = 0
        self._last: dict[str, int] = {}
        self._evidence: set[tuple[str, str, int, str]] = set()
        self._keys: dict[tuple[str, str], tuple[str, str]] = {}

    def moment(self, step: Step, now: datetime) -> Moment:
        """A step, and when it is judged."""
        return Moment(now, self._longest, step)

    def queue(self, thread_id: str) -> QueueBook:
        """A thread's."""
        return self.queues.setdefault(thread_id, QueueBook(self._limit))

    def inbox(self, thread_id: str) -> InboxBook:
        """Likewise."""
        return self.inboxes.setdefault(thread_id, InboxBook())

    def hear(self, step: Step, now: datetime, answer: str, events: Iterable[Happened]) -> None:
        """A call was answered.

        Args:
            step: The call.
            now: The clock's reading.
            answer: As `carry_out` gives it.
            events: All that are there now and weren't before.

        Raises:
            Broken: A rule doesn't hold.
        """
        moment = self.moment(step, now)
        foretold, new = self._foretold(moment), list(events)
        if foretold is not None:
            got = _refusal(answer)
            must(got == foretold, "a call is answered as it ought to be", got=got, ought=foretold)
        self._given_out(moment, answer)
        self._key(step, answer, new)
        for event in new:
            self._take(event, moment)
        self._kept(step, answer)

    # --- answers

    def _foretold(self, moment: Moment) -> str | None:
        given, service = moment.step.given, moment.step.service
        shown = moment.step.shown
        target = shown[0] if shown else given.get("thread_id", "")
        book: Book | None = None
        match service:
            case "queue":
                book = self.queues.get(target)
            case "inbox":
                book = self.inboxes.get(target)
            case "coordinator":
                book = self.turns.get(target)
            case "runs":
                book = self.runs.get(target)
            case "operations":
                book = self.operations.get(given.get("key", ""))
            case _:
                return None
        return None if book is None else book.expected(moment)

    def _given_out(self, moment: Moment, answer: str) -> None:
        """Whether there is a claim exactly when there ought to be one."""
        step = moment.step
        got = bool(json.loads(answer))
        match step.call:
            case "queue.claim_head":
                ought = self.queue(step.given["thread_id"]).why_blocked(moment) is None
            case "queue.claim_next":
                ought = self._claims_next(moment, answer)
            case "coordinator.claim" | "coordinator.resume":
                turn = self.turns.get(step.given["turn_id"])
                ought = turn is not None and turn.claimable(moment)
            case "coordinator.claim_next":
                ought = any(self._takes(turn, moment) for turn in self.turns.values())
            case "inbox.claim_next":
                ought = self.inbox(step.given["thread_id"]).may_claim(moment)
                got = '"epoch"' in answer
            case _:
                return
        must(got == ought, "a claim is given out exactly if it can be", got=got, ought=ought)

    def _claims_next(self, moment: Moment, answer: str) -> bool:
        free = [
            (queue.visible()[0].created_at, thread)
            for thread, queue in self.queues.items()
            if queue.why_blocked(moment) is None
        ]
        ought = [thread for _, thread in sorted(free)][: moment.step.given["limit"]]
        got = [claim["thread_id"] for claim in json.loads(answer)]
        must(got == ought, "the longest waiting heads are claimed first", got=got, ought=ought)
        return bool(ought)

    def _takes(self, turn: TurnBook, moment: Moment) -> bool:
        late = turn.not_before is not None and moment.now < turn.not_before
        item = moment.step.given.get("work_item_id")
        return turn.claimable(moment) and not late and item in (None, turn.work_item_id)

    def _key(self, step: Step, answer: str, new: list[Happened]) -> None:
        """The same key again gives the first result, and nothing happens."""
        key = step.given.get("idempotency_key")
        if key is None:
            return
        scope = step.given.get("thread_id") or step.given.get("work_item_id") or ""
        given = {name: one for name, one in step.given.items() if name not in _CALL_NAMES}
        content = step.call + json.dumps(given, sort_keys=True)
        known = self._keys.get((scope, key))
        if known is None:
            if not _refusal(answer):
                self._keys[scope, key] = (content, first_result(answer))
            return
        must(not new, "a key that is known changes nothing", key=key)
        if _refusal(answer) == "thread_deleted":
            return
        if known[0] != content:
            conflict = _refusal(answer) == "idempotency_conflict"
            must(conflict, "a key is used for one thing only", key=key)
        else:
            must(first_result(answer) == known[1], "the same key gives the first result", key=key)
            must('"duplicate": true' in answer, "a duplicate is called one", key=key)

    def _kept(self, step: Step, answer: str) -> None:
        """What a lost claim knew is kept."""
        if step.call not in _REPORTS or _refusal(answer) != "claim_lost" or step.shown is None:
            return
        target, owner, epoch = step.shown
        book: Any = {"queue": self.queues, "inbox": self.inboxes, "coordinator": self.turns}
        known = book[step.service].get(target)
        if step.given.get("attempt", 0) > len(getattr(known, "attempts", ())):
            return
        if known is None or known.epochs.owners.get(epoch) != owner:
            return
        kind = step.call.partition(".")[2]
        there = any(
            one[0].endswith(target) and one[1:] == (owner, epoch, kind) for one in self._evidence
        )
        must(there, "what a lost claim reports is kept as evidence", kind=kind, target=target)

    # --- events

    def _take(self, event: Happened, moment: Moment) -> None:
        must(event.position == self.position + 1, "positions have no gaps")
        self.position = event.position
        last = self._last.get(event.stream_id)
        must(last is None or event.recorded_at >= last, "recorded_at never falls within a stream")
        self._last[event.stream_id] = event.recorded_at
        category, _, kind = event.type.partition(".")
        subject = event.stream_id.partition(":")[2]
        self._enter(category, Fact(subject, kind, event.data), moment)

    def _enter(self, category: str, fact: Fact, moment: Moment) -> None:
        match category:
            case "thread_queue":
                self.queue(fact.subject).take(fact, moment)
            case "inbox":
                self.inbox(fact.subject).take(fact, moment)
            case "coordinator_turn":
                self.turns.setdefault(fact.subject, TurnBook()).take(fact, moment)
            case "run":
                self.runs.setdefault(fact.subject, RunBook()).take(fact, moment)
            case "operation":
                new = OperationBook(self.runs)
                self.operations.setdefault(fact.subject, new).take(fact, moment)
            case "timer":
                self.timers.setdefault(fact.subject, TimerBook()).take(fact, moment)
            case _:
                self._enter_beside(category, fact)

    def _enter_beside(self, category: str, fact: Fact) -> None:
        data = fact.data
        if category == "evidence":
            piece = (fact.subject, data["owner"], data["epoch"], data["kind"])
            must(piece not in self._evidence, "evidence is kept once", piece=piece)
            self._evidence.add(piece)
        elif category == "work_item":
            self._revised(fact.subject, data)
        elif fact.kind in _LIVES:
            self.queue(fact.subject).life = self.inbox(fact.subject).life = _LIVES[fact.kind]

    def _revised(self, item: str, data: Mapping[str, Any]) -> None:
        revision = data.get("revision")
        if revision is not None:
            before = self.revisions.get(item, 0)
            must(revision == before + 1, "a revision grows by 1", revision=revision)
            self.revisions[item] = revision


def _refusal(answer: str) -> str:
    """The code of a refusal; "" if it is none."""
    if not answer.startswith('{"refused"'):
        return ""
    code: str = json.loads(answer)["refused"]
    return code if answer == refused(code) else ""


def first_result(answer: str) -> str:
    """An answer without what says that it is the first one."""
    return json.dumps(_stripped(json.loads(answer)), sort_keys=True)


def _stripped(value: Any) -> Any:
    if isinstance(value, list):
        return [_stripped(one) for one in value]
    if isinstance(value, dict):
        return {k: _stripped(v) for k, v in value.items() if k not in ("duplicate", "claim")}
    return value
