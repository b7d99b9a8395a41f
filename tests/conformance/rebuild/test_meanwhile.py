"""Commands that are given while a rebuild is under way, in each of its phases."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import turnledger.rebuild as module
from tests.conformance.rebuild.conftest import ALL, Live, put_right
from tests.conformance.rebuild.worker import give
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnledger import Ledger

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'"


def damaged(live: Live) -> dict[str, tuple[int, int, int]]:
    """Take the first row out of each table; what will be put right."""
    for table, rows in live.everything().items():
        live.delete(table, rows[0])
    return dict.fromkeys(ALL, (1, 0, 0))


def after(monkeypatch: pytest.MonkeyPatch, name: str, then: Callable[[], object]) -> None:
    """Do something once a part of the rebuild is over, each time."""
    whole: Any = getattr(module, name)

    def longer(*given: Any) -> Any:
        result = whole(*given)
        then()
        return result

    monkeypatch.setattr(module, name, longer)


def before(monkeypatch: pytest.MonkeyPatch, name: str, first: Callable[[], object]) -> None:
    """Do something before a part of the rebuild begins, each time."""
    whole: Any = getattr(module, name)

    def longer(*given: Any) -> Any:
        first()
        return whole(*given)

    monkeypatch.setattr(module, name, longer)


class Giver:
    """Gives commands under ever new names."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.times = ledger, 0

    def __call__(self, *_: object) -> None:
        self.times += 1
        give(self.ledger, f"new {self.times}")


def is_whole(ledger: Ledger, times: int) -> None:
    """Verify is green, nothing that was given is lost, and nothing is left to do."""
    assert ledger.verify().findings == ()
    assert ledger.rebuild().mended == 0
    for number in range(1, times + 1):
        assert ledger.queue.get("busy", f"new {number}") is not None
        assert ledger.coordinator.get(f"new {number}") is not None


def test_what_is_given_while_events_are_taken_is_caught_up(
    ledger: Ledger, live: Live, open_beside: Callable[[], Ledger]
) -> None:
    ought, giver = damaged(live), Giver(open_beside())
    assert put_right(ledger.rebuild(progress=giver)) == ought
    is_whole(ledger, giver.times)


@pytest.mark.parametrize("phase", ["_take_all", "_compare"])
def test_what_is_given_after_a_phase_is_caught_up(
    ledger: Ledger,
    live: Live,
    open_beside: Callable[[], Ledger],
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
) -> None:
    ought, giver = damaged(live), Giver(open_beside())
    after(monkeypatch, phase, giver)
    assert put_right(ledger.rebuild()) == ought
    assert giver.times == 2
    monkeypatch.undo()
    is_whole(ledger, giver.times)


def test_a_row_that_is_damaged_after_the_comparison_is_found_by_the_next_rebuild_or_event(
    ledger: Ledger, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = next(row for row in live.rows("queued_turns") if row["queued_turn_id"] == "busy 3")

    def happen() -> None:
        live.change("queued_turns", row, queue_order=1_000)
        ledger.queue.edit("busy", "busy 3", {"n": "edited"})

    after(monkeypatch, "_compare", happen)
    assert put_right(ledger.rebuild("queued_turns")) == {"queued_turns": (0, 0, 1)}
    assert ledger.verify().ok


def test_a_transaction_that_has_to_be_done_again_counts_each_row_once(
    ledger: Ledger, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    ought, tries = damaged(live), iter((True, False, False))

    def lose() -> None:
        if next(tries):
            raise Conflict

    after(monkeypatch, "_mend", lose)
    assert put_right(ledger.rebuild()) == ought
    monkeypatch.undo()
    is_whole(ledger, 0)


class TestOnAServer:
    """Where positions are given after the commit, and writers don't wait for each other."""

    @pytest.fixture(params=["postgresql"])
    def kind(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_events_that_have_no_position_yet_are_taken(
        self,
        ledger: Ledger,
        live: Live,
        open_beside: Callable[[], Ledger],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        ought, giver = damaged(live), Giver(open_beside())
        before(monkeypatch, "_mend", giver)
        assert put_right(ledger.rebuild()) == ought
        monkeypatch.undo()
        is_whole(ledger, giver.times)

    def test_they_are_taken_once_if_the_transaction_is_done_again(
        self,
        ledger: Ledger,
        live: Live,
        open_beside: Callable[[], Ledger],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        ought, other = damaged(live), open_beside()
        giver, tries = Giver(other), iter((True, True, False, False))

        def lose() -> None:
            if next(tries):
                other._backend.store.number()
                raise Conflict

        before(monkeypatch, "_mend", giver)
        after(monkeypatch, "_mend", lose)
        found = ledger.rebuild()
        monkeypatch.undo()
        assert put_right(found) == ought
        assert found.events == len(ledger.log.read(limit=100_000))
        is_whole(ledger, giver.times)

    def test_events_that_are_given_positions_in_the_middle_are_taken(
        self,
        ledger: Ledger,
        live: Live,
        open_beside: Callable[[], Ledger],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        ought, other = damaged(live), open_beside()
        giver, whole = Giver(other), UnitOfWork.run
        before(monkeypatch, "_mend", giver)

        def slower(unit: UnitOfWork, what: Any, given: Any) -> Any:
            """Somebody who reads the log gives the positions."""
            answer = whole(unit, what, given)
            other._backend.store.number()
            return answer

        monkeypatch.setattr(UnitOfWork, "run", slower)
        found = ledger.rebuild()
        monkeypatch.undo()
        assert put_right(found) == ought
        assert found.events == len(ledger.log.read(limit=100_000))
        is_whole(ledger, giver.times)

    def test_a_transaction_for_whose_end_the_lock_waits_is_taken(
        self, ledger: Ledger, live: Live, open_beside: Callable[[], Ledger]
    ) -> None:
        ought, other = damaged(live), open_beside()
        conninfo = live.url.replace("postgresql+psycopg", "postgresql")
        begun = threading.Event()

        def write() -> None:
            with psycopg.connect(conninfo, autocommit=True) as looking, other.transaction():
                give(other, "new 1")
                begun.set()
                while looking.execute(WAITING).fetchone() == (0,):
                    pass

        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(60)
        assert put_right(ledger.rebuild()) == ought
        writer.join()
        is_whole(ledger, 1)
