"""What a thread's queue answers to each command: events, or a refusal."""

from collections.abc import Callable
from typing import Any

from turnledger.domain.limits import Context
from turnledger.domain.thread_queue import claiming, settling, waiting
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.thread_queue.guards import Decision
from turnledger.domain.thread_queue.state import State


def decide(state: State, command: c.QueueCommand, context: Context) -> Decision:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
    """
    return _DECISIONS[type(command)](state, command, context)


_DECISIONS: dict[type[c.QueueCommand], Callable[[State, Any, Context], Decision]] = {
    c.Append: waiting.append,
    c.AppendMany: waiting.append_many,
    c.Edit: waiting.edit,
    c.Delete: waiting.delete,
    c.Clear: waiting.clear_queue,
    c.Reorder: waiting.reorder,
    c.Pause: waiting.pause,
    c.Resume: waiting.resume,
    c.ClaimHead: claiming.claim_head,
    c.Renew: claiming.renew,
    c.Release: claiming.release,
    c.StartDispatch: claiming.start_dispatch,
    c.Ack: claiming.ack,
    c.AckDispatch: claiming.ack_dispatch,
    c.Fail: settling.fail,
    c.Retry: settling.retry,
    c.Resolve: settling.resolve,
    c.Recover: settling.recover,
    c.FailInFlight: settling.fail_in_flight,
}
