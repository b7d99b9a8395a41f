"""Blocks on PostgreSQL: others change the same threads, connections break, answers are lost."""

from __future__ import annotations

import itertools
from contextlib import suppress
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import turnledger
from tests.conformance.transactions.conftest import Undo, failing
from tests.postgresql.proxy import Moment, Proxy, proxy
from turnledger import ClaimLost, Ledger, LedgerError, QueueFull, Settings, StoreUnavailable
from turnledger.domain import thread_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    from tests.postgresql.server import Database, Server

STREAM = thread_queue.stream_id("thread")
MOMENTS: tuple[Moment, ...] = ("before", "after")


@pytest.fixture
def database(postgresql_server: Server, empty_database: str) -> Iterator[Database]:
    """A database with the schema and nothing in it."""
    with postgresql_server.new_database(empty_database) as made:
        yield made


@pytest.fixture
def beside(database: Database) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection to it that isn't turnledger's."""
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    with turnledger.open(database.url, settings=Settings(max_visible_turns=3)) as opened:
        yield opened


def texts(ledger: Ledger, thread: str = "thread") -> list[str]:
    return [str((turn.submission or {})["text"]) for turn in ledger.queue.list(thread)]


def append(ledger: Ledger, text: str, thread: str = "thread") -> None:
    ledger.queue.append(thread, {"text": text})


def kill(ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]]) -> None:
    """End this thread's connection, as an administrator or a fail-over does."""
    process = ledger._backend.store.held().process  # type: ignore[attr-defined]
    beside.execute("SELECT pg_terminate_backend(%s)", process[:1])
    while beside.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", process[:1]).fetchone():
        pass


def until_somebody_waits_for_a_row(
    beside: psycopg.Connection[tuple[Any, ...]], command: Future[Any]
) -> None:
    query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
    while not (command.done() or beside.execute(f"{query} current_database()".encode()).fetchone()):
        pass


# --- others are first


def test_a_command_whose_thread_is_changed_meanwhile_is_decided_again_within_the_block(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]], pool: ThreadPoolExecutor
) -> None:
    append(ledger, "before")

    def block() -> None:
        with ledger.transaction():
            append(ledger, "block", "other")
            append(ledger, "block")
            append(ledger, "block again", "other")

    with ledger.transaction():
        append(ledger, "first")
        second = pool.submit(block)
        until_somebody_waits_for_a_row(beside, second)
    second.result()
    assert texts(ledger) == ["before", "first", "block"]
    assert texts(ledger, "other") == ["block", "block again"]
    assert ledger.verify().findings == ()


def test_what_was_decided_again_may_be_a_refusal_which_undoes_itself_alone(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]], pool: ThreadPoolExecutor
) -> None:
    append(ledger, "1")
    append(ledger, "2")

    def block() -> None:
        with ledger.transaction():
            append(ledger, "block", "other")
            with pytest.raises(QueueFull):
                append(ledger, "block")

    with ledger.transaction():
        append(ledger, "3")
        second = pool.submit(block)
        until_somebody_waits_for_a_row(beside, second)
    second.result()
    assert texts(ledger) == ["1", "2", "3"]
    assert texts(ledger, "other") == ["block"]
    assert ledger.verify().findings == ()


def test_of_two_blocks_that_wait_for_each_other_one_is_told_to_do_it_again(
    database: Database, pool: ThreadPoolExecutor
) -> None:
    met = Barrier(2)

    def block(own: str, others: str, *, meet: bool) -> None:
        with ledger.transaction():
            append(ledger, own, own)
            if meet:
                met.wait(30)
            append(ledger, own, others)

    quick = f"{database.url}?options=-c%20deadlock_timeout%3D20ms"
    with turnledger.open(quick) as ledger:
        append(ledger, "0", "a")
        append(ledger, "0", "b")
        pairs = [("a", "b"), ("b", "a")]
        blocks = [pool.submit(block, *pair, meet=True) for pair in pairs]
        ends = [each.exception() for each in blocks]
        assert ends.count(None) == 1
        [(loser, end)] = [pair for pair in enumerate(ends) if pair[1] is not None]
        assert type(end) is StoreUnavailable
        assert end.retryable
        winner = pairs[1 - loser][0]
        assert texts(ledger, "a") == texts(ledger, "b") == ["0", winner]
        block(*pairs[loser], meet=False)
        assert texts(ledger, "a") == texts(ledger, "b") == ["0", winner, pairs[loser][0]]
        assert ledger.verify().findings == ()


