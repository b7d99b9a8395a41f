"""`coordinator.work`: a turn is answered from wherever its last worker stopped."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import NoEffect, Refused, RetryPolicy, Settings, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from turnledger import BegunTurn, Ledger, TurnClaim

Work = Any


def asking(claim: TurnClaim) -> Any:
    return {"prompt": claim.message}


class Provider:
    """What is called, in threads or in tasks; it answers with what it was asked, or raises."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.errors: list[Exception] = []
        self.early: list[Exception] = []

    def __call__(self, request: Any, dispatch: Callable[[], Any]) -> Any:
        if self.early:
            raise self.early.pop(0)
        recorded = dispatch()
        if recorded is not None:
            return self._awaiting(request, recorded)
        return self._answer(request)

    async def _awaiting(self, request: Any, recorded: Any) -> Any:
        await recorded
        return self._answer(request)

    def _answer(self, request: Any) -> Any:
        self.got.append(request)
        if self.errors:
            raise self.errors.pop(0)
        return {"answer": request["prompt"]}


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture(params=["blocking", "awaited"])
def work(
    request: pytest.FixtureRequest, ledger: Ledger, store_url: str, clock: Clock, provider: Provider
) -> Work:
    """Answers turns until nothing is left to do."""

    def blocking(**given: Any) -> int:
        return ledger.coordinator.work(asking, provider, once=True, **given)

    def awaited(**given: Any) -> int:
        async def main() -> int:
            async with turnledger.open_async(store_url, clock=clock) as own:
                return await own.coordinator.work(asking, provider, once=True, **given)

        return asyncio.run(main())

    return blocking if request.param == "blocking" else awaited


def begun(ledger: Ledger, *messages: str) -> list[str]:
    return [ledger.coordinator.begin("item", message).turn_id for message in messages]


def turn(ledger: Ledger, turn_id: str) -> BegunTurn:
    found = ledger.coordinator.get(turn_id)
    assert found is not None
    return found


def test_each_turn_is_answered_once(ledger: Ledger, work: Work, provider: Provider) -> None:
    first, second = begun(ledger, "hi", "ho")
    assert work(use=lambda claim, response: [claim.message, response["answer"]]) == 2
    assert provider.got == [{"prompt": "hi"}, {"prompt": "ho"}]
    assert [turn(ledger, one).result for one in (first, second)] == [["hi", "hi"], ["ho", "ho"]]
    assert work() == 0
    assert ledger.verify().ok


def test_a_stored_request_is_what_a_successor_sends(
    ledger: Ledger, clock: Clock, work: Work, provider: Provider
) -> None:
    [only] = begun(ledger, "hi")
    claim = ledger.coordinator.claim(only, "dead")
    assert claim is not None
    ledger.coordinator.prepare(claim, {"prompt": "stored"})
    clock.advance(60)
    assert work() == 1
    assert provider.got == [{"prompt": "stored"}]


def test_an_answer_that_is_there_is_used_without_a_call(
    ledger: Ledger, clock: Clock, work: Work, provider: Provider
) -> None:
    [only] = begun(ledger, "hi")
    claim = ledger.coordinator.claim(only, "dead")
    assert claim is not None
    attempt = ledger.coordinator.prepare(claim, {"prompt": "hi"})
    ledger.coordinator.start_dispatch(claim, 1)
    ledger.coordinator.respond(claim, 1, attempt.request_hash, "paid for")
    clock.advance(60)
    assert work() == 1
    assert (turn(ledger, only).result, provider.got) == ("paid for", [])


def test_what_breaks_after_the_dispatch_is_unknown_and_never_sent_again_by_itself(
    ledger: Ledger, work: Work, provider: Provider
) -> None:
    broken, other = begun(ledger, "hi", "ho")
    provider.errors = [RuntimeError("the connection broke")]
    assert work() == 1
    assert turn(ledger, other).outcome == "completed"
    assert [one.status for one in turn(ledger, broken).attempts] == ["unknown"]
    assert work() == 0
    assert len(provider.got) == 2
    ledger.coordinator.resolve(broken, 1, "retry", by="ann")
    assert work() == 1
    assert provider.got[2] == {"prompt": "hi"}
    assert turn(ledger, broken).outcome == "completed"


