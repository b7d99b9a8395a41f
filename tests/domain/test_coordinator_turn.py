"""A coordinator turn: given what happened, a command leads to this."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnledger.domain import coordinator_turn, work_item
from turnledger.domain.coordinator_turn import CoordinatorTurn as Turn
from turnledger.domain.coordinator_turn import broken_rule
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.errors import (
    AttemptsExhausted,
    ClaimLost,
    InvalidTransition,
    Refusal,
    RequestChanged,
    StaleRevision,
    TurnNotFound,
)
from turnledger.domain.event import Event
from turnledger.domain.limits import Context, Limits
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.domain.work_item import WorkItem

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LEASE = timedelta(seconds=60)
TURN: dict[str, Any] = {"turn_id": "turn"}
CLAIM: dict[str, Any] = {**TURN, "owner": "worker", "epoch": 1}
POLICY = RetryPolicy(max_attempts=2, base=timedelta(seconds=10), jitter=0)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def when(command: c.TurnCommand, *events: Event, seconds: float = 0) -> list[Event] | type[Refusal]:
    """What a command leads to; the same each time."""
    context = Context(at(seconds), at(seconds), Limits(retry_policy=POLICY))
    state = coordinator_turn.fold(events)
    answers: list[Any] = []
    for _ in range(2):
        try:
            answers.append(list(coordinator_turn.decide(state, command, context)))
        except Refusal as refusal:
            answers.append(type(refusal))
    assert answers[0] == answers[1]
    if isinstance(answers[0], list):
        for event in answers[0]:
            assert broken_rule(state, event) is None
            state = coordinator_turn.evolve(state, event)
    answer: list[Event] | type[Refusal] = answers[0]
    return answer


BEGUN = Turn.Begun(
    work_item_id="item", turn_order=0, message="hi", kind="message", target="t", created_at=NOW
)
CLAIMED = Turn.Claimed(owner="worker", epoch=1, expires_at=at(60))
TAKEN_OVER = Turn.Claimed(owner="other", epoch=2, expires_at=at(120))
PREPARED = Turn.Prepared(attempt=1, request="q", request_hash="h", owner="worker", epoch=1)
STARTED = Turn.DispatchStarted(attempt=1, owner="worker", epoch=1)
RESPONDED = Turn.Responded(attempt=1, epoch=1, response="a", response_hash="r")
UNKNOWN = Turn.OutcomeUnknown(attempt=1)
RECOVERED = Turn.Recovered(epoch=1)
RELEASED = Turn.Released(epoch=1)
REJECTED = Turn.Rejected(attempt=1, epoch=1, error="bad")
ACKED = Turn.Acked(epoch=1, completed=False)
CANCELLED = Turn.Cancelled(reason="no")
HELD = (BEGUN, CLAIMED)
READY = (*HELD, PREPARED)
SENT = (*READY, STARTED)
ANSWERED = (*SENT, RESPONDED)
LOST = (*SENT, UNKNOWN, RECOVERED)

TAKE = c.Claim(**TURN, owner="other", lease=LEASE)
RESUME = c.Resume(**TURN, owner="other", lease=LEASE)
PREPARE = c.Prepare(**CLAIM, request="q", request_hash="h")
START = c.StartDispatch(**CLAIM, attempt=1)
RESPOND = c.Respond(**CLAIM, attempt=1, request_hash="h", response="a", response_hash="r")
REFUSE = c.Refuse(**CLAIM, attempt=1, error="no", retryable=True)
REJECT = c.Reject(**CLAIM, attempt=1, error="bad")
COMPLETE = c.Complete(**CLAIM, result="done")
FAIL = c.Fail(**CLAIM, error="why")
ACK, RELEASE = c.Ack(**CLAIM), c.Release(**CLAIM)
RECOVER = c.Recover(**TURN)
CANCEL = c.Cancel(**TURN, reason="no")


def begin(**said: Any) -> c.Begin:
    fields: dict[str, Any] = {"work_item_id": "item", "turn_order": 0, "message": "hi"}
    return c.Begin(**TURN, **fields, kind="message", target="t", **said)


def resolve(decision: Any, **said: Any) -> c.Resolve:
    return c.Resolve(**TURN, attempt=1, decision=decision, by="me", **said)


def test_a_turn_begins_once() -> None:
    assert when(begin()) == [BEGUN]
    assert when(begin(owner="worker", lease=LEASE)) == [BEGUN, CLAIMED]
    assert when(begin(), BEGUN) is InvalidTransition


@pytest.mark.parametrize("command", [TAKE, RESUME])
def test_a_claim_is_given_once_its_lease_is_over(command: c.Claim) -> None:
    claimed = Turn.Claimed(owner="other", epoch=1, expires_at=at(60))
    assert when(command) == []
    assert when(command, BEGUN) == [claimed]
    assert when(command, *HELD, seconds=59.999) == []
    assert when(command, *HELD, seconds=60) == [TAKEN_OVER]
    for settled in (ACKED, CANCELLED):
        assert when(command, *HELD, settled, seconds=60) == []


def test_resuming_makes_known_that_a_dispatch_is_of_unknown_outcome() -> None:
    assert when(RESUME, *SENT, seconds=60) == [UNKNOWN, TAKEN_OVER]
    assert when(TAKE, *SENT, seconds=60) == [TAKEN_OVER]


def test_the_next_one_waits_until_it_is_to_be_tried_again() -> None:
    later = Turn.Refused(attempt=1, epoch=1, error="no", retryable=True, not_before=at(10))
    history = (*SENT, later, RELEASED)
    claim_next = c.ClaimNext(**TURN, owner="other", lease=LEASE)
    assert when(claim_next, *history, seconds=9) == []
    assert when(claim_next, *history, seconds=10) != []
    assert when(TAKE, *history, seconds=9) != []


def test_recovery_ends_first_the_dispatch_and_then_the_claim() -> None:
    assert when(RECOVER, *SENT, seconds=59) == []
    assert when(RECOVER, *SENT, seconds=60) == [UNKNOWN, RECOVERED]
    assert when(RECOVER, *READY, seconds=60) == [RECOVERED]
    assert when(RECOVER, *SENT, RELEASED) == [UNKNOWN]
    assert when(RECOVER, *SENT, TAKEN_OVER, seconds=61) == [UNKNOWN]
    assert when(RECOVER, *SENT, ACKED) == [UNKNOWN]
    assert when(RECOVER) == []


def test_an_attempt_is_prepared_checked_in_this_order() -> None:
    other = c.Prepare(**CLAIM, request="?", request_hash="?")
    mine = c.Prepare(**TURN, owner="other", epoch=2, request="q", request_hash="h")
    assert when(PREPARE, *HELD) == [PREPARED]
    assert when(other, *READY, seconds=60) is ClaimLost
    assert when(other, *READY) is RequestChanged
    assert when(mine, *SENT, TAKEN_OVER, seconds=61) is InvalidTransition
    for history in (READY, SENT, ANSWERED):
        assert when(PREPARE, *history) == []
    again = c.Prepare(**CLAIM, request="q", request_hash="h", attempt=1)
    assert when(again, *ANSWERED, REJECTED) == []


def test_attempts_come_one_after_the_other() -> None:
    second = c.Prepare(**CLAIM, request="q", request_hash="h", attempt=2)
    for history in (HELD, READY, SENT, ANSWERED, LOST[:5]):
        assert when(second, *history) is InvalidTransition
    prepared = PREPARED.model_copy(update={"attempt": 2})
    for command in (second, PREPARE):
        assert when(command, *ANSWERED, REJECTED) == [prepared]


def test_the_retry_policy_ends_the_attempts() -> None:
    refused = Turn.Refused(attempt=1, epoch=1, error="no", retryable=False)
    again = [event.model_copy(update={"attempt": 2}) for event in (PREPARED, STARTED, refused)]
    assert when(PREPARE, *SENT, refused, *again) is AttemptsExhausted


def test_a_dispatch_starts_once_and_an_answer_comes_once() -> None:
    assert when(START, *READY) == [STARTED]
    assert when(START, *SENT) is InvalidTransition
    assert when(START, *HELD) is InvalidTransition
    assert when(RESPOND, *SENT) == [RESPONDED]
    assert when(RESPOND, *ANSWERED) is InvalidTransition
    assert when(RESPOND, *SENT, seconds=60) is ClaimLost
    changed = c.Respond(**CLAIM, attempt=1, request_hash="?", response="a", response_hash="r")
    assert when(changed, *SENT) is RequestChanged
    assert when(REJECT, *ANSWERED) == [REJECTED]
    assert when(REJECT, *SENT) is InvalidTransition


def test_a_refusal_says_when_to_try_again() -> None:
    refused = Turn.Refused(attempt=1, epoch=1, error="no", retryable=True, not_before=at(15))
    assert when(REFUSE, *SENT, seconds=5) == [refused]
    asked = c.Refuse(**CLAIM, attempt=1, error="no", retryable=True, retry_at=at(90))
    assert when(asked, *SENT) == [refused.model_copy(update={"not_before": at(90)})]
    final = c.Refuse(**CLAIM, attempt=1, error="no", retryable=False, retry_at=at(90))
    [event] = when(final, *SENT)  # type: ignore[misc]
    assert event.not_before is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("decision", ["adopt", "retry", "cancel"])
def test_an_unknown_outcome_is_decided_once(decision: Any) -> None:
    [resolved] = when(resolve(decision), *LOST)  # type: ignore[misc]
    facts = resolved.model_dump(include={"decision", "by", "owner", "epoch"})
    assert facts == {"decision": decision, "by": "me", "owner": "worker", "epoch": 1}
    assert when(resolve("cancel"), *LOST, resolved) is InvalidTransition
    assert when(resolve(decision), *SENT) is InvalidTransition
    assert when(resolve(decision)) is TurnNotFound


def test_nothing_of_a_settled_turn_is_retried() -> None:
    history = (*SENT, CANCELLED)
    assert when(resolve("retry"), *history) is InvalidTransition
    assert when(resolve("adopt"), *history) != []


def test_a_turn_ends_once() -> None:
    for command in (COMPLETE, FAIL, ACK):
        assert when(command, *HELD) != []
        assert when(command, *HELD, ACKED) is ClaimLost
        late = when(command, *HELD, seconds=60)
        assert (late is ClaimLost) == (command is not ACK)
    assert when(FAIL, *ANSWERED) is InvalidTransition
    assert when(FAIL, *ANSWERED, REJECTED) != []
    assert when(CANCEL, *HELD) == [CANCELLED]
    assert when(CANCEL, *HELD, CANCELLED) == []
    assert when(CANCEL, *HELD, ACKED) is InvalidTransition
    assert when(CANCEL) is TurnNotFound


def test_a_head_row_holds_what_the_next_command_needs() -> None:
    for history in ((BEGUN,), HELD, SENT, LOST, (*ANSWERED, REJECTED), (*SENT, CANCELLED)):
        state = coordinator_turn.fold(history)
        read = coordinator_turn.State.from_scalars(list(state.scalars()), state.epoch)
        assert read == state


@pytest.mark.parametrize(
    ("history", "event"),
    [
        (HELD, BEGUN),
        ((), CLAIMED),
        (HELD, CLAIMED),
        ((*HELD, ACKED), TAKEN_OVER),
        ((BEGUN,), RELEASED),
        ((BEGUN,), PREPARED),
        (READY, PREPARED),
        (HELD, STARTED),
        (SENT, STARTED),
        ((*READY, TAKEN_OVER), STARTED),
        (READY, RESPONDED),
        (ANSWERED, RESPONDED),
        ((*SENT, TAKEN_OVER), RESPONDED),
        (SENT, REJECTED),
        (READY, UNKNOWN),
        ((*ANSWERED,), Turn.Failed(epoch=1, error="why")),
        ((*HELD, ACKED), ACKED),
        ((*HELD, ACKED), CANCELLED),
    ],
)
def test_a_history_that_cant_be_is_seen(history: tuple[Event, ...], event: Event) -> None:
    assert broken_rule(coordinator_turn.fold(history), event) is not None


# --- the work item


def test_a_work_item_counts_its_turns_and_its_revisions() -> None:
    state = work_item.State()
    enter = work_item.Enter(work_item_id="item", turn_id="turn")
    settle = work_item.Settle(work_item_id="item", turn_id="turn")
    touch = work_item.Touch(work_item_id="item")
    for command, event in (
        (enter, WorkItem.TurnEntered(turn_id="turn", turn_order=0)),
        (enter, WorkItem.TurnEntered(turn_id="turn", turn_order=1)),
        (settle, WorkItem.TurnSettled(turn_id="turn", revision=1)),
        (touch, WorkItem.Touched(revision=2)),
    ):
        assert work_item.decide(state, command) == (event,)
        assert work_item.broken_rule(state, event) is None
        state = work_item.evolve(state, event)
    assert state == work_item.State(turns=2, settled=1, revision=2)
    assert work_item.State.from_stored(list(state)) == state
    for wrong in ([1, 2], None, ["1", 2, 3]):
        with pytest.raises(ValueError, match="no state"):
            work_item.State.from_stored(wrong)
    for event in (
        WorkItem.TurnEntered(turn_id="turn", turn_order=0),
        WorkItem.Touched(revision=2),
        WorkItem.TurnSettled(turn_id="turn", revision=9),
    ):
        assert work_item.broken_rule(state, event) is not None


def test_another_revision_than_expected_is_stale() -> None:
    state = work_item.State(turns=1, revision=3)
    settle = work_item.Settle(work_item_id="item", turn_id="turn", expected_revision=2)
    with pytest.raises(StaleRevision, match="is at revision 3, not 2"):
        work_item.decide(state, settle)


# --- the retry policy


def test_a_wait_grows_up_to_its_cap_and_never_overflows() -> None:
    policy = RetryPolicy(base=timedelta(seconds=1), cap=timedelta(minutes=1), jitter=0)
    waits = [policy.wait(attempt, "turn").total_seconds() for attempt in (1, 2, 3, 6, 7, 10**9)]
    assert waits == [1, 2, 4, 32, 60, 60]
    assert RetryPolicy(base=timedelta(0)).wait(9, "turn") == timedelta(0)


def test_waits_are_spread_and_each_is_always_the_same() -> None:
    policy = RetryPolicy(base=timedelta(seconds=10), jitter=0.5)
    waits = [policy.wait(1, f"turn {number}").total_seconds() for number in range(100)]
    assert waits == [policy.wait(1, f"turn {number}").total_seconds() for number in range(100)]
    assert all(5 <= wait <= 10 for wait in waits)
    assert len(set(waits)) == 100
    assert max(waits) - min(waits) > 4
