"""The primary dies under load and its standby takes over: what was acknowledged is there, once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

import turnledger
from tests.postgresql.fail_over import SECONDS, SETTINGS, load
from tests.postgresql.fixtures import started
from tests.postgresql.standby import StandbyPair, standby_pair
from turnledger.infrastructure import numbering

FAIL_OVERS, WORKERS = 2, 3
_APPLIED = "&options=-c%20synchronous_commit%3Dremote_apply"  # a commit waits for the replay
_WAITS = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

Cut = Callable[[StandbyPair], None]


@pytest.fixture(scope="module")
def pair() -> Iterator[StandbyPair]:
    """One pair for all tests here, each of which leaves it whole."""
    with ExitStack() as stack:
        yield started(stack, standby_pair())


def execute(conninfo: str, *statements: str) -> list[Any]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in statements:
            done = connection.execute(statement.encode())
        return done.fetchall()


def pause_the_replay(pair: StandbyPair) -> None:
    """What is committed reaches the standby, but its answer doesn't come back."""
    execute(pair.other_conninfo, "SELECT pg_wal_replay_pause()")


def cut_the_standby_off(pair: StandbyPair) -> None:
    """What is committed doesn't reach the standby."""
    pair.cut_off()


def test_no_acknowledged_append_is_lost_and_every_call_returns(pair: StandbyPair) -> None:
    with load(pair, WORKERS) as (working, end):
        for _ in range(FAIL_OVERS):
            working.wait()
            pair.fail_over()
        working.wait()
        outcome = end()
    assert outcome.lost == []
    assert outcome.in_order_once
    assert outcome.followed_once
    assert sum(one.raised for one in outcome.acknowledged) == 0
    assert outcome.findings == ()


@pytest.mark.parametrize(
    ("cut", "arrived"), [(pause_the_replay, True), (cut_the_standby_off, False)]
)
def test_an_append_whose_primary_dies_before_it_answers_is_carried_out_once(
    pair: StandbyPair, cut: Cut, monkeypatch: pytest.MonkeyPatch, *, arrived: bool
) -> None:
    outcomes: list[bool] = []
    look = numbering.outcome

    def looking(*given: Any) -> bool:
        outcomes.append(look(*given))
        return outcomes[-1]

    monkeypatch.setattr(numbering, "outcome", looking)
    thread = f"in doubt {arrived}"
    url = pair.database().url + _APPLIED
    with turnledger.open(url, settings=SETTINGS) as ledger, ThreadPoolExecutor(1) as pool:
        before = ledger.queue.append(thread, {"number": 1})
        cut(pair)
        append = pool.submit(ledger.queue.append, thread, {"number": 2}, idempotency_key="key")
        while not execute(pair.primary_conninfo, _WAITS):
            assert not append.done()
        pair.kill_primary()
        pair.promote()
        turn = append.result(SECONDS)
        pair.rebuild()
        assert outcomes == [arrived]
        again = ledger.queue.append(thread, {"number": 2}, idempotency_key="key")
        assert (again.queued_turn_id, again.duplicate) == (turn.queued_turn_id, True)
        there = [one.queued_turn_id for one in ledger.queue.list(thread)]
        assert there == [before.queued_turn_id, turn.queued_turn_id]
        assert ledger.verify().findings == ()
