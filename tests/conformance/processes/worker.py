"""A host's worker, as a process of its own: worker.py URL NOW ROLE [ARGUMENT…].

It says on its standard output what it is about to do and what it has done, a word and JSON on each
line. `--stop WORD` makes it stand still once it has said that word, until it is killed.
"""

import faulthandler
import json
import sys
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import turnledger
from turnledger import (
    Claim,
    ClaimLost,
    InvalidTransition,
    Ledger,
    MessageClaim,
    OutcomeUnknown,
    Resumption,
    RunClaim,
    Settings,
)

ABANDONED, LONG = 0.05, 60.0  # seconds, of a lease that nobody renews, and of one that is live
GIVE_UP_SECONDS = 300  # so that a test whose worker hangs fails, with the worker's stack


def say(word: str, value: Any = None) -> None:
    """Tell the test, and stand still if it wants so."""
    print(word, json.dumps(value), flush=True)
    if sys.argv[-2:] == ["--stop", word]:
        sys.stdin.read()


def wait_for_the_start() -> None:
    """Begin together with other workers."""
    say("ready")
    sys.stdin.readline()


def send(outbox: str, claim: Claim) -> None:
    """The hand-over that can't be taken back."""
    assert claim.submission is not None
    with Path(outbox).open("a", encoding="utf-8") as file:
        file.write(claim.submission["text"] + "\n")


def deliver(ledger: Ledger, owner: str, outbox: str) -> None:
    """Recover, then send whatever can be claimed, one by one."""
    say("recovered", [turn.queued_turn_id for turn in ledger.queue.recover()])
    say("claiming")
    while claims := ledger.queue.claim_next(owner):
        [claim] = claims
        say("claimed", claim.submission)
        ledger.queue.start_dispatch(claim, f"{owner} {claim.epoch}")
        say("dispatched", claim.submission)
        send(outbox, claim)
        say("sent", claim.submission)
        ledger.queue.ack(claim)
        say("acked", claim.submission)


def hand_over(ledger: Ledger, owner: str, outbox: str, mode: Any) -> None:
    """Recover, then deliver the messages of one thread, one by one."""
    ledger.inbox.recover(mode=mode)
    say("claiming")
    can = {"can_after_turn": True, "can_steer_current_turn": False}
    while isinstance(claim := ledger.inbox.claim_next("thread", owner, **can), MessageClaim):
        say("claimed", claim.content)
        with Path(outbox).open("a", encoding="utf-8") as file:
            file.write(claim.content + "\n")
        say("sent", claim.content)
        ledger.inbox.confirm(claim)
        say("confirmed", claim.content)


def take(ledger: Ledger, owner: str, count: str) -> None:
    """Deliver the messages of many threads, and say what was won."""
    wait_for_the_start()
    won = []
    for number in range(int(count)):
        thread = f"thread {number}"
        while ledger.inbox.list(thread):
            claim = ledger.inbox.claim_next(
                thread, owner, can_after_turn=True, can_steer_current_turn=False
            )
            if isinstance(claim, MessageClaim):
                ledger.inbox.confirm(claim)
                won.append([thread, claim.epoch, claim.content])
    say("won", won)


def post(ledger: Ledger, message_id: str, text: str) -> None:
    """Post a message under the id that its sender gave it."""
    wait_for_the_start()
    say("posting")
    message = ledger.inbox.post("thread", text, source="worker", message_id=message_id)
    say("posted", message.duplicate)


def refuse(ledger: Ledger, owner: str, outbox: str) -> None:
    """A provider that answers 400 to everything."""
    ledger.queue.recover()
    while claims := ledger.queue.claim_next(owner):
        [claim] = claims
        ledger.queue.start_dispatch(claim, f"{owner} {claim.epoch}")
        send(outbox, claim)
        ledger.queue.fail(claim, {"status": 400})
        say("failed", claim.submission)


def append(ledger: Ledger, thread: str, client_id: str, text: str) -> None:
    """Append a message under the id that the client gave it."""
    wait_for_the_start()
    say("appending")
    turn = ledger.queue.append(thread, {"text": text}, queued_turn_id=client_id)
    say("appended", turn.duplicate)


def look(ledger: Ledger, *threads: str) -> None:
    """List the queues of threads, as far as they can be read."""
    for thread in threads:
        for turn in ledger.queue.list(thread):
            said = turn.unreadable is not None
            say("turn", [turn.queued_turn_id, turn.state, turn.submission, said])


def work(ledger: Ledger, owner: str, limit: str) -> None:
    """Do all the work there is, and say what was won."""
    wait_for_the_start()
    won = []
    while claims := ledger.queue.claim_next(owner, limit=int(limit)):
        for claim in claims:
            ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
            ledger.queue.ack(claim)
            won.append([claim.thread_id, claim.epoch, claim.submission])
    say("won", won)


