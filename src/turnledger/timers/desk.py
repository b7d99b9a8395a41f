"""What the parts of `ledger.timers` share: checked fields, and carrying out one command."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.event import Event
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import DELIVERIES
from turnledger.domain.timer.commands import TimerCommand
from turnledger.domain.trigger import as_trigger, in_timezone, time_zone
from turnledger.infrastructure import timer_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.host_zone import host_time_zone
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.unit_of_work import UnitOfWork

_KEY = re.compile("[A-Za-z0-9_]+")
_FIELDS = (*("trigger", "content", "instructions", "metadata", "delivery", "source", "client_id"),)


class TimerDesk:
    """Loads, decides and saves."""

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend
        self._settings = backend.settings

    def _done(self, command: TimerCommand) -> Sequence[Event]:
        """Carry out one command in a transaction of its own."""

        def work(unit: UnitOfWork) -> Sequence[Event]:
            return repository.carry_out(unit, command, self._backend.origin())[0]

        return self._backend.transact(work, several=True)

    def _named(self, thread_id: str, timer_id: str) -> dict[str, Any]:
        """What every command of a timer holds."""
        check_identifier("thread_id", thread_id)
        check_identifier("timer_id", timer_id)
        data = {"time_zone_data": time_zone.VERSION}
        return {"thread_id": thread_id, "timer_id": timer_id, **data}

    def _checked(self, fields: Mapping[str, Any], intake: Intake) -> dict[str, Any]:
        """Fields of a timer, as commands take them.

        Raises:
            InvalidInput: One of them is wrong, or none of a timer's.
        """
        return {name: self._field(name, value, intake) for name, value in fields.items()}

    def _changed(self, thread_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that get other values; a trigger has a timezone then."""
        checked = self._checked(fields, self._intake(thread_id))
        if "trigger" in checked:
            checked["trigger"] = in_timezone(checked["trigger"], host_time_zone())
        return checked

    def _intake(self, thread_id: str) -> Intake:
        return self._backend.contents.of_thread(thread_id)

    def _field(self, name: str, value: Any, intake: Intake) -> Any:
        limit = self._settings.max_payload_bytes
        match name:
            case "trigger":
                return as_trigger(value)
            case "content" | "instructions":
                return intake.payload(name, value, limit)
            case "metadata":
                _check_keys(value)
                return intake.json_object(name, value, limit)
            case "delivery":
                return _checked_delivery(value)
            case "source":
                return check_identifier(name, value)
            case "client_id":
                return None if value is None else check_identifier(name, value)
            case _:
                known = ", ".join(_FIELDS)
                raise InvalidPayload(f"{name!r}", f"is no field of a timer; there are {known}")


def _check_keys(metadata: Any) -> None:
    for key in metadata if isinstance(metadata, dict) else ():
        if isinstance(key, str) and not _KEY.fullmatch(key):
            reason = f"has the key {key!r}; keys are of letters, digits and underscores"
            raise InvalidPayload("metadata", reason)


def _checked_delivery(value: Any) -> Any:
    if value not in DELIVERIES:
        words = ", ".join(DELIVERIES)
        raise InvalidPayload("delivery", f"must be one of {words}, not {value!r}")
    return value
