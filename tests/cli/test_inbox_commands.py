"""Every command of `turnledger inbox`, as people read it and in JSON."""

import json
from typing import Any

import pytest
from freezegun import freeze_time

Call = Any

POST = ("inbox", "post", "t", "--source", "ci")
HI = '{"text": "hi"}'
CLAIM = ("inbox", "claim", "t", "--owner", "w")
SHOWN = ("t", "--owner", "w", "--epoch", 1)
FIELDS = {
    *("thread_id", "message_id", "content", "source", "delivery", "instructions", "metadata"),
    *("queued_at", "arrival", "state", "created_at", "updated_at", "reason", "deliveries"),
    *("evidence", "owner", "epoch", "expires_at", "duplicate", "unreadable"),
}
CLAIMED = {
    *("thread_id", "owner", "epoch", "generation", "message_id", "expires_at", "content"),
    *("source", "delivery", "instructions", "metadata", "queued_at", "deliveries"),
}


@pytest.fixture
def posted(call: Call) -> Call:
    """Call the command line on a ledger in which `first` and `second` wait in an inbox."""
    call(*POST, HI, "--id", "first")
    call(*POST, '"there"', "--id", "second", "--delivery", "steer-current-turn")
    return call


@pytest.fixture
def claimed(posted: Call) -> Call:
    """Call the command line on a ledger in which `first` is claimed."""
    assert posted(*CLAIM, "--can-after-turn").status == 0
    return posted


@pytest.fixture
def undelivered(posted: Call) -> Call:
    """Call the command line on a ledger in which `first` is undelivered."""
    with freeze_time("2026-01-05T09:00:00Z"):
        posted(*CLAIM, "--can-after-turn", "--lease", 0.001)
    posted("inbox", "recover", "t")
    return posted


def state(call: Call, message: str = "first") -> Any:
    return call("inbox", "get", "t", message, "--json").json["state"]


# --- post


def test_post_says_what_waits_where(call: Call) -> None:
    answer = call(*POST, HI, "--id", "first")
    assert answer == type(answer)(0, "posted: first, after-turn in thread t\n", "")


def test_post_answers_with_every_field_of_the_message(call: Call) -> None:
    said = ("--instructions", "softly", "--metadata", '{"a": 1}')
    place = ("--queued-at", "2020-01-31T10:00:00+01:00", "--delivery", "steer-current-turn")
    message = call(*POST, HI, *said, *place, "--json").json
    assert set(message) == FIELDS
    assert (message["content"], message["metadata"]) == ({"text": "hi"}, {"a": 1})
    assert (message["instructions"], message["source"]) == ("softly", "ci")
    assert message["queued_at"] == "2020-01-31T09:00:00Z"
    assert message["delivery"] == "steer-current-turn"


@pytest.mark.parametrize("name", ["--key", "--id"])
def test_post_with_the_same_name_gives_the_first_result(call: Call, name: str) -> None:
    first = call(*POST, HI, name, "k", "--json").json
    again = call(*POST, HI, name, "k", "--json").json
    assert again == {**first, "duplicate": True}
    assert call(*POST, HI, name, "k").out.startswith("was posted before: ")
    other = call(*POST, "{}", name, "k", "--json")
    assert (other.status, other.error["code"]) == (1, "idempotency_conflict")


@pytest.mark.parametrize("source", ["-", "@FILE"])
def test_post_takes_a_content_from_elsewhere(call: Call, tmp_path: Any, source: str) -> None:
    file = tmp_path / "content.json"
    file.write_text(HI)
    given = source.replace("FILE", str(file))
    assert call(*POST, given, "--json", input=HI).json["content"] == {"text": "hi"}


# --- what is there


def test_list_shows_what_waits_in_order(posted: Call) -> None:
    posted(*POST, "1", "--id", "older", "--queued-at", "2020-01-31T09:00:00Z")
    title, *rows = posted("inbox", "list", "t").lines
    assert title.split() == ["message", "source", "delivery", "queued", "deliveries", "content"]
    assert [row.split()[0] for row in rows] == ["older", "first", "second"]
    assert rows[1].endswith("hi")
    assert "steer-current-turn" in rows[2]
    ids = [message["message_id"] for message in posted("inbox", "list", "t", "--json").json]
    assert ids == ["older", "first", "second"]


def test_list_of_nothing_is_fine(call: Call) -> None:
    assert len(call("inbox", "list", "t").lines) == 1
    assert call("inbox", "undelivered", "t", "--json").json == []


def test_get_shows_what_has_become_of_a_message(claimed: Call) -> None:
    claimed("inbox", "confirm", *SHOWN)
    assert claimed("inbox", "confirm", *SHOWN).status == 1
    lines = claimed("inbox", "get", "t", "first").lines
    assert "state       confirmed" in lines
    assert "content     hi" in lines
    assert any("w (epoch 1) confirm" in line for line in lines)
    assert set(claimed("inbox", "get", "t", "first", "--json").json) == FIELDS