def edit(ledger: Ledger, count: str) -> None:
    """Edit the turn "head" of many threads."""
    wait_for_the_start()
    for number in range(int(count)):
        try:
            turn = ledger.queue.edit(f"thread {number}", "head", {"text": "edited"})
            say("edited", turn.submission)
        except InvalidTransition:
            say("refused")


def claim(ledger: Ledger, owner: str, count: str) -> None:
    """Claim the head of many threads."""
    wait_for_the_start()
    for number in range(int(count)):
        claim = ledger.queue.claim_head(f"thread {number}", owner)
        say("claimed", None if claim is None else claim.submission)


def answer(ledger: Ledger, owner: str, outbox: str, words: str = "question") -> None:
    """Take up the turns of a coordinator; what is of unknown outcome is left to others.

    What is asked is put together from the message and these words.
    """
    ledger.coordinator.recover()
    say("recovered")
    for turn in ledger.coordinator.recoverable():
        resumption = ledger.coordinator.resume(turn.turn_id, owner)
        if resumption is not None:
            say("step", [resumption.step, resumption.attempt])
            if resumption.step != "resolve_unknown":
                try:
                    go_on(ledger, resumption, outbox, words)
                except ClaimLost as refusal:
                    say("lost", refusal.epoch)


def go_on(ledger: Ledger, resumption: Resumption, outbox: str, words: str) -> None:
    """Ask the provider as often as its answers are no good: of the first question, the first."""
    coordinator, claim, number = ledger.coordinator, resumption.claim, resumption.attempt
    response = resumption.response if resumption.step == "use_response" else None
    while response is None:
        request = resumption.request or f"{claim.message}, {words} {number}"
        attempt = coordinator.prepare(claim, request, attempt=number)
        say("prepared", number)
        coordinator.start_dispatch(claim, number)
        say("dispatching", number)
        with Path(outbox).open("a", encoding="utf-8") as file:
            file.write(f"{request}\n")
        say("sent", number)
        response = "answer"
        coordinator.respond(claim, number, attempt.request_hash, response)
        say("answered", number)
        if number == 1 and claim.message == "difficult":
            coordinator.reject(claim, number, "no good")
            say("rejected", number)
            number, response = number + 1, None
    coordinator.complete(claim, response)
    say("completed", claim.turn_id)


def be_refused(ledger: Ledger, owner: str, outbox: str, status: str) -> None:
    """Ask a provider that says no; give the turn back if another time may help, else fail it."""
    claim = ledger.coordinator.claim_next(owner=owner)
    assert claim is not None
    attempt = ledger.coordinator.prepare(claim, f"{claim.message}, question")
    ledger.coordinator.start_dispatch(claim, attempt.attempt)
    with Path(outbox).open("a", encoding="utf-8") as file:
        file.write(f"{attempt.request}\n")
    again = status == "429"
    ledger.coordinator.refuse(claim, attempt.attempt, {"status": status}, retryable=again)
    say("refused", attempt.attempt)
    if again:
        ledger.coordinator.release(claim)
    else:
        ledger.coordinator.fail(claim, {"status": status})


def share(ledger: Ledger, owner: str, item: str) -> None:
    """Do all the turns of a work item, and say which were won."""
    wait_for_the_start()
    won = []
    while turn := ledger.coordinator.claim_next(item, owner=owner):
        ledger.coordinator.complete(turn, owner)
        won.append([turn.turn_id, turn.epoch])
    say("won", won)


def begin(ledger: Ledger, turn_id: str, text: str) -> None:
    """Begin a turn under the id that its sender gave it."""
    wait_for_the_start()
    turn = ledger.coordinator.begin("item", text, turn_id=turn_id)
    say("begun", turn.duplicate)


def execute(ledger: Ledger, owner: str, outbox: str, *keys: str) -> None:
    """Start the run, or take it over, and do its effects; what is in question is left to others."""
    recovery = ledger.recovery.run_once()
    say("recovered", recovery.operations_orphaned)
    run = ledger.runs.start("run", "item", "action", owner)
    if run is None:
        say("refused")
        return
    for key in keys:
        say("beginning", key)
        try:
            result = ledger.operations.once(run, key, "send", key, lambda key=key: do(outbox, key))
            say("done", result)
        except OutcomeUnknown as refusal:
            say("doubtful", refusal.key)
    ledger.runs.finish(run)
    say("finished")


def do(outbox: str, key: str) -> str:
    """The effect outside, which can't be undone."""
    say("doing", key)
    with Path(outbox).open("a", encoding="utf-8") as file:
        file.write(f"{key}\n")
    say("sent", key)
    return f"result of {key}"


