"""What a timer answers to each command: events, or a refusal."""

from collections.abc import Callable
from typing import Any

from turnledger.domain.limits import Context
from turnledger.domain.timer import commands as c
from turnledger.domain.timer import firing, setting
from turnledger.domain.timer.guards import Decision
from turnledger.domain.timer.state import State


def decide(state: State, command: c.TimerCommand, context: Context) -> Decision:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
        InvalidTrigger: It has no occurrence left, or can't be computed.
    """
    return _DECISIONS[type(command)](state, command, context)


_DECISIONS: dict[type[c.TimerCommand], Callable[[State, Any, Context], Decision]] = {
    c.Create: setting.create,
    c.Update: setting.update,
    c.Pause: setting.pause,
    c.Resume: setting.resume,
    c.Delete: setting.delete,
    c.MarkDue: firing.mark_due,
    c.Fire: firing.fire,
    c.Recompute: firing.recompute,
}
