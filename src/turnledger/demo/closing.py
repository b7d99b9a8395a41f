"""What remains: the history, and the figures."""

from turnledger.demo.figures import Figures, counted
from turnledger.demo.history import event_row
from turnledger.demo.stage import Stage
from turnledger.demo.submission import MAIN


def tell_the_history(stage: Stage) -> None:
    """Every event of the thread, a line each."""
    stage.screen.head(f"8  The whole history of {MAIN}")
    events = stage.ledger.log.read(streams=[f"thread_queue:{MAIN}"])
    stage.screen.rows([event_row(event) for event in events])


def draw_the_balance(stage: Stage) -> None:
    """Whether the ledger is whole, and what came of the messages."""
    screen, submissions = stage.screen, stage.submissions
    screen.head("9  The balance")
    verification = stage.ledger.verify()
    for finding in verification.findings:
        screen.wrong(f"{finding.where}: {finding.message}")
    if verification.ok:
        screen.say(f"verify: {verification.events} events, the ledger is whole")
    close(stage, counted(stage.ledger, stage.model, submissions), len(submissions))


def close(stage: Stage, figures: Figures, expected: int) -> None:
    """The closing line; what isn't as it ought to be is said to be so."""
    wanted = Figures(submitted=expected, sent=expected, sent_twice=0, lost=0)
    right = figures == wanted
    stage.screen.say(_line(figures), style="bold green" if right else "bold red")
    if not right:
        stage.screen.wrong(f"it ought to be: {_line(wanted)}")


def _line(figures: Figures) -> str:
    return (
        f"submitted {figures.submitted}, sent {figures.sent}, "
        f"sent twice {figures.sent_twice}, lost {figures.lost}"
    )
