"""Where secrets stand in a text, and the text without them.

All forms are looked for in the text as it came, and what they find is joined where it overlaps,
so that no secret hides another. What is left needs no second look: a form can't reach over a `[`,
and no word begins directly behind what was taken out, since that was taken to the end of its word.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnledger.redaction.kinds import KINDS, Kind, compiled

_REST_OF_WORD = re.compile(r"[\w-]*+", re.ASCII)
_BETWEEN = ": "  # stands for what stands between an object's key and its value


class Span(NamedTuple):
    """A secret's place in a text, in characters, and its kind; the end isn't part of it."""

    start: int
    end: int
    kind: str


def suspects(text: str, kinds: Iterable[Kind] = KINDS) -> tuple[Kind, ...]:
    """The kinds that a text, or JSON as text, may hold; only what is in it is looked at."""
    lower = text.lower()
    return tuple(
        kind
        for kind in kinds
        if any(hint in (lower if kind.by_name else text) for hint in kind.hints)
    )


def spans(text: str, kinds: Iterable[Kind], key: str = "") -> list[Span]:
    """Find the secrets in a text.

    Args:
        text: Any text.
        kinds: Which ones.
        key: The key of the object whose value the text is; it may say what the value is.

    Returns:
        Their places in order, without overlaps.
    """
    found = list(_matches(text, suspects(text, kinds)))
    if named := suspects(key, (kind for kind in kinds if kind.by_name)):
        shift = len(key) + len(_BETWEEN)
        matches = _matches(key + _BETWEEN + text, named)
        found += [Span(s - shift, e - shift, kind) for s, e, kind in matches if s >= shift]
    return _joined(text, found) if found else []


def without(text: str, secrets: Iterable[Span]) -> str:
    """The text with `[redacted:kind]` in place of these secrets."""
    parts: list[str] = []
    end = 0
    for span in secrets:
        parts += [text[end : span.start], f"[redacted:{span.kind}]"]
        end = span.end
    return "".join([*parts, text[end:]])


def _matches(text: str, kinds: Iterable[Kind]) -> Iterator[Span]:
    for kind in kinds:
        form = compiled(kind)
        group = "secret" if "secret" in form.groupindex else 0
        for match in form.finditer(text):
            yield Span(*match.span(group), kind.name)


def _joined(text: str, found: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end, kind in sorted(found, key=lambda span: span.start):
        last = joined[-1] if joined else None
        if last is None or start >= last.end:
            joined.append(Span(start, _end_of_word(text, end), kind))
        elif end > last.end:
            joined[-1] = Span(last.start, _end_of_word(text, end), last.kind)
    return joined


def _end_of_word(text: str, at: int) -> int:
    rest = _REST_OF_WORD.match(text, at)
    return rest.end() if rest else at
