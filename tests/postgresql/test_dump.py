"""A ledger that was dumped and restored goes on: its queue, its claims, its log."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import psycopg
import pytest

import turnledger
from tests.postgresql.fixtures import started
from tests.postgresql.server import Database, PrivateServer, Server, server
from turnledger import Claim, ClaimLost, Ledger
from turnledger.infrastructure import numbering

UNNUMBERED = 4
# More than a new server has had, so that the restored rows are of lower ones than they were.
_SPEND_TRANSACTIONS = """
DO $$ BEGIN
    FOR number IN 1..3000 LOOP
        PERFORM pg_current_xact_id();
        COMMIT;
    END LOOP;
END $$
"""
_UNNUMBERED = "SELECT count(*) FROM unnumbered"
_NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


class Before(NamedTuple):
    """What there was when the ledger was dumped.

    Attributes:
        events: The numbered ones.
        claim: Of the thread "claimed", dispatched.
        generation: Of the ledger.
        transaction: The server's next one.
    """

    events: list[Any]
    claim: Claim
    generation: str
    transaction: int


class Restored(NamedTuple):
    """The same ledger on a new server."""

    before: Before
    ledger: Ledger
    database: Database


@pytest.fixture(scope="module")
def new_server() -> Iterator[PrivateServer]:
    with ExitStack() as stack:
        yield started(stack, server())


@pytest.fixture
def restored(postgresql_server: Server, new_server: PrivateServer) -> Iterator[Restored]:
    run, file = new_server.cluster._binaries.run, new_server.folder / "ledger.dump"
    with postgresql_server.new_database() as source, new_server.new_database() as target:
        with psycopg.connect(source.conninfo) as open_transaction:
            before = fill(source, open_transaction)
            run("pg_dump", "--format", "custom", "--file", file, "--dbname", source.conninfo)
        run("pg_restore", "--exit-on-error", "--dbname", target.conninfo, file)
        file.unlink()
        assert one(target, _UNNUMBERED) == UNNUMBERED
        assert one(target, _NEXT_TRANSACTION) < before.transaction
        with turnledger.open(target.url) as ledger:
            yield Restored(before, ledger, target)


def fill(source: Database, open_transaction: "psycopg.Connection[tuple[Any, ...]]") -> Before:
    """Numbered events, and such as nobody has numbered yet."""
    with turnledger.open(source.url) as ledger:
        for thread in ("claimed", "waiting"):
            ledger.queue.append_many(thread, [{"number": 1}, {"number": 2}])
        claim = ledger.queue.claim_head("claimed", "worker")
        assert claim is not None
        ledger.queue.start_dispatch(claim, "dispatch")
        events = ledger.log.read()
        with psycopg.connect(source.conninfo, autocommit=True) as beside:
            beside.execute(_SPEND_TRANSACTIONS)
        open_transaction.execute(numbering.LOCK.encode())
        for number in range(UNNUMBERED):
            ledger.queue.append(
                f"new {number % 2}", {"number": number}, idempotency_key=f"{number}"
            )
        return Before(events, claim, ledger.generation, one(source, _NEXT_TRANSACTION))


def one(database: Database, query: str) -> int:
    with psycopg.connect(database.conninfo) as connection:
        ((answer,),) = connection.execute(query.encode()).fetchall()
        return int(answer)


def test_a_restored_ledger_is_whole_and_its_log_goes_on_without_gaps(restored: Restored) -> None:
    before, ledger, database = restored
    assert (ledger.generation, one(database, _UNNUMBERED)) == (before.generation, UNNUMBERED)
    ledger.queue.append("after", {})
    events, known = ledger.log.read(), len(before.events)
    assert events[:known] == before.events
    assert [event.position for event in events] == list(range(1, known + UNNUMBERED + 2))
    restored_ones = [(event.stream_id, event.version) for event in events[known:]]
    assert restored_ones == [
        *((f"thread_queue:new {number % 2}", number // 2 + 1) for number in range(UNNUMBERED)),
        ("thread_queue:after", 1),
    ]
    assert one(database, _UNNUMBERED) == 0
    assert ledger.verify().findings == ()


def test_a_follower_of_before_goes_on_behind_its_cursor(restored: Restored) -> None:
    before, ledger, _ = restored
    following = ledger.log.follow(before.events[-1].cursor)
    seen = [next(following) for _ in range(UNNUMBERED)]
    assert [event.data["submission"] for event in seen] == [
        {"number": n} for n in range(UNNUMBERED)
    ]


def test_a_restored_queue_goes_on_with_its_claims_and_its_keys(restored: Restored) -> None:
    before, ledger, _ = restored
    ledger.queue.ack(before.claim)
    again = ledger.queue.append("new 0", {"number": 0}, idempotency_key="0")
    assert again.duplicate
    claims = ledger.queue.claim_next("worker", limit=10)
    assert sorted(claim.thread_id for claim in claims) == ["claimed", "new 0", "new 1", "waiting"]
    [next_one] = [claim for claim in claims if claim.thread_id == "claimed"]
    assert next_one.epoch == before.claim.epoch + 1
    for claim in claims:
        ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
        ledger.queue.ack(claim)
    assert ledger.verify().findings == ()


def test_claims_of_before_are_refused_once_the_restored_ledger_has_a_new_generation(
    restored: Restored,
) -> None:
    before, ledger, database = restored
    turnledger.new_generation(database.url)
    with turnledger.open(database.url) as renewed, pytest.raises(ClaimLost):
        renewed.queue.ack(before.claim)
    assert ledger.verify().findings == ()
