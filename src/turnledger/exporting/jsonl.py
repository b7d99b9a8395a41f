"""JSON lines: an event a line, whole, as it is stored."""

from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.domain.payload import encode
from turnledger.exporting.event import ExportedEvent, iso


class JsonLines:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = path.open("w", encoding="utf-8", newline="")

    def write(self, page: list[ExportedEvent]) -> None:
        """Write some events."""
        self._file.writelines([_line(event) for event in page])

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._file.close()


def _line(event: ExportedEvent) -> str:
    position, stream_id, version, kind, schema_version, data, metadata, recorded_at, chained = event
    return (
        f'{{"position":{position},"recorded_at":"{iso(recorded_at)}",'
        f'"stream_id":{encode(stream_id)},"version":{version},"type":{encode(kind)},'
        f'"schema_version":{schema_version},"data":{data or "null"},'
        f'"metadata":{metadata or "null"},'
        f'"hash":{"null" if chained is None else encode(chained.hex())}}}\n'
    )
