"""The `eventsourcing` library's application, on our store, mapper and recorder."""

from collections.abc import Iterator
from typing import Any, cast

from eventsourcing.application import Application
from eventsourcing.persistence import (
    ApplicationRecorder,
    InfrastructureFactory,
    Mapper,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.utils import Environment

from turnledger.domain import (
    coordinator_turn,
    evidence,
    inbox,
    operation,
    run,
    thread,
    thread_queue,
    timer,
    work_item,
)
from turnledger.domain.event import Envelope, EventRegistry
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.recorder import LedgerRecorder

REGISTRY = EventRegistry(
    (
        *thread_queue.EVENTS,
        *thread.EVENTS,
        *evidence.EVENTS,
        *inbox.EVENTS,
        *timer.EVENTS,
        *coordinator_turn.EVENTS,
        *work_item.EVENTS,
        *run.EVENTS,
        *operation.EVENTS,
    )
)


class LedgerFactory(InfrastructureFactory[TrackingRecorder]):
    """Gives a store's recorder, whatever the environment says."""

    def __init__(self, recorder: LedgerRecorder) -> None:
        """Take the recorder."""
        super().__init__(Environment())
        self._recorder = recorder

    def aggregate_recorder(self, purpose: str = "events") -> LedgerRecorder:  # noqa: ARG002
        """The recorder."""
        return self._recorder

    def application_recorder(self) -> ApplicationRecorder:
        """The recorder."""
        return self._recorder

    def tracking_recorder(self, tracking_recorder_class: Any = None) -> TrackingRecorder:  # noqa: ARG002
        """The recorder."""
        return self._recorder

    def process_recorder(self) -> ProcessRecorder:
        """The recorder."""
        return self._recorder


class LedgerApplication(Application[str]):
    """Saves envelopes. Takes nothing from the process's environment variables."""

    name = "turnledger"

    def __init__(self, recorder: LedgerRecorder) -> None:
        """Take the store's recorder."""
        self.ledger_recorder = recorder
        super().__init__()

    def construct_env(self, name: str, env: Any = None) -> Environment:  # noqa: ARG002
        """An empty environment."""
        return Environment(name)

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:  # noqa: ARG002
        """Ours."""
        return LedgerFactory(self.ledger_recorder)

    def construct_mapper(self) -> Mapper[str]:
        """Ours, with every event type that this release writes."""
        return LedgerMapper(REGISTRY)

    def envelopes(
        self, stream_id: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[Envelope]:
        """A stream's events behind a version, up to another one."""
        for found in self.events.get(stream_id, gt=after, lte=until):
            yield cast("Envelope", found)

    def save(self, *objs: Any, **kwargs: Any) -> list[Any]:
        """Put envelopes into the event store, and do nothing else.

        The library asks of each object whether it is an event or an aggregate, by protocols that
        are slow to check before Python 3.12 (30 µs); here it always is an event.
        """
        return self.events.put(objs, **kwargs)
