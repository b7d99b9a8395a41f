"""A host's worker, as a process of its own: worker.py URL NOW ROLE [ARGUMENT…].

It says on its standard output what it is about to do and what it has done, a word and JSON on each
line. `--stop WORD` makes it stand still once it has said that word, until it is killed.
"""

import faulthandler
import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import turnledger
from turnledger import Claim, InvalidTransition, Ledger, MessageClaim, Settings

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


ROLES: dict[str, Callable[..., None]] = {
    role.__name__: role
    for role in (deliver, refuse, append, look, work, edit, claim, hand_over, take, post)
}


def main(url: str, now: str, role: str, *arguments: str) -> None:
    """Open the ledger, and play a role in it."""
    faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
    time = datetime.fromisoformat(now)
    given = arguments[:-2] if "--stop" in arguments else arguments
    if role == "open":
        wait_for_the_start()
    settings = Settings(synchronous="NORMAL" if role == "work" else "FULL")
    with turnledger.open(url, clock=lambda: time, settings=settings) as ledger:
        if role == "open":
            ledger.queue.append("thread", {"text": given[0]})
            say("opened", [ledger.ledger_id, ledger.generation])
        else:
            ROLES[role](ledger, *given)


if __name__ == "__main__":
    main(*sys.argv[1:])
