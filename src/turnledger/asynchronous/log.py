"""The twin of `ledger.log`."""

from collections.abc import AsyncGenerator, Sequence

from turnledger.asynchronous.crew import Crew
from turnledger.asynchronous.twin import Twin, awaited
from turnledger.asynchronous.watch import Watch
from turnledger.log import Cursor, Log, RecordedEvent


class AsyncLog(Twin[Log]):
    """The queries of `ledger.log`, awaited; see `Log`."""

    def __init__(self, service: Log, crew: Crew, watch: Watch) -> None:
        """Take the service, who works for it, and who waits for it."""
        super().__init__(service, crew)
        self._watch = watch

    read = awaited(Log.read)

    async def follow(
        self,
        after: int | Cursor = 0,
        *,
        streams: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
    ) -> AsyncGenerator[RecordedEvent]:
        """See `Log.follow`. While it waits, it takes none of the ledger's threads."""
        position = self._service.start(after)
        while True:
            newest = await self._watch.change(position)
            while position < newest:
                page, position = await self._crew.run(
                    self._service.page, position, newest, streams=streams, types=types
                )
                for event in page:
                    yield event
