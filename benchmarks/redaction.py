"""What it costs to take secrets out of what a caller gives.

    python benchmarks/redaction.py
    python benchmarks/redaction.py --rounds 21 --json

Processor time, without a ledger; and what eight times the text costs, at worst, for texts made of
the beginnings of secrets, so that an expression that isn't linear would show. The typical
submissions are those of the demonstration, recorded from a coding agent. The secret is made here.
"""

import json
import statistics
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from time import process_time
from typing import Any

import report

from turnledger.domain.payload import check_payload
from turnledger.redaction import secrets
from turnledger.redaction.kinds import KINDS

KIBIBYTE, MEBIBYTE, MOST = 1024, 1024 * 1024, 50.0
PROSE = "The quick brown fox fixes the flaky test, and says so in a note of its own. "
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
STARTS = ("", "://u:", "-----BEGIN PRIVATE KEY-----")
HOSTILE = [
    *(hint for kind in KINDS for hint in kind.hints),
    *("eyJ", "eyJaaaaaaaa.", "aaaaaaaaaa.", "\\neyJ", "-", "-----BEGIN ", "----- ", "a", "A1a"),
    *("://a:", "://u:{", "://u:$", "://u:*", "://:@", "@", "{", "[", "=", " ", "\\", "\\n"),
    *("secret key=", "secret_key:", "Bearer ", "Authorization: Bearer ", "authorization=>"),
]
redact = secrets()


def prose(size: int, extra: str = "") -> dict[str, Any]:
    """A submission of so many bytes."""
    text = extra + PROSE * (size // len(PROSE) + 1)
    return {"text": text[: size - len('{"text":""}')]}


def typical() -> list[dict[str, Any]]:
    """The submissions of the demonstration."""
    text = (files("turnledger.demo") / "submissions.json").read_text()
    submissions: list[dict[str, Any]] = json.loads(text)["turn_start_params"]
    return submissions


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """Of processor time for a call, the median of the rounds."""
    start = process_time()
    call()
    calls = max(1, int(0.02 / max(process_time() - start, 1e-6)))
    took = []
    for _ in range(rounds):
        start = process_time()
        for _ in range(calls):
            call()
        took.append((process_time() - start) / calls * 1e6)
    return statistics.median(took)


def growth(rounds: int) -> float:
    """How many times as long eight times a hostile text takes, at worst."""
    worst = 0.0
    for start in STARTS:
        for piece in HOSTILE:
            texts = [start + piece * (size // len(piece)) for size in (65_536, 524_288)]
            short, long = (microseconds(partial(redact, "text", one), rounds) for one in texts)
            worst = max(worst, long / short)
    return worst


def figures(rounds: int) -> list[report.Figure]:
    """Everything that is measured."""
    submissions = typical()
    values = {
        "1 KiB without secrets": prose(KIBIBYTE),
        "1 KiB with a link": prose(KIBIBYTE, "See https://example.com/a for more. "),
        "1 KiB with a secret": prose(KIBIBYTE, TOKEN + " "),
    }
    series = "a submission"
    found = []
    for name, value in values.items():
        took = microseconds(partial(redact, "submission", value), rounds)
        found.append(report.Figure(series, name, took, "µs", most=MOST))
    took = microseconds(lambda: [redact("submission", value) for value in submissions], rounds)
    found.append(report.Figure(series, "a typical one", took / len(submissions), "µs", most=MOST))
    checked = partial(check_payload, "submission", prose(KIBIBYTE), MEBIBYTE)
    took = microseconds(checked, rounds)
    found.append(report.Figure(series, "1 KiB: its check, beside", took, "µs"))
    for name, extra in (("without", ""), ("with", TOKEN + " ")):
        took = microseconds(partial(redact, "submission", prose(MEBIBYTE, extra)), rounds)
        found.append(report.Figure("1 MiB", f"{name} secrets, each KiB", took / KIBIBYTE, "µs"))
    found.append(report.Figure("hostile texts", "8 times the text, at worst", growth(3), "times"))
    return found


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    report.show("Redaction", figures(given.rounds), given)


if __name__ == "__main__":
    main()
