"""The writer's lock: first come, first served."""

import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import get_ident

import pytest

from turnledger.infrastructure.fair_lock import FairLock

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
        signal.signal(signal.SIGUSR1, before)

    holder.result()
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
