"""A ledger with all kinds of events, and exports of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.audit.conftest import Host, new_host
from turnledger import Exported, Ledger, RecordedEvent

__all__ = ["new_host"]

STEPS = 250


@pytest.fixture
def busy(new_host: Callable[[int], Host]) -> Ledger:
    """A ledger with all kinds of events."""
    host = new_host(7)
    for _ in range(STEPS):
        host.act()
    return host.ledger


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., tuple[Path, Exported]]:
    """Exports into a new file each time."""
    made: list[Path] = []

    def export(ledger: Ledger, name: Any, **wanted: Any) -> tuple[Path, Exported]:
        made.append(tmp_path / f"export-{len(made)}.{name}")
        return made[-1], ledger.export(name, made[-1], **wanted)

    return export


@pytest.fixture
def events(busy: Ledger) -> list[RecordedEvent]:
    """All events of that ledger."""
    return busy.log.read(limit=1_000_000)
