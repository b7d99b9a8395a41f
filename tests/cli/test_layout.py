"""Tables and cards: in a pipe, on narrow and on wide terminals, with few rows and with many."""

import json
from typing import Any

import pytest
from rich.cells import cell_len

from turnledger.cli.sheet import shared_out

Call = Any

UUID_CHARACTERS = 36


def ids(call: Call) -> list[str]:
    return [turn["queued_turn_id"] for turn in call("queue", "list", "t", "--json").json]


# --- in a pipe


@pytest.mark.parametrize("count", [3, 300])
def test_a_pipe_gets_a_row_a_line_whole_and_aligned(call: Call, full: Any, count: int) -> None:
    full(count)
    title, *rows = call("queue", "list", "t").lines
    assert len(rows) == count
    for column in ("queued turn", "state", "appended", "submission"):
        place = title.index(column)
        assert {row[place - 2 : place] for row in rows} == {"  "}
        assert all(row[place] != " " for row in rows)
    assert all(row.endswith("says a lot") for row in rows)
    assert [row[title.index("queued turn") :].split()[0] for row in rows] == ids(call)
    assert "\x1b" not in "".join(rows)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS"])
def test_no_variable_changes_what_a_pipe_gets(
    call: Call, full: Any, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    full(3)
    before = [line.split()[:3] for line in call("queue", "list", "t").lines]
    monkeypatch.setenv(variable, "20")
    after = call("queue", "list", "t")
    assert [line.split()[:3] for line in after.lines] == before
    assert "\x1b" not in after.out


def test_wide_characters_keep_the_columns_aligned(call: Call) -> None:
    call("queue", "append", "t", '{"text": "x"}', "--id", "漢字漢字")
    call("queue", "append", "t", '{"text": "x"}', "--id", "abc")
    title, *rows = call("queue", "list", "t").lines
    place = cell_len(title[: title.index("state")])
    assert [cell_len(row[: row.index("pending")]) for row in rows] == [place, place]


def test_a_very_long_text_does_not_widen_the_other_rows(dispatching: Call) -> None:
    dispatching("queue", "edit", "t", "second", f'{{"text": "{"long " * 10_000}"}}')
    dispatching("queue", "fail", "t", "--owner", "w", "--epoch", 1, "--failure", "no")
    assert len(dispatching("queue", "list", "t").lines[1]) < 300


# --- on a terminal


@pytest.mark.parametrize(
    ("width", "count"), [(20, 3), (40, 3), (40, 300), (80, 3), (200, 3), (200, 300)]
)
def test_no_line_is_wider_than_the_terminal(
    on_terminal: Call, full: Any, width: int, count: int
) -> None:
    full(count)
    for words in (("queue", "list", "t"), ("log",), ("thread", "list"), ("doctor",), ("verify",)):
        answer = on_terminal(width, *words)
        assert answer.status == 0
        assert max(cell_len(line) for line in answer.lines) <= width


@pytest.mark.parametrize(("width", "count"), [(40, 3), (40, 300), (80, 300), (200, 300)])
def test_no_id_is_cut_on_a_terminal(
    on_terminal: Call, call: Call, full: Any, width: int, count: int
) -> None:
    full(count)
    expected = ids(call)
    out = on_terminal(width, "queue", "list", "t").out
    assert [one for one in expected if one not in out] == []


def test_the_longest_id_is_folded_on_a_narrow_terminal(on_terminal: Call) -> None:
    name = "".join(chr(ord("a") + number % 26) for number in range(256))
    on_terminal(40, "queue", "append", name, "{}")
    for words in (("thread", "list"), ("thread", "show", name), ("log",)):
        out = on_terminal(40, *words)
        assert name in "".join(line.strip() for line in out.lines)
        assert max(map(len, out.lines)) <= 40


def test_a_narrow_terminal_gets_a_card_for_each_row(on_terminal: Call, full: Any) -> None:
    full(3)
    out = on_terminal(40, "queue", "list", "t").out
    cards = out.split("\n\n")
    assert len(cards) == 3
    order, label, turn, *rest = cards[0].splitlines()
    assert order.split() == ["order", "0"]
    assert (label, len(turn.strip())) == ("queued turn", UUID_CHARACTERS)
    assert rest[0].split() == ["state", "pending"]


def test_a_wide_terminal_gets_a_table_with_shortened_texts(on_terminal: Call, full: Any) -> None:
    full(3)
    title, *rows = on_terminal(120, "queue", "list", "t").lines
    assert title.split()[0] == "order"
    assert len(rows) == 3
    assert all(row.rstrip().endswith("…") for row in rows)


def test_a_long_table_repeats_its_titles_at_the_end(on_terminal: Call, full: Any) -> None:
    full(300)
    title, *rows, last = on_terminal(120, "queue", "list", "t").lines
    assert (len(rows), last) == (300, title)


def test_nothing_to_list_is_said_on_a_terminal(on_terminal: Call) -> None:
    assert on_terminal(40, "queue", "list", "t").out == "no queued turns\n"
    assert on_terminal(40, "thread", "list").out == "no threads\n"


def test_one_turn_is_shown_with_its_whole_text(on_terminal: Call, call: Call, full: Any) -> None:
    full(1)
    (turn,) = ids(call)
    lines = on_terminal(40, "queue", "get", "t", turn).lines
    assert " ".join(line.strip() for line in lines).count("says a lot") == 20


def test_a_long_value_is_folded_beside_its_label_where_there_is_room(
    on_terminal: Call, call: Call, full: Any
) -> None:
    full(1)
    (turn,) = ids(call)
    lines = on_terminal(80, "queue", "get", "t", turn).lines
    place = lines[0].index("t", len("thread"))
    first = next(number for number, line in enumerate(lines) if line.startswith("submission"))
    assert lines[first][place:].startswith("turn 0")
    assert lines[first + 1].startswith(" " * place)
    assert lines[first + 1][place] != " "


def test_a_command_that_unblocks_is_not_broken(on_terminal: Call) -> None:
    name = "thread-with-a-long-name-of-its-own"
    on_terminal(40, "queue", "append", name, "{}")
    on_terminal(40, "queue", "pause", name, "--reason", "lunch")
    assert f"turnledger queue resume {name}" in on_terminal(40, "why", name).lines


def test_colours_are_for_terminals_without_no_color(
    on_terminal: Call, dispatching: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatching("queue", "fail", "t", "--owner", "w", "--epoch", 1, "--failure", "no")
    assert "\x1b[31mfailed" in on_terminal(100, "queue", "list", "t", colours=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in on_terminal(100, "queue", "list", "t", colours=True).out


# --- what comes from elsewhere

ORDERS = (
    "\x00\x07\x1b]0;title\x07\x1b[31m\x7f\x9b31m\u202e\u2066\u200f\u061c[bold]red[/bold]:smile:"
)
SHOWN = "]0;title[31m31m[bold]red[/bold]:smile:"


@pytest.mark.parametrize("width", [None, 40, 200])
def test_what_a_terminal_would_obey_is_taken_out(
    call: Call, on_terminal: Call, width: int | None
) -> None:
    def shown(*words: object) -> str:
        answer: Any = call(*words) if width is None else on_terminal(width, *words)
        assert answer.status in (0, 1)
        return str(answer.out + answer.err)

    hostile = "a\u202eb\u2067[red]"
    text = json.dumps({"text": ORDERS})
    told = shown("queue", "append", "--id", hostile, "--", hostile, text)
    for words in (
        ("queue", "list", hostile),
        ("queue", "get", hostile, hostile),
        ("queue", "get", hostile, "never\u202e"),
        ("queue", "claim", hostile, "--owner", "w\u200e"),
        ("queue", "claim", hostile, "--owner", "w\u200e"),
        ("queue", "fail", hostile, "--owner", "w\u200e", "--epoch", 1, "--failure", ORDERS),
        ("thread", "list"),
        ("why", hostile),
        ("log",),
    ):
        told += shown(*words)
    assert SHOWN in told
    assert "ab[red]" in told
    assert not set(told) & set(
        "\x00\x07\x7f\x9b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    )


def test_json_holds_it_all_and_nothing_that_a_terminal_obeys(call: Call) -> None:
    answer = call("queue", "append", "t", json.dumps({"text": ORDERS}), "--json")
    assert answer.json["submission"]["text"] == ORDERS
    assert not set(answer.out[:-1]) & set("\x00\x07\x1b\x7f\x9b\n\u202e\u2066\u200f\u061c")


# --- sharing room out


@pytest.mark.parametrize(
    ("room", "wanted", "given"),
    [
        (100, [10, 20], [10, 20]),
        (30, [10, 100], [10, 20]),
        (30, [100, 100], [15, 15]),
        (31, [100, 5, 100], [13, 5, 13]),
        (10, [], []),
    ],
)
def test_those_that_want_little_get_it(room: int, wanted: list[int], given: list[int]) -> None:
    assert shared_out(room, wanted) == given
