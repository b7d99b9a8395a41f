"""What a stored event's JSON does to the read models is what the event itself does to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.infrastructure.test_mapper import EVENTS, GOLDEN
from turnledger.domain.payload import decode, encode
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.statement import DIALECTS
from turnledger.projections.plan import Plan, plan_for

if TYPE_CHECKING:
    from turnledger.domain.event import Event

PLACE = ("thread_queue:one", 3, 1_000_000)
BY_NAME = {(kind.TOPIC, kind.SCHEMA_VERSION): kind for kind in REGISTRY.writable}


class Asked:
    """Notes each statement with its parameters, and the types of these."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def __call__(self, sql: str, arguments: tuple[Any, ...]) -> None:
        self.notes.append((sql, repr(arguments)))


def of_event(plan: Plan, event: Event) -> list[tuple[str, str]]:
    """What an event leads to."""
    stream_id, version, recorded_at = PLACE
    plan.run(asked := Asked(), stream_id, version, event, recorded_at)
    return asked.notes


def of_json(plan: Plan, kind: tuple[str, int], said: Any) -> list[tuple[str, str]]:
    """What its JSON leads to."""
    plan.run_stored(asked := Asked(), kind, said, PLACE)
    return asked.notes


@pytest.fixture(params=sorted(DIALECTS))
def plan(request: pytest.FixtureRequest) -> Plan:
    return plan_for(DIALECTS[request.param])


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_a_golden_events_json_leads_to_the_statements_of_the_event(plan: Plan, name: str) -> None:
    file = json.loads((GOLDEN / f"{name}.json").read_text())
    said = decode(file["data"])
    kind = (file["type"], file["schema_version"])
    assert of_json(plan, kind, said) == of_event(plan, BY_NAME[kind].model_validate(said))


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_an_event_leads_to_the_same_once_it_is_written_and_read(plan: Plan, name: str) -> None:
    event = EVENTS[name]
    said = decode(event.__pydantic_serializer__.to_json(event))
    assert of_json(plan, (event.TOPIC, event.SCHEMA_VERSION), said) == of_event(plan, event)


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_what_an_older_release_didnt_say_is_as_if_the_default_were_said(
    plan: Plan, name: str
) -> None:
    event = EVENTS[name]
    kind = type(event)
    said = decode(event.__pydantic_serializer__.to_json(event))
    needed = {key: said[key] for key, field in kind.model_fields.items() if field.is_required()}
    name_and_version = (event.TOPIC, event.SCHEMA_VERSION)
    ought = of_event(plan, kind.model_validate(needed))
    assert of_json(plan, name_and_version, needed) == ought


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_json_without_a_field_is_refused_or_leads_to_what_doesnt_need_it(
    plan: Plan, name: str
) -> None:
    """It never leads to anything else than the whole event does."""
    event = EVENTS[name]
    kind = (event.TOPIC, event.SCHEMA_VERSION)
    said = decode(event.__pydantic_serializer__.to_json(event))
    for field in type(event).model_fields:
        if not type(event).model_fields[field].is_required():
            continue
        less = {key: value for key, value in said.items() if key != field}
        try:
            notes = of_json(plan, kind, less)
        except ValueError as error:
            assert field in str(error)  # noqa: PT017 - not every field is needed
        else:
            assert notes == of_event(plan, event)


def test_a_missing_field_is_named(plan: Plan) -> None:
    with pytest.raises(ValueError, match=r"^thread_queue\.deleted has no queued_turn_id$"):
        of_json(plan, ("thread_queue.deleted", 1), {})


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused(plan: Plan, text: str) -> None:
    event = EVENTS["thread_queue.appended.1"]
    said = decode(encode(json.loads(event.__pydantic_serializer__.to_json(event))))
    with pytest.raises(ValueError, match=r"isoformat|month"):
        of_json(plan, (event.TOPIC, 1), {**said, "created_at": text})


@pytest.mark.parametrize("kind", [("thread_queue.of_tomorrow", 1), ("thread_queue.appended", 99)])
def test_an_event_that_no_read_model_knows_leads_to_nothing(
    plan: Plan, kind: tuple[str, int]
) -> None:
    assert of_json(plan, kind, {"anything": 1}) == []
