"""CloudEvents: each is valid by the SDK, says what the event says, and comes back as it was."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from turnledger import Exported, Ledger, RecordedEvent

Written = Callable[..., tuple[Path, Exported]]
LONGEST_NAME = 20  # the specification's advice
FORMAT = JSONFormat()


def read(path: Path) -> list[CloudEvent]:
    found = [FORMAT.read(None, line) for line in path.read_text().splitlines()]
    assert all(isinstance(one, CloudEvent) for one in found)
    return found  # type: ignore[return-value]  # checked above


def test_each_says_what_the_event_says(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    for one, event in zip(read(written(busy, "cloudevents")[0]), events, strict=True):
        assert one.get_data() == event.data
        assert one.get_time() == event.recorded_at
        assert one.get_subject() == one.get_extension("partitionkey") == event.stream_id
        assert one.get_type() == f"dev.turnledger.{event.type}.v{event.schema_version}"
        assert one.get_extension("sequence") == f"{event.position:020}"
        assert one.get_extension("chainhash") == event.hash
        assert one.get_extension("commandname") == event.metadata["command"]["name"]


def test_ids_are_unique_and_the_same_in_every_export(busy: Ledger, written: Written) -> None:
    first, again = (read(written(busy, "cloudevents", redact=off)[0]) for off in (False, True))
    ids = [one.get_id() for one in first]
    assert len(set(ids)) == len(ids)
    assert ids == [one.get_id() for one in again]
    assert {one.get_extension("chainhash") for one in again} == {None}


def test_each_comes_back_as_it_was_when_it_is_written_again(busy: Ledger, written: Written) -> None:
    lines = written(busy, "cloudevents")[0].read_text().splitlines()
    for line in lines:
        event = FORMAT.read(None, line)
        again = FORMAT.read(None, FORMAT.write(event))
        assert again.get_attributes() == event.get_attributes()
        assert json.loads(FORMAT.write(event)) == json.loads(line)


def test_names_of_attributes_are_those_that_every_transport_takes(
    busy: Ledger, written: Written
) -> None:
    for one in read(written(busy, "cloudevents")[0]):
        for name in one.get_attributes():
            assert re.fullmatch(r"[a-z0-9]+", name)
            assert len(name) <= LONGEST_NAME


def test_who_gave_the_command_is_said_with_the_official_names(
    ledger: Ledger, written: Written
) -> None:
    with ledger.acting_as("ann", correlation_id="flow", causation_id="cause"):
        ledger.queue.append("t", {})
    (one,) = read(written(ledger, "cloudevents")[0])
    names = ("actor", "correlationid", "causationid")
    assert [one.get_extension(name) for name in names] == ["ann", "flow", "cause"]


def test_a_batch_is_an_array_of_the_same(busy: Ledger, written: Written) -> None:
    lines = written(busy, "cloudevents")[0].read_text().splitlines()
    batch = json.loads(written(busy, "cloudevents-batch")[0].read_text())
    assert batch == [json.loads(line) for line in lines]


def test_a_batch_of_nothing_is_an_empty_array(ledger: Ledger, written: Written) -> None:
    assert json.loads(written(ledger, "cloudevents-batch")[0].read_text()) == []
