"""The decisions in docs/adr: one page each, and a test that fails if it is broken."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECTIONS = ["Context", "Decision", "Options", "Consequences", "Confirmed by"]


def decisions() -> list[Path]:
    return sorted((ROOT / "docs/adr").glob("[0-9]*.md"))


def sections(decision: Path) -> dict[str, str]:
    """What stands under each heading of the second level."""
    _, *parts = re.split(r"^## (.+)$", decision.read_text(), flags=re.MULTILINE)
    return {name.strip(): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def named_tests(decision: Path) -> list[str]:
    """The tests, as `file` or `file::name`, under the last heading."""
    return re.findall(r"`(tests/[^`\s]+)`", sections(decision).get("Confirmed by", ""))


def is_there(test: str) -> bool:
    file, *names = test.partition("[")[0].split("::")
    path = ROOT / file
    if not names:
        return path.exists()
    pattern = rf"^ *(?:async def|def|class) {re.escape(names[-1])}\b"
    return path.is_file() and re.search(pattern, path.read_text(), re.MULTILINE) is not None


def test_decisions_are_written_down_and_numbered_without_a_gap() -> None:
    numbers = [int(path.name.split("-")[0]) for path in decisions()]
    assert numbers
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_every_decision_has_its_sections_in_order() -> None:
    assert {
        path.name: list(found) for path in decisions() if list(found := sections(path)) != SECTIONS
    } == {}


def test_every_decision_names_tests_that_exist() -> None:
    assert [path.name for path in decisions() if not named_tests(path)] == []
    assert [
        f"{path.name}: {test}"
        for path in decisions()
        for test in named_tests(path)
        if not is_there(test)
    ] == []
