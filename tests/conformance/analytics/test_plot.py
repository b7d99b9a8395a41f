"""Charts: that they are pictures, show what there is, and are the same for the same figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnledger import InvalidInput, Ledger

TITLES = {
    "waiting": "How long turns waited",
    "depth": "How many turns waited",
    "outcomes": "What became of turns",
    "lateness": "How late timers fired",
}


def test_the_same_figures_give_the_same_picture(worked: Ledger, tmp_path: Path) -> None:
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    worked.plot(first)
    worked.plot(second)
    assert first.read_bytes() == second.read_bytes()
    assert b"<svg" in first.read_bytes()


@pytest.mark.parametrize("chart", TITLES)
def test_each_chart_says_what_it_shows(worked: Ledger, tmp_path: Path, chart: Any) -> None:
    whole, part = tmp_path / "whole.svg", tmp_path / "part.svg"
    worked.plot(whole, [chart])
    assert TITLES[chart] in whole.read_text()
    assert "nothing yet" not in whole.read_text()
    worked.plot(part, [chart], thread_id="nobody used it")
    assert "nothing yet" in part.read_text()


def test_a_picture_may_be_made_of_pixels(worked: Ledger, tmp_path: Path) -> None:
    worked.plot(tmp_path / "all.png")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "wrong", [("ledger.db",), ("none/x.svg",), ("x.svg", ["colours"]), ("x.svg", [])]
)
def test_what_cannot_be_drawn_is_refused(
    open_ledger: Callable[..., Ledger], tmp_path: Path, wrong: tuple[Any, ...]
) -> None:
    name, *charts = wrong
    with pytest.raises(InvalidInput):
        open_ledger().plot(tmp_path / name, *charts)
    assert list(tmp_path.glob("*.svg")) == []
