"""A checkpoint holds as long as the log begins with what it is about, and says so when not."""

from __future__ import annotations

import dataclasses
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

import pytest

import turnledger
from tests.conformance.stores import PostgresqlDatabase, store_at
from tests.evidence.test_merkle import defined
from tests.verify.conftest import File
from turnledger import Checkpoint, Ledger

AN_ID = "01900000-0000-7000-8000-000000000000"


def hashes(ledger: Ledger) -> list[bytes]:
    return [bytes.fromhex(event.hash) for event in ledger.log.read(limit=10_000)]


def remove(place: str, table: str, where: str) -> None:
    """Delete rows, which a ledger never does."""
    store = store_at(place)
    if isinstance(store, PostgresqlDatabase) and table == "events":
        chosen = f"SELECT id FROM stored_events WHERE {where}"
        store.damage(f"DELETE FROM positions WHERE event_id IN ({chosen})")
        table = "stored_events"
    store.damage(f"DELETE FROM {table} WHERE {where}")


def cut_tail(place: str) -> None:
    """Take thread `tail`, of one event, off the end so that nothing in the ledger speaks of it."""
    remove(place, "events", "stream_id = 'thread_queue:tail'")
    remove(place, "streams", "stream_id = 'thread_queue:tail'")
    remove(place, "queued_turns", "thread_id = 'tail'")


def test_it_is_the_root_of_the_hashes_of_all_events(ledger: Ledger, file: File) -> None:
    made = ledger.checkpoint()
    assert made.root == defined(hashes(ledger)).hex()
    assert (made.size, made.ledger_id) == (file.last, ledger.ledger_id)
    assert made.generation == ledger.generation
    assert made.recorded_at == ledger.log.read(after=file.last - 1)[0].recorded_at


def test_what_was_just_written_is_in_it(ledger: Ledger) -> None:
    before = ledger.checkpoint()
    ledger.queue.append("new", {})
    after = ledger.checkpoint()
    assert (after.size, after.root == before.root) == (before.size + 1, False)


def test_it_holds_while_the_log_goes_on(ledger: Ledger) -> None:
    made = [ledger.checkpoint()]
    for _ in range(3):
        ledger.queue.append("new", {})
        made.append(ledger.checkpoint())
    found = ledger.check_all(reversed(made))
    assert [one.checkpoint for one in found] == made[::-1]
    assert {(one.ok, one.reason, one.message) for one in found} == {
        (True, "holds", "the log begins with these")
    }


def test_a_tail_that_was_cut_off_is_found_though_verify_cant_see_it(
    ledger: Ledger, place: str, reopen: Callable[[], Ledger]
) -> None:
    last = ledger.checkpoint().size
    ledger.queue.append("tail", {"n": 1})
    made = ledger.checkpoint()
    ledger.close()
    cut_tail(place)
    with reopen() as cut:
        assert cut.verify().ok
        found = cut.check(made)
        assert (found.ok, found.reason) == (False, "cut")
        assert found.message == (
            f"the log has {last}; those behind position {last} are gone from its end"
        )
        cut.queue.append("tail", {"n": 2})
        assert cut.verify().ok
        found = cut.check(made)
    assert (found.ok, found.reason) == (False, "changed")
    assert found.message == "the log begins with other ones"


def test_an_event_with_another_hash_is_found(
    ledger: Ledger, place: str, reopen: Callable[[], Ledger]
) -> None:
    made = ledger.checkpoint()
    ledger.close()
    store_at(place).damage("UPDATE events SET hash = ? WHERE position = 3", bytes(32))
    with reopen() as changed:
        assert changed.check(made).reason == "changed"


def test_a_missing_event_and_a_hash_that_is_none_are_named(file: File) -> None:
    with file.open() as ledger:
        ledger.queue.append("end", {}, queued_turn_id="end 0")
        early = ledger.checkpoint()
    file.damage("UPDATE events SET hash = 'text' WHERE position = 9")
    with file.open() as ledger:
        found = ledger.check(early)
        assert found.message == "the hash of event 9 is none: the log isn't what it was"
        with pytest.raises(turnledger.StoreDamaged, match="the hash of event 9 is none"):
            ledger.checkpoint()
    file.damage("DELETE FROM events WHERE position = 5")
    with file.open() as ledger:
        assert ledger.check(early).message == "event 5 is missing: the log isn't what it was"
        with pytest.raises(turnledger.StoreDamaged, match="event 5 is missing"):
            ledger.prove(7)


def test_another_ledger_is_called_another_ledger(ledger: Ledger, file: File) -> None:
    with turnledger.open(file.path.with_name("other.db")) as other:
        other.queue.append("t", {})
        found = other.check(ledger.checkpoint())
        assert (found.ok, found.reason) == (False, "other_ledger")
        assert found.message == (
            f"it is about ledger {ledger.ledger_id}, and this is {other.ledger_id}"
        )


