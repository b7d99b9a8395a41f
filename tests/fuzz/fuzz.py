"""Inputs that nobody would give, a million of them: each is taken, or refused in our own words.

    python tests/fuzz/fuzz.py                       1,000,000 inputs
    python tests/fuzz/fuzz.py --inputs 20000 --seed 7

What is put in: values as payloads, text as JSON, bytes as stored events, words as parameters of the
command line and as whole commands, damaged files as bundles. What a person is shown must hold no
order to the terminal. The control: checks that are told to look for what is there must find it.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

import turnledger
from turnledger.cli import json_text, main, parameter, plain_text, timer_trigger
from turnledger.domain import payload
from turnledger.domain.event import Event, Unknown
from turnledger.infrastructure.application import REGISTRY

GOLDEN = Path(__file__).parents[1] / "golden"
ORDERS = (
    {chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))}
    | set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
) - {"\n"}
LIMIT = 100_000
_PIECES = (
    *('"', "{", "}", "[", "]", ":", ",", "\\", "\\u", "\\ud800", "null", "NaN", "1e999", "-0"),
    *("\x00", "\x1b[31m", "\x1b]0;x\x07", "\u202e", "\ud800", "\U0001f600", "é", "\x85", "\u2028"),
    *("9" * 400, "1.5", "true", " ", "\t", "\n", "a", "--", "-", "=", "/", "..", "%s", "'"),
)
_SEEDS = (
    *('{"text": "hi"}', "[1, 2, 3]", '"x"', "2026-01-05T09:00:00Z", "60", "turn-1"),
    *("FREQ=DAILY;COUNT=2", "*/5 * * * *", "Europe/Berlin", "0.5"),
)


def text(random: Random) -> str:
    """Something that was changed, or put together."""
    if random.random() < 0.5:
        return "".join(random.choice(_PIECES) for _ in range(random.randrange(9)))
    chars = list(random.choice(_SEEDS))
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(chars) + 1)
        chars[place : place + random.randrange(2)] = random.choice(_PIECES)
    return "".join(chars)


def value(random: Random, depth: int = 0) -> Any:
    """A value, most of which are JSON."""
    kind = random.randrange(14 if depth < 5 else 9)
    simple: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: random.random() < 0.5,
        lambda: random.randrange(-(2**70), 2**70),
        lambda: random.choice((math.nan, math.inf, -0.0, 1e308, 5e-324, 0.1)),
        lambda: text(random),
        lambda: text(random),
        lambda: random.choice((b"x", {1}, 1j, object(), Exception("x"))),
        lambda: {random.choice((1, None, "k")): 1},
        lambda: 10 ** random.choice((10, 400, 4_301)),
    )
    if kind < len(simple):
        return simple[kind]()
    if kind == len(simple):
        return nested(random.choice((90, 100, 101, 2_000)))
    if kind % 2:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    return {text(random): value(random, depth + 1) for _ in range(random.randrange(4))}


def nested(levels: int) -> Any:
    """Lists in lists."""
    built: Any = []
    for _ in range(levels):
        built = [built]
    return built


# --- what is done with them; each raises nothing but our own errors


def payloads(random: Random) -> None:
    """A value as a payload comes out equal, or is refused; as a result it is always taken."""
    given = value(random)
    try:
        taken = payload.check_payload("payload", given, LIMIT)
    except turnledger.LedgerError:
        pass
    else:
        assert payload.decode(payload.encode(taken)) == given
        payload.canonical_hash(taken)
    try:
        settled, _ = payload.settle("result", given, LIMIT)
        payload.decode(payload.encode(settled))
    except turnledger.PayloadTooLarge:
        pass


def stored_events(random: Random) -> None:
    """A stored event that was damaged is read, or kept as one that can't be read."""
    path = random.choice(_golden())
    topic, _, version = path.stem.rpartition(".")
    chars = list(_text_of(path))
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(chars) + 1)
        chars[place : place + random.randrange(4)] = random.choice(_PIECES)
    read = REGISTRY.read(topic, int(version) + (random.random() < 0.1), "".join(chars))
    assert isinstance(read, Event | Unknown)
    if isinstance(read, Event):
        payload.decode(payload.encode(read))


def json_texts(random: Random) -> None:
    """Text as JSON on the command line; what is shown of it holds no order."""
    try:
        parsed = json_text.parse("payload", text(random))
    except (turnledger.LedgerError, click.ClickException, ValueError) as error:
        assert_clean(plain_text.clean(str(error)))
    else:
        assert_clean(json_text.short(parsed))
        assert_clean(json_text.written(parsed))


def shown_texts(random: Random) -> None:
    """Text of anybody, as a person sees it."""
    assert_clean(plain_text.clean(text(random)))
    assert_clean(plain_text.squeezed(text(random)))


_PARAMETERS: tuple[Callable[[str], Any], ...] = (
    parameter.identifier("thread_id"),
    parameter.position,
    parameter.count,
    parameter.instant("time"),
    parameter.object_of("submission"),
    parameter.json_of("failure"),
    lambda given: parameter.json_or_text("reason", given),
    timer_trigger._typed,
    timer_trigger._local_time,
    timer_trigger._seconds,
)


