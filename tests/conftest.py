"""What the command line of the tests takes beside pytest's own options."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "A folder of recorded histories to replay, instead of those in tests/conformance/traces."
    parser.addoption("--traces", metavar="DIR", help=text)
