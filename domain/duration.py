"""Times and durations as a caller gives them, and as they are stored.

Stored times are whole microseconds since 1970 in UTC: exact, comparable, the same bytes on every
store.
"""

from datetime import UTC, datetime, timedelta

from turnledger.domain.errors import InvalidDuration, InvalidTime

SHORTEST = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(time: datetime) -> int:
    """A time as it is stored."""
    return (time - _EPOCH) // _MICROSECOND


EARLIEST = to_microseconds(datetime.min.replace(tzinfo=UTC))  # that can be stored and read
LATEST = to_microseconds(datetime.max.replace(tzinfo=UTC))


def from_microseconds(stored: int) -> datetime:
    """A stored time, in UTC."""
    return _EPOCH + timedelta(microseconds=stored)


def check_duration(name: str, value: object, longest: timedelta) -> timedelta:
    """Return a duration.

    Args:
        name: What it is, for the message.
        value: A timedelta, or a number of seconds; at least 1 ms.
        longest: The most that its setting allows.

    Raises:
        InvalidDuration: It is none, or out of range.
    """
    if isinstance(value, timedelta):
        duration = value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= longest.total_seconds():  # NaN isn't either
            raise InvalidDuration(
                name, f"isn't a number of seconds up to the {longest} of its setting"
            )
        duration = timedelta(seconds=value)
    else:
        raise InvalidDuration(name, f"must be seconds or a timedelta, not {value!r}")
    if duration < SHORTEST:
        raise InvalidDuration(name, f"is {duration}, less than 1 ms")
    if duration > longest:
        raise InvalidDuration(name, f"is {duration}, more than the {longest} of its setting")
    return duration


def check_time(name: str, value: object) -> datetime:
    """Return a time in UTC.

    Raises:
        InvalidTime: It is no datetime, or a naive one.
    """
    if not isinstance(value, datetime):
        raise InvalidTime(name, f"must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise InvalidTime(name, f"is {value.isoformat()}, without a timezone; give it one")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidTime(name, f"is {value.isoformat()}, out of the range of UTC") from error