@pytest.mark.parametrize("width", [40, 200])
def test_no_terminal_obeys_a_message(call: Call, on_terminal: Call, width: int) -> None:
    evil = "[red]\x1b[31m\x9b2J\u202ered\u2066\a"
    said = ("--instructions", evil, "--metadata", json.dumps({evil: evil}), "--id", "a\u202eb")
    source = ("--source", "[bold]\u202ex")
    assert call("inbox", "post", "t", json.dumps({"text": evil}), *source, *said).status == 0
    listed = on_terminal(width, "inbox", "list", "t")
    got = on_terminal(width, "inbox", "get", "t", "a\u202eb")
    with freeze_time("2026-01-05T09:00:00Z"):
        claimed = on_terminal(width, *CLAIM, "--can-after-turn")
    call("inbox", "recover")
    undelivered = on_terminal(width, "inbox", "undelivered", "t")
    for answer in (listed, got, claimed, undelivered):
        assert answer.status == 0
        assert "[bold]x" in answer.out
        assert not set("\x1b\x9b\a\u202e\u2066") & set(answer.out)
        assert "ab" in answer.out


@pytest.mark.parametrize("command", ["get", "delete"])
def test_a_message_that_never_was_is_a_finding(posted: Call, command: str) -> None:
    answer = posted("inbox", command, "t", "never", "--json")
    assert (answer.status, answer.error["code"]) == (1, "message_not_found")
    assert answer.error["message_id"] == "never"


def test_delete_takes_a_message_out(posted: Call) -> None:
    assert posted("inbox", "delete", "t", "first").out == "deleted: first of thread t\n"
    again = posted("inbox", "delete", "t", "first", "--json")
    assert (again.status, again.error["code"]) == (1, "not_deleted")
    assert again.error["state"] == "deleted"
    assert posted("inbox", "delete", "t", "second", "--json").json["deleted"] is True


# --- handing over


def test_claim_shows_what_is_to_be_delivered(posted: Call) -> None:
    claim = posted(*CLAIM, "--can-after-turn", "--lease", 30, "--json").json
    assert set(claim) == CLAIMED
    assert (claim["message_id"], claim["epoch"], claim["content"]) == ("first", 1, {"text": "hi"})


def test_claim_says_why_there_is_none(posted: Call) -> None:
    busy = posted(*CLAIM, "--can-steer-current-turn", "--json")
    assert (busy.status, busy.error["code"]) == (1, "not_ready")
    assert (busy.error["message_id"], busy.error["reason"]) == ("first", "not_deliverable")
    assert "the thread is busy" in busy.err
    assert "epoch       1" in posted(*CLAIM, "--can-after-turn").lines
    assert "it is in flight" in posted(*CLAIM, "--can-after-turn").err


def test_claim_of_an_empty_inbox_is_a_finding(call: Call) -> None:
    answer = call(*CLAIM, "--can-after-turn", "--json")
    assert (answer.status, answer.error["code"]) == (1, "nothing_to_claim")


def test_confirm_and_release_say_what_is_done(claimed: Call) -> None:
    said = "thread t, owner w, epoch"
    assert claimed("inbox", "release", *SHOWN).out == f"released: {said} 1\n"
    assert state(claimed) == "pending"
    claimed(*CLAIM, "--can-after-turn")
    answer = claimed("inbox", "confirm", "t", "--owner", "w", "--epoch", 2)
    assert answer.out == f"confirmed: {said} 2\n"
    assert state(claimed) == "confirmed"


@pytest.mark.parametrize("command", ["confirm", "release"])
def test_a_lost_claim_is_refused(claimed: Call, command: str) -> None:
    answer = claimed("inbox", command, "t", "--owner", "v", "--epoch", 1, "--json")
    assert (answer.status, answer.error["code"]) == (1, "claim_lost")
    assert state(claimed) == "claimed"


# --- looking after


def test_recover_says_what_became_of_the_claims(posted: Call) -> None:
    with freeze_time("2026-01-05T09:00:00Z"):
        posted(*CLAIM, "--can-after-turn")
        assert posted("inbox", "recover").out.startswith("ended: 0 claims")
    answer = posted("inbox", "recover", "--mode", "at_least_once")
    assert answer.out == "ended: 1 claim; waiting again: 1; undelivered: 0\n"
    with freeze_time("2026-01-05T09:00:00Z"):
        posted(*CLAIM, "--can-after-turn")
    answer = posted("inbox", "recover", "t", "--json")
    assert answer.json == {"messages_pending": 0, "messages_expired": 1}


def test_requeue_brings_an_undelivered_message_back(undelivered: Call) -> None:
    row = undelivered("inbox", "undelivered", "t").lines[1]
    assert row.split()[0] == "first"
    assert undelivered("inbox", "requeue", "t", "first").out == "waits again: first in thread t\n"
    again = undelivered("inbox", "requeue", "t", "first", "--json")
    assert (again.status, again.error["code"]) == (1, "invalid_transition")


def test_the_log_shows_what_a_message_says(posted: Call) -> None:
    line = next(line for line in posted("log").lines if "inbox.posted" in line)
    assert "content=hi" in line
    assert "source=ci" in line
