"""Which ledger a new database becomes is said once, whoever comes first."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest

import turnledger
from turnledger.infrastructure import ledger_row

Places = Callable[[str], str]


def test_a_ledger_that_comes_to_be_meanwhile_is_no_unfinished_copy(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turnledger.migrate(place)
    has_events = ledger_row.has_events
    names: list[str] = []

    def late(cursor: Any) -> bool:
        monkeypatch.undo()
        with turnledger.open(place) as first:
            first.queue.append("t", {})
            names.append(first.ledger_id)
        return has_events(cursor)

    forget(place)
    monkeypatch.setattr(ledger_row, "has_events", late)
    with turnledger.open(place) as second:
        assert [second.ledger_id] == names


def test_several_that_open_a_new_database_open_the_same_ledger(new_place: Places) -> None:
    place = new_place("postgresql")
    turnledger.migrate(place)
    forget(place)
    barrier, names = Barrier(8), set[str]()

    def opening() -> None:
        barrier.wait()
        with turnledger.open(place) as ledger:
            names.add(ledger.ledger_id)

    threads = [Thread(target=opening) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names) == 1


def forget(place: str) -> None:
    """Take away the row, as it is before anybody has opened it."""
    with turnledger.open(place) as ledger, ledger._backend.store.writing() as cursor:
        cursor.execute("DELETE FROM ledger")
