"""The clock that a ledger reads: a caller's is looked at before anything is judged by it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import turnledger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "reading",
    [datetime(2026, 1, 5), datetime(9999, 12, 1, tzinfo=UTC), "2026-01-05T00:00:00Z", None],  # noqa: DTZ001
)
def test_a_clock_that_no_lease_can_be_judged_by_is_refused(tmp_path: Path, reading: object) -> None:
    clock = {"reading": datetime(2026, 1, 5, tzinfo=UTC)}
    with turnledger.open(tmp_path / "ledger.db", clock=lambda: clock["reading"]) as ledger:
        ledger.queue.append("thread", {})
        clock["reading"] = reading  # type: ignore[assignment]
        for command in (ledger.queue.recover, lambda: ledger.queue.claim_head("thread", "me")):
            with pytest.raises(turnledger.InvalidTime):
                command()
        clock["reading"] = datetime(2026, 1, 6, tzinfo=UTC)
        assert ledger.queue.claim_head("thread", "me") is not None
