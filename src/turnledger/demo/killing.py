"""Workers, and the ends that they come to."""

from collections import Counter

from turnledger.demo.figures import counted
from turnledger.demo.stage import Stage
from turnledger.demo.submission import MAIN, SIDE


def do_the_first_turn(stage: Stage) -> None:
    """How it goes when all goes well."""
    stage.screen.head("2  A worker process does the first turn")
    stage.screen.say("It records the dispatch before it sends the message to the model.")
    stage.watch(stage.workers[0], "acked")


def kill_after_the_dispatch(stage: Stage) -> None:
    """The worst moment: the message is sent, and nobody hears of it any more."""
    screen, worker = stage.screen, stage.workers[0]
    screen.head("3  It is killed in the middle of the second turn")
    stage.watch(worker, "sent")
    stage.kill(worker)
    screen.say("What any other process sees:")
    stage.show_reason(MAIN, "in_flight")
    stage.show_queue(MAIN)
    turns = [stage.ledger.queue.get(MAIN, one.queued_turn_id) for one in stage.of(MAIN)]
    states = Counter(turn.state for turn in turns if turn is not None)
    known = ", ".join(f"{count} {state}" for state, count in states.items())
    screen.say(f"Of {len(turns)} messages: {known}.")
    screen.fact("lost", counted(stage.ledger, stage.model, stage.of(MAIN)).lost, 0)


def kill_before_the_dispatch(stage: Stage) -> None:
    """A worker dies with a turn in its hands that wasn't sent."""
    screen, worker = stage.screen, stage.workers[1]
    screen.head("4  Another one is killed before its dispatch")
    screen.say(f"It finds work in another thread, {SIDE}:")
    for message in stage.of(SIDE):
        stage.append(message)
    stage.show_queue(SIDE)
    stage.watch(worker, "claimed")
    stage.kill(worker)
    stage.show_reason(SIDE, "in_flight")
