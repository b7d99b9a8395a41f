"""`turnledger demo`: what it shows is true, the same on every run, and nothing of it remains."""

from __future__ import annotations

import io
import re
import signal
import tempfile
from pathlib import Path
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
from turnledger.demo import closing
from turnledger.demo.ending import ended_by_signals
from turnledger.demo.figures import Figures, counted
from turnledger.demo.model import BAD_REQUEST, Model, Refused
from turnledger.demo.screen import Screen, clean
from turnledger.demo.stage import Stage
from turnledger.demo.submission import MAIN, SIDE, Submission, recorded, said
from turnledger.demo.worker_process import WorkerEnded, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turnledger import Ledger


# --- the whole of it


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return [run_in(tmp_path_factory.mktemp("temporary")) for _ in range(2)]


def test_it_succeeds_and_complains_of_nothing(runs: list[Run]) -> None:
    assert [(run.status, run.errors) for run in runs] == [(0, "")] * 2
    assert "WRONG" not in runs[0].text


def test_it_shows_the_same_text_on_every_run(runs: list[Run]) -> None:
    assert runs[0].text == runs[1].text


def test_it_ends_with_the_figures(runs: list[Run]) -> None:
    assert runs[0].text.splitlines()[-2:] == [
        "verify: 47 events, the ledger is whole",
        "submitted 10, sent 10, sent twice 0, lost 0",
    ]


def test_no_folder_and_no_process_is_left(runs: list[Run]) -> None:
    assert [(run.left, run.group_is_gone) for run in runs] == [([], True)] * 2


def test_it_shows_nothing_that_would_differ_on_another_machine(runs: list[Run]) -> None:
    assert_alike_everywhere(runs[0].text)


def test_it_fits_into_eighty_columns_and_leaves_no_blanks_at_the_ends(runs: list[Run]) -> None:
    assert_fits(runs[0].text)


def test_it_shows_why_the_thread_is_blocked_in_the_order_of_what_happens(runs: list[Run]) -> None:
    reasons = re.findall(r"why_blocked chat-1: (\w+)", runs[0].text)
    assert reasons == ["in_flight", "expired_claim", "None", "failed_head", "empty"]


def test_it_shows_the_commands_that_would_unblock_the_thread(runs: list[Run]) -> None:
    for decision in ("acked", "retry"):
        command = f"turnledger queue resolve --by NAME chat-1 client-58c1736b {decision}"
        assert command in runs[0].text


def test_it_tells_every_event_of_the_thread_in_a_line(runs: list[Run]) -> None:
    _, _, history = runs[0].text.partition("The whole history of chat-1")
    versions = re.findall(r"^ +(\d+)  [a-z_]+ ", history, flags=re.MULTILINE)
    assert versions == [str(number) for number in range(1, 38)]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 130)]
)
def test_whoever_ends_it_early_finds_no_folder_and_no_process(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with begin(tmp_path) as process:
        assert process.stdout is not None
        while "claimed" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(number)
        process.communicate()
    assert process.returncode == status
    assert list(tmp_path.iterdir()) == []
    assert group_is_gone(process)


# --- when something goes wrong


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder into which temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def plain(width: int = 80) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=width, color_system=None, highlight=False), file


@pytest.mark.parametrize("error", [WorkerEnded("worker-1", "it hurts"), TimeoutError("too long")])
def test_a_demonstration_that_cant_go_on_says_why_and_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    workers: list[WorkerProcess] = []

    def step(stage: Stage) -> None:
        workers.extend(stage.workers)
        raise error

    monkeypatch.setattr(demo, "_STEPS", (step,))
    console, file = plain()
    assert demo.run(console) == 1
    assert f"WRONG: {error}" in file.getvalue()
    assert [worker._process.returncode for worker in workers] == [-signal.SIGKILL] * 2
    assert list(temporary.iterdir()) == []


