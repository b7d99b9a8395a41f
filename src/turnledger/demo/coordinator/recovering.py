"""What the ledger does about it by itself, after the leases."""

from turnledger.demo.coordinator.stage import Stage

_SHOWN = ("sent", "responded", "acked", "left", "idle")


def recover(stage: Stage) -> None:
    """What was being sent is of unknown outcome; all else just waits again."""
    screen = stage.screen
    screen.head("6  The leases end, and everything is recovered")
    stage.wait_for_the_leases()
    screen.say("Any process may do so, at any time; what is live isn't touched:")
    recovered = stage.ledger.recovery.run_once()
    screen.fact("dispatches of unknown outcome", recovered.attempts_unknown, 5)
    screen.fact("turns that wait again", recovered.turns_pending, 7)
    again = stage.ledger.recovery.run_once()
    screen.fact("found by another scan", any(vars(again).values()), wanted=False)
    stage.show_turns()


def go_on(stage: Stage) -> None:
    """One worker does what needs nobody."""
    stage.screen.head("7  A worker goes on")
    stage.screen.say("What is stored isn't asked for again; what may have been sent is left:")
    stage.watch(stage.workers[-1], "idle", shown=_SHOWN)


def wake_the_machine(stage: Stage) -> None:
    """Its answer comes too late, and is kept."""
    screen, worker, turn_id = stage.screen, stage.workers[6], stage.turn(10)
    screen.head("8  The machine wakes up, with an answer in its hands")
    stage.records.let_go()
    for hanging in (stage.turn(9), turn_id):
        stage.wait_for_record("answered", hanging)
    worker.wake()
    stage.show(worker, "wakes up")
    stage.show_next(worker)
    stage.watch(worker, "too-late")
    found = stage.ledger.coordinator.get(turn_id)
    kept = [] if found is None else [one.value for one in found.attempts[-1].evidence]
    answers = [record.answer for record in stage.records.read("answered", turn_id)]
    screen.fact(f"kept as evidence of {turn_id}", kept == answers, wanted=True)
