"""The diagrams in docs/lifecycles.md say what decide really allows, and no more.

A diagram is a mermaid stateDiagram-v2 under the heading of what it is about. Lines without a
command (`acked --> [*]`) are layout and don't count. Commands have the names that are recorded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnledger.domain import thread
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
    for history in lives:
        for kind in (thread.Archive, thread.Unarchive, thread.Delete):
            command = wish(kind)
            events = given(*history).when(command).events or []
            before, after = given(*history).life, given(*history, *events).life
            if events:
                allowed.add((before, command.NAME, after))
    there = [line for line in drawn("A thread") if line[0] != NONE]  # any first command makes it
    compare("A thread", there, allowed)
