r"""The forms of secrets that are known: a list of our own (docs/adr/0031).

Three rules make redaction idempotent and its time linear; `spans` relies on them:

- No form holds a `[`, with which begins what stands in a secret's place.
- No form asks that something doesn't follow. A secret goes on to the end of its word.
- What is unbounded in a form can't begin again within itself.

A form begins with its letters and looks back over them from there, so that `re` can look for the
letters first.
"""

import re
from dataclasses import dataclass
from functools import cache

_MIXED = r"(?=[\w-]{0,63}[0-9])(?=[\w-]{0,63}[A-Z])(?=[\w-]{0,63}[a-z])"
_GAP = r"[\"'\s\\]{0,4}(?:=>|[:=]){1,2}[\"'\s\\]{0,4}"  # between a name and its value
_OPAQUE = r"[\w.~+/=-]"  # RFC 6750, section 2.1
_ASIDE = r"[^\s/?#\[\]\"'<>\\"  # what isn't in the part of a URL before its host
_LABEL = r"(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_HEADER, _LAST = f"-----BEGIN {_LABEL}", f"-----END {_LABEL}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret.

    Attributes:
        name: As in `[redacted:name]`.
        hints: A text that holds none of them holds no such secret. Lower case if `by_name`.
        form: The secret is its group `secret`, or all of it if it has none.
        by_name: Whether the form says what stands before the secret, in any case, so that the key
            of an object's value may say so, too.
    """

    name: str
    hints: tuple[str, ...]
    form: str
    by_name: bool = False


@cache
def compiled(kind: Kind) -> re.Pattern[str]:
    """A kind's form, compiled when it is first looked for: all of them take 10 ms."""
    return re.compile(kind.form, re.ASCII | (re.IGNORECASE if kind.by_name else re.ASCII))


def _kind(name: str, hints: str, form: str) -> Kind:
    return Kind(name, tuple(hints.split()), form)


def _named(name: str, hints: str, form: str) -> Kind:
    return Kind(name, tuple(hints.split()), form, by_name=True)


def _word(start: str, before: str = r"A-Za-z0-9_-") -> str:
    r"""How a word starts: none of the characters `before` stands before it.

    Or what does belongs to no word: `\n` as two characters, in JSON within JSON, or a terminal's
    colours.
    """
    colours = rf"(?<=\x1b\[[Km]{start})|(?<=[;\[][0-9]m{start})|(?<=[;\[][0-9][0-9]m{start})"
    return rf"{start}(?:(?<![{before}]{start})|(?<=\\[nrt]{start})|{colours})"


# The first one is named where two find the same.
KINDS = (
    _kind(
        "private-key",
        "-----BEGIN",
        rf"{_HEADER}(?:[^-\[]*+(?:-(?!----)[^-\[]*+)*+{_LAST}"
        r"|(?:[\"'\s]|\\[nr]){0,9}[A-Za-z0-9+/=]{40}[A-Za-z0-9+/=\s\\]*+)",
    ),
    _kind(
        "anthropic-key",
        "sk-ant-",
        rf"{_word('sk-')}ant-[a-z0-9]{{2,12}}-{_MIXED}[\w-]{{20}}",
    ),
    _kind(
        "api-key",  # OpenAI's, and those of the many services with the same interface
        "sk-",
        rf"{_word('sk-')}(?:(?:proj|svcacct|admin|service|None|or-v\d)-{_MIXED}[\w-]{{20}}"
        rf"|{_MIXED}[A-Za-z0-9]{{20}}|(?:or-v\d-)?[0-9a-f]{{32}}|lf-[0-9a-f-]{{36}})",
    ),
    _kind("groq-key", "gsk_", rf"{_word('gsk_')}[A-Za-z0-9]{{40}}"),
    _kind("hugging-face-token", "hf_", rf"{_word('hf_')}[A-Za-z0-9]{{34}}"),
    _kind(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_word('gh[pousr]_')}(?:[A-Za-z0-9]{{36}}"
        r"|[A-Za-z0-9]{1,40}_eyJ[\w-]{4,}+(?:\.[\w-]++){0,2})"  # an installation's, since 2026
        r"|github_pat_[A-Za-z0-9_]{36}",
    ),
    _kind("gitlab-token", "glpat-", rf"{_word('glpat-')}[\w-]{{20}}(?:\.[\w-]{{2,20}}){{0,2}}"),
    _kind("aws-access-key-id", "AKIA ASIA", rf"{_word('A[KS]IA')}[A-Z0-9]{{16}}"),
    _named(
        "aws-secret-key",
        "secret",
        rf"secret[_. -]?(?:access[_. -]?)?key{_GAP}(?P<secret>[A-Za-z0-9/+=]{{40,}}+)",
    ),
    _named(
        "aws-session-token",
        "session",
        rf"(?:session|security)[_. -]?token{_GAP}(?P<secret>[A-Za-z0-9/+=]{{100,}}+)",
    ),
    _kind(
        "slack-token",
        "xox xapp-",
        r"xox[a-z](?:\.xox[a-z])?-[0-9]{1,20}-[A-Za-z0-9-]{10}"
        r"|xoxd-[A-Za-z0-9%+/=]{40,}+|xapp-[0-9]-[A-Z0-9]{6,20}-[0-9]{6,20}-[a-f0-9]{32}",
    ),
    _kind(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"(?P<secret>[A-Z0-9]{6,20}/[A-Z0-9]{6,20}/[A-Za-z0-9/]{16,}+)",
    ),
    _kind("google-api-key", "AIza", rf"{_word('AIza', 'A-Za-z0-9_+/-')}[\w-]{{35}}"),
    _kind("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
    _kind("google-access-token", "ya29.", rf"{_word('ya29[.]')}[\w-]{{30}}"),
    _kind(
        "stripe-key",
        "k_live_ k_test_",
        rf"{_word('[rs]k_(?:live|test)_')}[A-Za-z0-9]{{16}}",
    ),
    _kind("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    _kind("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{40}"),
    _kind("npm-token", "npm_", rf"{_word('npm_')}[A-Za-z0-9]{{36}}"),
    _kind("sendgrid-key", "SG.", rf"{_word('SG[.]')}[\w-]{{22}}\.[\w-]{{43}}"),
    _kind(
        "jwt",  # JSON Web Signature, in three parts, and Encryption, in five
        "eyJ",
        rf"{_word('eyJ')}[\w-]{{8,}}+\."
        r"(?:eyJ[\w-]{4,}+\.[\w-]*+|[\w-]*+\.[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}+)",
    ),
    _named(
        "authorization",
        "authorization",
        rf"authorization{_GAP}(?:bearer|basic|token)[ \t]{{1,4}}(?P<secret>"
        rf"(?:(?={_OPAQUE}{{0,63}}(?:[0-9=]|(?-i:[a-z][A-Z]))){_OPAQUE}{{8}}|{_OPAQUE}{{20}}){_OPAQUE}*+)",
    ),
    _kind(
        "authorization",
        "Bearer bearer BEARER",
        r"(?:Bearer|bearer|BEARER)[ \t]{1,4}"
        rf"(?P<secret>(?={_OPAQUE}{{0,63}}[0-9]){_OPAQUE}{{16}}{_OPAQUE}*+)",
    ),
    _kind(
        "url-password",
        "://",
        rf"://{_ASIDE}@:]*+:(?!(?:\$\{{?\w++\}}?|\*++|\{{+\w*+\}}+|%s)@)"
        rf"(?P<secret>{_ASIDE}]+)(?=@)",
    ),
)