def test_after_a_restore_what_the_backup_held_is_compared(file: File) -> None:
    backup = file.path.with_name("backup.db")
    with file.open() as ledger:
        held = ledger.checkpoint()
        ledger.backup(backup)
        ledger.queue.append("lost", {})
        lost = ledger.checkpoint()
    turnledger.restore(backup, file.path)
    with file.open() as ledger:
        found = ledger.check_all([held, lost])
        assert [one.reason for one in found] == ["holds", "cut"]
        now = ledger.generation
        assert all(
            one.message.endswith(
                "the ledger was restored since: it was of generation "
                f"{held.generation} then, and is of {now} now"
            )
            for one in found
        )
        ledger.queue.append("other", {})
        assert ledger.check(lost).reason == "changed"


def test_an_empty_log_has_one_too(file: File) -> None:
    with turnledger.open(file.path.with_name("empty.db")) as ledger:
        made = ledger.checkpoint()
        assert (made.size, made.root, made.recorded_at) == (0, defined([]).hex(), None)
        assert Checkpoint.read(str(made)) == (made,)
        ledger.queue.append("t", {})
        assert ledger.check(made).ok
        assert not ledger.check(dataclasses.replace(made, root="00" * 32)).ok


def test_pages_make_no_difference(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ledger.checkpoint()
    monkeypatch.setattr("turnledger.infrastructure.leaves._PAGE", 7)
    assert ledger.checkpoint() == made
    sizes = [dataclasses.replace(made, size=size) for size in (1, 7, 8, 13, 14)]
    wanted = [
        dataclasses.replace(one, root=defined(hashes(ledger)[: one.size]).hex()) for one in sizes
    ]
    assert [one.ok for one in ledger.check_all([*wanted, made])] == [True] * 6


# --- the text


def a_checkpoint(**other: object) -> Checkpoint:
    given = {
        "ledger_id": AN_ID,
        "generation": AN_ID,
        "size": 20_852_163,
        "root": "0a" * 32,
        "recorded_at": datetime(2026, 11, 30, 9, 30, 0, 7, tzinfo=UTC),
    }
    return Checkpoint(**{**given, **other})  # type: ignore[arg-type]


def test_its_text_is_the_body_of_a_note_of_a_transparency_log() -> None:
    assert str(a_checkpoint()) == (
        f"turnledger/{AN_ID}\n"
        "20852163\n"
        "CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo=\n"
        f"generation {AN_ID}\n"
        "recorded 2026-11-30T09:30:00.000007Z\n"
    )


@pytest.mark.parametrize("between", ["", "\n", "\n— example.com/key AAAA=\n", "\r\n\n\n"])
def test_several_are_read_from_one_text_signed_or_not(between: str) -> None:
    several = [a_checkpoint(size=size) for size in (1, 2, 3)]
    text = "".join(f"{one}{between}" for one in several)
    assert Checkpoint.read(text) == tuple(several)


def test_lines_that_others_add_are_let_be() -> None:
    assert Checkpoint.read(f"{a_checkpoint()}witness 7\n") == (a_checkpoint(),)


GOOD = str(a_checkpoint()).splitlines()
BAD = [
    *product([0], ["turnledger/", "turnledger/a b", "example.com/log"]),
    *product([1], ["01", "-1", "1.0", "", "99999999999999999999", "9223372036854775808", "١"]),
    *product([2], ["", "AAAA", "no base64!", b64encode(bytes(33)).decode()]),
    *product([3], ["generation", "generation ", "generation a/b", "other x"]),
    *product([4], ["recorded", "recorded yesterday", "recorded 99999-01-01T00:00:00Z"]),
]


@pytest.mark.parametrize(("line", "wrong"), BAD)
def test_what_isnt_one_is_refused(line: int, wrong: str) -> None:
    with pytest.raises(turnledger.InvalidPayload, match="checkpoint"):
        Checkpoint.read("\n".join([*GOOD[:line], wrong, *GOOD[line + 1 :]]))


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "— example.com/key AAAA=\n"])
def test_a_text_without_any_is_refused(text: str) -> None:
    with pytest.raises(turnledger.InvalidPayload, match="checkpoint"):
        Checkpoint.read(text)


# --- proofs of single events


def test_an_event_is_proven_to_whoever_has_the_checkpoint(ledger: Ledger) -> None:
    made = ledger.checkpoint()
    for event in (ledger.log.read(limit=1)[0], ledger.log.read(after=made.size - 1)[0]):
        proof = ledger.prove(event.position)
        assert (proof.checkpoint, proof.hash) == (made, event.hash)
        assert proof.holds()
        assert not dataclasses.replace(proof, position=event.position ^ 1).holds()
        assert not dataclasses.replace(proof, hash="00" * 32).holds()
        assert not dataclasses.replace(proof, path=proof.path[1:]).holds()


@pytest.mark.parametrize("position", [0, -1, 10_000_000, True, "1", None])
def test_only_an_event_that_is_there_is_proven(file: File, position: object) -> None:
    with file.open() as ledger, pytest.raises(turnledger.InvalidPayload, match="position"):
        ledger.prove(position)  # type: ignore[arg-type]
