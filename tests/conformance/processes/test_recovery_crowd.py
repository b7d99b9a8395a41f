"""F11: many processes recover without end beside others that work; nothing that is live is touched.

The ordinary run is a short one of few processes. Twenty that recover beside eight that work, for a
minute:

    pytest tests/conformance/processes/test_recovery_crowd.py --crowd 20 8 60
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.conformance.processes.conftest import Worker
    from turnledger import Ledger

    Together = Callable[[list[Worker]], None]

ENDED_BY_RECOVERY = (
    *("thread_queue.recovered", "thread_queue.failed", "inbox.recovered", "inbox.expired"),
    *("coordinator_turn.recovered", "coordinator_turn.outcome_unknown"),
    *("operation.orphaned", "operation.never_claimed"),
)
ABANDONED = 5
MANY = 1_000_000


def test_f11_recovery_touches_only_what_is_over(
    ledger: Ledger,
    begin: Callable[..., Worker],
    together: Together,
    pytestconfig: pytest.Config,
) -> None:
    recovering, working, seconds = map(str, pytestconfig.getoption("--crowd"))
    scans = [begin("recover", seconds) for _ in range(int(recovering))]
    workers = [begin("toil", f"worker {number}", seconds) for number in range(int(working))]
    careless = begin("abandon", "careless", str(ABANDONED))
    together([*scans, *workers, careless])
    careless.until("abandoned")
    assert min(worker.finish()[-1][1] for worker in workers) > 0
    assert min(scan.finish()[-1][1] for scan in scans) > 0
    ledger.recovery.run_once()
    careless.finish()
    ended = ledger.log.read(types=ENDED_BY_RECOVERY, limit=MANY)
    assert Counter(event.type for event in ended) == {
        "thread_queue.recovered": ABANDONED,
        "coordinator_turn.recovered": ABANDONED,
        "operation.orphaned": ABANDONED,
    }
    assert all("careless" in event.stream_id for event in ended)
    assert ledger.verify().ok
