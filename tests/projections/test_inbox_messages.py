"""Where each message stands, after every kind of event; and what a search among them costs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain.evidence import Evidence
from turnledger.domain.inbox import Inbox
from turnledger.infrastructure import inbox_rows
from turnledger.infrastructure.statement import SQLITE

if TYPE_CHECKING:
    from tests.projections.conftest import Expect, Given, Work
    from turnledger.domain.event import Event

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
NINE = 1_767_603_600_000_000
MINUTE = 60_000_000
HELD: dict[str, Any] = {"message_id": "a", "epoch": 1}


def posted(name: str = "a", arrival: int = 0, **said: Any) -> Inbox.Posted:
    fields: dict[str, Any] = {
        "message_id": name,
        "arrival": arrival,
        "content": {"text": name},
        "source": "test",
        "delivery": "after-turn",
        "instructions": "softly",
        "metadata": {"a": 1},
        "created_at": NOW,
    }
    return Inbox.Posted(**{**fields, **said})


CLAIMED = Inbox.Claimed(
    message_id="a",
    owner="worker",
    epoch=1,
    expires_at=NOW + timedelta(seconds=60),
    claims=3,
    deliveries=2,
)
FLYING: list[Event] = [posted("a"), posted("b", 1), CLAIMED]
EXPIRED = Inbox.Expired(**HELD, deliveries=2, reason="why")


def test_a_posted_message_waits_at_its_place(given: type[Given], expect: Expect) -> None:
    older = posted("b", 1, queued_at=NOW - timedelta(seconds=60), delivery="by-pigeon")
    given(posted("a"), older).then(
        inbox_messages=[
            expect.message("a"),
            expect.message("b", 1, at=2, queued_at=NINE - MINUTE, delivery="by-pigeon"),
        ]
    )


def test_a_claimed_message_says_who_holds_it(given: type[Given], expect: Expect) -> None:
    held = {"owner": "worker", "epoch": 1, "expires_at": NINE + MINUTE}
    given(*FLYING).then(
        inbox_messages=[
            expect.message("a", last=3, state="claimed", claims=3, deliveries=2, **held),
            expect.message("b", 1, at=2),
        ]
    )


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Inbox.Confirmed(**HELD), {"state": "confirmed"}),
        (Inbox.Released(**HELD), {"state": "pending", "deliveries": 1}),
        (Inbox.Recovered(**HELD), {"state": "pending"}),
        (EXPIRED, {"state": "expired", "reason": "why"}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_nobody_holds_a_message_whose_flight_has_ended(
    given: type[Given], expect: Expect, event: Event, said: dict[str, Any]
) -> None:
    row = expect.message("a", last=4, **{"claims": 3, "deliveries": 2, **said})
    given(*FLYING, event).then(inbox_messages=[row, expect.message("b", 1, at=2)])


def test_a_requeued_message_waits_with_all_its_claims(given: type[Given], expect: Expect) -> None:
    row = expect.message("a", last=5, deliveries=2)
    given(*FLYING, EXPIRED, Inbox.Requeued(message_id="a")).then(
        inbox_messages=[row, expect.message("b", 1, at=2)]
    )


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Inbox.Deleted(message_id="a", undelivered=False), {"state": "deleted"}),
        (Inbox.Rejected(message_id="a", reason="why"), {"state": "rejected", "reason": "why"}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_message_that_is_taken_out_has_a_row_for_ever(
    given: type[Given], expect: Expect, event: Event, said: dict[str, Any]
) -> None:
    given(posted("a"), event).then(inbox_messages=[expect.message("a", last=2, **said)])


def test_clearing_ends_all_that_has_not_ended(given: type[Given], expect: Expect) -> None:
    history = [posted(name, arrival) for arrival, name in enumerate("abcd")]
    again = CLAIMED.model_copy(update={"message_id": "b", "epoch": 2, "claims": 1, "deliveries": 1})
    done = Inbox.Confirmed(message_id="b", epoch=2)
    flying = again.model_copy(update={"message_id": "c", "epoch": 3})
    cleared = Inbox.Cleared(waiting=1, undelivered=1, in_flight_id="c")
    ended = {"state": "deleted", "last": 10}
    given(*history, CLAIMED, EXPIRED, again, done, flying, cleared).then(
        inbox_messages=[
            expect.message("a", **ended, claims=3, deliveries=2, reason="why"),
            expect.message("b", 1, at=2, last=8, state="confirmed", claims=1, deliveries=1),
            expect.message("c", 2, at=3, **ended, claims=1, deliveries=1),
            expect.message("d", 3, at=4, **ended),
        ]
    )


def test_evidence_is_shown_beside_a_message(given: type[Given], expect: Expect) -> None:
    kept = Evidence.KeptOfMessage(message_id="a", owner="late", epoch=1, kind="confirm", value=None)
    other = kept.model_copy(update={"epoch": 2})
    items = [
        f'{{"owner":"late","epoch":{epoch},"kind":"confirm","value":null,"altered":false,'
        f'"recorded_at":{at}}}'
        for epoch, at in ((1, 2000), (2, 3000))
    ]
    given(posted("a"), kept, other).then(
        inbox_messages=[expect.message("a", evidence=f"[{','.join(items)}]")]
    )


def test_two_messages_of_a_ledger_never_have_one_id(given: type[Given]) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=r"inbox_messages\.message_id"):
        given(posted("a"), posted("a", 1))


# --- what a search costs


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (inbox_rows._OLDEST, "inbox_messages_waiting"),
        (inbox_rows._WAITING, "inbox_messages_waiting"),
        (inbox_rows._UNDELIVERED, "inbox_messages_undelivered"),
        (inbox_rows.STALE, "inbox_messages_in_flight"),
    ],
    ids=["oldest", "waiting", "undelivered", "stale"],
)
def test_a_search_is_one_look_into_its_index(work: Work, statement: Any, index: str) -> None:
    given = dict.fromkeys(("thread_id", "stream_id", "after"), "thread")
    given |= dict.fromkeys(("now", "latest", "limit"), 1)
    ready = statement[SQLITE]
    with closing(sqlite3.connect(work.path)) as database:
        rows = database.execute(f"EXPLAIN QUERY PLAN {ready.sql}", ready.arguments(given))
        plan = [row[-1] for row in rows.fetchall()]
    assert f"INDEX {index} " in plan[0]
    assert "SCAN inbox_messages" not in str([step.partition(" USING")[0] for step in plan])
    assert "TEMP B-TREE" not in str(plan)


def test_the_oldest_is_found_at_the_same_cost_behind_a_long_history(work: Work) -> None:
    inbox = work.ledger.inbox
    can = {"can_after_turn": True, "can_steer_current_turn": False}

    def steps() -> int:
        """How many thousand steps SQLite's machine takes for one look."""
        ready, count = inbox_rows._OLDEST[SQLITE], [0]
        given = {"thread_id": "mail", "stream_id": "inbox:mail"}
        with closing(sqlite3.connect(work.path)) as database:
            database.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
            database.execute(ready.sql, ready.arguments(given)).fetchall()
        return count[0]

    inbox.post("mail", "one", source="test")
    inbox.post("mail", "two", source="test")
    before = steps()
    for number in range(300):
        inbox.post("mail", number, source="test")
        claim: Any = inbox.claim_next("mail", "worker", **can)
        inbox.confirm(claim)
    assert steps() <= before + 5
