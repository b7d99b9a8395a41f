"""What the tests on a server share: a database of the test's own, and a ledger in it."""

from collections.abc import Iterator

import pytest

import turnledger
from tests.postgresql.fixtures import (
    postgresql_database,
    postgresql_server,
    postgresql_standby_pair,
)
from tests.postgresql.server import Database, Server
from turnledger import Ledger

__all__ = ["postgresql_database", "postgresql_server", "postgresql_standby_pair"]


@pytest.fixture
def database(postgresql_server: Server) -> Iterator[Database]:
    """An empty database."""
    with postgresql_server.new_database() as made:
        yield made


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    """A ledger in it."""
    with turnledger.open(database.url) as opened:
        yield opened
