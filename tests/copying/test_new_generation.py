"""What pg_restore has put back begins a new generation: claims and cursors of before are void."""

import pytest

import turnledger
from tests.copying.conftest import reopened
from tests.verify.conftest import File, claimed


def test_claims_and_cursors_of_before_are_refused(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    with reopened(place, file) as ledger:
        before = ledger.generation
        ledger.queue.append("mine", {})
        claim = claimed(ledger, "mine")
        cursor = ledger.log.read()[-1].cursor
    generation = turnledger.new_generation(place)
    assert generation != before
    with reopened(place, file) as ledger:
        assert ledger.generation == generation
        with pytest.raises(turnledger.ClaimLost):
            ledger.queue.renew(claim)
        with pytest.raises(turnledger.OtherGeneration):
            ledger.log.read(cursor)
        assert ledger.verify().ok


def test_a_new_ledger_begins_with_its_first(place: str) -> None:
    generation = turnledger.new_generation(place)
    with turnledger.open(place) as ledger:
        assert ledger.generation == generation
