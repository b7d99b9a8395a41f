"""Faults that are put into a copy of the package, one at a time: the attacks must find each.

Each is an exact replacement in one file. If the code has changed and a text isn't there exactly
once, that is an error: a fault that isn't put in is found by nobody.
"""

from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """A fault.

    Attributes:
        name: What it does, in words.
        room: Where: fence, decide, evolve, recorder, projection, store.
        file: In the package.
        old: What stands there.
        new: What stands there instead.
    """

    name: str
    room: str
    file: str
    old: str
    new: str


class Misfit(Exception):
    """The text that is to be replaced isn't there exactly once."""


def put_in(mutant: Mutant, package: Path) -> None:
    """Change a copy of the package.

    Raises:
        Misfit: The code isn't what the fault was made for.
    """
    path = package / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise Misfit(f"{mutant.name}: {text.count(mutant.old)} places in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


_QUEUE, _TURN = "domain/thread_queue", "domain/coordinator_turn"

MUTANTS = (
    Mutant(
        "a stale epoch is as good as the latest",
        "fence",
        "domain/claim.py",
        "    if flying.epoch != shown.epoch or flying.owner != shown.owner:",
        "    if flying.owner != shown.owner:",
    ),
    Mutant(
        "whoever knows the epoch is the owner",
        "fence",
        "domain/claim.py",
        "    if flying.epoch != shown.epoch or flying.owner != shown.owner:",
        "    if flying.epoch != shown.epoch:",
    ),
    Mutant(
        "only the time decides: a lease that isn't over is live, whoever shows it",
        "fence",
        "domain/claim.py",
        "    held = current(flying, shown)\n",
        "    held = flying if flying is not None else current(flying, shown)\n",
    ),
    Mutant(
        "an expired claim is live",
        "fence",
        "domain/claim.py",
        "    if context.lease_is_over(held.expires_at):\n        lose(",
        "    if False:\n        lose(",
    ),
    Mutant(
        "recovery takes live claims",
        "decide",
        f"{_QUEUE}/settling.py",
        "    if not is_stale(flying, context) and flying.owner != command.owner:",
        "    if False:",
    ),
    Mutant(
        "what was dispatched waits again after its recovery",
        "decide",
        f"{_QUEUE}/settling.py",
        "    if flying.dispatch_id is None:\n        recovered",
        "    if True:\n        recovered",
    ),
    Mutant(
        "an unknown outcome is tried again without a decision",
        "decide",
        f"{_QUEUE}/settling.py",
        "    if turn.outcome_unknown:\n",
        "    if False:\n",
    ),
    Mutant(
        "a turn is claimed before its time",
        "decide",
        f"{_QUEUE}/guards.py",
        '        ("not_yet", head is not None and is_early(head, context)),',
        '        ("not_yet", False),',
    ),
    Mutant(
        "a message is handed over while another one is",
        "decide",
        "domain/inbox/guards.py",
        "    if flying is not None:\n",
        "    if False:\n",
    ),
    Mutant(
        "an expired message goes out again unasked",
        "decide",
        "domain/inbox/decide.py",
        '    if command.mode == "at_most_once":',
        '    if command.mode == "never":',
    ),
    Mutant(
        "a dispatch is started from whatever state",
        "decide",
        f"{_TURN}/guards.py",
        "    if attempt.status != status:",
        '    if attempt.status != status and status != "prepared":',
    ),
    Mutant(
        "an attempt follows before the last one is settled",
        "decide",
        f"{_TURN}/attempting.py",
        "    if latest is not None and not latest.is_settled:",
        "    if False:",
    ),
    Mutant(
        "a failure is put over an answer that was paid for",
        "decide",
        f"{_TURN}/settling.py",
        '    if latest is not None and latest.status == "responded":',
        "    if False:",
    ),
    Mutant(
        "recovery of turns doesn't ask whether the lease is over",
        "decide",
        f"{_TURN}/claiming.py",
        "        *([recovered] if is_stale(state.held, context) else []),",
        "        *([recovered] if state.held is not None else []),",
    ),
    Mutant(
        "a late completion counts",
        "decide",
        "domain/operation/decide.py",
        "    if not is_live(state.run.held, command, context):",
        "    if False:",
    ),
    Mutant(
        "what isn't safe is claimed automatically",
        "decide",
        "domain/operation/decide.py",
        '    if command.automatic and state.replay_policy != "safe":',
        "    if False:",
    ),
    Mutant(
        "a run is taken over while it is live",
        "decide",
        "domain/run/decide.py",
        "    return (Run.TakenOver(**claim),) if is_stale(state, context) else ()",
        "    return (Run.TakenOver(**claim),)",
    ),
    Mutant(
        "the epoch stands still",
        "evolve",
        f"{_QUEUE}/state.py",
        '"epoch": event.epoch, "visible": state.visible - 1',
        '"epoch": state.epoch, "visible": state.visible - 1',
    ),
    Mutant(
        "a claim takes the attempt that is under way along",
        "evolve",
        f"{_TURN}/state.py",
        "    if attempts and attempts[-1].moves:",
        "    if attempts:",
    ),
    Mutant(
        "a cancelled turn forgets its dispatch",
        "evolve",
        f"{_TURN}/state.py",
        '        attempts = state.changed(len(attempts), status="unknown")',
        '        attempts = state.changed(len(attempts), status="cancelled")',
    ),
    Mutant(
        "a timer that fired stays due",
        "evolve",
        "domain/timer/state.py",
        "    return _next(state, event.next_run_at, event.error)\n\n\ndef _skipped",
        "    return _next(state, state.next_run_at, event.error)\n\n\ndef _skipped",
    ),
    Mutant(
        "a new order isn't counted on",
        "evolve",
        f"{_QUEUE}/state.py",
        "    return state.but(turns=turns, next_order=next_order)",
        "    return state.but(turns=turns)",
    ),
    Mutant(
        "receipts aren't kept",
        "recorder",
        "infrastructure/sqlite_recorder.py",
        "            if draft.receipt is not None:",
        "            if False:",
    ),
    Mutant(
        "the chain isn't one",
        "recorder",
        "infrastructure/sqlite_recorder.py",
        "        previous = last.get(stream_id) or self._last_hash(cursor, stream_id)",
        "        previous = NO_HASH",
    ),
    Mutant(
        "an event is committed before its rows",
        "recorder",
        "infrastructure/sqlite_recorder.py",
        "        execute(_INSERT_EVENT, row)\n",
        "        execute(_INSERT_EVENT, row)\n"
        '        execute("COMMIT")\n        execute("BEGIN IMMEDIATE")\n',
    ),
    Mutant(
        "recorded_at follows the clock back",
        "recorder",
        "infrastructure/unit_of_work.py",
        "        return max(self.stored_now, head.recorded_at)",
        "        return self.stored_now",
    ),
    Mutant(
        "the answer comes before the commit",
        "store",
        "infrastructure/sqlite.py",
        '                held.cursor.execute("COMMIT")\n                self.log.committed(held)',
        '                held.cursor.execute("ROLLBACK")\n                self.log.committed(held)',
    ),
    Mutant(
        "an acked turn stays in the queue",
        "projection",
        "projections/queued_turns.py",
        """    ThreadQueue.Acked: (_this(state=sql("'acked'"), **_parameter("dispatch_id")),),""",
        """    ThreadQueue.Acked: (_this(**_parameter("dispatch_id")),),""",
    ),
    Mutant(
        "a released message keeps its count of deliveries",
        "projection",
        "projections/inbox_messages.py",
        '_becomes("pending", deliveries=_m.deliveries - sql("1"), **_FREE)',
        '_becomes("pending", **_FREE)',
    ),
    Mutant(
        "an orphan's effect stays pending in its row",
        "projection",
        "projections/operations.py",
        """_becomes("hazardous_orphan", effect=sql("'unknown'"), **_REASON)""",
        """_becomes("hazardous_orphan", **_REASON)""",
    ),
    Mutant(
        "what a lost claim knew isn't kept",
        "decide",
        "queue/lost_claims.py",
        "    backend.keep(work)\n\n\ndef keep_lost_dispatch(",
        "\n\ndef keep_lost_dispatch(",
    ),
)