def test_a_deadlock_that_the_block_passes_over_doesnt_lead_to_half_of_it(
    database: Database, pool: ThreadPoolExecutor
) -> None:
    met = Barrier(2)

    def block(own: str, others: str) -> None:
        with ledger.transaction():
            append(ledger, own, own)
            met.wait(30)
            with suppress(LedgerError):
                append(ledger, own, others)
            with suppress(LedgerError):
                append(ledger, "later", "c")

    quick = f"{database.url}?options=-c%20deadlock_timeout%3D20ms"
    with turnledger.open(quick) as ledger:
        append(ledger, "0", "a")
        append(ledger, "0", "b")
        blocks = [pool.submit(block, *pair) for pair in [("a", "b"), ("b", "a")]]
        ends = [type(each.exception()) for each in blocks]
        assert sorted(ends, key=str) == [type(None), StoreUnavailable]
        assert len(texts(ledger, "a")) == len(texts(ledger, "b")) == 2
        assert texts(ledger, "c") == ["later"]
        assert ledger.verify().findings == ()


def test_blocks_that_name_their_threads_in_one_order_all_succeed(
    ledger: Ledger, pool: ThreadPoolExecutor
) -> None:
    def block(number: int) -> None:
        with ledger.transaction():
            for thread in "abc":
                claim = ledger.queue.claim_head(thread, f"worker {number}")
                if claim is not None:
                    ledger.queue.release(claim)

    for thread in "abc":
        append(ledger, "text", thread)
    for each in [pool.submit(block, number) for number in range(16)]:
        each.result()
    assert ledger.verify().findings == ()


# --- the connection is gone


def test_a_block_whose_connection_is_killed_is_told_so_and_nothing_of_it_is_kept(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]]
) -> None:
    append(ledger, "before")
    with failing(ledger, StoreUnavailable) as caught:
        append(ledger, "inside")
        kill(ledger, beside)
        append(ledger, "inside", "other")
    assert caught.value.retryable
    assert texts(ledger) == ["before"]
    assert texts(ledger, "other") == []
    append(ledger, "after")
    assert texts(ledger) == ["before", "after"]
    assert ledger.verify().findings == ()


def test_a_block_whose_connection_is_killed_at_its_end_is_told_so(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]]
) -> None:
    with failing(ledger, StoreUnavailable):
        append(ledger, "inside")
        kill(ledger, beside)
    assert texts(ledger) == []


GIVEN_AFTER: dict[str, Callable[[Ledger], object]] = {
    "a command": lambda own: own.queue.append("other", {}),
    "ack_many": lambda own: own.queue.ack_many([]),
    "a block": lambda own: own.transaction().__enter__(),
    "list": lambda own: own.queue.list("thread"),
    "get": lambda own: own.queue.get("thread", "turn"),
    "why_blocked": lambda own: own.queue.why_blocked("thread"),
    "why": lambda own: own.why("thread"),
    "a thread": lambda own: own.threads.get("thread"),
    "threads": lambda own: own.threads.list(),
    "the log": lambda own: own.log.read(),
}


@pytest.mark.parametrize("name", GIVEN_AFTER)
def test_what_is_given_in_a_block_whose_connection_was_killed_fails_in_the_ledgers_words(
    database: Database, beside: psycopg.Connection[tuple[Any, ...]], name: str
) -> None:
    said: list[BaseException] = []
    impatient = Settings(busy_timeout=0.1)
    with turnledger.open(database.url, settings=impatient) as ledger:
        with failing(ledger, StoreUnavailable):
            append(ledger, "inside")
            kill(ledger, beside)
            for _ in range(2):
                try:
                    GIVEN_AFTER[name](ledger)
                except BaseException as error:  # noqa: BLE001 - its kind is what is looked at
                    said.append(error)
        assert texts(ledger) == []
        append(ledger, "after")
        assert texts(ledger) == ["after"]
    assert [type(error) for error in said if not isinstance(error, LedgerError)] == []


