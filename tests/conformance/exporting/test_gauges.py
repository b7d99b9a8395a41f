"""`ledger.gauges`, and the same for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventsourcing.persistence import Tracking
from prometheus_client.parser import text_string_to_metric_families

from turnledger import Ledger
from turnledger.metrics import METRICS, as_text

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host


def samples(ledger: Ledger) -> dict[tuple[str, str], float]:
    """What a scrape says, by the metric and the value of its label."""
    families = text_string_to_metric_families(as_text(ledger.gauges))
    return {
        (sample.name, "".join(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_an_empty_ledger_has_nothing_to_be_woken_for(ledger: Ledger) -> None:
    found = ledger.gauges()
    assert (found.position, found.oldest_pending_seconds, found.operations_in_doubt) == (0, 0, 0)
    assert set(found.turns.values()) | set(found.unknown_outcomes.values()) == {0}
    assert (found.blocked_threads, found.followers) == ({}, {})


def test_turns_are_counted_by_what_they_wait_for(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("a", "b", thread="flies")
    host.claim(thread="flies")
    clock.advance(30)
    host.append("a", "b", thread="failed")
    ledger.queue.fail(host.claim(thread="failed"), "no")
    host.append("a", thread="free")
    found = ledger.gauges()
    assert found.turns == {"pending": 3, "in_flight": 1, "failed": 1}
    assert found.oldest_pending_seconds == 30
    assert found.blocked_threads == {"in_flight": 1, "failed_head": 1}


def test_threads_are_blocked_for_the_reason_that_the_queue_says(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    names = ("paused", "archived", "over")
    for name in names:
        host.append("a", thread=name)
    host.claim(thread="over")
    clock.advance(3_600)
    ledger.queue.pause("paused", "later")
    ledger.threads.archive("archived")
    reasons = [ledger.queue.why_blocked(name) for name in names]
    assert ledger.gauges().blocked_threads == dict.fromkeys(reasons, 1)


def test_what_is_unknown_is_counted(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("a")
    host.dispatch()
    begun = ledger.coordinator.begin("item", {}, owner="w")
    assert begun.claim is not None
    attempt = ledger.coordinator.prepare(begun.claim, {})
    ledger.coordinator.start_dispatch(begun.claim, attempt.attempt)
    run = ledger.runs.start("r", "item", "act", "w")
    assert run is not None
    ledger.operations.create_and_claim(run, "k", "mail", {}, replay_policy="safe")
    ledger.operations.complete(run, "k", "unknown")
    clock.advance(3_600)
    ledger.recovery.run_once()
    found = ledger.gauges()
    assert found.unknown_outcomes == {"queued_turn": 1, "attempt": 1}
    assert found.operations_in_doubt == 1


def test_followers_are_behind_by_so_many_events(ledger: Ledger, host: Host) -> None:
    host.append("a", "b", "c")
    ledger._backend.recorder.insert_tracking(Tracking("mailer", 2))
    assert ledger.gauges().followers == {"mailer": 1}
    assert samples(ledger)["turnledger_follower_lag_events", "mailer"] == 1


def test_prometheus_reads_every_gauge(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("a", "b")
    clock.advance(1.5)
    host.claim()
    found = samples(ledger)
    assert found["turnledger_log_position", ""] == 3
    assert found["turnledger_queue_turns", "pending"] == 1
    assert found["turnledger_queue_oldest_pending_age_seconds", ""] == 1.5
    assert found["turnledger_threads_blocked", "in_flight"] == 1
    assert {name for name, _ in found} | {"turnledger_follower_lag_events"} == {
        name for name, _, _ in METRICS.values()
    }
