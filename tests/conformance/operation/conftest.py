"""Runs and operations in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Ledger, RecordedOperation, RunClaim, StartedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.conftest import Clock

RUN, ITEM, ACTION = "run", "item", "action"
LEASE = 60


class Workshop:
    """What a host does with runs and operations. Operations are of type send unless said."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.clock = ledger, clock
        self.runs, self.operations = ledger.runs, ledger.operations

    def start(self, run_id: str = RUN, owner: str = "one", lease: float = LEASE) -> RunClaim:
        """Start a run, or take over one whose lease is over."""
        claim = self.runs.start(run_id, ITEM, ACTION, owner, lease)
        assert claim is not None
        return claim

    def create(self, *keys: str, run_id: str = RUN, **said: Any) -> list[RecordedOperation]:
        """Create operations one by one."""
        about = {"run_id": run_id, "work_item_id": ITEM, "action_id": ACTION}
        said = {**about, "operation_type": "send", "payload": {"n": 1}, **said}
        return [self.operations.create(key, **said) for key in keys]

    def running(self, claim: RunClaim, *keys: str, **said: Any) -> None:
        """Create operations and claim them."""
        said = {"operation_type": "send", "payload": {"n": 1}, "automatic": False, **said}
        for key in keys:
            assert self.operations.create_and_claim(claim, key, **said) is not None

    def orphaned(self, key: str = "key", run_id: str = RUN) -> RunClaim:
        """An operation that ran when the claim of its run was lost."""
        claim = self.start(run_id)
        self.running(claim, key)
        self.clock.advance(LEASE)
        assert self.operations.recover().operations_orphaned == 1
        return claim

    def operation(self, key: str = "key") -> RecordedOperation:
        """An operation that is known."""
        operation = self.operations.get(key)
        assert operation is not None
        assert operation.unreadable is None
        return operation

    def run(self, run_id: str = RUN) -> StartedRun:
        """A run that is known."""
        run = self.runs.get(run_id)
        assert run is not None
        assert run.unreadable is None
        return run

    def stands(self, key: str = "key") -> tuple[str, str]:
        """How an operation stands, on both axes."""
        operation = self.operation(key)
        return operation.execution, operation.effect

    def blocking(self) -> list[str]:
        """The keys of what stands in the way."""
        return [one.key for one in self.operations.safe_to_proceed(ITEM)]

    def written(self) -> int:
        """How many events there are."""
        return len(self.ledger.log.read(limit=100_000))


@pytest.fixture
def workshop(ledger: Ledger, clock: Clock) -> Iterator[Workshop]:
    """The work on the test's ledger, which is whole at the end."""
    yield Workshop(ledger, clock)
    verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())


@pytest.fixture
def unchanged(workshop: Workshop) -> Iterator[Callable[[], None]]:
    """Call it, and nothing may be written until the end of the test."""
    before: list[int] = []
    yield lambda: before.append(workshop.written())
    assert [workshop.written()] == before[-1:]
