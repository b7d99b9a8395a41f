"""`turnledger demo --coordinator`: what it shows is true, and nothing of it remains."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import turnledger
from tests.demo.running import (
    Run,
    assert_alike_everywhere,
    assert_fits,
    begin,
    group_is_gone,
    run_in,
)
from turnledger import demo
from turnledger.demo.coordinator import closing
from turnledger.demo.coordinator.closing import Figures, counted
from turnledger.demo.coordinator.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnledger import Ledger

OPTION = "--coordinator"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_in(tmp_path_factory.mktemp("temporary"), OPTION)


def test_it_succeeds_and_leaves_nothing(shown: Run) -> None:
    assert (shown.status, shown.errors, shown.left) == (0, "", [])
    assert shown.group_is_gone
    assert "WRONG" not in shown.text
    assert_fits(shown.text)
    assert_alike_everywhere(shown.text)


def test_every_turn_is_settled_and_no_paid_answer_is_lost(shown: Run) -> None:
    assert shown.text.splitlines()[-1] == (
        "begun 10, settled 10, sent again undecided 0, answers paid 10, lost 0"
    )


def test_a_worker_is_killed_behind_every_step(shown: Run) -> None:
    killed = re.findall(
        r"^ +worker-(\d) +([a-z, ]+?)  .*\n +worker-\1 +killed$", shown.text, re.MULTILINE
    )
    assert [what for _, what in killed] == [
        *("claims", "stores the request", "records the dispatch", "gets the answer"),
        *("stores the answer", "sends the request"),
    ]


def test_what_may_have_been_sent_goes_on_by_a_decision_only(shown: Run) -> None:
    unknown = re.findall(r"(?m)^ +(\S+) +pending +attempt 1 unknown$", shown.text)
    left = re.findall(r"leaves it: a decision\? +(\S+)", shown.text)
    decided = re.findall(
        r"^ +(\S+) +received \d, answered \d +(?:adopt|send)", shown.text, re.MULTILINE
    )
    assert unknown == left == decided
    assert len(unknown) == 5


def test_whoever_ends_it_early_finds_no_folder_and_no_process(tmp_path: Path) -> None:
    with begin(tmp_path, OPTION) as process:
        assert process.stdout is not None
        while "killed" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    assert group_is_gone(process)


# --- counting


class Counted:
    """What the figures are counted in: a ledger and a provider's records."""

    def __init__(self, ledger: Ledger, records: Records) -> None:
        self.ledger = ledger
        self.records = records

    def figures(self) -> Figures:
        stage: Any = self
        return counted(stage)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Counted]:
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        yield Counted(ledger, Records(tmp_path))


def test_a_turn_that_is_answered_is_settled_and_paid_once(stage: Counted) -> None:
    coordinator, answer = stage.ledger.coordinator, {"text": "hi"}
    claim = coordinator.begin("item", "hi", turn_id="turn", owner="me").claim
    assert claim is not None
    attempt = coordinator.prepare(claim, "hi")
    coordinator.start_dispatch(claim, 1)
    for word, said in (("received", None), ("answered", answer)):
        stage.records.write(word, "turn/1", said)
    before = Figures(begun=1, settled=0, undecided=0, paid=1, lost=1)
    assert stage.figures() == before
    coordinator.respond(claim, 1, attempt.request_hash, answer)
    assert stage.figures() == replace(before, lost=0)
    coordinator.complete(claim, answer)
    assert stage.figures() == replace(before, lost=0, settled=1)
    stage.records.write("received", "turn/1")
    assert stage.figures() == replace(before, lost=0, settled=1, undecided=1)


def test_a_request_that_is_sent_again_after_a_refusal_counts_as_decided(stage: Counted) -> None:
    coordinator = stage.ledger.coordinator
    claim = coordinator.begin("item", "hi", turn_id="turn", owner="me").claim
    assert claim is not None
    coordinator.prepare(claim, "hi")
    coordinator.start_dispatch(claim, 1)
    for number in (1, 2):
        stage.records.write("received", f"turn/{number}")
    assert stage.figures().undecided == 1
    coordinator.refuse(claim, 1, "no", retryable=True)
    assert stage.figures().undecided == 0


@pytest.mark.parametrize("name", ["begun", "settled", "undecided", "paid", "lost"])
def test_each_wrong_figure_makes_the_exit_status_1(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    wrong = replace(Figures(begun=10, settled=10, undecided=0, paid=10, lost=0), **{name: 3})
    monkeypatch.setattr(closing, "counted", lambda _stage: wrong)
    monkeypatch.setattr(demo.coordinator, "STEPS", (closing.draw_the_balance,))
    assert demo.run_coordinator(Console(quiet=True)) == 1
