"""A ledger as of a position or a time answers as the live one did then."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from tests.conformance.audit.conftest import ITEMS, THREADS, Known, asked, of_item, of_thread
from turnledger import Cursor, InvalidInput, Ledger, OtherGeneration

if TYPE_CHECKING:
    from tests.conformance.audit.conftest import Asked, Host
    from tests.conformance.conftest import Clock, Store

COMMANDS = {"sqlite": 120, "postgresql": 60}
KINDS_OF_EVENTS = 30  # that even the shorter histories have
EVERY = 12


def acted(host: Host, last: int) -> int:
    """Let the host act until something happened, and just now; returns the last position."""
    while True:
        host.act()
        events = host.ledger.log.read(last)
        if events and events[-1].recorded_at == host.clock.now:
            return events[-1].position


@pytest.mark.parametrize("seed", [1, 2])
def test_the_past_answers_as_the_present_did(
    new_host: Callable[[int], Host], kind: str, seed: int
) -> None:
    host, position = new_host(seed), 0
    recorded: dict[int, tuple[datetime, Known, Asked]] = {}
    for number in range(COMMANDS[kind]):
        position = acted(host, position)
        if number % EVERY == 0:
            known = Known(host.ledger)
            recorded[position] = host.clock.now, known, asked(host.ledger, known)
    for position, (now, known, live) in recorded.items():
        with host.ledger.as_of(position) as past:
            assert (past.position, past.now, past.unread) == (position, now, {})
            assert asked(past, known) == live
            assert past.verify().findings == ()
    assert len({event.type for event in host.ledger.log.read()}) >= KINDS_OF_EVENTS


def told(answers: Asked) -> str:
    """Answers in short: a thousand of them, each with the whole log, would fill the memory."""
    return hashlib.sha256(repr(answers).encode(errors="surrogatepass")).hexdigest()


def test_at_random_positions_the_past_answers_as_the_present_did(
    new_host: Callable[[int], Host], kind: str, pytestconfig: pytest.Config
) -> None:
    count: int = pytestconfig.getoption("--past-positions")
    wanted = count if kind == "sqlite" else count // 6
    host, position = new_host(5), 0
    recorded: dict[int, tuple[datetime, Known, str]] = {}
    while len(recorded) < wanted:
        position = acted(host, position)
        if host.chance(0.4):
            known = Known(host.ledger)
            recorded[position] = host.clock.now, known, told(asked(host.ledger, known))
    for position, (now, known, live) in recorded.items():
        with host.ledger.as_of(position) as past:
            assert (past.position, past.now, past.unread) == (position, now, {})
            assert told(asked(past, known)) == live, f"at position {position}"


def of_scope(ledger: Ledger, scope: dict[str, Any], known: Known) -> Asked:
    """All that can be asked about a thread or a work item."""
    [(name, value)] = scope.items()
    return of_thread(ledger, value, known) if name == "thread_id" else of_item(ledger, value)


@pytest.mark.parametrize("seed", [3, 4])
def test_the_past_of_one_thread_or_work_item_answers_as_the_present_did(
    new_host: Callable[[int], Host], kind: str, seed: int
) -> None:
    host, position = new_host(seed), 0
    scopes = [{"thread_id": one} for one in THREADS] + [{"work_item_id": one} for one in ITEMS]
    recorded: list[tuple[int, datetime, Any, Known, Asked]] = []
    for number in range(COMMANDS[kind]):
        position = acted(host, position)
        if number % 3 == 0:
            scope, known = host.random.choice(scopes), Known(host.ledger)
            live = of_scope(host.ledger, scope, known)
            recorded.append((position, host.clock.now, scope, known, live))
    for position, now, scope, known, live in recorded:
        with host.ledger.as_of(position, **scope) as past:
            assert (past.position, past.now, past.unread) == (position, now, {})
            assert of_scope(past, scope, known) == live


def test_the_past_goes_on_being_what_it_was(ledger: Ledger, clock: Clock) -> None:
    ledger.queue.append("t", {"n": 1})
    with ledger.as_of(1) as past:
        before = asked(past, Known(past))
        clock.advance(60)
        ledger.queue.clear("t")
        assert asked(past, Known(past)) == before
        assert past.now == clock.now - timedelta(seconds=60)


def test_what_is_judged_by_the_time_is_judged_by_that_of_then(ledger: Ledger, clock: Clock) -> None:
    ledger.queue.append("t", {})
    ledger.queue.claim_head("t", "w", lease=60)
    claimed_at = clock.now
    clock.advance(100)
    ledger.queue.append("other", {})
    said = {}
    for seconds in (0, 59, 60, 100):
        with ledger.as_of(claimed_at + timedelta(seconds=seconds)) as past:
            said[seconds] = (past.position, past.queue.why_blocked("t"))
    assert said == {
        0: (2, "in_flight"),
        59: (2, "in_flight"),
        60: (2, "expired_claim"),
        100: (3, "expired_claim"),
    }
    with ledger.as_of(2) as past:
        assert past.queue.why_blocked("t") == "in_flight"


def test_a_time_means_the_last_position_up_to_which_no_event_is_later(
    ledger: Ledger, clock: Clock
) -> None:
    start, recorded = clock.now, []
    for number, moved in enumerate((0, 10, 10, -15, 20)):
        clock.advance(moved)
        recorded.append(int((clock.now - start).total_seconds()))
        ledger.queue.append(f"thread {number}", {})
    assert recorded == [0, 10, 20, 5, 25]
    found = {}
    for seconds in (-1, 0, 5, 9, 10, 19, 20, 24, 25, 10_000):
        at = start + timedelta(seconds=seconds)
        with ledger.as_of(at) as past:
            found[seconds] = past.position
            assert past.now == at
    assert found == {-1: 0, 0: 1, 5: 1, 9: 1, 10: 2, 19: 2, 20: 4, 24: 4, 25: 5, 10_000: 5}


def test_before_the_first_event_there_is_nothing(
    ledger: Ledger, clock: Clock, store_url: str, store_at: Callable[[str], Store]
) -> None:
    [(stored,)] = store_at(store_url).rows("SELECT created_at FROM ledger")
    made, before = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=stored), clock.now
    clock.advance(60)
    ledger.queue.append("t", {})
    long_before = before - timedelta(days=1)
    for at, now in ((0, made), (before, before), (long_before, long_before)):
        with ledger.as_of(at) as past:
            assert (past.position, past.now) == (0, now)
            assert (past.log.read(), past.threads.list(), past.queue.list("t")) == ([], [], [])
            assert past.queue.why_blocked("t") == "empty"
            assert past.verify().ok


def test_an_empty_ledger_has_a_past(ledger: Ledger) -> None:
    with ledger.as_of(0) as past:
        assert past.log.read() == []
        assert (past.ledger_id, past.generation) == (ledger.ledger_id, ledger.generation)


def test_the_cursor_of_an_event_is_a_position(ledger: Ledger) -> None:
    ledger.queue.append_many("t", [{}, {}, {}])
    with ledger.as_of(ledger.log.read()[1].cursor) as past:
        assert (past.position, len(past.queue.list("t"))) == (2, 2)
        assert [event.cursor for event in past.log.read()] == [
            event.cursor for event in ledger.log.read(limit=2)
        ]
    with pytest.raises(OtherGeneration):
        ledger.as_of(Cursor(1, "another"))


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (3, "is position 3, but the last one is 2"),
        (2**70, "but the last one is 2"),
        (-1, "from 0 on"),
        (True, "must be a position, a cursor or a time"),
        (False, "must be a position, a cursor or a time"),
        (1.0, "must be a position"),
        ("1", "must be a position"),
        (None, "must be a position"),
        (datetime(2026, 1, 5), "without a timezone"),  # noqa: DTZ001 - that is what is wrong
        (datetime.min.replace(tzinfo=UTC), None),
        (datetime.max.replace(tzinfo=UTC), None),
    ],
)
def test_a_position_that_isnt_there_is_refused(ledger: Ledger, at: Any, said: str | None) -> None:
    ledger.queue.append_many("t", [{}, {}])
    if said is None:
        with ledger.as_of(at) as past:
            assert past.position in (0, 2)
        return
    with pytest.raises(InvalidInput, match=said):
        ledger.as_of(at)


def test_a_cursor_past_the_end_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="the last one is 0"):
        ledger.as_of(Cursor(1, ledger.generation))


@pytest.mark.parametrize("value", ["", "a\nb", 1, "x" * 257])
def test_a_scope_is_an_id(ledger: Ledger, value: Any) -> None:
    for name in ("thread_id", "work_item_id"):
        scope: dict[str, Any] = {name: value}
        with pytest.raises(InvalidInput, match=name):
            ledger.as_of(0, **scope)


def test_only_one_thing_is_replayed_alone(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="thread_id and work_item_id"):
        ledger.as_of(0, thread_id="t", work_item_id="item")


def test_with_a_scope_the_others_are_as_if_nobody_had_used_them(ledger: Ledger) -> None:
    for thread in ("t", "other"):
        ledger.queue.append(thread, {})
    with ledger.as_of(2, thread_id="t") as past:
        assert [one.thread_id for one in past.threads.list()] == ["t"]
        assert past.queue.list("other") == []
        assert past.threads.get("other") is None
        assert [event.position for event in past.log.read()] == [1]


def test_the_past_has_a_past(ledger: Ledger) -> None:
    ledger.queue.append_many("t", [{}, {}, {}])
    with ledger.as_of(3) as past, past.as_of(2) as before:
        assert len(before.queue.list("t")) == 2
        assert len(past.queue.list("t")) == 3
        with pytest.raises(InvalidInput, match="the last one is 2"):
            before.as_of(3)


def test_in_a_transaction_the_past_is_that_of_what_is_committed(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    with ledger.transaction():
        with ledger.as_of(1) as past:
            assert len(past.queue.list("t")) == 1
        ledger.queue.append("t", {})
    assert len(ledger.queue.list("t")) == 2


def test_a_closed_past_says_so(ledger: Ledger) -> None:
    past = ledger.as_of(0)
    past.close()
    with pytest.raises(turnledger.StoreError, match="closed"):
        past.queue.list("t")
    past.close()
