"""The diagrams in docs/lifecycles.md say what decide really allows, and no more.

A diagram is a mermaid stateDiagram-v2 under the heading of what it is about. Lines without a
command (`acked --> [*]`) are layout and don't count. Commands have the names that are recorded.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnledger.domain import inbox, thread
from turnledger.domain.inbox import Inbox
from turnledger.domain.inbox import commands as inbox_commands
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.domain.conftest import Fact, Given, Wish
    from turnledger.domain.command import Command
    from turnledger.domain.event import Event

Transition = tuple[str, str, str]  # from, command, to

DOCUMENT = Path(__file__).parents[2] / "docs" / "lifecycles.md"
NONE = "[*]"
_HEADING = re.compile(r"^#+\s+(.+?)\s*$")
_LINE = re.compile(r"^\s*(\S+)\s+-->\s+(\S+)\s*:\s*(\w+)\s*$")


def drawn(title: str) -> list[Transition]:
    """The transitions in the diagram under a title."""
    found: list[Transition] = []
    heading, inside = "", False
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("```"):
            inside = line.strip() == "```mermaid"
        elif not inside and (found_title := _HEADING.match(line)):
            heading = found_title[1]
        elif inside and heading == title and (arrow := _LINE.match(line)):
            found.append((arrow[1], arrow[3], arrow[2]))
    return found


def compare(title: str, there: list[Transition], allowed: set[Transition]) -> None:
    """Say what differs, and print the lines as they ought to be."""
    lines = "\n".join(f"    {a} --> {b}: {command}" for a, command, b in sorted(allowed))
    right = f"'{title}' in {DOCUMENT} ought to have these lines:\n{lines}"
    assert set(there) == allowed, right
    assert len(there) == len(set(there)), "a line stands there twice"


def histories(fact: Fact) -> Iterator[tuple[str, list[Event]]]:
    """Representatives of each state of turn a; b and c wait behind it."""
    waiting: list[Event] = [*fact.queue("a", "b", "c")]
    dispatching = fact.dispatching("a", "b", "c")
    yield NONE, []
    yield "pending", waiting
    yield "claimed", [*waiting, fact.claimed("a")]
    yield "claimed", [*waiting, fact.claimed("a", claims=26)]
    yield "dispatching", dispatching
    yield "failed", [*dispatching, fact.failed("a")]
    yield "failed", [*dispatching, fact.failed("a", unknown=True)]
    yield "acked", [*dispatching, fact.acked("a")]
    yield "deleted", [*waiting, fact.deleted("a")]
    yield "deleted", [*dispatching, fact.cleared("b", "c", flying="a")]


def commands(wish: Wish, new: bool, visible: list[str]) -> list[Command]:  # noqa: FBT001
    """Every command of a queue, in all its forms."""
    first, second = ("a", "b") if new else ("y", "z")
    alone = (c.Delete, c.Clear, c.ClaimHead, c.Renew, c.Release, c.StartDispatch, c.Ack)
    others = (c.AckDispatch, c.Fail, c.Retry, c.Pause, c.Resume, c.Recover, c.FailInFlight)
    return [
        wish.append(first),
        wish.append_many(first, second),
        wish(c.Edit),
        wish(c.Reorder, queued_turn_ids=tuple(reversed(visible))),
        wish(c.Fail, outcome_unknown=True),
        wish(c.Recover, owner="worker"),
        wish(c.Resolve, decision="acked"),
        wish(c.Resolve, decision="retry"),
        *(wish(kind) for kind in (*alone, *others)),
    ]


def touches(event: Any) -> bool:
    """Whether an event is about turn a."""
    ids = (getattr(event, name, None) for name in ("queued_turn_id", "in_flight_id"))
    return "a" in (*ids, *getattr(event, "queued_turn_ids", ()))


def test_the_diagram_of_the_queue_is_what_is_allowed(given: Given, fact: Fact, wish: Wish) -> None:
    allowed: set[Transition] = set()
    for before, history in histories(fact):
        there = given(*history)
        for command in commands(wish, before == NONE, there.visible()):
            for seconds in (0, 60):
                events = there.at(seconds).when(command).events or []
                if any(map(touches, events)):
                    after = given(*history, *events).state.turns["a"].state
                    allowed.add((before, command.NAME, after))
    compare("A queued turn", drawn("A queued turn"), allowed)


def test_every_command_of_the_queue_was_tried(given: Given, wish: Wish) -> None:
    tried = {type(command) for command in commands(wish, new=True, visible=given().visible())}
    kinds = [kind for kind in vars(c).values() if isinstance(kind, type)]
    assert tried == {kind for kind in kinds if "NAME" in vars(kind)}


def test_the_diagram_of_the_thread_is_what_is_allowed(given: Given, wish: Wish) -> None:
    archived = Thread.Archived()
    lives: tuple[tuple[Event, ...], ...] = (
        (),
        (archived,),
        (archived, Thread.Unarchived()),
        (Thread.Deleted(),),
    )
    allowed: set[Transition] = set()
    fork = thread.Fork(thread_id="thread", forked_from="another")
    for history in lives:
        for command in (*map(wish, (thread.Archive, thread.Unarchive, thread.Delete)), fork):
            events = given(*history).when(command).events or []
            before, after = given(*history).life, given(*history, *events).life
            if events and command is not fork:
                allowed.add((before, command.NAME, after))
    there = [line for line in drawn("A thread") if line[0] != NONE]  # any first command makes it
    compare("A thread", there, allowed)


# --- the inbox


def inbox_histories(given: Given) -> Iterator[tuple[str, list[Event]]]:
    """Representatives of each state of message a; message b waits behind it."""
    told: dict[str, Any] = {"source": "test", "instructions": None, "metadata": {}}
    told |= {"content": "hi", "delivery": "after-turn", "created_at": given.now}
    a, b = (
        Inbox.Posted(message_id=name, arrival=arrival, **told) for arrival, name in enumerate("ab")
    )
    until = given.now + timedelta(seconds=60)
    flight: dict[str, Any] = {"message_id": "a", "owner": "worker", "epoch": 1}
    claimed = Inbox.Claimed(**flight, expires_at=until, claims=1, deliveries=1)
    held: dict[str, Any] = {"message_id": "a", "epoch": 1}
    waiting, flying = [a, b], [a, b, claimed]
    yield NONE, []
    yield "pending", waiting
    yield "pending", [a.model_copy(update={"delivery": "by-pigeon"}), b]
    yield "claimed", flying
    yield "claimed", [*waiting, claimed.model_copy(update={"claims": 26})]
    yield "confirmed", [*flying, Inbox.Confirmed(**held)]
    yield "expired", [*flying, Inbox.Expired(**held, deliveries=1, reason="why")]
    yield "rejected", [*waiting, Inbox.Rejected(message_id="a", reason="why")]
    yield "deleted", [*waiting, Inbox.Deleted(message_id="a", undelivered=False)]


def of_inbox(wish: Wish) -> list[Command]:
    """Every command of an inbox, in all its forms."""
    post: dict[str, Any] = {"content": "hi", "source": "test", "metadata": {}}
    can = {"can_after_turn": True, "can_steer_current_turn": True}
    return [
        wish(inbox_commands.Post, message_id="a", **post),
        wish(inbox_commands.ClaimNext, **can),
        wish(inbox_commands.Confirm),
        wish(inbox_commands.Release),
        wish(inbox_commands.Recover),
        wish(inbox_commands.Recover, mode="at_least_once"),
        wish(inbox_commands.Delete, message_id="a"),
        wish(inbox_commands.Requeue, message_id="a"),
        wish(inbox_commands.Clear),
    ]


def test_the_diagram_of_the_inbox_is_what_is_allowed(given: Given, wish: Wish) -> None:
    allowed: set[Transition] = set()
    for before, history in inbox_histories(given):
        there = given(*history)
        for command in of_inbox(wish):
            if command.NAME == "post" and before != NONE:
                continue  # its id is looked up before it is decided
            for seconds in (0, 60):
                events = there.at(seconds).when(command).events or []
                messages = inbox.fold([*history, *events]).messages
                if events and messages["a"].state != before:
                    allowed.add((before, command.NAME, messages["a"].state))
    compare("A message", drawn("A message"), allowed)


def test_every_command_of_the_inbox_was_tried(wish: Wish) -> None:
    kinds = [kind for kind in vars(inbox_commands).values() if isinstance(kind, type)]
    assert set(map(type, of_inbox(wish))) == {kind for kind in kinds if "NAME" in vars(kind)}
