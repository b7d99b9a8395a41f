"""What the command line of the tests takes beside pytest's own options."""

import os
import signal

import pytest
from hypothesis.configuration import set_hypothesis_home_dir

WORKERS_PER_CORE = 2  # the tests wait for disks, servers and other processes half of their time


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start be interrupted, also where a shell runs all in the background.

    What hypothesis keeps goes where pytest's own is. What is imported is compiled once, and not by
    each of the many processes that tests start, whatever the surroundings say.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if cache is not None:
        set_hypothesis_home_dir(cache.mkdir("hypothesis"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many workers `-n auto` means."""
    return WORKERS_PER_CORE * (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "A folder of recorded histories to replay, instead of those in tests/conformance/traces."
    parser.addoption("--traces", metavar="DIR", help=text)
    parser.addoption(
        "--crowd",
        nargs=3,
        type=int,
        default=[4, 3, 2],
        metavar=("RECOVERING", "WORKING", "SECONDS"),
        help="How many processes recover beside how many that work, and for how long.",
    )
    parser.addoption(
        "--worker-kills",
        nargs=2,
        type=int,
        default=[4, 60],
        metavar=("KILLS", "TURNS"),
        help="How often a worker is killed at random while it does so many turns.",
    )
    parser.addoption(
        "--past-positions",
        type=int,
        default=40,
        metavar="COUNT",
        help="At how many random positions the past is asked all that the present was.",
    )
    parser.addoption(
        "--rebuild-kills",
        type=int,
        default=3,
        metavar="COUNT",
        help="How many rebuilds are killed at random while others write and read.",
    )
