"""What the tests of copying share: a ledger in which all has happened, and places for copies."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import turnledger
from tests.conformance.stores import postgresql_server, store_at
from tests.postgresql.fixtures import postgresql_database
from tests.postgresql.server import Server
from tests.verify.conftest import File, file, template
from turnledger import Ledger, Settings

__all__ = ["file", "postgresql_database", "postgresql_server", "template"]

KINDS = ("sqlite", "postgresql")
Rows = dict[str, list[tuple[Any, ...]]]

KEYS = {
    "events": "position",
    "streams": "stream_id",
    "ledger": "ledger_id",
    "queued_turns": "thread_id, queued_turn_id",
    "dispatches": "thread_id, dispatch_id",
    "inbox_messages": "thread_id, message_id",
    "due_timers": "timer_id",
    "coordinator_mailbox": "turn_id",
    "in_flight_provider_turns": "coordinator_turn_id, attempt",
    "attachments": "sha256, turn_id",
    "runs": "run_id",
    "operations": "key",
    "receipts": "scope, idempotency_key",
    "tracking": "application_name",
}


@pytest.fixture
def new_place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Gives a new file, or an empty database."""
    with ExitStack() as stack:

        def made(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:///{tmp_path / f'copy {len(list(tmp_path.iterdir()))}.db'}"
            server: Server = request.getfixturevalue("postgresql_server")
            return stack.enter_context(server.new_database()).url

        yield made


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], str]) -> str:
    """A new place on each of the stores."""
    return new_place(str(request.param))


def contents(url: str) -> Rows:
    """All that is stored in a ledger, but for the schema's version."""
    store = store_at(url)
    return {
        table: store.rows(f"SELECT * FROM {table} ORDER BY {key}") for table, key in KEYS.items()
    }


def reopened(url: str, file: File) -> Ledger:
    """The ledger at a place, at the time of the file's clock."""
    return turnledger.open(url, clock=file.clock, settings=Settings(synchronous="NORMAL"))


def url_of(file: File) -> str:
    return f"sqlite:///{file.path}"
