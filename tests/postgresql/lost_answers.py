"""Every command that there is, so that each can be given while its connection breaks."""

from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from turnledger import Claim, Ledger

Step = Callable[[Ledger, str], Any]
CHANGING = {  # from one time to the next, though nothing is wrong
    *("thread_id", "queued_turn_id", "created_at", "updated_at", "expires_at", "owner"),
    *("generation", "recorded_at", "oldest_waiting_at", "queue_order"),
}


class Case(NamedTuple):
    """A command.

    Attributes:
        prepare: What is done before; what it returns, the command gets.
        act: The command, on a thread.
    """

    prepare: Step
    act: Callable[[Ledger, str, Any], Any]


def nothing(_ledger: Ledger, _thread: str) -> None:
    """Nothing needs to be there."""


def turns(ledger: Ledger, thread: str) -> list[str]:
    """Three turns that wait."""
    many = [{"number": number} for number in range(3)]
    return [turn.queued_turn_id for turn in ledger.queue.append_many(thread, many)]


def claim(ledger: Ledger, thread: str) -> Claim:
    """A claim on the first of three."""
    turns(ledger, thread)
    taken = ledger.queue.claim_head(thread, "worker")
    assert taken is not None
    return taken


def dispatched(ledger: Ledger, thread: str) -> Claim:
    """A dispatch that has begun."""
    taken = claim(ledger, thread)
    ledger.queue.start_dispatch(taken, "dispatch")
    return taken


def failed(ledger: Ledger, thread: str) -> str:
    """A turn that failed; it can be tried again."""
    taken = claim(ledger, thread)
    ledger.queue.fail(taken, "no")
    return str(taken.queued_turn_id)


def unknown(ledger: Ledger, thread: str) -> str:
    """A turn whose outcome is unknown."""
    taken = dispatched(ledger, thread)
    ledger.queue.fail(taken, "no", outcome_unknown=True)
    return str(taken.queued_turn_id)


def lost(ledger: Ledger, thread: str) -> Claim:
    """A claim that was recovered after its dispatch had begun."""
    taken = dispatched(ledger, thread)
    ledger.queue.recover(thread, owner="worker")
    return taken


def appended_before(ledger: Ledger, thread: str) -> None:
    """An append under a key."""
    ledger.queue.append(thread, {}, idempotency_key="key", queued_turn_id="id")


def paused(ledger: Ledger, thread: str) -> None:
    """A paused thread."""
    ledger.queue.pause(thread, "because")


def archived(ledger: Ledger, thread: str) -> None:
    """An archived thread with turns in it."""
    turns(ledger, thread)
    ledger.threads.archive(thread)


def several(ledger: Ledger, thread: str) -> None:
    """Three threads that can be worked on."""
    for part in ("", " b", " c"):
        ledger.queue.append(thread + part, {})


def several_held(ledger: Ledger, thread: str) -> None:
    """Three threads whose owner is gone."""
    several(ledger, thread)
    assert len(ledger.queue.claim_next(thread, limit=3)) == 3


