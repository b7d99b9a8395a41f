"""Every command of `turnledger thread`, as people read it and in JSON."""

from typing import Any

import pytest
from freezegun import freeze_time

Call = Any

SUMMARY = {
    "thread_id",
    "state",
    "why_blocked",
    "waiting",
    "oldest_waiting_at",
    "owner",
    "expires_at",
    "forked_from",
    "unreadable",
}


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_archive_and_unarchive_are_idempotent(waiting: Call, form: tuple[str, ...]) -> None:
    for _ in range(2):
        assert "archived" in waiting("thread", "archive", "t", *form).out
    refused = waiting("queue", "append", "t", "{}")
    assert (refused.status, "unarchive it first" in refused.err) == (1, True)
    for _ in range(2):
        assert "archived" in waiting("thread", "unarchive", "t", *form).out
    assert waiting("queue", "append", "t", "{}").status == 0


def test_delete_says_what_ended(claimed: Call) -> None:
    ended = claimed("thread", "delete", "t", "--json").json
    counts = {"queued_turns": 1, "in_flight": 1, "messages": 0, "timers": 0}
    assert ended == {"thread_id": "t", **counts}
    nothing = "0 queued turns, 0 in flight, 0 messages, 0 timers"
    assert claimed("thread", "delete", "t").out == f"deleted: thread t, with {nothing}\n"


def test_delete_counts_all_that_ended(claimed: Call) -> None:
    claimed("inbox", "post", "t", "{}", "--source", "ci")
    claimed("timer", "create", "t", "{}", "--delay", 60)
    said = "deleted: thread t, with 1 queued turn, 1 in flight, 1 message, 1 timer\n"
    assert claimed("thread", "delete", "t").out == said


def test_list_shows_what_each_thread_is_doing(claimed: Call) -> None:
    claimed("queue", "append", "u", "{}")
    claimed("queue", "pause", "u", "--reason", "lunch")
    title, *rows = claimed("thread", "list").lines
    assert title.split() == ["thread", "state", "why", "waiting", "oldest", "owner"]
    assert [row.split()[:2] for row in rows] == [["t", "in_flight"], ["u", "blocked"]]
    assert "paused" in rows[1]


def test_list_can_be_narrowed_and_paged(waiting: Call) -> None:
    waiting("thread", "archive", "u")
    everything = waiting("thread", "list", "--json").json
    assert [set(summary) for summary in everything] == [SUMMARY, SUMMARY]
    (archived,) = waiting("thread", "list", "--state", "archived", "--json").json
    assert archived["thread_id"] == "u"
    assert waiting("thread", "list", "--limit", 1, "--json").json == everything[:1]
    assert waiting("thread", "list", "--after", "t", "--json").json == everything[1:]


def test_list_of_nothing_is_fine(call: Call) -> None:
    assert call("thread", "list", "--json").json == []
    assert call("thread", "list").out == "thread  state  why  waiting  oldest  owner\n"


def test_show_tells_of_one_thread(waiting: Call) -> None:
    assert set(waiting("thread", "show", "t", "--json").json) == SUMMARY
    at = waiting("queue", "get", "t", "first", "--json").json["created_at"]
    with freeze_time(at, tz_offset=0) as clock:
        clock.tick(192)
        lines = waiting("thread", "show", "t").lines
    assert [line.split(maxsplit=1) for line in lines] == [
        ["thread", "t"],
        ["state", "pending"],
        ["waiting", "2 queued turns"],
        ["oldest", "3 m 12 s ago"],
    ]


def test_show_of_what_nobody_named_is_a_finding(call: Call) -> None:
    answer = call("thread", "show", "t", "--json")
    assert (answer.status, answer.error["code"]) == (1, "thread_not_found")


def test_fork_says_where_the_new_thread_came_from(waiting: Call) -> None:
    assert waiting("thread", "fork", "t", "new").out == "forked: thread new, from thread t\n"
    again = waiting("thread", "fork", "t", "new", "--json").json
    assert set(again) == SUMMARY
    assert (again["thread_id"], again["forked_from"]) == ("new", "t")
    assert "forked from  t" in waiting("thread", "show", "new").lines


def test_a_thread_that_exists_is_no_fork(waiting: Call) -> None:
    answer = waiting("thread", "fork", "other", "t", "--json")
    assert (answer.status, answer.error["code"]) == (1, "invalid_transition")
    assert waiting("thread", "fork", "t", "t").status == 2