def test_a_dead_workers_dispatch_is_unknown_and_the_others_go_on(
    ledger: Ledger, clock: Clock, work: Work, provider: Provider
) -> None:
    dead, other = begun(ledger, "hi", "ho")
    claim = ledger.coordinator.claim(dead, "dead")
    assert claim is not None
    ledger.coordinator.prepare(claim, {"prompt": "hi"})
    ledger.coordinator.start_dispatch(claim, 1)
    clock.advance(60)
    assert work() == 1
    assert provider.got == [{"prompt": "ho"}]
    assert turn(ledger, dead).attempts[0].status == "unknown"
    assert turn(ledger, other).outcome == "completed"


@pytest.mark.parametrize("error", [NoEffect("busy"), Refused("busy", retry=True)])
def test_a_refusal_that_may_pass_is_tried_again_when_its_time_has_come(
    ledger: Ledger, clock: Clock, work: Work, provider: Provider, error: Exception
) -> None:
    [only] = begun(ledger, "hi")
    provider.errors = [error]
    assert work() == 0
    refused = turn(ledger, only)
    assert (refused.status, refused.attempts[0].status) == ("pending", "refused")
    assert work() == 0
    clock.advance(60)
    assert work() == 1
    assert [one.status for one in turn(ledger, only).attempts] == ["refused", "responded"]


def test_a_refusal_that_wont_pass_fails_the_turn(
    ledger: Ledger, work: Work, provider: Provider
) -> None:
    [only] = begun(ledger, "hi")
    provider.errors = [Refused({"status": 401})]
    assert work() == 1
    assert (turn(ledger, only).outcome, turn(ledger, only).error) == ("failed", {"status": 401})


def test_what_breaks_before_the_dispatch_was_never_sent(
    ledger: Ledger, work: Work, provider: Provider
) -> None:
    [only] = begun(ledger, "hi")
    provider.early = [RuntimeError("no network")]
    assert work() == 0
    left = turn(ledger, only)
    assert (left.status, left.attempts[0].status) == ("pending", "prepared")
    assert work() == 1
    assert provider.got == [{"prompt": "hi"}]


def test_an_answer_that_is_no_good_is_rejected_and_asked_for_again(
    ledger: Ledger, work: Work, provider: Provider
) -> None:
    [only] = begun(ledger, "hi")
    bad = [Refused("nonsense", retry=True)]

    def use(claim: TurnClaim, response: Any) -> Any:
        del claim
        if bad:
            raise bad.pop()
        return response

    assert work(use=use) == 1
    assert [one.status for one in turn(ledger, only).attempts] == ["cancelled", "responded"]
    assert len(provider.got) == 2


def test_a_call_that_never_recorded_its_dispatch_isnt_believed(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    [only] = begun(ledger, "hi")
    assert ledger.coordinator.work(asking, lambda request, _: request, once=True) == 0
    assert "without having called the function that records its dispatch" in caplog.text
    assert turn(ledger, only).attempts[0].status == "prepared"


def test_too_many_attempts_fail_the_turn(
    open_ledger: Callable[..., Ledger], clock: Clock, provider: Provider
) -> None:
    policy = RetryPolicy(max_attempts=1, base=timedelta(seconds=1))
    ledger = open_ledger(retry_policy=policy)
    assert isinstance(ledger.settings, Settings)
    [only] = begun(ledger, "hi")
    provider.errors = [NoEffect("busy")]
    assert ledger.coordinator.work(asking, provider, once=True) == 0
    clock.advance(60)
    assert ledger.coordinator.work(asking, provider, once=True) == 1
    assert turn(ledger, only).outcome == "failed"


def test_a_read_only_ledger_has_no_workers(ledger: Ledger, provider: Provider) -> None:
    begun(ledger, "hi")
    with ledger.as_of(1) as past, pytest.raises(StoreReadOnly):
        past.coordinator.work(asking, provider)


def test_cancelling_it_cancels_the_call_whose_outcome_is_unknown(
    ledger: Ledger, store_url: str, clock: Clock
) -> None:
    [only] = begun(ledger, "hi")

    async def main() -> None:
        sent = asyncio.Event()

        async def call(_: Any, dispatch: Callable[[], Any]) -> None:
            await dispatch()
            sent.set()
            await asyncio.Event().wait()

        async with turnledger.open_async(store_url, clock=clock) as own:
            task = asyncio.create_task(own.coordinator.work(asking, call))
            await asyncio.wait_for(sent.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert turn(ledger, only).attempts[0].status == "unknown"
