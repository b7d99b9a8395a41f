"""The numbers and habits of the house, so that nobody has to watch over them."""

import ast
import inspect
import re
import subprocess
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

import turnledger
from turnledger.domain import errors

ROOT = Path(__file__).parents[1]
ROOMS = ("domain", "projections", "infrastructure", "src", "examples")
MOST_FUNCTION_LINES, MOST_MODULE_LINES, MOST_COMPLEXITY = 50, 300, 8
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base", "impl"}
FEWEST_WORDS = 3
LIBRARY_CASES = {"insert_subscribe"}  # a name that the eventsourcing library gives


def pattern(*words: tuple[str, str], before: str = "", after: str = "") -> re.Pattern[str]:
    """One of some words, which are put together here, so that this file doesn't hold them."""
    return re.compile(f"{before}(?:{'|'.join(start + end for start, end in words)}){after}")


UNFINISHED = pattern(("TO", "DO"), ("FIX", "ME"), ("X", "XX"), before=r"\b", after=r"\b")
MACHINE_PATHS = pattern(
    *(("wo", "rk"), ("fa", "rm"), ("ro", "ot"), ("ho", "me"), ("Us", "ers"), ("tmp/", "lab")),
    before=r"(?<![\w.~])/",
    after="/",
)
REGISTRIES = pattern(
    ("py", "pi\\.org"),
    ("python", "hosted\\.org"),
    ("registry\\.", "npmjs"),
    ("npm", "js\\.com"),
    ("deb", "ian\\.org"),
    ("/opt/", "pypi"),
)

