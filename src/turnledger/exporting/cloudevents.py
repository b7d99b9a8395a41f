"""CloudEvents 1.0, as the CNCF's SDK makes and writes them.

The extension attributes are official ones where there are such: sequence, partitionkey,
correlationid, causationid. Our own are actor, commandname, commandid, streamversion and chainhash.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid5

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from turnledger.domain.duration import from_microseconds
from turnledger.exporting.event import ExportedEvent, Page

_IDS = UUID("c5dd3c9e-6f0a-5ad2-9f0b-0d6f3e7a4b11")  # the namespace of our events' ids
_JSON = JSONFormat()
_DIGITS = 20  # of a sequence, which is compared as text
_WHO = {"actor": "actor", "correlation_id": "correlationid", "causation_id": "causationid"}


class CloudEventLines:
    """A file of JSON lines, each a CloudEvent."""

    _START, _BETWEEN, _END, _EMPTY = b"", b"\n", b"\n", b""

    def __init__(self, path: Path, ledger_id: str) -> None:
        """Open it."""
        self._file = path.open("wb")
        self._source = f"urn:turnledger:ledger:{ledger_id}"
        self._next = self._START

    def write(self, page: Page) -> None:
        """Write some events."""
        for event in page.events():
            self._file.write(self._next + _JSON.write(as_cloud_event(event, self._source)))
            self._next = self._BETWEEN

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the end of the file, and close it."""
        if kind is None:
            self._file.write(self._END if self._next == self._BETWEEN else self._EMPTY)
        self._file.close()


class CloudEventBatch(CloudEventLines):
    """A file of the JSON batch format: an array of CloudEvents."""

    _START, _BETWEEN, _END, _EMPTY = b"[\n", b",\n", b"\n]\n", b"[]\n"


def as_cloud_event(event: ExportedEvent, source: str) -> CloudEvent:
    """An event as the SDK has it; it is validated by that.

    Args:
        event: The stored one.
        source: Names its ledger.
    """
    context = event.context()
    command = context.get("command")
    said: dict[str, Any] = command if isinstance(command, dict) else {}
    place = f"{event.stream_id}\n{event.version}\n{said.get('id')}"
    attributes: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(uuid5(_IDS, source + "\n" + place)),
        "source": source,
        "type": f"dev.turnledger.{event.type}.v{event.schema_version}",
        "subject": event.stream_id,
        "time": from_microseconds(event.recorded_at),
        "datacontenttype": "application/json",
        "dataschema": f"urn:turnledger:schema:{event.type}:{event.schema_version}",
        "sequence": f"{event.position:0{_DIGITS}d}",
        "partitionkey": event.stream_id,
        "streamversion": event.version,
    }
    given = {ours: context.get(name) for name, ours in _WHO.items()}
    given |= {"commandname": said.get("name"), "commandid": said.get("id")}
    attributes |= {name: value for name, value in given.items() if value}
    if event.hash is not None:
        attributes["chainhash"] = event.hash.hex()
    return CloudEvent(attributes, event.fields())
