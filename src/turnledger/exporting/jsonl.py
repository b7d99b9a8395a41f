"""JSON lines: an event a line, whole, as it is stored."""

from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.domain.payload import encode
from turnledger.exporting.event import REPEATED, Page, iso


class JsonLines:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = path.open("wb")

    def write(self, page: Page) -> None:
        """Write some events."""
        self._file.write("".join(map(_line, *page)).encode())

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


def _line(  # noqa: PLR0913, PLR0917 - the columns
    position: int,
    stream_id: str,
    version: int,
    kind: str,
    schema_version: int,
    data: str | None,
    metadata: str | None,
    recorded_at: int,
    chained: bytes | None,
) -> str:
    link = "null" if chained is None else f'"{chained.hex()}"'
    return (
        f'{{"position":{position},"recorded_at":"{iso(recorded_at)}",'
        f'"stream_id":{_quoted(stream_id)},"version":{version},"type":{_quoted(kind)},'
        f'"schema_version":{schema_version},"data":{data or "null"},'
        f'"metadata":{metadata or "null"},'
        f'"hash":{link}}}\n'
    )


@lru_cache(maxsize=REPEATED)
def _quoted(name: str) -> str:
    """A name in JSON."""
    return encode(name)
