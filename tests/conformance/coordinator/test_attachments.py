"""Attachments: files under the SHA-256 of their content, there before the commit."""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import turnledger
from turnledger import IdempotencyConflict, InvalidPayload, Ledger, StoreReadOnly
from turnledger.infrastructure.attachment_folder import AttachmentFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conformance.conftest import Clock, Store

HOUR = 3_600


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attachments"


@pytest.fixture
def ledger(store_url: str, clock: Clock, folder: Path) -> Iterator[Ledger]:
    with turnledger.open(store_url, clock=clock, attachments=folder) as opened:
        yield opened
        verification = opened.verify()
        assert (verification.findings, verification.notes) == ((), ())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_bytes_and_files_are_stored_under_their_hash(
    ledger: Ledger, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"a file")
    given = [b"bytes", tmp_path / "scan.pdf", str(tmp_path / "scan.pdf")]
    turn = ledger.coordinator.begin("item", "hi", attachments=given)
    assert turn.attachments == (sha256(b"bytes"), sha256(b"a file"))
    assert names(folder) == set(turn.attachments)
    assert ledger.attachments.path(turn.attachments[1]).read_bytes() == b"a file"
    found = ledger.coordinator.get(turn.turn_id)
    assert found is not None
    assert found.attachments == turn.attachments
    claim = ledger.coordinator.claim(turn.turn_id, "one")
    assert claim is not None
    assert claim.attachments == turn.attachments


def test_the_same_content_again_is_a_duplicate_and_another_isnt(ledger: Ledger) -> None:
    for kwargs in ({"idempotency_key": "key"}, {"turn_id": "turn"}):
        ledger.coordinator.begin("item", "hi", attachments=[b"a"], **kwargs)
        again = ledger.coordinator.begin("item", "hi", attachments=[b"a"], **kwargs)
        assert again.duplicate
        with pytest.raises(IdempotencyConflict):
            ledger.coordinator.begin("item", "hi", attachments=[b"b"], **kwargs)


def test_what_nothing_refers_to_is_swept_when_it_is_older_than_an_hour(
    ledger: Ledger, folder: Path, clock: Clock
) -> None:
    kept = ledger.coordinator.begin("item", "hi", turn_id="turn", attachments=[b"kept"])
    ledger.coordinator.cancel("turn", "no")
    with pytest.raises(IdempotencyConflict):
        ledger.coordinator.begin("item", "other", turn_id="turn", attachments=[b"of a refusal"])
    assert ledger.attachments.sweep() == 0
    clock.advance(HOUR)
    assert ledger.attachments.sweep() == 0
    clock.advance(1)
    assert ledger.attachments.sweep() == 1
    assert names(folder) == set(kept.attachments)


def test_what_is_taken_up_again_is_as_young_as_new(
    ledger: Ledger, folder: Path, clock: Clock
) -> None:
    ledger.coordinator.begin("item", "hi", turn_id="turn", attachments=[b"first"])
    with pytest.raises(IdempotencyConflict):
        ledger.coordinator.begin("item", "hi", turn_id="turn", attachments=[b"again"])
    clock.advance(2 * HOUR)
    turn = ledger.coordinator.begin("item", "hi", attachments=[b"again"])
    assert ledger.attachments.sweep() == 0
    assert turn.attachments[0] in names(folder)


def test_what_a_crash_left_unfinished_is_swept_and_strange_files_arent(
    ledger: Ledger, folder: Path, clock: Clock
) -> None:
    turn = ledger.coordinator.begin("item", "hi", attachments=[b"kept"])
    for name in (f"{turn.attachments[0]}.x1.part", "notes.txt"):
        (folder / name).write_bytes(b"?")
    clock.now = clock.now.replace(year=clock.now.year + 50)  # behind the files' own times
    assert ledger.attachments.sweep() == 1
    assert names(folder) == {turn.attachments[0], "notes.txt"}


def test_a_file_that_is_gone_when_a_sweep_looks_at_it_stops_no_sweep(
    ledger: Ledger, folder: Path, clock: Clock
) -> None:
    """As an unfinished one is, that has just got its name."""
    ledger.coordinator.begin("item", "hi", turn_id="turn", attachments=[b"kept"])
    with pytest.raises(IdempotencyConflict):
        ledger.coordinator.begin("item", "hi", turn_id="turn", attachments=[b"of a refusal"])
    (folder / f"{sha256(b'gone')}.x1.part").symlink_to("nowhere")
    clock.advance(2 * HOUR)
    assert ledger.attachments.sweep() == 1


def test_what_an_event_refers_to_is_kept_though_its_row_is_lost(
    ledger: Ledger, folder: Path, clock: Clock, store: Store
) -> None:
    turn = ledger.coordinator.begin("item", "hi", attachments=[b"kept"])
    rows = store.rows("SELECT sha256, turn_id FROM attachments")
    store.damage("DELETE FROM attachments")
    clock.advance(2 * HOUR)
    assert ledger.attachments.sweep() == 0
    assert names(folder) == set(turn.attachments)
    for row in rows:
        store.damage("INSERT INTO attachments (sha256, turn_id) VALUES (?, ?)", *row)


def test_a_file_that_is_swept_while_it_is_taken_up_is_written_again(tmp_path: Path) -> None:
    folder, content = AttachmentFolder(tmp_path / "attachments"), {sha256(b"a"): b"a"}
    stopped = threading.Event()

    def sweep() -> None:
        while not stopped.is_set():
            folder.file(sha256(b"a")).unlink(missing_ok=True)

    sweeping = threading.Thread(target=sweep)
    sweeping.start()
    try:
        for _ in range(2_000):
            folder.keep(content, 0)
    finally:
        stopped.set()
        sweeping.join()
    folder.keep(content, 0)
    assert folder.file(sha256(b"a")).read_bytes() == b"a"


def test_a_file_that_cant_be_removed_is_said_in_words(store_url: str, tmp_path: Path) -> None:
    (tmp_path / "attachments" / sha256(b"a")).mkdir(parents=True)
    later = datetime.now(UTC) + timedelta(hours=2)
    with (
        turnledger.open(
            store_url, clock=lambda: later, attachments=tmp_path / "attachments"
        ) as ledger,
        pytest.raises(StoreReadOnly),
    ):
        ledger.attachments.sweep()


def test_beside_a_file_there_is_a_folder_and_on_a_server_none(
    open_ledger: Callable[..., Ledger], store_url: str, kind: str, tmp_path: Path
) -> None:
    ledger = open_ledger()
    assert ledger.attachments.sweep() == 0
    if kind == "postgresql":
        with pytest.raises(InvalidPayload, match="folder"):
            ledger.coordinator.begin("item", "hi", attachments=[b"a"])
        with pytest.raises(InvalidPayload, match="folder"):
            ledger.attachments.path(sha256(b"a"))
        return
    ledger.coordinator.begin("item", "hi", attachments=[b"a"])
    assert ledger.attachments.path(sha256(b"a")).parent == tmp_path / "ledger.db.attachments"
    assert store_url.endswith("ledger.db")


def test_a_file_has_the_name_of_a_hash_and_of_nothing_else(ledger: Ledger) -> None:
    for name in ("../ledger.db", "", "x" * 64, sha256(b"a").upper(), None):
        with pytest.raises(InvalidPayload):
            ledger.attachments.path(name)  # type: ignore[arg-type]


def test_a_folder_that_cant_be_written_is_no_folder(store_url: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with (
        turnledger.open(store_url, attachments=tmp_path / "taken") as ledger,
        pytest.raises(StoreReadOnly),
    ):
        ledger.coordinator.begin("item", "hi", attachments=[b"a"])
