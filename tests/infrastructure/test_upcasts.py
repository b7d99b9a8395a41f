"""Older forms of an event are made the latest one when they are read, and are never rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from turnledger.domain.event import Envelope, Event, EventRegistry, Unknown
from turnledger.infrastructure.mapper import LedgerEvent, LedgerMapper


class Noted(Event):
    """What was `text` in its first form, and had no author before the third."""

    TOPIC = "test.noted"
    SCHEMA_VERSION = 3
    said: str
    by: str | None


def renamed(said: dict[str, Any]) -> dict[str, Any]:
    return {"said": said["text"]}


def authored(said: dict[str, Any]) -> dict[str, Any]:
    return {**said, "by": None}


REGISTRY = EventRegistry([Noted], {("test.noted", 1): renamed, ("test.noted", 2): authored})
FORMS = {1: b'{"text":"hi"}', 2: b'{"said":"hi"}', 3: b'{"said":"hi","by":null}'}


def stored(version: int, data: bytes) -> LedgerEvent:
    return LedgerEvent(
        originator_id="test:1",
        originator_version=1,
        topic="test.noted",
        state=data,
        schema_version=version,
        metadata=b"{}",
        recorded_at=0,
    )


@pytest.mark.parametrize("version", FORMS)
def test_every_form_is_read_as_the_latest(version: int) -> None:
    read = LedgerMapper(REGISTRY).to_domain_event(stored(version, FORMS[version]))
    assert read.event == Noted(said="hi", by=None)


def test_only_the_latest_form_is_written() -> None:
    event = Noted(said="hi", by=None)
    written = LedgerMapper(REGISTRY).to_stored_event(Envelope("test:1", 1, event, 0, {}))
    assert (written.schema_version, written.state) == (3, FORMS[3])


def test_a_form_that_is_newer_than_the_latest_is_kept_as_it_is() -> None:
    read = LedgerMapper(REGISTRY).to_domain_event(stored(4, b'{"who":"knows"}'))
    assert isinstance(read.event, Unknown)
    assert (read.event.schema_version, read.event.text) == (4, '{"who":"knows"}')


@pytest.mark.parametrize("data", [b"{}", b"[]", b"nothing", b'{"text":1}'])
def test_an_older_form_that_is_damaged_is_kept_and_said_to_be_so(data: bytes) -> None:
    read = LedgerMapper(REGISTRY).to_domain_event(stored(1, data))
    assert isinstance(read.event, Unknown)
    assert read.event.reason.startswith("damaged: ")


def test_a_gap_between_the_forms_makes_an_event_one_that_isnt_known() -> None:
    registry = EventRegistry([Noted], {("test.noted", 1): renamed})
    read = LedgerMapper(registry).to_domain_event(stored(1, FORMS[1]))
    assert isinstance(read.event, Unknown)
