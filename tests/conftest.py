"""What the command line of the tests takes beside pytest's own options."""

import pytest


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
