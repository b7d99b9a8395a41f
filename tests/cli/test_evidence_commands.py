"""`turnledger checkpoint`, `check` and `verify --checkpoint` as commands."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Call = Any


@pytest.fixture
def kept(waiting: Call, tmp_path: Path) -> Path:
    """A checkpoint of the two events, in a file."""
    path = tmp_path / "kept"
    assert waiting("checkpoint", "-o", path).lines == [
        f"wrote the checkpoint of 2 events to {path}"
    ]
    return path


def test_it_is_printed_as_it_is_written(waiting: Call, kept: Path) -> None:
    printed = waiting("checkpoint")
    assert (printed.status, printed.out) == (0, kept.read_text())
    origin, size, *_ = printed.lines
    assert (origin.startswith("turnledger/"), size) == (True, "2")


def test_its_json_holds_its_fields_and_its_text(waiting: Call, kept: Path) -> None:
    said = waiting("checkpoint", "--json").json
    assert (said["size"], said["text"], said["path"]) == (2, kept.read_text(), None)
    assert len(said["root"]) == 64


def test_a_file_that_is_there_is_never_overwritten(waiting: Call, kept: Path) -> None:
    before = kept.read_text()
    waiting("queue", "append", "t", "{}")
    answer = waiting("checkpoint", "-o", kept)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.endswith("choose another name\n")
    assert kept.read_text() == before
    assert not list(kept.parent.glob("*.partial"))


def test_several_that_hold_are_status_zero(waiting: Call, kept: Path) -> None:
    waiting("queue", "append", "t", "{}")
    kept.write_text(kept.read_text() + waiting("checkpoint").out)
    for words in (("check", kept), ("verify", "--checkpoint", kept)):
        answer = waiting(*words)
        assert (answer.status, answer.err) == (0, "")
        assert answer.lines[-2:] == [
            "checkpoint of 2 events holds: the log begins with these",
            "checkpoint of 3 events holds: the log begins with these",
        ]
    piped = waiting("check", "-", input=kept.read_text(), catch_exceptions=False)
    assert (piped.status, len(piped.lines)) == (0, 2)


def test_one_that_doesnt_hold_is_status_one_and_one_line(
    waiting: Call, kept: Path, db: Path, templates: dict[str, bytes]
) -> None:
    db.write_bytes(templates["empty"])
    said = "checkpoint of 2 events doesn't hold: the log has 0; those behind position 0 are gone"
    answer = waiting("check", kept)
    assert (answer.status, answer.out) == (1, f"{said} from its end\n")
    found = waiting("verify", "--checkpoint", kept)
    assert (found.status, found.lines[-1]) == (1, answer.lines[0])
    assert waiting("verify").status == 0


def test_json_says_what_became_of_each(waiting: Call, kept: Path) -> None:
    [one] = waiting("check", kept, "--json").json
    assert (one["ok"], one["reason"], one["checkpoint"]["size"]) == (True, "holds", 2)
    verified = waiting("verify", "--checkpoint", kept, "--json").json
    assert (verified["ok"], verified["events"], verified["checkpoints"]) == (True, 2, [one])
    assert "checkpoints" not in waiting("verify", "--json").json


def test_another_ledgers_is_said_to_be_another_ledgers(
    waiting: Call, kept: Path, tmp_path: Path
) -> None:
    waiting("--db", tmp_path / "other.db", "queue", "append", "t", "{}")
    answer = waiting("--db", tmp_path / "other.db", "check", kept)
    assert (answer.status, "it is about ledger" in answer.out) == (1, True)


@pytest.mark.parametrize("content", [None, b"", b"hello\n", b"\xff\xfe", b"turnledger/a\n1\n"])
def test_a_file_that_holds_none_is_bad_input(
    waiting: Call, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    for words in (("check", path), ("verify", "--checkpoint", path)):
        answer = waiting(*words)
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert answer.err.startswith("turnledger: checkpoint ")


def test_a_damaged_log_has_no_checkpoint(waiting: Call, db: Path) -> None:
    with closing(sqlite3.connect(db)) as database, database:
        database.execute("DROP TRIGGER events_no_delete")
        database.execute("DELETE FROM events WHERE position = 1")
    answer = waiting("checkpoint")
    assert (answer.status, answer.out) == (3, "")
    assert "event 1 is missing (see `turnledger verify`)" in answer.err


# --- bundles


def test_a_bundle_is_written_with_the_checkpoint_that_proves_it(
    waiting: Call, tmp_path: Path
) -> None:
    path = tmp_path / "t.bundle"
    answer = waiting("bundle", "t", "-o", path)
    said = f"wrote 2 events of 1 stream to {path}, proven by this checkpoint of the ledger:"
    assert (answer.status, answer.lines) == (0, [said, *waiting("checkpoint").lines])
    verified = waiting("--db", path, "verify")
    assert verified.status == 0
    assert "note: it is a bundle about thread t, of a log of 2 events" in verified.out


def test_its_json_says_what_was_written(waiting: Call, tmp_path: Path) -> None:
    path = tmp_path / "t.bundle"
    said = waiting("bundle", "t", "-o", path, "--json").json
    assert (said["events"], said["streams"], said["path"]) == (2, 1, str(path))
    assert said["checkpoint"]["size"] == 2


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("bundle t", (2, "missing option '-o'")),
        ("bundle -o f", (2, "give a THREAD, or a --work-item")),
        ("bundle t --work-item w -o f", (2, "give a THREAD, or a --work-item")),
        ("bundle unknown -o f", (1, "there is no event about thread unknown")),
        ("bundle --work-item w -o f", (1, "there is no event about work item w")),
        ("bundle t -o ledger.db", (2, "would overwrite")),
        ("bundle t -o nowhere/f", (2, "there is no folder")),
        ("checkpoint -o nowhere/f", (2, "there is no folder")),
    ],
)
def test_what_is_refused_is_one_line_and_leaves_no_file(
    waiting: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    ends: tuple[int, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path for path in tmp_path.iterdir() if "ledger.db" not in path.name}
    answer = waiting(*words.split())
    status, said = ends
    assert (answer.status, answer.out, answer.err.count("\n")) == (status, "", 1)
    assert said in answer.err
    assert {path for path in tmp_path.iterdir() if "ledger.db" not in path.name} == before
