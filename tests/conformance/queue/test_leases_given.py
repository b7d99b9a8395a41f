"""Durations of leases: finite, at least a millisecond, at most the setting."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidDuration

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger

DAY = 86_400

BAD = {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "zero": 0,
    "zero as float": 0.0,
    "minus zero": -0.0,
    "negative": -1,
    "a microsecond": 0.000001,
    "just below a millisecond": 0.000999,
    "just above a day": DAY + 0.001,
    "a day and a microsecond": timedelta(days=1, microseconds=1),
    "a century": 100 * 365 * DAY,
    "past every timedelta": 1e300,
    "past every float": 10**400,
    "past every float, negative": -(10**400),
    "no time": timedelta(0),
    "negative timedelta": timedelta(seconds=-1),
    "the longest timedelta": timedelta.max,
    "the shortest timedelta": timedelta.min,
    "a microsecond as timedelta": timedelta(microseconds=1),
    "true": True,
    "false": False,
    "text": "60",
    "none": None,
    "a list": [60],
    "complex": 60 + 0j,
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_lease_is_refused_by_every_command(host: Host, store: Store, bad: Any) -> None:
    host.append("claimed")
    host.append("waiting", thread="other")
    claim, queue = host.claim(), host.ledger.queue
    before = store.events()
    with pytest.raises(InvalidDuration):
        queue.claim_head("other", "worker", bad)
    with pytest.raises(InvalidDuration):
        queue.claim_next("worker", lease=bad)
    with pytest.raises(InvalidDuration):
        queue.renew(claim, bad)
    with pytest.raises(InvalidDuration):
        queue.claim_head("empty", "worker", bad)
    assert store.events() == before


@pytest.mark.parametrize(
    "lease", [0.001, timedelta(milliseconds=1), 1, 0.5, DAY, timedelta(days=1)]
)
def test_a_good_lease_ends_when_it_says(
    ledger: Ledger, host: Host, clock: Clock, lease: float | timedelta
) -> None:
    host.append("only")
    claim = ledger.queue.claim_head("thread", "worker", lease)
    assert claim is not None
    length = lease if isinstance(lease, timedelta) else timedelta(seconds=lease)
    assert claim.expires_at == clock.now + length
    assert ledger.queue.why_blocked("thread") == "in_flight"
    assert ledger.queue.renew(claim, lease).expires_at == clock.now + length
    clock.now += length
    assert ledger.queue.why_blocked("thread") == "expired_claim"


def test_the_longest_lease_is_a_setting(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_lease=timedelta(seconds=90)).queue
    queue.append("thread", {})
    with pytest.raises(InvalidDuration):
        queue.claim_head("thread", "worker", 90.001)
    claim = queue.claim_head("thread", "worker", 90)
    assert claim is not None
    with pytest.raises(InvalidDuration):
        queue.renew(claim, timedelta(seconds=91))
    queue.renew(claim, timedelta(seconds=90))
