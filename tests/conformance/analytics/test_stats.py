"""The figures of small ledgers that were worked out by hand, and of histories by chance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.conftest import START
from turnledger import Figures, InvalidInput, Ledger, Spread

if TYPE_CHECKING:
    from tests.conformance.audit.conftest import Host
    from tests.conformance.conftest import Clock, Store


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


def known(spread: Spread | None) -> Spread:
    assert spread is not None
    return spread


def test_the_figures_of_a_thread_are_those_worked_out_by_hand(worked: Ledger) -> None:
    found = worked.stats()
    assert found.total["queued_turns"] == Figures(
        begun=3,
        claims=4,
        lease_losses=1,
        unknown_outcomes=1,
        missed=0,
        outcomes={"acked": 2, "deleted": 1, "failed": 1},
        waiting=Spread(
            count=4, total=105, mean=26.25, least=5, p50=10, p90=60, p95=60, p99=60, most=60
        ),
        running=Spread(
            count=4, total=176, mean=44, least=1, p50=10, p90=155, p95=155, p99=155, most=155
        ),
        attempts=Spread(count=3, total=3, mean=1, least=0, p50=1, p90=2, p95=2, p99=2, most=2),
        lateness=None,
    )
    timers = found.total["timers"]
    assert (timers.begun, timers.outcomes, timers.missed) == (1, {"fired": 1}, 0)
    assert (known(timers.lateness).total, known(timers.lateness).count) == (30, 1)
    assert (found.total["messages"].begun, found.total["messages"].claims) == (1, 0)
    assert set(found.total) == {"queued_turns", "messages", "timers"}
    assert (found.events, found.unread) == (worked.wait_for_change(0, 0), 0)


def test_the_figures_of_a_work_item_are_those_worked_out_by_hand(worked_item: Ledger) -> None:
    turns, operations = worked_item.stats().total.values()
    assert (turns.begun, turns.claims, turns.outcomes) == (1, 2, {"failed": 1})
    assert (turns.lease_losses, turns.unknown_outcomes) == (1, 1)
    assert (known(turns.waiting).least, known(turns.waiting).most) == (4, 6)
    assert (known(turns.running).least, known(turns.running).most) == (1, 100)
    assert known(turns.attempts).total == 1
    assert (operations.begun, operations.claims) == (2, 2)
    assert operations.outcomes == {"applied": 1, "unknown": 1}
    assert (operations.lease_losses, operations.unknown_outcomes) == (1, 1)
    assert (known(operations.waiting).least, known(operations.waiting).most) == (3, 5)
    assert (known(operations.running).least, known(operations.running).most) == (2, 95)


def test_what_was_done_under_a_claim_belongs_to_its_owner(worked: Ledger) -> None:
    groups = worked.stats(by="owner").groups
    first, other = groups["w1"]["queued_turns"], groups["w2"]["queued_turns"]
    assert (first.claims, other.claims) == (3, 1)
    assert (first.lease_losses, first.unknown_outcomes, first.outcomes["acked"]) == (1, 1, 2)
    assert (known(first.waiting).total, known(first.running).total) == (75, 166)
    assert (known(other.waiting).total, known(other.running).total) == (30, 10)
    assert (other.lease_losses, other.outcomes, set(groups)) == (0, {}, {"scheduler", "w1", "w2"})


def test_the_groups_by_thread_and_by_day_add_up_to_the_whole(
    worked_item: Ledger, worked: Ledger
) -> None:
    whole = worked.stats().total
    threads, days = worked.stats(by="thread").groups, worked.stats(by="day").groups
    assert days == {"2026-01-05": whole}
    assert set(threads) == {"t", "item"}
    assert threads["t"] | threads["item"] == whole
    assert worked_item.stats(thread_id="t").total == threads["t"]
    assert worked.stats(work_item_id="item").total == threads["item"]


def test_a_range_counts_what_happened_in_it_and_knows_what_was_before(worked: Ledger) -> None:
    part = worked.stats(since=second(40), until=second(260)).total["queued_turns"]
    assert (part.begun, part.claims, part.outcomes) == (0, 1, {"failed": 1})
    assert (known(part.waiting).total, known(part.running).total) == (5, 165)
    before = worked.stats(until=second(40)).total["queued_turns"]
    behind = worked.stats(since=second(260)).total["queued_turns"]
    whole = worked.stats().total["queued_turns"]
    assert before.claims + part.claims + behind.claims == whole.claims
    assert worked.stats(since=second(1_000)).total == {}


def test_the_depth_over_time_adds_up_to_the_time_that_was_waited_and_run(worked: Ledger) -> None:
    depth = worked.stats().depth
    assert [step.since for step in depth] == [second(number) for number in range(262)]
    assert {step.seconds for step in depth} == {1}
    assert sum(step.waiting for step in depth[:-1]) == 105
    assert sum(step.held for step in depth[:-1]) == 176
    assert [step.waiting for step in depth[8:12]] == [2, 2, 1, 1]
    assert (depth[10].held, depth[-1].waiting_most, depth[0].waiting_most) == (1, 1, 2)
    part = worked.stats(since=second(15), until=second(35)).depth
    assert (part[0].since, part[0].waiting, part[0].held) == (second(15), 1, 1)
    assert sum(step.waiting for step in part) == 15
    assert sum(step.held for step in part) == 10


def test_the_depth_of_a_long_time_has_few_steps(
    open_ledger: Callable[..., Ledger], clock: Clock
) -> None:
    ledger = open_ledger()
    for number in range(40):
        ledger.queue.append("t", {"n": number})
        clock.advance(86_400 * 30 + 7)
    ledger.queue.append("t", {})
    depth = ledger.stats().depth
    assert 10 < len(depth) <= 401
    whole = sum(range(1, 41)) * (86_400 * 30 + 7)
    told = sum(step.waiting * step.seconds for step in depth[1:-1])
    assert told == pytest.approx(whole, rel=0.02)
    assert depth[-1].waiting_most == 41


def test_a_turn_that_may_not_be_claimed_yet_does_not_wait_yet(
    open_ledger: Callable[..., Ledger], clock: Clock
) -> None:
    ledger = open_ledger()
    ledger.queue.append("t", {}, not_before=second(50))
    clock.advance(53)
    assert ledger.queue.claim_head("t", "w", 60) is not None
    assert known(ledger.stats().total["queued_turns"].waiting).total == 3


def test_the_past_has_the_figures_that_the_present_had(worked: Ledger) -> None:
    half = worked.wait_for_change(0, 0) // 2
    last = worked.log.read(limit=half)[-1].recorded_at
    with worked.as_of(half) as past:
        assert past.stats().total == worked.stats(until=last + timedelta(microseconds=1)).total


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": datetime(2026, 1, 5)},  # noqa: DTZ001 - that is what is wrong
        {"since": second(2), "until": second(1)},
        {"by": "colour"},
        {"thread_id": "t", "work_item_id": "item"},
        {"thread_id": ""},
    ],
)
def test_what_cannot_be_asked_is_refused(
    open_ledger: Callable[..., Ledger], wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        open_ledger().stats(**wrong)


def test_an_event_that_cannot_be_read_is_passed_over_and_counted(
    worked: Ledger, store_url: str, store_at: Callable[[str], Store]
) -> None:
    whole = worked.stats()
    store_at(store_url).damage(
        "UPDATE events SET data = ? WHERE type = ? AND data LIKE ?",
        *("{", "thread_queue.appended", '%"text":"c"%'),
    )
    found = worked.stats()
    assert (found.events, found.unread) == (whole.events, 1)
    assert found.total["queued_turns"].begun == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_figures_agree_with_the_views(
    new_host: Callable[[int], Host], store_url: str, store_at: Callable[[str], Store], seed: int
) -> None:
    host, store = new_host(seed), store_at(store_url)
    while host.ledger.wait_for_change(0, 0) < 600:
        host.act()
    total = host.ledger.stats().total
    for kind, name in (("queued", "queued_turns"), ("coordinator", "coordinator_turns")):
        figures = total[name]
        asked = "SELECT count(*), sum(claims), sum(ran_seconds) FROM v_turns WHERE kind = ?"
        [(turns, claims, ran)] = store.rows(asked, kind)
        assert (turns, claims) == (figures.begun, figures.claims)
        assert ran == pytest.approx(known(figures.running).total)
        asked = "SELECT sum(attempts) FROM v_turns WHERE kind = ? AND ended_at IS NOT NULL"
        assert store.rows(asked, kind) == [(known(figures.attempts).total,)]
    asked = "SELECT count(*), sum(claims), sum(ran_seconds) FROM v_operations"
    operations = total["operations"]
    [(number, claims, ran)] = store.rows(asked)
    assert (number, claims) == (operations.begun, operations.claims)
    assert ran == pytest.approx(known(operations.running).total)
    runs = store.rows("SELECT count(*), sum(late_seconds), sum(missed) FROM v_timer_runs")
    lateness = known(total["timers"].lateness)
    assert runs[0][0] == lateness.count
    assert runs[0][1] == pytest.approx(lateness.total)
    unknown = "SELECT count(*) FROM v_attempts WHERE kind = ? AND outcome = 'outcome_unknown'"
    [(flown,)] = store.rows(unknown, "provider_turn")
    assert flown == total["coordinator_turns"].unknown_outcomes
