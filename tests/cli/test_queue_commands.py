"""Every command of `turnledger queue`, as people read it and in JSON."""

from typing import Any

import pytest
from freezegun import freeze_time

import turnledger

Call = Any

HI = '{"text": "hi"}'
FIELDS = {
    *("thread_id", "queued_turn_id", "queue_order", "submission", "state", "created_at"),
    *("updated_at", "failure", "altered", "outcome_unknown", "dispatch_id", "evidence"),
    *("attempts", "not_before", "owner", "epoch", "expires_at", "duplicate", "unreadable"),
}
CLAIM = ("--owner", "w", "--epoch", 1)


def state(call: Call, turn: str = "first") -> Any:
    return call("queue", "get", "t", turn, "--json").json["state"]


# --- putting work in


def test_append_says_where_the_turn_waits(call: Call) -> None:
    answer = call("queue", "append", "t", HI, "--id", "first")
    assert answer == type(answer)(0, "appended: first, order 0 in thread t\n", "")


def test_append_answers_with_every_field_of_the_turn(call: Call) -> None:
    turn = call("queue", "append", "t", HI, "--not-before", "2030-01-31T10:00:00+01:00", "--json")
    assert set(turn.json) == FIELDS
    assert turn.json["submission"] == {"text": "hi"}
    assert turn.json["not_before"] == "2030-01-31T09:00:00Z"


def test_append_with_the_same_key_gives_the_first_result(call: Call) -> None:
    first = call("queue", "append", "t", HI, "--key", "k", "--json").json
    again = call("queue", "append", "t", HI, "--key", "k", "--json").json
    assert again == {**first, "duplicate": True}
    assert call("queue", "append", "t", HI, "--key", "k").out.startswith("was appended before: ")


def test_append_with_the_same_key_and_other_content_is_refused(call: Call) -> None:
    call("queue", "append", "t", HI, "--key", "k")
    other = call("queue", "append", "t", "{}", "--key", "k", "--json")
    assert (other.status, other.error["code"]) == (1, "idempotency_conflict")


@pytest.mark.parametrize("source", ["-", "@FILE"])
def test_append_takes_a_submission_from_elsewhere(call: Call, tmp_path: Any, source: str) -> None:
    file = tmp_path / "submission.json"
    file.write_text(HI)
    given = source.replace("FILE", str(file))
    turn = call("queue", "append", "t", given, "--json", input=HI)
    assert turn.json["submission"] == {"text": "hi"}


def test_append_many_takes_a_submission_a_line(call: Call) -> None:
    lines = '{"text": "one"}\n\n{"text": "two\u2028"}\r\n'
    turns = call("queue", "append-many", "t", "--json", input=lines).json
    assert [turn["submission"]["text"] for turn in turns] == ["one", "two\u2028"]
    assert "two" in call("queue", "append-many", "t", "-", "--key", "k", input=lines).lines[2]


def test_append_many_takes_all_or_none_and_names_the_line(call: Call) -> None:
    answer = call("queue", "append-many", "t", input='{"a": 1}\n{"a": }\n')
    assert answer.status == 2
    assert answer.err.startswith("turnledger: line 2 of the submissions isn't JSON: ")
    assert call("queue", "list", "t", "--json").json == []


# --- what waits


def test_list_shows_the_queue_in_order(waiting: Call) -> None:
    with freeze_time("2000-01-01"):
        title, *rows = waiting("queue", "list", "t").lines
    assert title.split() == ["order", "queued", "turn", "state", "appended", "submission"]
    assert [row.split()[:3] for row in rows] == [
        ["0", "first", "pending"],
        ["1", "second", "pending"],
    ]
    assert [row.split()[-1] for row in rows] == ["hi", "there"]


def test_list_gives_pages_by_order(waiting: Call) -> None:
    page = waiting("queue", "list", "t", "--limit", 1, "--json").json
    rest = waiting("queue", "list", "t", "--after", page[0]["queue_order"], "--json").json
    assert [turn["queued_turn_id"] for turn in (*page, *rest)] == ["first", "second"]
    assert set(page[0]) == FIELDS


