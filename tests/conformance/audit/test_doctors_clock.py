"""What the doctor says of the clock, from the times that events were recorded at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock
    from tests.conformance.stores import Store
    from turnledger import Ledger

DAY = 86_400


def clock_of(ledger: Ledger) -> tuple[str, str]:
    """The status and the message."""
    (check,) = [check for check in ledger.doctor() if check.name == "clock"]
    return check.status, check.message


def test_a_clock_that_goes_on_is_fine(ledger: Ledger, clock: Clock) -> None:
    ledger.queue.append("t", {"text": "a"})
    clock.advance(DAY)
    ledger.queue.append("t", {"text": "b"})
    assert clock_of(ledger) == ("ok", "it has never stepped back by a minute")


def test_a_step_back_is_named_by_the_event_behind_it(ledger: Ledger, clock: Clock) -> None:
    for seconds in (DAY, -DAY, 2 * DAY):
        ledger.queue.append(f"t{seconds}", {"text": "a"})
        clock.advance(seconds)
    ledger.log.read(limit=1)
    status, message = clock_of(ledger)
    assert (status, message) == (
        "note",
        "the clock stepped back by more than a minute before event 3",
    )


def test_a_clock_behind_the_last_event_is_a_problem(ledger: Ledger, clock: Clock) -> None:
    ledger.queue.append("t", {"text": "a"})
    at = clock.now
    clock.advance(-DAY)
    ledger.log.read(limit=1)
    assert clock_of(ledger) == (
        "problem",
        f"the clock is behind the last event, of {at.isoformat()}",
    )


@pytest.mark.parametrize("stored", [2**62, 10**18])
def test_a_time_that_is_no_date_is_said_as_it_is_stored(
    ledger: Ledger, store: Store, stored: int
) -> None:
    ledger.queue.append("t", {"text": "a"})
    ledger.log.read(limit=1)
    store.damage("UPDATE events SET recorded_at = ? WHERE position = ?", stored, 1)
    status, message = clock_of(ledger)
    assert status == "problem"
    assert f"{stored} microseconds after 1970, which is no date" in message
