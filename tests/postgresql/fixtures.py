"""Fixtures for tests that need PostgreSQL; import them in a conftest.

Where no server can be started, the tests fail and say why: the extra `test` brings one along.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import pytest

from tests.postgresql.binaries import Unavailable
from tests.postgresql.server import Server, shared_server
from tests.postgresql.standby import StandbyPair, standby_pair

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
        pytest.fail(f"this test needs PostgreSQL: {reason}", pytrace=False)
