"""Leases are judged by the server's clock, whatever the workers' clocks say."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import turnledger

WRONG_CLOCK = """
import json, sys
from datetime import UTC, datetime, timedelta
from freezegun import freeze_time
import turnledger

hours, url = float(sys.argv[1]), sys.argv[2]
with freeze_time(datetime.now(UTC) + timedelta(hours=hours), tick=True):
    with turnledger.open(url) as ledger:
        found = {
            "host": datetime.now(UTC).isoformat(),
            "recovered": len(ledger.queue.recover()),
            "claims": len(ledger.queue.claim_next("wrong")),
            "blocked": ledger.queue.why_blocked("held"),
        }
        ledger.queue.append("free", {})
        claim = ledger.queue.claim_head("free", "wrong", 60)
        ledger.queue.start_dispatch(claim, "dispatch")
        found["expires_at"] = claim.expires_at.isoformat()
        print(json.dumps(found))
"""


def with_a_wrong_clock(hours: float, url: str) -> dict[str, Any]:
    """What a worker does and sees whose clock is wrong."""
    command = [sys.executable, "-c", WRONG_CLOCK, str(hours), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_whose_clock_is_an_hour_off_judges_leases_as_all_do(
    postgresql_database: str, hours: float
) -> None:
    with turnledger.open(postgresql_database) as ledger:
        ledger.queue.append("held", {})
        held = ledger.queue.claim_head("held", "right", 60)
        assert held is not None
        half_an_hour = datetime.now(UTC) + timedelta(minutes=30)
        ledger.queue.append("not yet", {}, not_before=half_an_hour)
        found = with_a_wrong_clock(hours, postgresql_database)
        now = datetime.now(UTC)
        off = datetime.fromisoformat(found["host"]) - now
        assert abs(off) > timedelta(minutes=55)
        assert (found["recovered"], found["claims"], found["blocked"]) == (0, 0, "in_flight")
        expires_at = datetime.fromisoformat(found["expires_at"])
        assert timedelta(0) < expires_at - now <= timedelta(seconds=60)
        assert ledger.queue.recover() == []
        assert ledger.queue.why_blocked("free") == "in_flight"
        ledger.queue.renew(held)
        assert ledger.verify().findings == ()


def test_a_clock_that_is_given_is_the_one_that_counts(postgresql_database: str) -> None:
    now = datetime(2031, 1, 5, 9, tzinfo=UTC)
    with turnledger.open(postgresql_database, clock=lambda: now) as ledger:
        assert ledger.queue.append("thread", {}).created_at == now
        claim = ledger.queue.claim_head("thread", "owner", 60)
        assert claim is not None
        assert claim.expires_at == now + timedelta(seconds=60)
        assert [event.recorded_at for event in ledger.log.read()] == [now, now]
        now += timedelta(seconds=60)
        assert [turn.state for turn in ledger.queue.recover()] == ["pending"]