def test_evidence_stays_though_the_blocks_connection_is_killed(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]]
) -> None:
    claim = lost_claim(ledger)
    with failing(ledger, StoreUnavailable):
        with pytest.raises(ClaimLost):
            ledger.queue.ack(claim)
        append(ledger, "undone", "other")
        kill(ledger, beside)
        append(ledger, "undone", "other")
    [turn] = ledger.queue.list("thread")
    assert [one.kind for one in turn.evidence] == ["ack"]
    assert texts(ledger, "other") == []


@pytest.mark.parametrize("where", ["in the inner block", "in the outer block"])
def test_evidence_of_an_inner_block_stays_though_the_connection_is_killed(
    ledger: Ledger, beside: psycopg.Connection[tuple[Any, ...]], where: str
) -> None:
    claim = lost_claim(ledger)
    with failing(ledger, StoreUnavailable):
        append(ledger, "undone", "other")
        with ledger.transaction():
            with pytest.raises(ClaimLost):
                ledger.queue.ack(claim)
            if where == "in the inner block":
                kill(ledger, beside)
                append(ledger, "undone", "other")
        kill(ledger, beside)
        append(ledger, "undone", "other")
    [turn] = ledger.queue.list("thread")
    assert [one.kind for one in turn.evidence] == ["ack"]
    assert texts(ledger, "other") == []


def test_evidence_of_an_inner_block_stays_though_a_deadlock_ends_both(
    database: Database, pool: ThreadPoolExecutor
) -> None:
    met = Barrier(2)

    def block(own: str, others: str) -> None:
        with ledger.transaction():
            append(ledger, own, own)
            with ledger.transaction():
                with pytest.raises(ClaimLost):
                    ledger.queue.ack(claims[own])
                met.wait(30)
                append(ledger, own, others)

    quick = f"{database.url}?options=-c%20deadlock_timeout%3D20ms"
    with turnledger.open(quick) as ledger:
        claims = {name: lost_claim(ledger, name) for name in "ab"}
        blocks = [pool.submit(block, *pair) for pair in [("a", "b"), ("b", "a")]]
        ends = [type(each.exception()) for each in blocks]
        assert sorted(ends, key=str) == [type(None), StoreUnavailable]
        kept = [ledger.queue.list(thread)[0].evidence for thread in "ab"]
        assert [[one.kind for one in evidence] for evidence in kept] == [["ack"], ["ack"]]


