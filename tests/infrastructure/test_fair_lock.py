"""The writer's lock: first come, first served."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from threading import get_ident
from typing import Any

import pytest

from turnledger.infrastructure.fair_lock import Errand, FairLock

AT_ONCE, PATIENT = 0.0, 30.0


@pytest.fixture
def lock() -> FairLock:
    return FairLock()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as started:
        yield started


def until_waiting(lock: FairLock, number: int) -> None:
    """Look until so many threads wait. It ends: they have nothing else to do."""
    while len(lock._waiting) != number:
        pass


def free_after(future: "Future[bool]", lock: FairLock) -> bool:
    """Whether another thread got the lock, and gave it back."""
    return future.result() and lock._owner is None


def take_and_give_back(lock: FairLock, timeout: float) -> bool:
    taken = lock.acquire(timeout)
    lock.release()
    return taken


def test_a_free_lock_is_taken_at_once(lock: FairLock) -> None:
    assert lock.acquire(AT_ONCE)


def test_a_taken_lock_is_not_given_to_another_thread(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    lock.acquire(AT_ONCE)

    assert not pool.submit(lock.acquire, AT_ONCE).result()
    assert not pool.submit(lock.acquire, 0.01).result()


def test_it_is_handed_on_in_the_order_of_asking(lock: FairLock, pool: ThreadPoolExecutor) -> None:
    got: list[int] = []

    def take(number: int) -> None:
        assert lock.acquire(PATIENT)
        got.append(number)
        lock.release()

    lock.acquire(AT_ONCE)
    taking = []
    for number in range(8):
        taking.append(pool.submit(take, number))
        until_waiting(lock, number + 1)
    lock.release()
    for each in taking:
        each.result()

    assert got == list(range(8))


def test_who_comes_later_does_not_overtake_who_waits(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    lock.acquire(AT_ONCE)
    waiting = pool.submit(take_and_give_back, lock, PATIENT)
    until_waiting(lock, 1)
    lock.release()
    taken_again = lock.acquire(PATIENT)

    assert waiting.result()
    assert taken_again


def test_who_has_given_up_is_passed_over(lock: FairLock, pool: ThreadPoolExecutor) -> None:
    lock.acquire(AT_ONCE)
    assert not pool.submit(lock.acquire, 0.01).result()
    waiting = pool.submit(take_and_give_back, lock, PATIENT)
    until_waiting(lock, 1)
    lock.release()

    assert free_after(waiting, lock)


def test_a_thread_that_does_not_have_it_cannot_give_it_back(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    lock.acquire(AT_ONCE)
    pool.submit(lock.release).result()

    assert not pool.submit(lock.acquire, AT_ONCE).result()


def test_the_thread_that_has_it_may_ask_again(lock: FairLock, pool: ThreadPoolExecutor) -> None:
    assert lock.acquire(AT_ONCE)
    assert lock.acquire(AT_ONCE)
    lock.release()

    assert pool.submit(take_and_give_back, lock, AT_ONCE).result()


def test_a_signal_while_waiting_gives_the_place_in_the_queue_up(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    class Pressed(Exception):
        pass

    def press(_number: int, _frame: object) -> None:
        if not presses:
            presses.append(1)
            raise Pressed

    def hold_and_press() -> None:
        assert lock.acquire(AT_ONCE)
        held.set_result(None)
        until_waiting(lock, 1)
        while lock._waiting:  # the first may come too early to wake it up
            signal.pthread_kill(waiter, signal.SIGUSR1)
        lock.release()

    presses: list[int] = []
    waiter = get_ident()
    held: Future[None] = Future()
    before = signal.signal(signal.SIGUSR1, press)
    holder = pool.submit(hold_and_press)
    held.result()
    try:
        with pytest.raises(Pressed):
            lock.acquire(PATIENT)
    finally:
        holder.result()  # it presses no more: without the handler, that would end the process
        signal.signal(signal.SIGUSR1, before)

    assert pool.submit(take_and_give_back, lock, AT_ONCE).result()


def test_it_is_never_held_by_two(lock: FairLock, pool: ThreadPoolExecutor) -> None:
    holders, most, taken = 0, 0, 0

    def work() -> None:
        nonlocal holders, most, taken
        for _ in range(500):
            assert lock.acquire(PATIENT)
            holders += 1
            most = max(most, holders)
            taken += 1
            holders -= 1
            lock.release()

    for each in [pool.submit(work) for _ in range(8)]:
        each.result()

    assert (most, taken) == (1, 4000)


# --- errands


def just_do(work: Callable[[], Any]) -> Any:
    return work()


def asked(lock: FairLock, pool: ThreadPoolExecutor, errand: Errand) -> "Future[bool]":
    """Another thread asks for a lock that is taken, for an errand, and waits."""
    before = len(lock._waiting)
    asking = pool.submit(lock.acquire, PATIENT, errand)
    until_waiting(lock, before + 1)
    return asking


def test_an_errand_that_is_done_by_the_owner_has_its_answer(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    errand = Errand(lambda: f"done by {get_ident()}")
    lock.acquire(AT_ONCE)
    asking = asked(lock, pool, errand)
    taken = lock.take_errand()
    assert taken is errand
    taken.carry_out(just_do)
    assert not asking.done()
    taken.settle(done=True)

    assert asking.result()
    assert (errand.taken, errand.done) == (True, True)
    assert errand.answer() == f"done by {get_ident()}"
    assert not lock.is_wanted
    lock.release()
    assert pool.submit(take_and_give_back, lock, AT_ONCE).result()


def test_what_an_errand_raises_is_raised_where_its_answer_is_asked_for(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    errand = Errand(lambda: 1 // 0)
    lock.acquire(AT_ONCE)
    asking = asked(lock, pool, errand)
    taken = lock.take_errand()
    assert taken is not None
    taken.carry_out(just_do)
    taken.settle(done=True)

    assert asking.result()
    with pytest.raises(ZeroDivisionError):
        errand.answer()


def test_an_errand_that_is_carried_out_again_forgets_the_first_time() -> None:
    ends: list[Callable[[], Any]] = [lambda: 1 // 0, lambda: "second"]

    def work() -> Any:
        return ends.pop(0)()

    errand = Errand(work)
    errand.carry_out(just_do)
    errand.carry_out(just_do)

    assert errand.answer() == "second"


def test_an_errand_is_carried_out_with_the_context_of_who_made_it(pool: ThreadPoolExecutor) -> None:
    name = ContextVar("name", default="nobody")
    name.set("owner")

    def ask() -> Errand:
        name.set("who asked")
        return Errand(name.get)

    errand = pool.submit(ask).result()
    errand.carry_out(just_do)

    assert errand.answer() == "who asked"
    assert name.get() == "owner"


def test_an_errand_that_nobody_takes_is_given_the_lock(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    errand = Errand(just_do)
    lock.acquire(AT_ONCE)
    asking = asked(lock, pool, errand)
    lock.release()

    assert asking.result()
    assert (errand.taken, errand.done) == (False, False)
    assert lock.is_taken
    assert not lock.acquire(AT_ONCE)


def test_errands_are_taken_in_the_order_of_asking(lock: FairLock, pool: ThreadPoolExecutor) -> None:
    errands = [Errand(just_do) for _ in range(5)]
    lock.acquire(AT_ONCE)
    for errand in errands:
        asked(lock, pool, errand)
    taken = [lock.take_errand() for _ in errands]
    for each in taken:
        assert each is not None
        each.settle(done=True)

    assert taken == errands
    assert lock.take_errand() is None


def test_no_errand_overtakes_who_wants_the_lock_itself(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    first, last = Errand(just_do), Errand(just_do)
    lock.acquire(AT_ONCE)
    asked(lock, pool, first)
    wanting = pool.submit(take_and_give_back, lock, PATIENT)
    until_waiting(lock, 2)
    asking = asked(lock, pool, last)

    assert lock.take_errand() is first
    assert lock.take_errand() is None
    first.settle(done=True)
    lock.release()
    assert wanting.result()
    assert asking.result()
    assert not last.taken


def test_an_errand_whose_thread_gave_up_is_not_taken(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    errand = Errand(just_do)
    lock.acquire(AT_ONCE)
    assert not pool.submit(lock.acquire, 0.01, errand).result()

    assert lock.take_errand() is None
    assert not errand.taken


def test_an_errand_that_was_taken_in_time_is_waited_for_however_long_it_takes(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    """Its thread's time is out while it is done; to give up now would be to say what isn't so."""
    errand = Errand(lambda: "done")
    lock.acquire(AT_ONCE)
    asking = pool.submit(lock.acquire, 0.05, errand)
    until_waiting(lock, 1)
    taken = lock.take_errand()
    assert taken is errand
    with pytest.raises(TimeoutError):
        asking.result(timeout=0.1)
    taken.carry_out(just_do)
    taken.settle(done=True)

    assert asking.result()
    assert errand.answer() == "done"


def test_an_errand_that_could_not_be_done_goes_back_to_its_thread_without_the_lock(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    errand = Errand(just_do)
    lock.acquire(AT_ONCE)
    asking = asked(lock, pool, errand)
    taken = lock.take_errand()
    assert taken is not None
    taken.settle(done=False)

    assert asking.result()
    assert (errand.taken, errand.done) == (True, False)
    assert lock.acquire(AT_ONCE)


def test_the_owner_sees_that_others_want_the_lock_and_others_that_it_is_taken(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    assert not lock.is_taken
    lock.acquire(AT_ONCE)
    assert not lock.is_taken
    assert not lock.is_wanted
    assert pool.submit(lambda: lock.is_taken).result()
    asked(lock, pool, Errand(just_do))
    assert lock.is_wanted
    lock.release()
    assert not lock.is_wanted
    assert lock.is_taken


def test_errands_are_never_done_twice_or_left_undone(
    lock: FairLock, pool: ThreadPoolExecutor
) -> None:
    done: list[tuple[int, int]] = []

    def work(number: int) -> None:
        for place in range(300):
            errand = Errand(lambda place=place: done.append((number, place)))
            assert lock.acquire(PATIENT, errand)
            if errand.done:
                errand.answer()
                continue
            errand.carry_out(just_do)
            taken = []
            while (other := lock.take_errand()) is not None:
                other.carry_out(just_do)
                taken.append(other)
            for other in taken:
                other.settle(done=True)
            lock.release()

    for each in [pool.submit(work, number) for number in range(8)]:
        each.result()

    assert sorted(done) == [(number, place) for number in range(8) for place in range(300)]
