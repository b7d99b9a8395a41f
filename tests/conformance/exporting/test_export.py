"""Which events are exported, what of them, and what happens when that can't be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

import turnledger
from tests.conformance.stores import SqliteFile
from turnledger import Exported, InvalidPayload, Ledger, RecordedEvent, Unreadable
from turnledger.exporting import FORMATS
from turnledger.exporting.redaction import CONTENTS, HASHES, KEPT, NESTED
from turnledger.infrastructure.application import REGISTRY

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store

Written = Callable[..., tuple[Path, Exported]]
REDACTED = {"$redacted": True}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def positions(path: Path) -> list[int]:
    return [line["position"] for line in lines(path)]


def test_the_next_export_goes_on_where_the_last_one_ended(
    ledger: Ledger, host: Host, written: Written
) -> None:
    host.append("a", "b")
    first, done = written(ledger, "jsonl")
    host.append("c")
    second, last = written(ledger, "jsonl", after=done.position)
    third, none = written(ledger, "jsonl", after=last.position)
    assert (positions(first), positions(second), positions(third)) == ([1, 2], [3], [])
    assert (none.position, none.events) == (3, 0)


def test_only_one_thread_is_exported(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    path, done = written(busy, "jsonl", thread_id="t", after=3)
    known = [one.position for one in busy.history(thread_id="t", after=3, limit=1_000_000)]
    assert positions(path) == known
    assert done.position == events[-1].position


def test_only_what_is_recorded_since_a_time_is_exported(
    ledger: Ledger, host: Host, clock: Clock, written: Written
) -> None:
    host.append("a")
    clock.advance(10)
    host.append("b")
    path, _ = written(ledger, "jsonl", since=clock.now)
    assert positions(path) == [2]
    assert positions(written(ledger, "jsonl", since=clock.now, thread_id="thread")[0]) == [2]


def test_every_field_of_every_event_is_known_as_a_name_or_a_content() -> None:
    fields = {name for kind in REGISTRY.writable for name in kind.model_fields}
    assert fields <= KEPT | CONTENTS | HASHES | NESTED
    assert not KEPT & (CONTENTS | HASHES | NESTED)


@pytest.mark.parametrize("name", FORMATS)
def test_no_content_is_left_in_a_redacted_export(busy: Ledger, written: Written, name: str) -> None:
    word = b"a secret word"
    turn = busy.queue.append("fresh", {"text": word.decode()})
    busy.queue.edit("fresh", turn.queued_turn_id, {"again": [word.decode()]})
    busy.inbox.post("fresh", word.decode(), source="ci", metadata={"m": word.decode()})
    timer = busy.timers.create("fresh", turnledger.Delay(seconds=9), word.decode())
    busy.timers.update("fresh", timer.timer_id, content={"c": word.decode()})
    busy.queue.pause("fresh", word.decode())
    path, _ = written(busy, name, redact=True)
    assert word not in path.read_bytes()


def test_a_function_may_redact(ledger: Ledger, host: Host, written: Written) -> None:
    host.append("a")
    seen: list[tuple[str, Any]] = []

    def redact(name: str, value: Any) -> Any:
        seen.append((name, value))
        return "short"

    (line,) = lines(written(ledger, "jsonl", redact=redact)[0])
    assert seen == [("submission", {"text": "a"})]
    assert (line["data"]["submission"], line["hash"]) == ("short", None)


def test_hashes_of_contents_are_left_out_too(ledger: Ledger, written: Written) -> None:
    begun = ledger.coordinator.begin("item", {"n": 1}, owner="w", idempotency_key="k")
    assert begun.claim is not None
    ledger.coordinator.prepare(begun.claim, {"n": 2})
    found = lines(written(ledger, "jsonl", redact=True)[0])
    assert found[0]["metadata"]["receipt"]["content_hash"] == REDACTED
    assert found[-1]["data"]["request_hash"] == REDACTED


def test_an_encrypted_ledger_is_exported_opened_and_what_was_purged_says_so(
    tmp_path: Path, written: Written
) -> None:
    with turnledger.open(tmp_path / "secret.db", encrypt=True) as ledger:
        ledger.queue.append("kept", {"text": "hi"})
        ledger.queue.append("gone", {"text": "hi"})
        ledger.purge(thread_id="gone")
        said = [one["data"]["submission"] for one in lines(written(ledger, "jsonl")[0])]
        assert said == [{"text": "hi"}, {"$purged": True}]
        for name in FORMATS:
            assert b"$sealed" not in written(ledger, name)[0].read_bytes(), name


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_ledger_can_be_exported(ledger: Ledger, written: Written, name: str) -> None:
    path, done = written(ledger, name)
    assert (done.events, done.position, path.exists()) == (0, 0, True)


@pytest.mark.parametrize("name", FORMATS)
def test_an_event_that_cant_be_read_is_exported_all_the_same(
    ledger: Ledger, host: Host, store: Store, written: Written, name: str
) -> None:
    host.append("a", "b", "c")
    ledger.log.read()  # gives positions, on a server
    store.damage("UPDATE events SET data = ? WHERE position = 2", "{no json")
    store.damage("UPDATE events SET type = ? WHERE position = 3", "future.object")
    assert written(ledger, name)[1].events == 3
    assert [one["data"] is None for one in lines(written(ledger, "jsonl")[0])] == [
        *(False, True),
        False,
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_that_are_no_text_and_no_hash_are_exported_as_nothing(
    tmp_path: Path, written: Written, name: str
) -> None:
    path = tmp_path / "damaged.db"
    with turnledger.open(path) as ledger:
        for text in "abc":
            ledger.queue.append("t", {"text": text})
    store = SqliteFile(f"sqlite:///{path}")
    store.damage("UPDATE events SET data = CAST(x'FFFE' AS TEXT) WHERE position = 2")
    store.damage("UPDATE events SET stream_id = CAST(x'FFFE' AS TEXT) WHERE position = 2")
    store.damage("UPDATE events SET hash = 'short' WHERE position = 3")
    with turnledger.open(path, read_only=True) as ledger:
        assert written(ledger, name)[1].events == 3
        second, third = lines(written(ledger, "jsonl")[0])[1:]
    assert (second["data"], second["stream_id"], third["hash"]) == (None, "??", None)


@pytest.mark.parametrize("name", FORMATS)
def test_an_event_without_a_time_is_named_and_no_file_is_left(
    ledger: Ledger, host: Host, store: Store, tmp_path: Path, name: Any
) -> None:
    host.append("a", "b", "c")
    ledger.log.read()
    store.damage("UPDATE events SET recorded_at = ? WHERE position = 2", 2**62)
    with pytest.raises(Unreadable, match="event 2 "):
        ledger.export(name, tmp_path / "new")
    assert not list(tmp_path.glob("new*"))
    assert (ledger.stats().unread, ledger.flow().unread) == (1, 1)


def test_no_file_is_overwritten_or_left_half(ledger: Ledger, host: Host, tmp_path: Path) -> None:
    host.append("a")
    target = tmp_path / "taken"
    target.write_text("mine")
    with pytest.raises(InvalidPayload, match="would overwrite"):
        ledger.export("jsonl", target)
    assert target.read_text() == "mine"

    def fail(_name: str, _value: object) -> object:
        raise KeyError

    for name in FORMATS:
        with pytest.raises(KeyError):
            ledger.export(name, tmp_path / "new", redact=fail)  # type: ignore[arg-type]
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith("new")} == set()


def test_wrong_arguments_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        *({"format": "xml"}, {"format": "jsonl", "after": -1}),
        *({"format": "jsonl", "thread_id": ""}, {"format": "jsonl", "redact": "yes"}),
        {"format": "jsonl", "since": "yesterday"},
    ]
    for given in wrong:
        with pytest.raises(turnledger.InvalidInput):
            ledger.export(path=tmp_path / "new", **given)
    assert not (tmp_path / "new").exists()


def test_progress_ends_at_the_last_position(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    told: list[tuple[int, int]] = []
    written(busy, "jsonl", progress=lambda passed, total: told.append((passed, total)))
    assert told[-1] == (len(events), len(events))
    assert told == sorted(told)


def test_all_formats_are_named_in_the_type() -> None:
    assert get_args(turnledger.exporting.Format) == FORMATS
