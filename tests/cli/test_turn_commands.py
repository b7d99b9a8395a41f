"""`turnledger turn …` and `turnledger attempt …`: what they answer, and how they end."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

Call = Any
BY = ("--owner", "w", "--epoch", "1")


@pytest.fixture
def claimed(call: Call) -> Call:
    """Call the command line on a ledger with a claimed turn."""
    call("turn", "begin", "item", '{"text": "please look"}', "--id", "first", "--owner", "w")
    return call


@pytest.fixture
def dispatching(claimed: Call) -> Call:
    """Likewise, whose first attempt is being dispatched."""
    claimed("attempt", "prepare", "first", '{"q": 1}', *BY)
    claimed("attempt", "start-dispatch", "first", 1, *BY)
    return claimed


def test_a_turn_is_begun_once(call: Call) -> None:
    begin = ("turn", "begin", "item", "1", "--id", "first")
    assert call(*begin).lines == ["begun: first, order 0 of work item item"]
    assert call(*begin).lines == ["was begun before: first, order 0 of work item item"]
    answer = call("turn", "begin", "item", "2", "--id", "first", "--json")
    assert (answer.status, answer.error["code"]) == (1, "idempotency_conflict")


def test_a_sweep_removes_what_nothing_refers_to_and_no_more(call: Call, tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"a file")
    begin = ("turn", "begin", "item", "1", "--attach", tmp_path / "scan.pdf", "--json")
    [kept] = call(*begin).json["attachments"]
    [folder] = tmp_path.glob("*.attachments")
    loose = folder / hashlib.sha256(b"nobody's").hexdigest()
    loose.write_bytes(b"nobody's")
    for path in (loose, folder / kept):
        os.utime(path, (0, 0))
    assert call("turn", "sweep").lines == ["removed 1 attachment"]
    assert [path.name for path in folder.iterdir()] == [kept]


def test_a_turn_is_begun_and_claimed_with_an_attachment(call: Call, tmp_path: Any) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"a file")
    answer = call(
        *("turn", "begin", "item", "1", "--id", "first", "--owner", "w", "--json"),
        *("--attach", tmp_path / "scan.pdf"),
    )
    assert answer.json["claim"]["epoch"] == 1
    assert len(answer.json["attachments"]) == 1
    missing = call("turn", "begin", "item", "1", "--attach", tmp_path / "none")
    assert (missing.status, missing.err.count("\n")) == (2, 1)


def test_what_there_is_not_to_claim_is_a_finding(claimed: Call) -> None:
    for words in (
        ("claim", "first", "--owner", "x"),
        ("claim-next", "--owner", "x"),
        ("claim-next", "item", "--owner", "x"),
        ("resume", "first", "--owner", "x"),
    ):
        answer = claimed("turn", *words, "--json")
        assert (answer.status, answer.error["code"]) == (1, "nothing_to_claim")
        assert answer.err.count("\n") == 1


def test_a_card_shows_a_turn_with_its_attempts(dispatching: Call) -> None:
    answer = dispatching("turn", "get", "first")
    assert answer.status == 0
    for said in ("please look", "claimed", "1 dispatching, w at epoch 1"):
        assert said in answer.out
    assert "first" in dispatching("turn", "list").out
    assert "first" not in dispatching("turn", "list", "--status", "acked").out


def test_what_never_was_is_a_finding(call: Call) -> None:
    for words, code in (
        (("get", "first"), "turn_not_found"),
        (("cancel", "first", "--reason", "no"), "turn_not_found"),
        (("receipt", "item", "key"), "key_not_found"),
    ):
        answer = call("turn", *words, "--json")
        assert (answer.status, answer.error["code"]) == (1, code)


def test_a_lost_claim_is_said_with_its_turn(dispatching: Call) -> None:
    answer = dispatching("turn", "ack", "first", "--owner", "x", "--epoch", 1, "--json")
    assert (answer.status, answer.error["code"], answer.error["turn_id"]) == (
        *(1, "claim_lost", "first"),
    )


def test_another_request_or_revision_is_said(dispatching: Call) -> None:
    answer = dispatching("attempt", "respond", "first", 1, "hi", "--hash", "?", *BY, "--json")
    assert (answer.status, answer.error["code"]) == (1, "request_changed")
    answer = dispatching(
        "turn", "complete", "first", "done", *BY, "--expected-revision", 3, "--json"
    )
    assert (answer.status, answer.error["code"], answer.error["revision"]) == (
        *(1, "stale_revision", 0),
    )


def test_an_unknown_outcome_is_decided_with_an_answer_or_with_the_late_one(
    dispatching: Call,
) -> None:
    dispatching("turn", "release", "first", *BY)
    dispatching("turn", "recover")
    resolve = ("attempt", "resolve", "first", 1, "adopt", "--by", "ann")
    assert dispatching(*resolve).status == 1
    answer = dispatching(*resolve, "--response", "null", "--json")
    assert answer.json["attempts"][0]["status"] == "responded"
    assert answer.json["attempts"][0]["response_hash"] is not None


@pytest.mark.parametrize(
    "words",
    [
        ("turn", "begin", "item", "{"),
        ("turn", "begin", "", "1"),
        ("turn", "claim", "first"),
        ("turn", "claim", "first", "--owner", "w", "--lease", "0.0001"),
        ("turn", "list", "--status", "lost"),
        ("turn", "complete", "first", "x", *BY, "--expected-revision", "-1"),
        ("attempt", "prepare", "first", "x", *BY),
        ("attempt", "start-dispatch", "first", "0", *BY),
        ("attempt", "refuse", "first", "1", "no", "--retry-at", "tomorrow", *BY),
        ("attempt", "resolve", "first", "1", "forget", "--by", "ann"),
    ],
)
def test_bad_input_is_one_clear_line(claimed: Call, words: tuple[str, ...]) -> None:
    answer = claimed(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
