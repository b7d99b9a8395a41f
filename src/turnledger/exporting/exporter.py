"""One export: the wanted events, in pages, into a new file of some format."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args

from turnledger.domain.duration import check_time, to_microseconds
from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import check_identifier
from turnledger.exporting.event import Page
from turnledger.exporting.redaction import Hook, dropped
from turnledger.exporting.source import Selection, Source
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.new_file import new_file
from turnledger.log import Cursor, Log

Format = Literal["jsonl", "csv", "parquet", "cloudevents", "cloudevents-batch", "ocel", "otlp-json"]
FORMATS: tuple[str, ...] = get_args(Format)
Progress = Callable[[int, int], None]

_FIRST = -(2**62)  # microseconds; earlier than any time


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written.

    Attributes:
        path: Into which file.
        format: In which format.
        events: How many events were taken.
        position: Up to which the log was looked through: the next export goes on after it.
        generation: In which generation of the ledger that is.
    """

    path: str
    format: str
    events: int
    position: int
    generation: str


class _File(AbstractContextManager["_File"], Protocol):
    def write(self, page: Page) -> None:
        """Write some events."""
        ...


_FILES: dict[str, tuple[str, str]] = {
    "jsonl": ("jsonl", "JsonLines"),
    "csv": ("table", "CsvFile"),
    "parquet": ("parquet", "ParquetFile"),
    "cloudevents": ("cloudevents", "CloudEventLines"),
    "cloudevents-batch": ("cloudevents", "CloudEventBatch"),
    "ocel": ("ocel", "OcelFile"),
    "otlp-json": ("otlp", "OtlpFile"),
}
_OF_LEDGERS = ("cloudevents", "cloudevents-batch", "otlp-json")  # name the ledger in what they say


def export(  # noqa: PLR0913 - all that can be said of an export
    backend: Backend,
    name: str,
    path: Path,
    *,
    after: int | Cursor,
    since: datetime | None,
    thread_id: str | None,
    redact: bool | Hook,
    progress: Progress | None,
) -> Exported:
    """Write events into a new file; see `Ledger.export`."""
    make = _maker(name, backend.ledger_id)
    wanted = Selection(
        after=Log(backend).start(after),
        until=_newest(backend),
        since=_FIRST if since is None else to_microseconds(check_time("since", since)),
        thread_id=None if thread_id is None else check_identifier("thread_id", thread_id),
        hook=_hook(redact),
    )
    seen = 0
    with new_file(path, "path") as partial, make(partial) as file:
        for page in Source(backend, wanted).pages():
            file.write(page)
            seen += len(page.positions)
            if progress is not None:
                progress(page.positions[-1] - wanted.after, wanted.until - wanted.after)
    return Exported(
        path=str(path),
        format=name,
        events=seen,
        position=max(wanted.after, wanted.until),
        generation=backend.generation,
    )


def _newest(backend: Backend) -> int:
    backend.store.number(beside=True)
    return backend.store.last_position()


def _maker(name: str, ledger_id: str) -> Callable[[Path], _File]:
    if name not in _FILES:
        raise InvalidPayload("format", f"is one of {', '.join(FORMATS)}, not {name!r}")
    module, kind = _FILES[name]
    try:
        found: Any = getattr(import_module(f"turnledger.exporting.{module}"), kind)
    except ImportError as error:
        needed = f"needs {error.name}: pip install 'turnledger[analytics]'"
        raise InvalidPayload("format", f"{name} {needed}") from error
    if name in _OF_LEDGERS:
        return lambda path: cast("_File", found(path, ledger_id))
    return cast("Callable[[Path], _File]", found)


def _hook(redact: bool | Hook) -> Hook | None:  # noqa: FBT001 - as the caller gave it
    if isinstance(redact, bool):
        return dropped if redact else None
    if not callable(redact):
        raise InvalidPayload("redact", f"must be callable, which a {type(redact).__name__} isn't")
    return redact
