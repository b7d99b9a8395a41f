"""Whatever hosts do, the code of now answers every recorded command as it did then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.replaying.working import OperationHost
from tests.projections.test_coordinator_replay import Host as CoordinatorHost
from tests.projections.test_replay import Host as QueueHost
from tests.projections.test_timer_replay import Host as TimerHost
from turnledger import InvalidIdentifier, InvalidPayload
from turnledger.domain import evidence
from turnledger.domain.evidence import KeepCommand
from turnledger.infrastructure.deciding.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from turnledger import Ledger, RecordedEvent

HOSTS: tuple[tuple[Any, int], ...] = (
    (QueueHost, 16),
    (CoordinatorHost, 3),
    (TimerHost, 4),
    (OperationHost, 6),
)
STEPS = 150
SMALL = {"max_visible_turns": 5, "max_claims": 2, "max_timers": 4}


def finish(ledger: Ledger) -> None:
    """Give the commands that a host at random seldom gets through."""
    ledger.queue.append("last", {"text": "hi"})
    claim = ledger.queue.claim_head("last", "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "last dispatch")
    assert ledger.queue.ack_dispatch("last", "last dispatch")
    held = ledger.runs.start("last", "item", "action", "worker")
    assert held is not None
    ledger.operations.create_and_claim(held, "last", "shell", {}, automatic=False)
    assert ledger.operations.request_cancel("last")


@pytest.mark.parametrize("kind", ["sqlite"])
def test_every_kind_of_command_is_answered_as_it_was_recorded(
    open_ledger: Callable[..., Ledger], clock: Clock
) -> None:
    ledger = open_ledger(**SMALL)
    for host, seeds in HOSTS:
        for seed in range(seeds):
            host(ledger, clock, seed).work(STEPS)
    finish(ledger)
    report = ledger.replay()
    assert (report.differences, report.unread, report.notes) == ((), (), ())
    assert (report.ok, report.same, report.different) == (True, report.commands, 0)
    events = ledger.log.read(limit=100_000)
    assert report.events == len(events)
    seen = {(one.stream_id.partition(":")[0], one.metadata["command"]["name"]) for one in events}
    wanted = {(word, kind.NAME) for word, known in KINDS.items() for kind in known.classes}
    assert wanted | {(evidence.CATEGORY, KeepCommand.NAME)} == seen
    kept = {one.type for one in events if one.type.startswith("evidence.")}
    assert kept == {kind.TOPIC for kind in evidence.EVENTS}


def test_what_hosts_did_at_random_is_answered_alike_on_every_store(
    open_ledger: Callable[..., Ledger], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnledger.replaying._PAGE", 100)
    ledger = open_ledger(**SMALL)
    for host, _ in HOSTS:
        host(ledger, clock, 77).work(STEPS)
    finish(ledger)
    told: list[int] = []
    report = ledger.replay(progress=told.append)
    assert (report.differences, report.unread, report.notes) == ((), (), ())
    assert report.same == report.commands > 100
    assert told == list(range(100, report.events + 1, 100))


def test_a_thread_and_a_work_item_are_replayed_alone(
    open_ledger: Callable[..., Ledger], clock: Clock
) -> None:
    ledger = open_ledger(**SMALL)
    for host, _ in HOSTS:
        host(ledger, clock, 78).work(60)
    timer_of = {one.stream_id for one in ledger.log.read(types=["timer.created"])}
    for thread_id in ("one:78:0", "a:78:0"):
        report = ledger.replay(thread_id=thread_id)
        about = ("thread:", "thread_queue:", "inbox:", "evidence:thread_queue:", "evidence:inbox:")
        mine = {f"{prefix}{thread_id}" for prefix in about}
        events = [one for one in ledger.log.read(limit=10_000) if is_of(one, mine, timer_of)]
        mine |= {
            one.stream_id
            for one in events
            if one.type == "timer.created" and one.data["thread_id"] == thread_id
        }
        assert report.events == sum(one.stream_id in mine for one in events) > 5
        assert (report.same, report.ok) == (report.commands, True)
    report = ledger.replay(work_item_id="item 78")
    kinds = ("coordinator_turn.", "work_item.", "run.", "operation.", "evidence.kept_of_")
    found = [one.type for one in ledger.log.read(limit=10_000) if one.type.startswith(kinds)]
    assert report.events == len(found) - found.count("evidence.kept_of_message") > 20
    assert (report.same, report.ok) == (report.commands, True)
    assert ledger.replay(thread_id="nobody").events == 0


def is_of(event: RecordedEvent, streams: set[str], timers: set[str]) -> bool:
    return event.stream_id in streams | timers


def test_a_thread_and_a_work_item_at_once_are_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidPayload, match="work_item_id"):
        ledger.replay(thread_id="t", work_item_id="w")
    with pytest.raises(InvalidIdentifier):
        ledger.replay(thread_id="")
