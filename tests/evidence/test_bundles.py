"""A bundle holds all about one thing, can be read as a ledger, and proves itself."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnledger
from tests.conformance.stores import store_at
from tests.verify.conftest import File
from turnledger import Bundle, Ledger
from turnledger.infrastructure.subject import Kind, Subject, streams_of

THREADS = ["busy", "flying", "paused", "archived", "ended", "later", "mail", "forked"]
SUBJECTS: list[tuple[Kind, str]] = [*(("thread", one) for one in THREADS), ("work_item", "item")]
COLUMNS = "position, stream_id, version, type, schema_version, data, metadata, recorded_at, hash"


def bundled(ledger: Ledger, path: Path, kind: Kind, name: str) -> Bundle:
    given: dict[str, Any] = {f"{kind}_id": name}
    return ledger.bundle(path, **given)


def opened(path: Path) -> Ledger:
    return turnledger.open(path, read_only=True)


def events_in(url: str, streams: tuple[str, ...]) -> list[tuple[Any, ...]]:
    marks = ", ".join("?" for _ in streams)
    where = f"stream_id IN ({marks}) AND position > 0"
    rows = store_at(url).rows(
        f"SELECT {COLUMNS} FROM events WHERE {where} ORDER BY position", *streams
    )
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows]


def test_everything_about_each_thing_is_in_it_byte_for_byte(
    ledger: Ledger, place: str, tmp_path: Path
) -> None:
    checkpoint = ledger.checkpoint()
    for kind, name in SUBJECTS:
        path = tmp_path / f"{name}.bundle"
        made = bundled(ledger, path, kind, name)
        with ledger._backend.store.reading() as cursor:
            streams = streams_of(cursor, ledger._backend.store.dialect, Subject(kind, name))
        expected = events_in(place, streams)
        assert events_in(f"sqlite:///{path}", streams) == expected
        assert (made.events, made.checkpoint) == (len(expected), checkpoint)
        with opened(path) as copy:
            found = copy.verify()
            assert (found.findings, found.events) == ((), made.events)
            assert copy.is_bundle
            assert (copy.checkpoint(), copy.ledger_id) == (checkpoint, ledger.ledger_id)
    assert not ledger.is_bundle
    assert not list(tmp_path.glob("*.partial*"))


def test_questions_are_answered_as_the_ledger_answers_them(
    ledger: Ledger, file: File, tmp_path: Path
) -> None:
    for kind, name in SUBJECTS:
        bundled(ledger, tmp_path / name, kind, name)
    for name in THREADS:
        with turnledger.open(tmp_path / name, read_only=True, clock=file.clock) as copy:
            assert copy.queue.list(name) == ledger.queue.list(name)
            assert copy.inbox.list(name) == ledger.inbox.list(name)
            assert copy.timers.list(name) == ledger.timers.list(name)
            assert copy.threads.get(name) == ledger.threads.get(name)
            assert copy.why(name).reason == ledger.why(name).reason
    with opened(tmp_path / "item") as copy:
        assert copy.coordinator.list("item") == ledger.coordinator.list("item")
        assert copy.operations.list() == ledger.operations.list()
        with pytest.raises(turnledger.NothingRecorded):
            ledger.bundle(tmp_path / "none", thread_id="item")


def test_nothing_of_others_is_in_it(file: File, tmp_path: Path) -> None:
    with file.open() as ledger:
        ledger.queue.append("other", {"text": "a secret of somebody else"})
        ledger.queue.append("mine", {"text": "what I said"})
        ledger.bundle(tmp_path / "mine", thread_id="mine")
    written = (tmp_path / "mine").read_bytes()
    assert b"what I said" in written
    assert b"a secret of somebody else" not in written


def test_a_run_of_another_work_item_is_taken_along_with_an_operation(file: File) -> None:
    path = file.path.with_name("bundle")
    with file.open() as ledger:
        claim = ledger.runs.start("elsewhere", "other item", "action", "one", 60)
        assert claim is not None
        about = {"run_id": "elsewhere", "work_item_id": "third item", "action_id": "a"}
        ledger.operations.create("key", **about, operation_type="send", payload=None)
        made = ledger.bundle(path, work_item_id="third item")
    with opened(path) as copy:
        assert (copy.verify().findings, made.streams) == ((), 2)


def test_the_same_in_asyncio(file: File, tmp_path: Path) -> None:
    async def made() -> Bundle:
        async with turnledger.open_async(file.path) as ledger:
            assert not ledger.is_bundle
            return await ledger.bundle(tmp_path / "bundle", thread_id="busy")

    with opened(tmp_path / "bundle") if asyncio.run(made()) else None as copy:  # type: ignore[union-attr]
        assert copy.verify().ok


def test_events_of_a_newer_release_are_taken_as_they_are(file: File, tmp_path: Path) -> None:
    file.forge("thread_queue:busy", "thread_queue.teleported", {"to": 1}, schema_version=7)
    with file.open() as ledger:
        ledger.bundle(tmp_path / "bundle", thread_id="busy")
        turns = ledger.queue.list("busy")
    with opened(tmp_path / "bundle") as copy:
        found = copy.verify()
        assert (found.ok, len(found.notes)) == (True, 2)
        assert copy.queue.list("busy") == turns


def test_the_proof_stays_small(file: File, tmp_path: Path) -> None:
    with file.open() as ledger:
        for _ in range(8):
            for number in range(40):
                ledger.queue.append(f"crowd {number}", {})
            ledger.queue.append("alone", {})
        made = ledger.bundle(tmp_path / "bundle", thread_id="alone")
    rows = store_at(f"sqlite:///{tmp_path / 'bundle'}").rows("SELECT count(*) FROM bundle_nodes")
    assert rows[0][0] <= made.events * (made.checkpoint.size - 1).bit_length()


# --- what is refused


@pytest.mark.parametrize(
    "given", [{}, {"thread_id": "busy", "work_item_id": "item"}, {"thread_id": ""}]
)
def test_it_is_about_one_thing(file: File, given: dict[str, str]) -> None:
    with file.open() as ledger, pytest.raises(turnledger.InvalidInput):
        ledger.bundle(file.path.with_name("bundle"), **given)  # type: ignore[arg-type]
    assert not file.path.with_name("bundle").exists()


def test_nothing_is_written_about_what_never_was(ledger: Ledger, tmp_path: Path) -> None:
    for given in ({"thread_id": "never was"}, {"work_item_id": "busy"}):
        with pytest.raises(turnledger.NothingRecorded, match="there is no event about"):
            ledger.bundle(tmp_path / "bundle", **given)
    assert not list(tmp_path.glob("bundle*"))


def test_a_file_that_is_there_is_left_as_it_is(file: File, tmp_path: Path) -> None:
    (tmp_path / "bundle").write_text("mine")
    with file.open() as ledger, pytest.raises(turnledger.InvalidPayload, match="would overwrite"):
        ledger.bundle(tmp_path / "bundle", thread_id="busy")
    assert (tmp_path / "bundle").read_text() == "mine"


def test_a_damaged_log_is_not_bundled(file: File, tmp_path: Path) -> None:
    [first, *_] = file.rows("SELECT position FROM events WHERE stream_id = 'thread_queue:busy'")
    file.damage("UPDATE events SET data = '{}' WHERE position = ?", first["position"])
    with file.open() as ledger, pytest.raises(turnledger.StoreDamaged, match="no bundle is made"):
        ledger.bundle(tmp_path / "bundle", thread_id="busy")
    assert not list(tmp_path.glob("bundle*"))


@pytest.fixture
def bundle(file: File) -> Path:
    """A bundle about thread `busy`."""
    path = file.path.with_name("busy.bundle")
    with file.open() as ledger:
        ledger.bundle(path, thread_id="busy")
    return path


COMMANDS: list[Callable[[Ledger], object]] = [
    lambda ledger: ledger.queue.append("busy", {}),
    lambda ledger: ledger.threads.archive("busy"),
    lambda ledger: ledger.recovery.run_once(),
]


def test_every_command_is_refused_and_changes_nothing(bundle: Path, file: File) -> None:
    before = hashlib.sha256(bundle.read_bytes()).digest()
    with opened(bundle) as ledger:
        for command in COMMANDS:
            with pytest.raises(turnledger.StoreReadOnly):
                command(ledger)
    for opening in (turnledger.open, turnledger.migrate, turnledger.new_generation):
        with pytest.raises(turnledger.StoreReadOnly, match="it is a bundle"):
            opening(bundle)
    with pytest.raises(turnledger.InvalidPayload, match="is a bundle"):
        turnledger.copy(bundle, bundle.with_name("copy.db"))
    with pytest.raises(turnledger.StoreDamaged, match="it is a bundle"):
        turnledger.restore(bundle, file.path)
    with file.open() as ledger:
        assert ledger.verify().ok
    assert hashlib.sha256(bundle.read_bytes()).digest() == before


def test_of_a_bundle_no_other_is_made_and_nothing_proven_anew(bundle: Path) -> None:
    with opened(bundle) as ledger:
        with pytest.raises(turnledger.InvalidPayload, match="is a bundle"):
            ledger.bundle(bundle.with_name("other"), thread_id="busy")
        with pytest.raises(turnledger.InvalidPayload, match="is a bundle"):
            ledger.prove(1)


def test_a_checkpoint_is_compared_with_that_of_the_bundle(bundle: Path, file: File) -> None:
    with file.open() as ledger:
        same = ledger.checkpoint()
        ledger.queue.append("busy", {})
        later = ledger.checkpoint()
    with turnledger.open(file.path.with_name("other.db")) as ledger:
        other = ledger.checkpoint()
    with opened(bundle) as ledger:
        found = ledger.check_all([same, later, other])
    assert [one.reason for one in found] == ["holds", "other_size", "other_ledger"]


def test_doctor_says_that_it_is_one(bundle: Path) -> None:
    with opened(bundle) as ledger:
        checks = {check.name: check.status for check in ledger.doctor()}
    assert checks["bundle"] == "ok"
    assert "problem" not in checks.values()
