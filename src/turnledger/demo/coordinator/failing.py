"""The provider dies, refuses and hangs; and a machine sleeps."""

from turnledger.demo.coordinator.stage import LONG_LEASE_SECONDS, Stage


def let_the_provider_fail(stage: Stage) -> None:
    """It dies with a request, refuses one, and doesn't answer one, whose worker is killed."""
    screen, worker = stage.screen, stage.workers[5]
    screen.head("4  The provider dies, says no, and hangs")
    stage.watch(worker, "released", stage.turn(7))
    screen.fact("the provider ended with status", stage.provider.start_again(), 1)
    screen.say("Another one is started. It says no to the next request, which is an answer:")
    stage.watch(worker, "released", stage.turn(8))
    screen.say("The next one is received, and nothing comes back:")
    _send(stage, 9)
    stage.kill(worker, LONG_LEASE_SECONDS)


def let_a_machine_sleep(stage: Stage) -> None:
    """A worker stands still in a call, until its lease is over."""
    worker = stage.workers[6]
    stage.screen.head("5  A machine falls asleep in the middle of a call")
    _send(stage, 10)
    worker.stop()
    stage.show(worker, "stands still")
    stage.screen.say("How everything stands:")
    stage.show_turns()


def _send(stage: Stage, number: int) -> None:
    """Let the latest worker but one send a request that isn't answered."""
    worker, turn_id = stage.workers[-2], stage.turn(number)
    stage.watch(worker, "sent", turn_id)
    worker.let_go()
    stage.wait_for_record("received", turn_id)