COMMANDS: dict[str, Case] = {
    "append": Case(nothing, lambda own, thread, _: own.queue.append(thread, {"a": 1})),
    "append with a key": Case(
        nothing,
        lambda own, thread, _: own.queue.append(
            thread, {}, idempotency_key="key", queued_turn_id="id"
        ),
    ),
    "append the same again": Case(
        appended_before,
        lambda own, thread, _: own.queue.append(
            thread, {}, idempotency_key="key", queued_turn_id="id"
        ),
    ),
    "append the same id again": Case(
        lambda own, thread: own.queue.append(thread, {}, queued_turn_id="id"),
        lambda own, thread, _: own.queue.append(thread, {}, queued_turn_id="id"),
    ),
    "append_many": Case(
        nothing, lambda own, thread, _: own.queue.append_many(thread, [{}, {}, {}])
    ),
    "append_many in more than one statement": Case(
        nothing, lambda own, thread, _: own.queue.append_many(thread, [{}] * 43)
    ),
    "edit": Case(turns, lambda own, thread, ids: own.queue.edit(thread, ids[1], {"b": 2})),
    "delete": Case(turns, lambda own, thread, ids: own.queue.delete(thread, ids[1])),
    "clear": Case(claim, lambda own, thread, _: own.queue.clear(thread)),
    "reorder": Case(turns, lambda own, thread, ids: own.queue.reorder(thread, ids[::-1])),
    "claim_head": Case(turns, lambda own, thread, _: own.queue.claim_head(thread, "worker")),
    "claim_next": Case(turns, lambda own, _, __: own.queue.claim_next("worker")),
    "claim_next of several": Case(
        several, lambda own, _, __: own.queue.claim_next("worker", limit=5)
    ),
    "claim_next of none": Case(nothing, lambda own, _, __: own.queue.claim_next("worker")),
    "renew": Case(claim, lambda own, _, held: own.queue.renew(held, 120)),
    "release": Case(claim, lambda own, _, held: own.queue.release(held)),
    "start_dispatch": Case(claim, lambda own, _, held: own.queue.start_dispatch(held, "d")),
    "ack": Case(dispatched, lambda own, _, held: own.queue.ack(held)),
    "ack of a lost claim": Case(lost, lambda own, _, held: own.queue.ack(held)),
    "ack_dispatch": Case(
        dispatched, lambda own, thread, _: own.queue.ack_dispatch(thread, "dispatch")
    ),
    "ack_dispatch of what was recovered": Case(
        lost, lambda own, thread, _: own.queue.ack_dispatch(thread, "dispatch")
    ),
    "fail": Case(dispatched, lambda own, _, held: own.queue.fail(held, {"status": 500})),
    "fail of a lost claim": Case(lost, lambda own, _, held: own.queue.fail(held, "late")),
    "retry": Case(failed, lambda own, thread, turn: own.queue.retry(thread, turn)),
    "resolve": Case(
        unknown, lambda own, thread, turn: own.queue.resolve(thread, turn, "retry", by="me")
    ),
    "pause": Case(turns, lambda own, thread, _: own.queue.pause(thread, "because")),
    "resume": Case(paused, lambda own, thread, _: own.queue.resume(thread)),
    "recover of one thread": Case(
        dispatched, lambda own, thread, _: own.queue.recover(thread, owner="worker")
    ),
    "recover of all": Case(several_held, lambda own, thread, _: own.queue.recover(owner=thread)),
    "fail_in_flight": Case(claim, lambda own, thread, _: own.queue.fail_in_flight(thread, "no")),
    "archive": Case(turns, lambda own, thread, _: own.threads.archive(thread)),
    "archive of a thread that isn't there": Case(
        nothing, lambda own, thread, _: own.threads.archive(thread)
    ),
    "unarchive": Case(archived, lambda own, thread, _: own.threads.unarchive(thread)),
    "delete of a thread": Case(claim, lambda own, thread, _: own.threads.delete(thread)),
}

QUESTIONS: dict[str, Case] = {
    "list": Case(turns, lambda own, thread, _: own.queue.list(thread)),
    "get": Case(turns, lambda own, thread, ids: own.queue.get(thread, ids[0])),
    "why_blocked": Case(claim, lambda own, thread, _: own.queue.why_blocked(thread)),
    "why": Case(claim, lambda own, thread, _: own.why(thread).reason),
    "thread": Case(claim, lambda own, thread, _: own.threads.get(thread)),
    "~ threads": Case(claim, lambda own, thread, _: own.threads.list(after=thread[:-1])),
    "log": Case(
        claim,
        lambda own, thread, _: [
            event.type for event in own.log.read(streams=[f"thread_queue:{thread}"])
        ],
    ),
    "wait_for_change": Case(claim, lambda own, _, __: own.wait_for_change(0, 5) > 0),
    "follow": Case(claim, lambda own, _, __: next(own.log.follow()).position),
}


def outline(result: Any) -> Any:
    """What two runs of the same command on two threads have in common."""
    if isinstance(result, list | tuple):
        return [outline(one) for one in result]
    if is_dataclass(result) and not isinstance(result, type):
        return outline(asdict(result))
    if isinstance(result, dict):
        return {name: outline(one) for name, one in result.items() if name not in CHANGING}
    return result
