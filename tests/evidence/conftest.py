"""What the tests of evidence share: the ledger in which all has happened, on each of the stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import turnledger
from tests.copying.conftest import new_place, place, reopened
from tests.postgresql.fixtures import postgresql_server
from tests.verify.conftest import File, file, template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turnledger import Ledger

__all__ = ["file", "new_place", "place", "postgresql_server", "template"]


@pytest.fixture
def ledger(file: File, place: str) -> Iterator[Ledger]:
    """The ledger, open, on one of the stores."""
    turnledger.copy(file.path, place)
    with reopened(place, file) as opened:
        yield opened


@pytest.fixture
def reopen(ledger: Ledger, file: File, place: str) -> Callable[[], Ledger]:
    """Opens it once more."""
    del ledger
    return lambda: reopened(place, file)
