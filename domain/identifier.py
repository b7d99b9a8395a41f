"""What a caller chooses: the names of threads, queued turns, owners, dispatches, keys; counts.

Names are compared and ordered by their bytes: nothing is trimmed, folded or normalised.
"""

import re

from turnledger.domain.errors import InvalidIdentifier, InvalidPayload
from turnledger.domain.payload import shown

MAX_CHARACTERS = 256
LARGEST = 2**63 - 1  # the largest number that a store counts to
MOST = 2**31 - 1  # more than this nobody asks for at once
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # Unicode Cc, and surrogates


def check_identifier(name: str, value: object) -> str:
    """Return the identifier, if it is one.

    Args:
        name: What it identifies, for the message.
        value: 1 to 256 characters without control characters or surrogates.

    Raises:
        InvalidIdentifier: It isn't.
    """
    if not isinstance(value, str):
        raise InvalidIdentifier(name, f"must be text, not {type(value).__name__}")
    if not value:
        raise InvalidIdentifier(name, "must not be empty")
    if len(value) > MAX_CHARACTERS:
        raise InvalidIdentifier(name, f"has {len(value)} characters, more than {MAX_CHARACTERS}")
    if not value.isprintable() and _FORBIDDEN.search(value):
        raise InvalidIdentifier(name, "must not contain control characters or surrogates")
    return value if type(value) is str else str.__str__(value)


def check_count(name: str, value: object) -> int:
    """Return a whole number from 1 on.

    Raises:
        InvalidPayload: It isn't one.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidPayload(name, f"must be a whole number from 1 on, not {shown(value)}")
    return min(value, MOST)
