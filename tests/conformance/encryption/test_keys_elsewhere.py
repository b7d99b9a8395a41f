"""Keys lie apart from the ledger: what happens without them, and where they go with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import turnledger
from turnledger import Ledger, StoreError, StoreUnavailable
from turnledger.infrastructure.key_store import KeyStore

PURGED = {"$purged": True}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An encrypted ledger in a file, with a turn in each of two threads."""
    place = tmp_path / "a.db"
    with turnledger.open(place, encrypt=True) as ledger:
        ledger.queue.append("t", {"text": "hi"})
        ledger.queue.append("u", {"text": "ho"})
    return place


def submission(place: Path | str, thread: str = "t", **options: bool) -> object:
    with turnledger.open(place, **options) as ledger:
        return ledger.queue.list(thread)[0].submission


def test_only_the_owner_can_read_the_keys(path: Path) -> None:
    assert path.with_name("a.db.keys").stat().st_mode & 0o777 == 0o600


def test_without_its_keys_a_ledger_takes_no_command(path: Path) -> None:
    path.with_name("a.db.keys").rename(path.with_name("elsewhere"))
    with pytest.raises(StoreError, match="keys"):
        turnledger.open(path)
    assert not path.with_name("a.db.keys").exists()
    path.with_name("elsewhere").rename(path.with_name("a.db.keys"))
    assert submission(path) == {"text": "hi"}


def test_without_its_keys_a_ledger_can_be_audited(path: Path) -> None:
    path.with_name("a.db.keys").unlink()
    with turnledger.open(path, read_only=True) as ledger:
        assert ledger.verify().ok
        assert ledger.replay().ok
        found = ledger.queue.list("t")[0].submission
        assert found is not None
        assert list(found) == ["$sealed"]
        assert [check.status for check in ledger.doctor() if check.name == "keys"] == ["note"]


def test_a_purge_reaches_the_backups(path: Path, tmp_path: Path) -> None:
    with turnledger.open(path) as ledger:
        ledger.backup(tmp_path / "backup.db")
        ledger.purge(thread_id="t")
    turnledger.restore(tmp_path / "backup.db", path)
    assert (submission(path), submission(path, "u")) == (PURGED, {"text": "ho"})


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
def test_keys_go_with_a_copy_and_what_was_purged_stays_so(
    path: Path, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    with turnledger.open(path) as ledger:
        ledger.purge(thread_id="u")
    server, back = new_url("copied"), tmp_path / "back.db"
    turnledger.copy(path, server)
    assert (submission(server), submission(server, "u")) == ({"text": "hi"}, PURGED)
    turnledger.copy(server, back)
    assert (submission(back), submission(back, "u")) == ({"text": "hi"}, PURGED)


def test_a_ledger_isnt_copied_without_its_keys(path: Path, tmp_path: Path) -> None:
    path.with_name("a.db.keys").unlink()
    with pytest.raises(StoreError, match="keys"):
        turnledger.copy(path, tmp_path / "b.db")


def test_a_child_process_can_go_on(ledger: Ledger) -> None:
    ledger.queue.append("t", {"n": 1})
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ledger.queue.append("t", {"n": 2})
            ledger.queue.append("u", {"n": 3})
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.queue.append("t", {"n": 4})
    assert [turn.submission for turn in ledger.queue.list("t")] == [{"n": 1}, {"n": 2}, {"n": 4}]
    assert ledger.queue.list("u")[0].submission == {"n": 3}


def test_nothing_is_done_if_its_result_cant_be_opened(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.queue.append("t", {"n": 1})
    looked_up = KeyStore.find

    def failing(self: KeyStore, key_id: str) -> None:
        raise StoreUnavailable(self.place, f"no answer about {key_id}")

    monkeypatch.setattr(KeyStore, "find", failing)
    with pytest.raises(StoreUnavailable):
        ledger.queue.append("t", {"n": 2})
    with pytest.raises(StoreUnavailable):
        ledger.queue.claim_head("t", "worker")
    monkeypatch.setattr(KeyStore, "find", looked_up)
    assert [turn.state for turn in ledger.queue.list("t")] == ["pending"]


def test_several_may_make_the_ledger_at_the_same_time(url: str) -> None:
    gate, failed = threading.Barrier(4), list[Exception]()

    def make(number: int) -> None:
        gate.wait()
        try:
            with turnledger.open(url, encrypt=True) as ledger:
                ledger.queue.append("t", {"n": number})
        except Exception as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with turnledger.open(url) as ledger:
        found = [turn.submission for turn in ledger.queue.list("t")]
    assert sorted(map(str, found)) == [str({"n": number}) for number in range(4)]
