"""The ways that things went: of ledgers worked out by hand, and of histories by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.conftest import START
from turnledger import Flow, FlowStep, InvalidInput, Ledger, Variant

if TYPE_CHECKING:
    from tests.conformance.audit.conftest import Host

LONG_WAY = (
    *("appended", "claimed", "released", "claimed", "dispatch_started"),
    *("failed, outcome unknown", "resolved, retry", "claimed", "dispatch_started", "acked"),
)


def test_the_ways_of_queued_turns_are_those_worked_out_by_hand(worked: Ledger) -> None:
    found = worked.flow()
    third = pytest.approx(1 / 3)
    assert found.variants == (
        Variant(
            steps=("appended", "claimed", "dispatch_started", "acked"),
            count=1,
            share=third,
            median=20,
            p95=20,
        ),
        Variant(steps=LONG_WAY, count=1, share=third, median=261, p95=261),
        Variant(steps=("appended", "deleted"), count=1, share=third, median=0, p95=0),
    )
    assert (found.over, found.unfinished, found.unread) == (3, 0, 0)
    steps = {(step.source, step.target): step for step in found.steps}
    assert steps["appended", "claimed"] == FlowStep(
        source="appended", target="claimed", count=2, median=10, p95=30
    )
    assert steps["claimed", "dispatch_started"] == FlowStep(
        source="claimed", target="dispatch_started", count=3, median=0, p95=2
    )
    assert steps["dispatch_started", "failed, outcome unknown"].median == 155
    assert found.happened["claimed"] == 4
    assert len(steps) == len(set(pairwise(LONG_WAY))) + 2 - 1


def test_the_ways_of_turns_and_operations_of_a_work_item(worked_item: Ledger) -> None:
    [way] = worked_item.flow("coordinator_turns").variants
    assert way.steps == (
        *("begun", "claimed", "prepared", "dispatch_started", "outcome_unknown", "recovered"),
        *("claimed", "failed"),
    )
    assert (way.median, way.share) == (111, 1)
    operations = worked_item.flow("operations")
    assert [one.steps for one in operations.variants] == [
        ("created", "claimed", "completed, applied")
    ]
    assert (operations.over, operations.unfinished) == (1, 1)


def test_a_range_tells_the_steps_that_ended_in_it(worked: Ledger) -> None:
    since, until = START + timedelta(seconds=40), START + timedelta(seconds=261)
    found = worked.flow(since=since, until=until)
    assert (found.over, found.unfinished) == (0, 1)
    assert {(step.source, step.target) for step in found.steps} == set(pairwise(LONG_WAY[1:-1])) - {
        ("claimed", "acked")
    }
    assert worked.flow(thread_id="other") == Flow(
        of="queued_turns",
        over=0,
        unfinished=0,
        happened={},
        steps=(),
        variants=(),
        events=0,
        unread=0,
    )


def test_what_cannot_be_asked_is_refused(worked: Ledger) -> None:
    wrong: Any = "timers"
    with pytest.raises(InvalidInput):
        worked.flow(wrong)


@pytest.mark.parametrize("of", ["queued_turns", "coordinator_turns", "operations", "messages"])
def test_a_flow_agrees_with_the_figures_and_with_itself(
    new_host: Callable[[int], Host], of: Any
) -> None:
    host = new_host(11)
    while host.ledger.wait_for_change(0, 0) < 500:
        host.act()
    found, figures = host.ledger.flow(of), host.ledger.stats().total[of]
    assert found.over + found.unfinished == figures.begun
    assert figures.attempts is not None
    assert figures.attempts.count == found.over
    assert found.happened["claimed"] == figures.claims
    into: Counter[str] = Counter()
    for step in found.steps:
        into[step.target] += step.count
    first = {"appended", "begun", "created", "posted"}
    told = {word: count for word, count in found.happened.items() if word not in first}
    assert dict(into) == told
    assert sum(variant.share for variant in found.variants) == pytest.approx(1)
