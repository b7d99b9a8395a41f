"""What isn't copied, and where nothing is copied to. Nothing is changed then."""

from collections.abc import Callable
from pathlib import Path

import pytest

import turnledger
from tests.copying.conftest import contents, reopened, url_of
from tests.copying.test_resuming import killed
from tests.verify.conftest import File

Places = Callable[[str], str]


def test_another_ledger_stays_as_it_is(file: File, place: str) -> None:
    with reopened(place, file) as ledger:
        ledger.queue.append("t", {})
        name = ledger.ledger_id
    before = contents(place)
    with pytest.raises(turnledger.StoreError, match=f"another ledger is in it, {name}"):
        turnledger.copy(file.path, place)
    assert contents(place) == before


def test_a_ledger_without_any_event_is_taken_over(file: File, place: str) -> None:
    reopened(place, file).close()
    turnledger.copy(file.path, place)
    assert contents(place) == contents(url_of(file))


def test_another_ones_copy_is_not_gone_on_with(file: File, place: str) -> None:
    killed(url_of(file), place, "copied", 2)
    other = file.path.with_name("other.db")
    with turnledger.open(other) as ledger:
        ledger.queue.append("t", {})
    with pytest.raises(turnledger.StoreError, match="event 1 isn't the one of the source"):
        turnledger.copy(other, place)
    turnledger.open(other.with_name("empty.db")).close()
    with pytest.raises(turnledger.StoreError, match="it has 8 events, the source only 0"):
        turnledger.copy(other.with_name("empty.db"), place)
    assert turnledger.copy(file.path, place).verification.ok


def test_a_finished_copy_and_its_source_go_separate_ways(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    with file.open() as ledger:
        ledger.queue.append("t", {"n": "here"})
    with pytest.raises(turnledger.StoreError, match="its source went on since"):
        turnledger.copy(file.path, place)
    with reopened(place, file) as ledger:
        ledger.queue.append("t", {"n": "there"})
        ledger.log.read(limit=1)  # it has its position from now on
    before = contents(place)
    with pytest.raises(turnledger.StoreError, match=f"event {file.last} isn't the one"):
        turnledger.copy(file.path, place)
    with pytest.raises(turnledger.StoreError, match=f"event {file.last} isn't the one"):
        turnledger.copy(place, file.path)
    assert contents(place) == before


def test_a_copy_that_went_on_is_refused_as_the_target(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    with reopened(place, file) as ledger:
        ledger.queue.append("t", {"n": "there"})
    with pytest.raises(turnledger.StoreError, match="events, the source only"):
        turnledger.copy(file.path, place)


def test_a_ledger_isnt_copied_onto_itself(file: File) -> None:
    with pytest.raises(turnledger.InvalidPayload, match="is the source itself"):
        turnledger.copy(file.path, url_of(file))


def test_nothing_is_made_where_there_is_no_source(place: str, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    with pytest.raises(turnledger.StoreError):
        turnledger.copy(place, target)
    assert not target.exists()
    assert not Path(place.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize(
    ("damage", "flaw"),
    [
        ("UPDATE events SET data = '{}' WHERE position = 6", "event 6: its bytes don't give"),
        ("UPDATE events SET metadata = 'x' WHERE position = 6", "event 6: its bytes don't give"),
        ("UPDATE events SET data = x'ff' WHERE position = 6", "event 6: data isn't of its type"),
        (
            "UPDATE events SET data = CAST(x'ff' AS TEXT) WHERE position = 6",
            "event 6: its bytes don't give",
        ),
        ("DELETE FROM events WHERE position = 6", "event 7: the position before it is 5"),
    ],
)
def test_a_damaged_event_ends_it(file: File, place: str, damage: str, flaw: str) -> None:
    file.damage(damage)
    with pytest.raises(turnledger.StoreDamaged, match=flaw) as caught:
        turnledger.copy(file.path, place)
    assert caught.value.facts["url"] == url_of(file)
    assert contents(place)["events"] == []


def test_a_history_that_breaks_a_rule_ends_it(file: File, place: str) -> None:
    deletion = {"queued_turn_id": "never"}
    position = file.forge("thread_queue:busy", "thread_queue.deleted", deletion)
    with pytest.raises(turnledger.StoreDamaged, match=f"event {position}: "):
        turnledger.copy(file.path, place)


def test_damaged_read_models_and_head_rows_are_made_anew(file: File, place: str) -> None:
    whole = contents(url_of(file))
    file.damage("UPDATE queued_turns SET attempts = 9")
    file.damage("UPDATE streams SET owner = 'nobody'")
    file.damage("DELETE FROM receipts")
    assert turnledger.copy(file.path, place).verification.ok
    assert contents(place) == whole
