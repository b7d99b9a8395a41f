"""A backup takes a ledger's place whole, whatever is left of the old one."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

import turnledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def backup(path: Path) -> Path:
    """A backup with one turn, of a ledger that went on."""
    target = path.with_name("backup.db")
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {"n": "backed up"})
        ledger.backup(target)
        for number in range(30):
            ledger.queue.append("thread", {"n": number})
    return target


def turns(path: Path) -> list[object]:
    with turnledger.open(path) as ledger:
        assert ledger.verify().ok
        return [(turn.submission or {})["n"] for turn in ledger.queue.list("thread")]


def log_of(path: Path) -> bytes:
    """The write-ahead log that a killed process would have left: copied while it was in use."""
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {"n": "lost with the file"})
        return Path(f"{path}-wal").read_bytes()


def test_the_backup_is_there_and_nothing_else(path: Path, backup: Path) -> None:
    turnledger.restore(backup, path)
    assert turns(path) == ["backed up"]


def test_a_log_that_outlived_its_file_is_not_replayed_into_the_backup(
    path: Path, backup: Path
) -> None:
    log = log_of(path)
    path.unlink()
    Path(f"{path}-wal").write_bytes(log)
    turnledger.restore(backup, path)
    assert turns(path) == ["backed up"]


def test_a_log_beside_a_file_is_not_replayed_into_the_backup(path: Path, backup: Path) -> None:
    Path(f"{path}-wal").write_bytes(log_of(path))
    turnledger.restore(backup, path)
    assert turns(path) == ["backed up"]


def test_a_damaged_ledger_is_restored_over(path: Path, backup: Path) -> None:
    path.write_bytes(b"no database" * 1_000)
    turnledger.restore(backup, path)
    assert turns(path) == ["backed up"]
    assert not path.with_name("ledger.db.restoring").exists()


def test_what_is_no_backup_changes_nothing(path: Path, backup: Path) -> None:
    before = turns(path)
    for content in (b"no database" * 1_000, b""):
        backup.write_bytes(content)
        with pytest.raises(turnledger.StoreDamaged):
            turnledger.restore(backup, path)
    assert turns(path) == before
    assert not path.with_name("ledger.db.restoring").exists()


def test_claims_and_cursors_of_before_are_refused(path: Path, backup: Path) -> None:
    with turnledger.open(path) as ledger:
        claim = ledger.queue.claim_head("thread", "worker")
        cursor = ledger.log.read()[0].cursor
    assert claim is not None
    turnledger.restore(backup, path)
    with turnledger.open(path) as ledger:
        with pytest.raises(turnledger.ClaimLost):
            ledger.queue.renew(claim)
        with pytest.raises(turnledger.OtherGeneration):
            ledger.log.read(cursor)


def test_readers_and_followers_of_the_old_file_are_told(path: Path, backup: Path) -> None:
    refusals: list[BaseException] = []
    seen = Event()
    with turnledger.open(path) as ledger:

        def follow() -> None:
            try:
                for _ in ledger.log.follow():
                    seen.set()
            except turnledger.StoreReplaced as error:
                refusals.append(error)

        follower = Thread(target=follow)
        follower.start()
        assert seen.wait(10)
        turnledger.restore(backup, path)
        follower.join(10)
        assert not follower.is_alive()
        with pytest.raises(turnledger.StoreReplaced):
            ledger.queue.append("thread", {})
    assert len(refusals) == 1
