"""What a coordinator turn answers to each command: events, or a refusal."""

from collections.abc import Callable
from typing import Any

from turnledger.domain.coordinator_turn import attempting, claiming, settling
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.guards import Decided
from turnledger.domain.coordinator_turn.state import State
from turnledger.domain.limits import Context


def decide(state: State, command: c.TurnCommand, context: Context) -> Decided:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
    """
    return _DECISIONS[type(command)](state, command, context)


_DECISIONS: dict[type[c.TurnCommand], Callable[[State, Any, Context], Decided]] = {
    c.Begin: claiming.begin,
    c.Claim: claiming.claim,
    c.ClaimNext: claiming.claim_next,
    c.Resume: claiming.resume,
    c.Renew: claiming.renew,
    c.Release: claiming.release,
    c.Recover: claiming.recover,
    c.Prepare: attempting.prepare,
    c.StartDispatch: attempting.start_dispatch,
    c.Respond: attempting.respond,
    c.Refuse: attempting.refuse_attempt,
    c.Reject: attempting.reject,
    c.Resolve: attempting.resolve,
    c.Complete: settling.complete,
    c.Fail: settling.fail,
    c.Ack: settling.ack,
    c.Cancel: settling.cancel,
}