def test_an_error_of_the_library_comes_through_and_nothing_is_left(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: list[WorkerProcess] = []

    def step(stage: Stage) -> None:
        workers.extend(stage.workers)
        stage.ledger.queue.retry(MAIN, "never was")

    monkeypatch.setattr(demo, "_STEPS", (step,))
    with pytest.raises(turnledger.QueuedTurnNotFound):
        demo.run(plain()[0])
    assert [worker._process.returncode for worker in workers] == [-signal.SIGKILL] * 2
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "figures",
    [Figures(1, 2, 0, 0), Figures(2, 1, 0, 0), Figures(2, 2, 1, 0), Figures(2, 2, 0, 1)],
)
def test_each_wrong_figure_makes_the_exit_status_1(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    assert temporary.is_dir()
    monkeypatch.setattr(demo, "_STEPS", (lambda stage: closing.close(stage, figures, 2),))
    console, file = plain()
    assert demo.run(console) == 1
    assert "WRONG: it ought to be: submitted 2, sent 2, sent twice 0, lost 0" in file.getvalue()


# --- counting


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with turnledger.open(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model(tmp_path)


def submission(name: str) -> Submission:
    return Submission(MAIN, name, name, {"clientUserMessageId": name, "input": []})


@pytest.fixture
def submit(ledger: Ledger) -> Callable[..., list[Submission]]:
    """Submits messages under names."""

    def submitting(*names: str) -> list[Submission]:
        submissions = [submission(name) for name in names]
        for one in submissions:
            ledger.queue.append(MAIN, one.parameters, queued_turn_id=one.queued_turn_id)
        return submissions

    return submitting


def ack_the_head(ledger: Ledger) -> None:
    claim = ledger.queue.claim_head(MAIN, "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
    ledger.queue.ack(claim)


def test_what_waits_is_neither_sent_nor_lost(
    ledger: Ledger, model: Model, submit: Callable[..., list[Submission]]
) -> None:
    submissions = submit("a", "b")
    assert counted(ledger, model, submissions) == Figures(2, 0, 0, 0)


def test_what_the_ledger_never_accepted_is_lost(ledger: Ledger, model: Model) -> None:
    assert counted(ledger, model, [submission("a")]) == Figures(0, 0, 0, 1)


def test_what_is_gone_without_having_been_sent_is_lost(
    ledger: Ledger, model: Model, submit: Callable[..., list[Submission]]
) -> None:
    submissions = submit("a", "b")
    ack_the_head(ledger)
    ledger.queue.delete(MAIN, "b")
    assert counted(ledger, model, submissions) == Figures(2, 0, 0, 2)


def test_what_was_sent_with_another_text_is_lost(
    ledger: Ledger, model: Model, submit: Callable[..., list[Submission]]
) -> None:
    submissions = submit("a")
    model.take({**submissions[0].parameters, "input": ["another"]})
    ack_the_head(ledger)
    assert counted(ledger, model, submissions) == Figures(1, 1, 0, 1)


def test_what_the_model_got_twice_was_sent_twice(
    ledger: Ledger, model: Model, submit: Callable[..., list[Submission]]
) -> None:
    submissions = submit("a", "b")
    for one in (*submissions, submissions[0]):
        model.take(one.parameters)
    assert counted(ledger, model, submissions) == Figures(2, 2, 1, 0)


def test_what_the_model_refused_wasnt_sent(
    ledger: Ledger, model: Model, submit: Callable[..., list[Submission]]
) -> None:
    submissions = submit("a")
    model.begin_outage()
    with pytest.raises(Refused) as refusal:
        model.take(submissions[0].parameters)
    model.end_outage()
    assert refusal.value.answer["status"] == BAD_REQUEST
    assert counted(ledger, model, submissions) == Figures(1, 0, 0, 0)
    assert model.got(BAD_REQUEST) == [submissions[0].parameters]


# --- the submissions


def test_the_recorded_submissions_are_those_of_a_real_client_under_readable_names() -> None:
    names = [(one.thread_id, one.queued_turn_id, said(one.parameters)) for one in recorded()]
    assert names[:2] == [
        (MAIN, "client-f610eeaf", "first turn (held)"),
        (MAIN, "client-58c1736b", "turn to interrupt"),
    ]
    assert names[-3:] == [
        (MAIN, "client-META", "queued with metadata"),
        (SIDE, "client-c", "x"),
        (SIDE, "client-img", "see image [image]"),
    ]
    assert len({name[:2] for name in names}) == len(names)
    [meta] = [one for one in recorded() if one.message_id == "client-META"]
    assert meta.parameters["responsesapiClientMetadata"]["source"] == "slack"


def test_the_recorded_submissions_name_no_path_of_a_machine() -> None:
    text = Path(demo.__file__).with_name("submissions.json").read_text(encoding="utf-8")
    assert re.search(r"/(home|root|srv|tmp|work|Users)/", text) is None


@pytest.mark.parametrize("parameters", [None, {}, {"input": []}])
def test_a_message_without_parts_says_nothing(parameters: dict[str, Any] | None) -> None:
    assert said(parameters) == ""


# --- worker processes


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    with WorkerProcess("worker", tmp_path / "ledger.db", 60) as started:
        yield started


def test_a_worker_ends_by_itself_when_nobody_is_there_any_more(worker: WorkerProcess) -> None:
    assert worker.go_on().word == "idle"
    assert worker.finish() is True


def test_a_worker_that_was_killed_doesnt_go_on(worker: WorkerProcess) -> None:
    assert worker.kill() is True
    with pytest.raises(WorkerEnded, match="worker ended: it said nothing"):
        worker.go_on()


def test_a_worker_that_ends_leaves_its_last_words(tmp_path: Path, worker: WorkerProcess) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(WorkerEnded, match=r"turnledger\.domain\.errors[\w.]+: .*ledger\.db"):
        worker.go_on()
    assert worker.kill() is False


# --- how it looks

ORDERS = "a\x1b[31mb\x07c\u202ed\x9be\u2066f\tg\nh"


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    assert clean(ORDERS) == "a[31mbcdef g h"


def test_nothing_in_a_text_is_markup_or_an_order_on_a_terminal_either() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    screen = Screen(console)
    screen.say(f"[bold]1[/bold] :smile: {ORDERS}")
    screen.command(f"[bold]2[/bold] :smile: {ORDERS}")
    screen.row(("[bold]3", f"[/bold] :smile: {ORDERS}"), (7,))
    screen.fact("[bold]4[/bold]", f":smile: {ORDERS}", f":smile: {ORDERS}")
    rest = ":smile: a[31mbcdef g h"
    assert file.getvalue().splitlines() == [
        f"[bold]1[/bold] {rest}",
        f"  [bold]2[/bold] {rest}",
        f"  [bold]3  [/bold] {rest}",
        f"  [bold]4[/bold]: {rest}",
    ]


@pytest.mark.parametrize("width", [16, 24, 40, 80, 200])
def test_nothing_is_cut_and_no_line_is_too_long_on_a_terminal_of_any_width(width: int) -> None:
    console, file = plain(width)
    screen = Screen(console)
    screen.head("1  A head that is longer than some")
    screen.say("A sentence that has to be folded where there is no room for it.")
    screen.rows([("pending", "client-A", "a text of a few words"), ("failed", "client-B", "")])
    screen.fact("a name of a few words", "found", "found")
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    words = re.findall(r"[\w-]+", text.replace("─", ""))
    assert words[:3] == ["1", "A", "head"]
    assert "".join(words[8:]) == "".join(
        re.findall(
            r"[\w-]+",
            "A sentence that has to be folded where there is no room for it."
            "pending client-A a text of a few words failed client-B a name of a few words found",
        )
    )


def test_a_fact_that_isnt_what_it_ought_to_be_is_said_to_be_wrong() -> None:
    console, file = plain()
    screen = Screen(console)
    screen.fact("lost", 0, 0)
    assert screen.wrongs == 0
    screen.fact("lost", 1, 0)
    assert screen.wrongs == 1
    assert file.getvalue().splitlines() == ["  lost: 0", "  lost: 1", "WRONG: lost ought to be 0"]


# --- signals


def test_a_signal_that_is_ignored_stays_ignored_and_the_others_come_back() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ending = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_by_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, ending)
