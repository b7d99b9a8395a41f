"""The recorder against the `eventsourcing` library's own test cases, which ship in its wheel."""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from eventsourcing.persistence import AggregateRecorder, StoredEvent
from eventsourcing.tests import persistence as cases

from turnledger.domain.settings import Settings
from turnledger.infrastructure.clock import host_clock
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.recorder import LedgerRecorder
from turnledger.infrastructure.sqlite import SqliteStore


class OnLedger(cases.RecorderTestCase):
    """A new ledger for each recorder; streams have names, as turnledger's have."""

    def new_originator_id(self) -> str:
        return f"case:{uuid4()}"

    def create_recorder(self) -> LedgerRecorder:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        store = SqliteStore(Path(folder) / "ledger.db", Settings(synchronous="NORMAL"))
        self.addCleanup(store.close)
        self.addCleanup(_join_threads)
        migrate(store)
        return store.recorder(host_clock)


def _join_threads() -> None:
    """Wait for the readers that a case tells to stop, and leaves."""
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        if not thread.daemon:
            thread.join()


class AsAggregateRecorder(AggregateRecorder):
    """A ledger's recorder as the least of the interfaces has it: no positions, no columns more."""

    def __init__(self, recorder: LedgerRecorder) -> None:
        self._recorder = recorder

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        self._recorder.insert_events(stored_events, **kwargs)
        return None

    def select_events(self, originator_id: UUID | str, **kwargs: Any) -> Sequence[StoredEvent]:
        found = self._recorder.select_events(originator_id, **kwargs)
        return [
            StoredEvent(one.originator_id, one.originator_version, one.topic, one.state)
            for one in found
        ]


class TestAggregateRecorder(OnLedger, cases.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:  # type: ignore[override]
        return AsAggregateRecorder(super().create_recorder())


class TestApplicationRecorder(OnLedger, cases.ApplicationRecorderTestCase[LedgerRecorder]):
    EXPECT_CONTIGUOUS_NOTIFICATION_IDS = True

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestTrackingRecorder(OnLedger, cases.TrackingRecorderTestCase):
    pass


class TestProcessRecorder(OnLedger, cases.ProcessRecorderTestCase):
    pass


class TestNonInterleavingNotificationIds(OnLedger, cases.NonInterleavingNotificationIDsBaseCase):
    pass