def contend(ledger: Ledger, owner: str, outbox: str, count: str) -> None:
    """Do the same effects as others under one claim, each at most once; say which were mine."""
    claim = RunClaim(run_id="run", owner="all", epoch=1, generation=ledger.generation)
    wait_for_the_start()
    mine: list[str] = []
    for number in range(int(count)):
        key, before = f"key {number}", len(mine)

        def body(key: str = key) -> str:
            mine.append(key)
            do(outbox, key)
            return owner

        say("trying", key)
        try:
            by = ledger.operations.once(claim, key, "send", {}, body)
            assert (by == owner) is (len(mine) > before)
        except OutcomeUnknown:  # somebody else is at it, or the run ended meanwhile
            say("doubtful", key)
        except ClaimLost:
            break
    say("mine", mine)


def toil(ledger: Ledger, owner: str, seconds: str) -> None:
    """Do work of every kind for some time, one after the other, each under a claim that is live."""
    wait_for_the_start()
    end, count = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        name = f"{owner} {count}"
        run = ledger.runs.start(name, "item", "action", owner)
        begun = ledger.coordinator.begin("item", name, turn_id=name, owner=owner).claim
        assert run is not None
        assert begun is not None
        for kind in (do_a_queued_turn, do_a_message):
            kind(ledger, owner)
        request = ledger.coordinator.prepare(begun, name)
        ledger.coordinator.start_dispatch(begun, 1)
        assert ledger.operations.once(run, name, "send", {}, partial(scanned, ledger, name)) == name
        ledger.coordinator.respond(begun, 1, request.request_hash, name)
        ledger.coordinator.complete(begun, name)
        ledger.runs.finish(run)
        count += 1
    say("toiled", count)


def scanned(ledger: Ledger, name: str) -> str:
    """An effect in the middle of which somebody recovers, whatever the others do."""
    ledger.recovery.run_once()
    return name


def do_a_queued_turn(ledger: Ledger, owner: str) -> None:
    """From its append to its ack, in a thread of one's own."""
    ledger.queue.append(owner, {})
    claim = ledger.queue.claim_head(owner, owner)
    assert claim is not None
    ledger.queue.start_dispatch(claim, str(claim.epoch))
    ledger.queue.ack(claim)


def do_a_message(ledger: Ledger, owner: str) -> None:
    """Likewise in an inbox."""
    ledger.inbox.post(owner, "hi", source="worker")
    can = {"can_after_turn": True, "can_steer_current_turn": False}
    claim = ledger.inbox.claim_next(owner, owner, **can)
    assert isinstance(claim, MessageClaim)
    ledger.inbox.confirm(claim)


def abandon(ledger: Ledger, owner: str, count: str) -> None:
    """Claim so many things of each kind, and let them be until somebody has recovered them all."""
    wait_for_the_start()
    for number in range(int(count)):
        name = f"{owner} {number}"
        ledger.coordinator.begin("left", number, turn_id=name, owner=owner, lease=ABANDONED)
        ledger.queue.append(name, {})
        ledger.queue.claim_head(name, owner, ABANDONED)
        run = ledger.runs.start(name, "left", "action", owner, LONG)
        assert run is not None
        ledger.operations.create_and_claim(run, name, "send", {}, automatic=False)
        ledger.runs.renew(run, ABANDONED)
    say("abandoned")
    while ledger.coordinator.list("left", status="claimed") or is_running(ledger, owner, count):
        pass


def is_running(ledger: Ledger, owner: str, count: str) -> bool:
    """Whether something is in flight or running that was abandoned."""
    names = [f"{owner} {number}" for number in range(int(count))]
    flying = any(ledger.queue.why_blocked(name) for name in names)
    return flying or any(one.execution == "running" for one in ledger.operations.list("left"))


def recover(ledger: Ledger, seconds: str) -> None:
    """Recover for some time, again and again; say how often."""
    wait_for_the_start()
    end, count = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        ledger.recovery.run_once()
        count += 1
    say("scanned", count)


IN_REAL_TIME = (toil, abandon, recover)
ROLES: dict[str, Callable[..., None]] = {
    role.__name__: role
    for role in (
        *(deliver, refuse, append, look, work, edit, claim, hand_over, take, post),
        *(answer, be_refused, share, begin, execute, contend, *IN_REAL_TIME),
    )
}


def main(url: str, now: str, role: str, *arguments: str) -> None:
    """Open the ledger, and play a role in it."""
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    instant = datetime.fromisoformat(now)
    clock = None if role in {one.__name__ for one in IN_REAL_TIME} else lambda: instant
    given = arguments[:-2] if "--stop" in arguments else arguments
    if role == "open":
        wait_for_the_start()
    settings = Settings(synchronous="NORMAL" if role == "work" else "FULL")
    with turnledger.open(url, clock=clock, settings=settings) as ledger:
        if role == "open":
            ledger.queue.append("thread", {"text": given[0]})
            say("opened", [ledger.ledger_id, ledger.generation])
        else:
            ROLES[role](ledger, *given)


if __name__ == "__main__":
    main(*sys.argv[1:])
