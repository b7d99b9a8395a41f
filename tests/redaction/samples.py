"""Secrets that never were: made here, so that no file holds what a scanner would report."""

from __future__ import annotations

import random
import string

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
_chance = random.Random(7)


def chance(length: int, alphabet: str = ALNUM) -> str:
    """So many characters of an alphabet; of letters and digits, some of each sort."""
    start = "a1B" if set("a1B") <= set(alphabet) else ""
    return start + "".join(_chance.choices(alphabet, k=length - len(start)))


def pem(label: str = "") -> str:
    lines = [chance(64, BASE64) for _ in range(5)]
    dashes = "-" * 5
    first, last = (f"{dashes}{edge} {label}PRIVATE KEY{dashes}" for edge in ("BEGIN", "END"))
    return "\n".join([first, *lines, chance(20, BASE64) + "==", last])


def jwt(parts: int = 3) -> str:
    start = "ey" + "J"
    body = start + chance(40) if parts == 3 else chance(60)
    return ".".join([start + chance(17), body, *(chance(43, WORD) for _ in range(parts - 2))])


# kind -> texts that are nothing but the secret
TOKENS: dict[str, list[str]] = {
    "private-key": [
        pem(),
        pem("RSA "),
        pem("OPENSSH "),
        pem("ENCRYPTED ").replace("\n", "\\n"),
        pem("EC ").rsplit("\n", 1)[0],
    ],
    "anthropic-key": [
        "sk-" + "ant-api03-" + chance(93, WORD) + "AA",
        "sk-" + "ant-admin01-" + chance(93, WORD) + "AA",
    ],
    "api-key": [
        "sk-" + chance(48),
        "sk-" + "proj-" + chance(150, WORD),
        "sk-" + "svcacct-" + chance(150, WORD),
        "sk-" + "or-v1-" + chance(64, HEX),
        "sk-" + chance(32, HEX),
    ],
    "groq-key": ["gsk" + "_" + chance(52)],
    "hugging-face-token": ["hf" + "_" + chance(34)],
    "github-token": [
        *("gh" + letter + "_" + chance(36) for letter in "pousr"),
        "github" + "_pat_" + chance(22) + "_" + chance(59),
        "gh" + "s_123456_" + jwt(),
    ],
    "gitlab-token": ["glp" + "at-" + chance(20, WORD)],
    "aws-access-key-id": ["AK" + "IA" + chance(16, BASE32), "AS" + "IA" + chance(16, BASE32)],
    "slack-token": [
        "xox" + "b-123456789012-1234567890123-" + chance(24),
        "xox" + "p-123456789012-123456789012-123456789012-" + chance(32, HEX),
        "xox" + "e.xox" + "p-1-" + chance(160),
        "xox" + "d-" + chance(120),
        "xapp" + "-1-" + chance(11, BASE32) + "-1234567890123-" + chance(64, HEX),
    ],
    "google-api-key": ["AI" + "za" + chance(35, WORD)],
    "google-oauth-secret": ["GOC" + "SPX-" + chance(28, WORD)],
    "google-access-token": ["ya" + "29." + chance(180, WORD)],
    "stripe-key": [f"{who}k_{mode}_" + chance(99) for who in "sr" for mode in ("live", "test")],
    "stripe-webhook-secret": ["wh" + "sec_" + chance(32)],
    "pypi-token": ["py" + "pi-" + "AgEIcHlwaS5vcmc" + chance(150, WORD)],
    "npm-token": ["np" + "m_" + chance(36)],
    "sendgrid-key": ["S" + "G." + chance(22, WORD) + "." + chance(43, WORD)],
    "jwt": [jwt(), jwt(5)],
}

# kind -> what stands before the secret, the secret, and what stands behind it
WITHIN: dict[str, list[tuple[str, str, str]]] = {
    "aws-secret-key": [
        ("aws_secret_access_key = ", chance(40, BASE64), "\n"),
        ('export AWS_SECRET_ACCESS_KEY="', chance(40, BASE64), '"'),
        ('{\\"SecretAccessKey\\": \\"', chance(40, BASE64), '\\"}'),
        ("secretKey: ", chance(40, BASE64), ""),
    ],
    "aws-session-token": [("AWS_SESSION_TOKEN=", chance(300, BASE64) + "==", " python run.py")],
    "slack-webhook": [
        (
            "https://hooks.slack" + ".com/services/",
            "T" + chance(9, BASE32) + "/B" + chance(9, BASE32) + "/" + chance(24),
            " is where it goes",
        )
    ],
    "authorization": [
        ("Authorization: Bearer ", chance(30), "\nAccept: */*"),
        ("curl -H 'authorization: bearer ", chance(12), "' https://api.example"),
        ("-H 'Authorization: Basic ", chance(18, BASE64) + "==", "'"),
        ("proxy-authorization: token ", chance(40, HEX), ""),
        ("sent with Bearer ", chance(24, WORD), " and refused"),
    ],
    "url-password": [
        ("postgresql+psycopg://app:", "hunter" + "2", "@db.example/agents"),
        ("redis://:", "s3cr" + "et!", "@cache.example:6379/0"),
        ("https://me:", "p@ss:w", "@git.example/a.git"),
        ("amqp://a:", "b,c", "@one.example"),
    ],
}
SECRETS = [
    *((kind, "", secret, "") for kind, secrets in TOKENS.items() for secret in secrets),
    *((kind, *parts) for kind, all_parts in WITHIN.items() for parts in all_parts),
]