def test_get_shows_a_turn_also_when_it_is_gone(waiting: Call) -> None:
    waiting("queue", "delete", "t", "first")
    assert "deleted" in waiting("queue", "get", "t", "first").out
    assert set(waiting("queue", "get", "t", "first", "--json").json) == FIELDS


def test_get_of_what_never_was_is_a_finding(waiting: Call) -> None:
    answer = waiting("queue", "get", "t", "third", "--json")
    assert (answer.status, answer.error["code"]) == (1, "queued_turn_not_found")


def test_edit_keeps_the_place(waiting: Call) -> None:
    edited = waiting("queue", "edit", "t", "first", '{"text": "ho"}', "--json").json
    assert (edited["queue_order"], edited["submission"]) == (0, {"text": "ho"})
    assert waiting("queue", "edit", "t", "first", HI).out == (
        "edited: first, order 0 in thread t\n"
    )


def test_edit_of_what_is_in_flight_is_refused(claimed: Call) -> None:
    answer = claimed("queue", "edit", "t", "first", HI)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.count("\n") == 1


def test_delete_takes_a_turn_out(waiting: Call) -> None:
    assert waiting("queue", "delete", "t", "first").out == "deleted: first of thread t\n"
    assert waiting("queue", "delete", "t", "second", "--json").json == {
        "thread_id": "t",
        "queued_turn_id": "second",
        "deleted": True,
    }


def test_delete_of_what_is_not_visible_is_a_finding_that_says_why(claimed: Call) -> None:
    answer = claimed("queue", "delete", "t", "first", "--json")
    assert (answer.status, answer.error["state"]) == (1, "claimed")
    assert claimed("queue", "delete", "t", "third").status == 1


def test_clear_counts_what_ended(claimed: Call) -> None:
    assert claimed("queue", "clear", "t", "--json").json == {"thread_id": "t", "count": 2}
    assert claimed("queue", "clear", "t").out == "ended: 0 queued turns of thread t\n"


def test_reorder_answers_with_the_queue(waiting: Call) -> None:
    turns = waiting("queue", "reorder", "t", "second", "first", "--json").json
    assert [turn["queued_turn_id"] for turn in turns] == ["second", "first"]
    assert "second" in waiting("queue", "reorder", "t", "second", "first").lines[1]


def test_reorder_of_another_set_names_the_ids(waiting: Call) -> None:
    error = waiting("queue", "reorder", "t", "second", "third", "--json").error
    assert (error["missing"], error["unknown"]) == (["first"], ["third"])


# --- claims


def test_claim_gives_what_a_worker_needs(waiting: Call) -> None:
    claim = waiting("queue", "claim", "t", "--owner", "w", "--lease", "30", "--json").json
    assert (claim["owner"], claim["epoch"], claim["submission"]) == ("w", 1, {"text": "hi"})
    assert {"thread_id", "queued_turn_id", "expires_at", "generation", "attempts"} < set(claim)
    waiting("queue", "release", "t", *CLAIM)
    lines = waiting("queue", "claim", "t", "--owner", "w").lines
    assert [line.split(maxsplit=1)[0] for line in lines] == [
        *("thread", "queued", "owner", "epoch", "expires", "submission")
    ]


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ([], "empty"),
        ([("queue", "append", "t", "{}", "--not-before", "2100-01-01T00:00:00Z")], "not_yet"),
        ([("queue", "append", "t", "{}"), ("thread", "archive", "t")], "archived"),
        ([("thread", "delete", "t")], "deleted"),
        ([("queue", "pause", "t", "--reason", "lunch")], "paused"),
        ([("queue", "append", "t", "{}"), ("queue", "claim", "t", "--owner", "v")], "in_flight"),
    ],
)
def test_claim_of_nothing_is_a_finding_that_says_why(
    call: Call, before: list[Any], reason: str
) -> None:
    for command in before:
        assert call(*command).status == 0
    answer = call("queue", "claim", "t", "--owner", "w", "--json")
    assert (answer.status, answer.error["why_blocked"]) == (1, reason)
    assert answer.err.startswith(f"turnledger: nothing to claim in thread t: {reason}, ")
    assert answer.err.count("\n") == 1


