"""Fixtures for tests that need PostgreSQL; import them in a conftest.

Without a server the tests are left out, and say why. With TURNLEDGER_REQUIRE_POSTGRESQL=1 in the
environment they fail instead.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import NoReturn, TypeVar

import pytest

from tests.postgresql.binaries import Unavailable
from tests.postgresql.server import Server, shared_server
from tests.postgresql.standby import StandbyPair, standby_pair

REQUIRED_VARIABLE = "TURNLEDGER_REQUIRE_POSTGRESQL"

Started = TypeVar("Started")


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of this test run, which all of its processes share."""
    run_folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker's folder is in that of the run
        run_folder = run_folder.parent
    with ExitStack() as stack:
        yield started(stack, shared_server(run_folder))


@pytest.fixture
def postgresql_database(postgresql_server: Server) -> Iterator[str]:
    """The URL of an empty database, which is the test's own."""
    with postgresql_server.new_database() as database:
        yield database.url


@pytest.fixture
def postgresql_standby_pair() -> Iterator[StandbyPair]:
    """A primary and a standby, which are the test's own."""
    with ExitStack() as stack:
        yield started(stack, standby_pair())


def started(stack: ExitStack, starting: AbstractContextManager[Started]) -> Started:
    """What was started, until the stack ends; or the end of the test."""
    try:
        return stack.enter_context(starting)
    except Unavailable as reason:
        give_up(reason)


def give_up(reason: Unavailable) -> NoReturn:
    """Leave the test out, or let it fail where PostgreSQL is required."""
    message = f"this test needs PostgreSQL: {reason}"
    if os.environ.get(REQUIRED_VARIABLE) == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
