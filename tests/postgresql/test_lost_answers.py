"""The connection breaks in the middle of a command: it is carried out once all the same."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest

import turnledger
from tests.postgresql.lost_answers import COMMANDS, QUESTIONS, Case, outline
from tests.postgresql.proxy import Moment, Proxy, proxy
from tests.postgresql.server import Server
from turnledger import Ledger, LedgerError, StoreUnavailable

DOWN_SECONDS = 2
MOMENTS: tuple[Moment, ...] = ("before", "after")


class Outcome(NamedTuple):
    """What came of a command.

    Attributes:
        cut: Whether its connection was cut; not if it had made all its requests before.
        result: In outline; an error by its name.
        events: The types of all events of its threads.
    """

    cut: bool
    result: Any
    events: list[str]


class Line(NamedTuple):
    """A ledger behind a proxy, and the same database beside both."""

    ledger: Ledger
    proxy: Proxy
    beside: "psycopg.Connection[tuple[Any, ...]]"

    def run(self, case: Case, thread: str, cut_at: int = 0, moment: Moment = "before") -> Outcome:
        """Give a command, cutting at one of its requests."""
        prepared = case.prepare(self.ledger, thread)
        self.proxy.cut_at(cut_at, moment)
        try:
            result = case.act(self.ledger, thread, prepared)
        except LedgerError as error:
            result = type(error).__name__
        cut, events = self.proxy.cuts > 0, self.events(thread)
        for part in ("", " b", " c"):
            if self.events(thread + part):
                self.ledger.threads.delete(thread + part)  # so that nothing can be claimed there
        return Outcome(cut, outline(result), events)

    def events(self, thread: str) -> list[str]:
        """The types of all events of a thread and its parts."""
        query = "SELECT type FROM stored_events WHERE stream_id LIKE %s ORDER BY stream_id, version"
        return [str(kind) for (kind,) in self.beside.execute(query, (f"%{thread}%",))]


@pytest.fixture(scope="module")
def line(postgresql_server: Server) -> Iterator[Line]:
    """A ledger whose connections can be cut; each test has threads of its own in it."""
    with (
        postgresql_server.new_database() as database,
        proxy(postgresql_server.port) as between,
        psycopg.connect(database.conninfo, autocommit=True) as beside,
        turnledger.open(between.url(database.url)) as ledger,
    ):
        yield Line(ledger, between, beside)


def cuts(line: Line, case: Case, name: str, moment: Moment) -> Iterator[Outcome]:
    """What comes of a command that is cut at its first request, at its second, and so on."""
    for number in itertools.count(1):
        outcome = line.run(case, f"{name} {moment} {number:04}", number, moment)
        if not outcome.cut:
            assert number > 1
            return
        yield outcome


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_carried_out_once_whenever_its_connection_breaks(
    line: Line, name: str, moment: Moment
) -> None:
    expected = line.run(COMMANDS[name], f"{name} {moment} 0000")._replace(cut=True)
    for number, found in enumerate(cuts(line, COMMANDS[name], name, moment), 1):
        assert found == expected, f"cut {moment} request {number}"


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_whenever_its_connection_breaks(
    line: Line, name: str, moment: Moment
) -> None:
    expected = line.run(QUESTIONS[name], f"{name} {moment} 0000")
    for number, found in enumerate(cuts(line, QUESTIONS[name], name, moment), 1):
        assert found.result == expected.result, f"cut {moment} request {number}"


def test_the_ledger_is_whole_after_all_that(line: Line) -> None:
    assert line.ledger.verify().findings == ()


def test_a_verification_whose_snapshot_breaks_says_so(line: Line) -> None:
    line.proxy.order(lambda request: b"queued_turns" in request)
    with pytest.raises(StoreUnavailable):
        line.ledger.verify()
    assert line.ledger.verify().findings == ()
