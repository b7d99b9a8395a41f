"""Text for people: what a terminal could take for an order is taken out, and numbers are words.

Payloads and ids come from anybody. C0, C1, ESC and the controls that reorder text are removed
(Unicode TR 36, 3.1 "Bidirectional text spoofing"); what breaks a line becomes a blank.
"""

import re
from datetime import UTC, datetime, timedelta

_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_ORDERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def clean(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    if text.isascii() and text.isprintable():
        return text
    whole = _SURROGATES.sub("\ufffd", _BREAKS.sub(" ", text))
    return _ORDERS.sub("", whole)


def squeezed(text: str) -> str:
    """The clean text with each run of blanks as one."""
    return " ".join(clean(text).split())


def instant(time: datetime) -> str:
    """A time in UTC, to the second."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def age(time: datetime, now: datetime) -> str:
    """How long ago a time was, in its two largest units; or how far ahead it is."""
    if time > now:
        return f"in {_span(time - now)}"
    return f"{_span(now - time)} ago"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _span(duration: timedelta) -> str:
    rest = int(duration.total_seconds())
    parts: list[str] = []
    for seconds, unit in _UNITS:
        if rest >= seconds:
            parts.append(f"{rest // seconds} {unit}")
        elif parts:
            break  # the unit below the largest is nought, and a smaller one says too much
        rest %= seconds
    return " ".join(parts[:2]) or "0 s"