def lost_claim(ledger: Ledger, thread: str = "thread") -> Any:
    """A claim that was recovered after its dispatch had begun."""
    append(ledger, "head", thread)
    claim = ledger.queue.claim_head(thread, "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.recover(thread, owner="worker")
    return claim


# --- answers are lost


@pytest.fixture
def between(postgresql_server: Server) -> Iterator[Proxy]:
    """A proxy that cuts connections."""
    with proxy(postgresql_server.port) as opened:
        yield opened


def block(ledger: Ledger, thread: str) -> None:
    """A block with a bit of everything."""
    with ledger.transaction():
        append(ledger, "1", thread)
        claim = ledger.queue.claim_head(thread, "worker")
        assert claim is not None
        with failing(ledger, Undo):
            append(ledger, "undone", thread)
            raise Undo
        ledger.queue.start_dispatch(claim, "dispatch")
        ledger.queue.list(thread)
        ledger.queue.ack(claim)
        append(ledger, "2", thread)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_block_is_there_or_not_as_its_caller_is_told_whichever_answer_is_lost(
    database: Database, between: Proxy, moment: Moment
) -> None:
    """Each time the next request is cut, until there is none left."""
    said = []
    with turnledger.open(between.url(database.url)) as ledger:
        for number in itertools.count(1):
            thread = f"thread {number}"
            between.cut_at(number, moment)
            try:
                block(ledger, thread)
                told = "done"
            except LedgerError as error:
                told = error.code
            cut = between.cuts
            said.append(told)
            there = ledger.queue.list(thread)
            assert [turn.submission for turn in there] == [{"text": "2"}] * (told == "done"), number
            if not cut:
                break
        assert ledger.verify().findings == ()
    assert len(said) > 10
    assert set(said) <= {"done", "store_unavailable"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_error_of_the_driver_comes_out_of_a_command_in_a_block(
    database: Database, between: Proxy, moment: Moment
) -> None:
    said: list[BaseException] = []

    def append_two(thread: str) -> None:
        with ledger.transaction():
            for text in ("1", "2"):
                try:
                    append(ledger, text, thread)
                except BaseException as error:
                    said.append(error)
                    raise

    with turnledger.open(between.url(database.url)) as ledger:
        for number in itertools.count(1):
            between.cut_at(number, moment)
            with suppress(Exception):
                append_two(f"thread {number}")
            if not between.cuts:
                break
    assert [type(error) for error in said if not isinstance(error, LedgerError)] == []


def test_a_block_whose_commit_answer_is_lost_is_known_to_be_done(
    database: Database, between: Proxy
) -> None:
    with turnledger.open(between.url(database.url)) as ledger:
        between.order(lambda request: b"COMMIT" in request, "after")
        with ledger.transaction():
            append(ledger, "1", "a")
            append(ledger, "2", "b")
        assert between.cuts == 1
        assert (texts(ledger, "a"), texts(ledger, "b")) == (["1"], ["2"])


def test_a_block_whose_commit_never_arrived_is_known_to_be_undone(
    database: Database, between: Proxy
) -> None:
    with turnledger.open(between.url(database.url)) as ledger:
        between.order(lambda request: b"COMMIT" in request, "before")
        with failing(ledger, StoreUnavailable):
            append(ledger, "1", "a")
            append(ledger, "2", "b")
        assert (texts(ledger, "a"), texts(ledger, "b")) == ([], [])


def test_a_lost_commit_answer_is_told_rightly_though_the_last_thing_in_the_block_was_undone(
    database: Database, between: Proxy
) -> None:
    with turnledger.open(between.url(database.url)) as ledger:
        between.order(lambda request: b"COMMIT" in request, "after")
        with ledger.transaction():
            append(ledger, "stays")
            with failing(ledger, Undo):
                append(ledger, "undone", "other")
                raise Undo
        assert between.cuts == 1
        assert texts(ledger) == ["stays"]
        assert texts(ledger, "other") == []


def test_a_lost_commit_answer_is_told_rightly_though_the_last_command_was_refused_at_second_sight(
    database: Database,
    between: Proxy,
    beside: psycopg.Connection[tuple[Any, ...]],
    ledger: Ledger,
    pool: ThreadPoolExecutor,
) -> None:
    append(ledger, "1", "full")
    append(ledger, "2", "full")
    few = Settings(max_visible_turns=3)

    def block() -> None:
        with own.transaction():
            append(own, "stays")
            with pytest.raises(QueueFull):
                append(own, "too much", "full")

    with turnledger.open(between.url(database.url), settings=few) as own:
        with ledger.transaction():
            append(ledger, "3", "full")
            second = pool.submit(block)
            until_somebody_waits_for_a_row(beside, second)
            between.order(lambda request: b"COMMIT" in request, "after")
        second.result()
        assert between.cuts == 1
    assert texts(ledger) == ["stays"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_store_that_is_unavailable_in_the_middle_leaves_no_half_of_a_block_that_passes_over_it(
    database: Database, between: Proxy, moment: Moment
) -> None:
    with turnledger.open(between.url(database.url)) as ledger:
        for number in itertools.count(1):
            thread = f"thread {number}"
            between.cut_at(number, moment)
            told = "done"
            try:
                with ledger.transaction():
                    for text in "123":
                        with suppress(LedgerError):
                            append(ledger, text, thread)
            except StoreUnavailable:
                told = "undone"
            assert texts(ledger, thread) == (["1", "2", "3"] if told == "done" else []), number
            if not between.cuts:
                break
        assert ledger.verify().findings == ()


def test_an_inner_block_that_passes_over_its_loss_is_told_at_its_end_and_the_outer_one_goes_on(
    database: Database, beside: psycopg.Connection[tuple[Any, ...]]
) -> None:
    def inner() -> None:
        with ledger.transaction():
            append(ledger, "inner", "other")
            with suppress(LedgerError):
                append(ledger, "locked")

    settings = Settings(busy_timeout=timedelta(milliseconds=20))
    with turnledger.open(database.url, settings=settings) as ledger:
        append(ledger, "before")
        with ledger.transaction():
            append(ledger, "outer", "other")
            with beside.transaction():
                beside.execute("SELECT FROM streams WHERE stream_id = %s FOR UPDATE", (STREAM,))
                with pytest.raises(StoreUnavailable):
                    inner()
            append(ledger, "outer again", "other")
        assert texts(ledger) == ["before"]
        assert texts(ledger, "other") == ["outer", "outer again"]
        assert ledger.verify().findings == ()
