"""Makes a history that breaks a rule shorter, as long as it breaks the same one."""

from collections.abc import Sequence

from turnledger.infrastructure.clock import steady
from turnledger.proving.calls import Step
from turnledger.proving.simulation import Failure, Simulation


def shrunk(simulation: Simulation, failure: Failure, seconds: float = 20.0) -> Failure:
    """The same failure in fewer steps.

    Args:
        simulation: Where to try; it is in good order.
        failure: What was found.
        seconds: So long it is looked for, about.
    """
    end, best, seed = steady() + seconds, failure, failure.seed
    size = len(failure.wished) // 2
    while size and steady() < end:
        start = 0
        while start < len(best.wished) and steady() < end:
            steps = best.wished
            shorter = _fails(simulation, (*steps[:start], *steps[start + size :]), seed, best.rule)
            if shorter is None:
                start += size
            else:
                best = shorter
        size = size // 2 if size > 1 else 0
    return best


def _fails(simulation: Simulation, steps: Sequence[Step], seed: int, rule: str) -> Failure | None:
    try:
        simulation.repeat(steps, seed)
    except Failure as failure:
        return failure if failure.rule == rule else None
    return None