def test_claim_next_gives_claims_of_several_threads(waiting: Call) -> None:
    waiting("queue", "append", "u", HI)
    claims = waiting("queue", "claim-next", "--owner", "w", "--limit", 5, "--json").json
    assert [claim["thread_id"] for claim in claims] == ["t", "u"]
    waiting("queue", "append", "v", HI)
    title, row = waiting("queue", "claim-next", "--owner", "w", "--limit", 5).lines
    assert (title.split()[0], row.split()[0]) == ("thread", "v")


def test_claim_next_of_nothing_is_a_finding(call: Call) -> None:
    answer = call("queue", "claim-next", "--owner", "w", "--json")
    assert (answer.status, answer.error["code"]) == (1, "nothing_to_claim")


def test_renew_gives_a_new_end(claimed: Call) -> None:
    renewed = claimed("queue", "renew", "t", *CLAIM, "--lease", 3600, "--json").json
    assert (renewed["epoch"], renewed["owner"]) == (1, "w")
    assert claimed("queue", "renew", "t", *CLAIM).lines[0].split() == ["thread", "t"]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_turn_goes_from_claim_to_dispatch_to_ack(claimed: Call, form: tuple[str, ...]) -> None:
    assert "dispatching" in claimed("queue", "dispatch", "t", "d", *CLAIM, *form).out
    assert state(claimed) == "dispatching"
    assert "acked" in claimed("queue", "ack", "t", *CLAIM, *form).out
    assert state(claimed) == "acked"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_release_gives_the_turn_back(claimed: Call, form: tuple[str, ...]) -> None:
    assert "released" in claimed("queue", "release", "t", *CLAIM, *form).out
    assert state(claimed) == "pending"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_ack_dispatch_needs_no_claim(dispatching: Call, form: tuple[str, ...]) -> None:
    assert "acked" in dispatching("queue", "ack-dispatch", "t", "d", *form).out
    again = dispatching("queue", "ack-dispatch", "t", "d", *form)
    assert again.status == 1
    assert "isn't in flight" in again.err


def test_fail_keeps_the_failure_as_json(dispatching: Call) -> None:
    dispatching("queue", "fail", "t", *CLAIM, "--failure", '{"status": 400}')
    turn = dispatching("queue", "get", "t", "first", "--json").json
    assert (turn["state"], turn["failure"]) == ("failed", {"status": 400})
    assert not turn["outcome_unknown"]
    assert '{"status":400}' in dispatching("queue", "list", "t").lines[1]


@pytest.mark.parametrize("text", ["no answer", "NaN", '{"a": NaN}', '{"a": 1, "a": 2}', "-5 cm"])
def test_fail_takes_what_is_no_json_as_text(dispatching: Call, text: str) -> None:
    answer = dispatching(
        "queue", "fail", "t", *CLAIM, "--failure", text, "--outcome-unknown", "--json"
    ).json
    assert (answer["failure"], answer["outcome_unknown"]) == (text, True)
    turn = dispatching("queue", "get", "t", "first", "--json").json
    assert (turn["failure"], turn["outcome_unknown"]) == (text, True)


@pytest.mark.parametrize(
    "command", [("release", "t"), ("ack", "t"), ("renew", "t"), ("dispatch", "t", "d")]
)
def test_a_lost_claim_is_refused(claimed: Call, command: tuple[str, ...]) -> None:
    answer = claimed("queue", *command, "--owner", "w", "--epoch", 2, "--json")
    assert (answer.status, answer.error["code"]) == (1, "claim_lost")
    assert (answer.error["owner"], answer.error["epoch"]) == ("w", 2)


