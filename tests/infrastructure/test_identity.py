"""Generated identifiers: UUIDv7 as in RFC 9562, growing."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import RFC_4122, UUID

from freezegun import freeze_time

from turnledger.infrastructure.identity import IdentityGenerator

FORM = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def milliseconds(identifier: str) -> int:
    """The time that stands in the first 48 bits (RFC 9562, section 5.7)."""
    return UUID(identifier).int >> 80


def test_an_identifier_is_a_uuid_of_version_7_as_lower_case_text() -> None:
    new_id = IdentityGenerator()

    for _ in range(1000):
        made = new_id()
        assert FORM.fullmatch(made)
        read = UUID(made)
        assert (str(read), read.version, read.variant) == (made, 7, RFC_4122)


def test_it_begins_with_the_time_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    made = milliseconds(IdentityGenerator()())

    assert before <= made <= time.time_ns() // 1_000_000


def test_it_takes_the_time_of_a_frozen_clock() -> None:
    with freeze_time(NOON):
        assert milliseconds(IdentityGenerator()()) == NOON.timestamp() * 1000


def test_identifiers_grow_also_within_a_millisecond() -> None:
    new_id = IdentityGenerator()
    with freeze_time(NOON):
        made = [new_id() for _ in range(10_000)]

    assert all(one < other for one, other in pairwise(made))
    assert {milliseconds(one) for one in made} == {milliseconds(made[0])}


def test_identifiers_grow_also_when_the_clock_steps_back() -> None:
    new_id = IdentityGenerator()
    with freeze_time(NOON) as clock:
        made = [new_id()]
        for step in (-1, -3600, 3599.9995, -86_400, 86_402, 0.001):
            clock.tick(timedelta(seconds=step))
            made += [new_id(), new_id()]

    assert made == sorted(set(made))
    assert milliseconds(made[-1]) > milliseconds(made[0])


def test_identifiers_made_across_threads_differ_and_grow_in_each() -> None:
    new_id = IdentityGenerator()
    with ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(lambda _: [new_id() for _ in range(2000)], range(8)))

    assert all(made == sorted(made) for made in lists)
    assert len({one for made in lists for one in made}) == 16_000


def test_the_identifiers_of_two_generators_differ() -> None:
    one, other = IdentityGenerator(), IdentityGenerator()
    with freeze_time(NOON):
        assert len({new_id() for new_id in (one, other) for _ in range(1000)}) == 2000