WAITED_FOR_OR_LEFT_OUT = pattern(
    *(("time\\.", "sleep"), ("asyncio\\.", "sleep"), ("pytest\\.", "skip"), ("x", "fail")),
    *(("mark\\.", "skip"), ("importor", "skip"), ("unittest\\.", "skip")),
    before=r"\b",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tracked() -> list[Path]:
    """The files that are, or would be, in the repository; links to folders aren't followed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = (ROOT / name for name in names.split("\0") if name)
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def modules() -> list[Path]:
    """The modules that are shipped or shown, not the tests."""
    return [
        path
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ROOMS
    ]


@cache
def texts() -> list[tuple[Path, str]]:
    """What stands in each file, but for pictures."""
    found = []
    for path in tracked():
        with suppress(UnicodeDecodeError):
            found.append((path, path.read_text()))
    return found


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    return [(path, node) for path in modules() for node in ast.walk(ast.parse(path.read_text()))]


def functions() -> Iterator[tuple[Path, Function]]:
    for path, node in nodes():
        if isinstance(node, Function):
            yield path, node


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{place(path, number)}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def complexity(node: ast.AST) -> int:
    """McCabe's number as ruff's C901 counts it: one more than the ways that branch off."""
    ways = 1
    for inner in ast.walk(node):
        match inner:
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler():
                ways += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef() if inner is not node:
                ways += 1
            case ast.Match():
                ways += sum(not is_wildcard(case) for case in inner.cases)
            case _:
                pass
    return ways


def is_wildcard(case: ast.match_case) -> bool:
    """Whether a case takes whatever comes: `case _` or `case name`."""
    return (
        isinstance(case.pattern, ast.MatchAs)
        and case.pattern.pattern is None
        and case.guard is None
    )


# --- sizes


def test_no_function_is_longer_than_fifty_lines() -> None:
    assert [
        f"{place(path, node.lineno)} {node.name}: {lines} lines"
        for path, node in functions()
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > MOST_FUNCTION_LINES
    ] == []


def test_no_module_is_longer_than_three_hundred_lines() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path in modules()
        if (lines := len(path.read_text().splitlines())) > MOST_MODULE_LINES
    ] == []


def test_no_function_has_more_than_eight_ways_through_it() -> None:
    assert [
        f"{place(path, node.lineno)} {node.name}: {ways}"
        for path, node in functions()
        if (ways := complexity(node)) > MOST_COMPLEXITY
    ] == []


# --- names and forms


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [
        str(path.relative_to(ROOT))
        for path in modules()
        if VAGUE_NAMES & {*path.relative_to(ROOT).with_suffix("").parts, *path.stem.split("_")}
    ] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [
        str(path.relative_to(ROOT))
        for path in modules()
        if not ast.get_docstring(ast.parse(path.read_text()))
    ] == []


def test_every_match_takes_whatever_comes() -> None:
    assert [
        place(path, node.lineno)
        for path, node in nodes()
        if isinstance(node, ast.Match) and not is_wildcard(node.cases[-1])
    ] == []


def test_every_test_is_named_by_a_sentence() -> None:
    defined = re.compile(r"^ *(?:async )?def test_(\w+)", re.MULTILINE)
    assert [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts()
        if path.name.startswith("test_")
        for name in defined.findall(text)
        if len(name.split("_")) < FEWEST_WORDS and name not in LIBRARY_CASES
    ] == []


def test_no_test_waits_for_time_to_pass_or_is_left_out() -> None:
    assert [line for line in lines_with(WAITED_FOR_OR_LEFT_OUT) if line.startswith("tests/")] == []


# --- the door


def test_all_is_sorted_and_holds_every_public_name_once() -> None:
    bound = {
        name
        for name, value in vars(turnledger).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    constants_first = sorted(turnledger.__all__, key=lambda name: (not name.isupper(), name))
    assert turnledger.__all__ == constants_first
    assert len(turnledger.__all__) == len(set(turnledger.__all__))
    assert bound - set(turnledger.__all__) == set()
    assert [name for name in turnledger.__all__ if not hasattr(turnledger, name)] == []


def test_every_error_can_be_imported_from_the_door() -> None:
    tree = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.LedgerError)
    }
    assert tree - set(turnledger.__all__) == set()


def test_every_value_that_goes_in_or_out_can_be_imported_from_the_door(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        parts = [value for name, value in vars(ledger).items() if not name.startswith("_")]

    exported = set(turnledger.__all__)
    services = [ledger, *(part for part in parts if type(part).__name__ not in exported)]
    used = {kind.__name__ for service in services for kind in kinds_of(service)}
    assert used - exported - {type(service).__name__ for service in services} == set()


def kinds_of(service: object) -> Iterator[type]:
    """The classes of turnledger's in the signatures of a service's public methods."""
    for name, member in inspect.getmembers(type(service)):
        method = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(method):
            for hint in annotations(method):
                yield from flat(hint)


def annotations(method: Callable[..., object]) -> list[object]:
    return list(typing.get_type_hints(inspect.unwrap(method)).values())


def flat(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("turnledger"):
        yield hint
    for inner in typing.get_args(hint):
        yield from flat(inner)


# --- what doesn't belong in the repository


def test_nothing_is_marked_as_unfinished() -> None:
    assert lines_with(UNFINISHED) == []


def test_no_path_of_one_machine_is_named() -> None:
    assert lines_with(MACHINE_PATHS) == []


def test_no_host_of_a_package_registry_is_named() -> None:
    assert lines_with(REGISTRIES) == []


def test_only_the_three_rooms_are_links() -> None:
    links = {path.name for path in (ROOT / "src/turnledger").iterdir() if path.is_symlink()}
    assert links == {"domain", "projections", "infrastructure"}


def test_pyright_is_given_the_links_by_name_as_it_passes_them_over_else() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    links = {f"src/turnledger/{room}" for room in ("domain", "projections", "infrastructure")}
    assert links < set(tools["pyright"]["include"])


@pytest.mark.parametrize(
    ("code", "ways"),
    [
        ("def f(): return 1", 1),
        ("def f(a):\n if a: return 1\n elif a: return 2\n else: return 3", 3),
        ("def f(a):\n for _ in a:\n  while a:\n   pass", 3),
        ("def f(a):\n try: pass\n except OSError: pass\n except ValueError: pass", 3),
        ("def f(a):\n match a:\n  case 1: pass\n  case 2: pass\n  case _: pass", 3),
        ("def f(a):\n def g(): pass\n return g", 2),
    ],
)
def test_complexity_is_counted_as_mccabe_did(code: str, ways: int) -> None:
    assert complexity(ast.parse(code).body[0]) == ways