def test_a_late_report_is_kept_as_evidence_and_shown(dispatching: Call) -> None:
    with freeze_time("2100-01-01"):
        dispatching("queue", "recover")
        dispatching("queue", "ack", "t", *CLAIM)
        assert "w (epoch 1) ack" in dispatching("queue", "get", "t", "first").out


# --- looking after it


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_retry_lets_a_failed_turn_wait_again(dispatching: Call, form: tuple[str, ...]) -> None:
    dispatching("queue", "fail", "t", *CLAIM, "--failure", "no")
    assert dispatching("queue", "retry", "t", "first", *form).status == 0
    assert state(dispatching) == "pending"
    assert dispatching("queue", "retry", "t", "first", *form).status == 1


@pytest.mark.parametrize(("decision", "after"), [("acked", "acked"), ("retry", "pending")])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_resolve_settles_an_unknown_outcome(
    dispatching: Call, decision: str, after: str, form: tuple[str, ...]
) -> None:
    dispatching("queue", "fail", "t", *CLAIM, "--failure", "no", "--outcome-unknown")
    decided = ("--by", "ann", "--evidence", "[1]")
    answer = dispatching("queue", "resolve", "t", "first", decision, *decided, *form)
    assert after in answer.out
    assert state(dispatching) == after


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_pause_and_resume_are_idempotent(waiting: Call, form: tuple[str, ...]) -> None:
    for _ in range(2):
        assert waiting("queue", "pause", "t", "--reason", "lunch", *form).status == 0
    assert waiting("queue", "claim", "t", "--owner", "w").status == 1
    for _ in range(2):
        assert waiting("queue", "resume", "t", *form).status == 0
    assert waiting("queue", "claim", "t", "--owner", "w").status == 0


@pytest.mark.parametrize("thread", [(), ("t",)])
def test_recover_ends_the_claims_that_are_over(claimed: Call, thread: tuple[str, ...]) -> None:
    assert claimed("queue", "recover", *thread, "--json").json == []
    with freeze_time("2100-01-01"):
        (turn,) = claimed("queue", "recover", *thread, "--json").json
    assert (turn["queued_turn_id"], turn["state"]) == ("first", "pending")


def test_recover_of_a_dead_owner_fails_what_was_dispatched(dispatching: Call) -> None:
    title, row = dispatching("queue", "recover", "--owner", "w", "--failure", "power cut").lines
    assert title.split()[0] == "thread"
    assert "failed, outcome unknown" in row
    assert row.endswith("power cut")


def test_fail_in_flight_counts_what_failed(claimed: Call) -> None:
    failed = claimed("queue", "fail-in-flight", "t", "--failure", "restarted", "--json")
    assert failed.json == {"thread_id": "t", "count": 1}
    again = claimed("queue", "fail-in-flight", "t", "--failure", "restarted")
    assert again.out == "failed: 0 queued turns of thread t\n"


# --- any place, any id


def test_the_shared_options_are_taken_at_every_place(call: Call, tmp_path: Any) -> None:
    other = tmp_path / "other.db"
    turnledger.open(other).close()
    call("--db", other, "queue", "append", "t", HI)
    for words in (
        ("--db", other, "--json", "queue", "list", "t"),
        ("queue", "--db", other, "--json", "list", "t"),
        ("queue", "list", "t", "--db", other, "--json"),
        ("--db", "elsewhere.db", "queue", "list", "--json", "--db", f"sqlite:///{other}", "t"),
    ):
        assert len(call(*words).json) == 1
    assert call("queue", "list", "t", "--json").json == []


@pytest.mark.parametrize("thread", ["-t", "--json", "--", "-", "@t", "[red]t", "%s", "a b", "漢字"])
def test_an_id_may_look_like_anything(call: Call, thread: str) -> None:
    assert call("queue", "append", "--json", "--", thread, "{}").json["thread_id"] == thread
    assert len(call("queue", "list", "--json", "--", thread).json) == 1
    assert thread in call("thread", "list").out
