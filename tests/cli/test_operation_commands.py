"""`turnledger run …` and `turnledger operation …`: what is done, said and refused."""

from __future__ import annotations

from typing import Any

import pytest

Call = Any

RUN = ("--work-item", "order-7", "--action", "answer")
CLAIM = ("--run", "r", "--owner", "w", "--epoch", 1)
WISH = ("--type", "send", "--run", "r", *RUN)


@pytest.fixture
def started(call: Call) -> Call:
    """A run `r` is started by `w`."""
    answer = call("run", "start", "r", *RUN, "--owner", "w", "--lease", 3600, "--json")
    assert (answer.status, answer.json["epoch"], answer.json["run_id"]) == (0, 1, "r")
    return call


def test_a_run_goes_its_way(started: Call) -> None:
    again = started("run", "start", "r", *RUN, "--owner", "x", "--json")
    assert (again.status, again.error["code"]) == (1, "nothing_to_claim")
    renewed = started("run", "renew", "r", "--owner", "w", "--epoch", 1, "--lease", 60, "--json")
    assert renewed.json["expires_at"] is not None
    lost = started("run", "renew", "r", "--owner", "x", "--epoch", 1, "--json")
    assert (lost.status, lost.error["code"], lost.error["run_id"]) == (1, "claim_lost", "r")
    finished = started(
        *("run", "finish", "r", "--owner", "w", "--epoch", 1, "--outcome", '{"ok": true}', "--json")
    )
    assert (finished.json["status"], finished.json["outcome"]) == ("finished", {"ok": True})
    over = started("run", "start", "r", *RUN, "--owner", "w", "--json")
    assert (over.status, over.error["code"]) == (1, "invalid_transition")
    assert "finished" in started("run", "get", "r").out


def test_a_run_is_interrupted_once(started: Call) -> None:
    assert "interrupted: run r" in started("run", "interrupt", "r", "--reason", "why").out
    again = started("run", "interrupt", "r", "--json")
    assert (again.status, again.error["code"]) == (1, "not_interrupted")
    never = started("run", "get", "never", "--json")
    assert (never.status, never.error["code"]) == (1, "run_not_found")


def test_an_operation_goes_its_way(started: Call) -> None:
    created = started("operation", "create", "k", '{"to": "ann"}', *WISH)
    assert created.out == "created: k of run r\n"
    again = started("operation", "create", "k", '{"to": "ann"}', *WISH)
    assert again.out == "was created before: k of run r\n"
    other = started("operation", "create", "k", '{"to": "bob"}', *WISH, "--json")
    assert (other.status, other.error["code"]) == (1, "idempotency_conflict")
    automatic = started("operation", "claim", "k", *CLAIM, "--automatic", "--json")
    assert (automatic.status, automatic.error["code"]) == (1, "nothing_to_claim")
    claimed = started("operation", "claim", "k", *CLAIM, "--json")
    assert (claimed.json["execution"], claimed.json["owner"]) == ("running", "w")
    assert started("operation", "request-cancel", "k").status == 0
    twice = started("operation", "request-cancel", "k", "--json")
    assert (twice.status, twice.error["code"]) == (1, "not_requested")
    completed = started("operation", "complete", "k", "applied", "--result", "5", *CLAIM, "--json")
    assert (completed.json["effect"], completed.json["result"]) == ("applied", 5)
    done = started("operation", "complete", "k", "applied", *CLAIM, "--json")
    assert (done.status, done.error["code"]) == (1, "not_completed")
    assert (done.error["execution"], done.error["effect"]) == ("quiescent", "applied")
    assert "applied" in started("operation", "get", "k").out


def test_what_is_in_doubt_is_shown_and_decided(started: Call) -> None:
    claimed = started("operation", "create-and-claim", "k", "1", "--type", "send", *CLAIM)
    assert claimed.status == 0
    started("operation", "complete", "k", "unknown", *CLAIM)
    blocking = started("operation", "safe-to-proceed", "order-7", "--json").json
    assert [(one["key"], one["effect"]) for one in blocking] == [("k", "unknown")]
    assert "resolve" in started("operation", "safe-to-proceed", "order-7").out
    decided = started(
        *("operation", "resolve", "k", "confirm_applied", "--by", "ann", "--evidence", "seen it"),
        "--json",
    )
    assert (decided.json["effect"], decided.json["resolved_by"]) == ("applied", "ann")
    assert decided.json["resolution"] == "seen it"
    again = started("operation", "resolve", "k", "confirm_applied", "--by", "bob", "--json")
    assert (again.status, again.error["code"]) == (1, "invalid_transition")
    assert started("operation", "safe-to-proceed", "order-7", "--json").json == []


def test_what_nobody_answers_for_is_recovered(started: Call) -> None:
    started("operation", "create", "waiting", "1", *WISH)
    started("operation", "create-and-claim", "running", "1", "--type", "send", *CLAIM)
    started("run", "interrupt", "r")
    said = started("operation", "recover").out
    assert said == "to be resolved: 1 operation; never claimed: 1 operation\n"
    late = started("operation", "complete", "running", "applied", *CLAIM, "--json")
    assert (late.status, late.error["execution"]) == (1, "hazardous_orphan")
    listed = started("operation", "list", "order-7", "--json").json
    assert {one["key"]: one["execution"] for one in listed} == {
        "running": "hazardous_orphan",
        "waiting": "quiescent",
    }
    assert listed[0]["evidence"][0]["value"] == {"effect": "applied", "result": None}
    assert "complete" in started("operation", "get", "running").out
    assert started("operation", "list").lines[0].split()[0] == "work"


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("operation", "get", "never"), 1, "operation_not_found"),
        (("operation", "claim", "never", *CLAIM), 1, "nothing_to_claim"),
        (("operation", "complete", "never", "applied", *CLAIM), 1, "operation_not_found"),
        (("operation", "complete", "k", "pending", *CLAIM), 2, "usage"),
        (
            ("operation", "resolve", "never", "confirm_applied", "--by", "a"),
            1,
            "operation_not_found",
        ),
        (("operation", "resolve", "k", "adopt", "--by", "a"), 2, "usage"),
        (("operation", "create", "k", "{", *WISH), 2, "invalid_payload"),
        (("operation", "create", "k", "1", *WISH, "--policy", "always"), 2, "usage"),
        (("run", "start", "r"), 2, "usage"),
    ],
)
def test_what_cant_be_done_is_said(
    started: Call, words: tuple[Any, ...], status: int, code: str
) -> None:
    answer = started(*words, "--json")
    assert (answer.status, answer.error["code"]) == (status, code)


def test_what_is_empty_is_said(on_terminal: Call) -> None:
    assert on_terminal(80, "operation", "list").lines == ["no operations"]
    said = on_terminal(80, "operation", "safe-to-proceed", "x").lines
    assert said == ["every operation is settled, and its effect known"]