def parameters(random: Random) -> None:
    """Words as parameters."""
    try:
        random.choice(_PARAMETERS)(text(random))
    except (turnledger.LedgerError, click.ClickException, ValueError) as error:
        assert_clean(plain_text.clean(str(error)))


class Files:
    """The kinds of input that need a ledger's file, or a bundle's."""

    def __init__(self, folder: Path) -> None:
        """Make both."""
        self.ledger, self.bundle, self.damaged = (folder / name for name in ("l", "b", "d"))
        with turnledger.open(self.ledger) as ledger:
            ledger.queue.append("thread", {"text": "\x1b[31mred\u202e"}, queued_turn_id="turn")
            ledger.inbox.post("thread", "\x9b31m", source="\x1b]0;x\x07"[1:].strip("\x07"))
            ledger.bundle(self.bundle, thread_id="thread")
        self._bundle = self.bundle.read_bytes()

    def commands(self, random: Random) -> None:
        """Whole commands; what comes out holds no order, and no trace of Python's."""
        nouns = random.choice(_commands())
        words = [*nouns, *(text(random) for _ in range(random.randrange(4)))]
        if random.random() < 0.5:
            words[len(nouns) : len(nouns) + 1] = ["thread"]
        done = CliRunner().invoke(main, ["--db", str(self.ledger), *words])
        assert done.exit_code in (0, 1, 2, 3), (words, done)
        assert done.exception is None or isinstance(done.exception, SystemExit), (words, done)
        assert "Traceback" not in done.output
        assert_clean(done.output)

    def bundles(self, random: Random) -> None:
        """A bundle of which bytes were changed, or the end was cut off, is read or refused."""
        content = bytearray(self._bundle)
        for _ in range(random.randrange(1, 8)):
            place = random.randrange(len(content))
            content[place : place + random.randrange(1, 9)] = random.randbytes(random.randrange(9))
        del content[random.choice((len(content), random.randrange(len(content)))) :]
        self.damaged.write_bytes(content)
        try:
            with turnledger.open(self.damaged, read_only=True) as bundle:
                bundle.verify()
                bundle.queue.list("thread")
        except turnledger.LedgerError:
            pass


def assert_clean(shown: str) -> None:
    """Nothing in it is an order to a terminal."""
    assert not ORDERS & set(shown), repr(shown)


_texts: dict[Path, str] = {}


def _golden() -> list[Path]:
    if not _texts:
        for path in sorted(GOLDEN.glob("*.json")):
            _texts[path] = json.dumps(json.loads(path.read_text()))
    return list(_texts)


def _text_of(path: Path) -> str:
    return _texts[path]


def _commands() -> list[tuple[str, ...]]:
    """Those that end by themselves."""
    found = [
        (name, verb)
        for name, group in main.commands.items()
        if isinstance(group, click.Group)
        for verb in group.commands
    ]
    return [*found, *((name,) for name in ("why", "show", "history", "state", "diff", "log"))]


# --- so many of each


def shares(inputs: int) -> dict[str, int]:
    """How many of each kind: those that need a file are slow."""
    commands, bundles = inputs // 500, inputs // 1_000
    each = (inputs - commands - bundles) // 5
    kinds = ("payloads", "stored_events", "json_texts", "parameters")
    counts = {**dict.fromkeys(kinds, each), "commands": commands, "bundles": bundles}
    return {**counts, "shown_texts": inputs - sum(counts.values())}


def run(inputs: int, seed: int) -> dict[str, Any]:
    """Put them in; what isn't taken as it ought to be is named with its kind and number."""
    bad: list[str] = []
    with TemporaryDirectory(prefix="turnledger-fuzz-") as folder:
        files = Files(Path(folder))
        kinds = {kind.__name__: kind for kind in (payloads, stored_events, json_texts, parameters)}
        kinds |= {"commands": files.commands, "bundles": files.bundles, "shown_texts": shown_texts}
        for name, count in shares(inputs).items():
            for number in range(count):
                try:
                    kinds[name](Random(f"{seed} {name} {number}"))
                except Exception as error:  # noqa: BLE001 - that is what is looked for
                    bad.append(f"{name} {number}: {type(error).__name__}: {str(error)[:300]}")
                    if len(bad) > 20:
                        return {"inputs": inputs, "bad": bad}
    return {"inputs": inputs, "bad": bad}


def control() -> bool:
    """Whether an order that isn't taken out would be noticed."""
    try:
        assert_clean(StringIO("red \x1b[31m").read())
    except AssertionError:
        return True
    return False


def main_program() -> int:
    """Put them in, in several processes; the exit status is 1 if one wasn't taken well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    parts = 8 if given.inputs >= 8_000 else 1
    each = [(given.inputs // parts, given.seed * parts + part) for part in range(parts)]
    with get_context("spawn").Pool(given.jobs) as pool:
        done = pool.starmap(run, each)
    bad = [line for part in done for line in part["bad"]]
    told = {"inputs": sum(part["inputs"] for part in done), "bad": bad, "control": control()}
    print(json.dumps(told))
    return 1 if bad or not told["control"] else 0


if __name__ == "__main__":
    sys.exit(main_program())
