"""What several owners wish, at random: mostly what makes sense now, now and then what doesn't."""

from random import Random
from typing import TYPE_CHECKING

from turnledger.proving.auditor import Auditor
from turnledger.proving.calls import Given, Step
from turnledger.proving.effect_wishes import KEYS, LEASES, OWNERS, EffectWishes

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = ("a", "b", "c")
_PAUSES = (*(0,) * 22, 0.001, 1, 9, 9, 30, 61, 61, 120, 3_601, 90_000)
_FOCUSES = (
    "queue",
    "queue",
    "inbox",
    "timers inbox",
    "coordinator",
    "coordinator",
    "runs operations",
)
_SKEW = (-0.5, -7, -30, -61, -3_600)

_OFTEN = (
    *["queue.append"] * 6,
    *["queue.claim_head"] * 4,
    *["queue.claim_next"] * 4,
    *["queue.start_dispatch"] * 6,
    *["queue.ack"] * 5,
    *("queue.fail", "queue.fail", "queue.retry", "queue.resolve", "queue.renew", "queue.release"),
    *(
        "queue.recover",
        "queue.recover",
        "queue.ack_dispatch",
        "queue.resume",
        "queue.reorder",
        "queue.edit",
    ),
    *["inbox.post"] * 3,
    *["inbox.claim_next"] * 4,
    *["inbox.confirm"] * 3,
    *("inbox.recover", "inbox.release"),
    *("timers.create", "timers.create", "timers.fire_due", "timers.fire_due", "timers.claim"),
    *["coordinator.begin"] * 3,
    *["coordinator.claim_next"] * 2,
    *["coordinator.claim", "coordinator.resume"] * 2,
    *["coordinator.prepare"] * 5,
    *["coordinator.start_dispatch"] * 5,
    *["coordinator.respond"] * 4,
    *("coordinator.complete", "coordinator.complete", "coordinator.refuse", "coordinator.reject"),
    *("coordinator.recover", "coordinator.resolve", "coordinator.fail", "coordinator.renew"),
    *["coordinator.cancel"] * 2,
    *["runs.start"] * 3,
    *["operations.create_and_claim"] * 3,
    *["operations.complete"] * 3,
    *("operations.claim", "operations.recover", "operations.resolve", "operations.create"),
    "threads.unarchive",
)
_SELDOM = (
    *("queue.append_many", "queue.delete", "queue.clear"),
    *("queue.pause", "queue.fail_in_flight", "inbox.delete", "inbox.requeue"),
    *("timers.mark_due", "timers.pause", "timers.resume", "timers.delete", "timers.claim_due"),
    *("coordinator.release", "coordinator.ack", "coordinator.touch"),
    *("coordinator.late_response", "runs.renew", "runs.finish", "runs.interrupt"),
    *("operations.request_cancel", "recovery.run_once", "threads.archive", "threads.delete"),
)
_FURTHER = {
    "prepared": ("coordinator.start_dispatch",),
    "dispatching": ("coordinator.respond", "coordinator.refuse", "coordinator.cancel"),
    "responded": ("coordinator.complete", "coordinator.fail", "coordinator.reject"),
}
CALLS = tuple(sorted({*_OFTEN, *_SELDOM}))


class Wishes(EffectWishes):
    """Chooses the next step of a history, by what is known of it."""

    def __init__(self, random: Random, auditor: Auditor) -> None:
        """Take a generator of chance, and what is known."""
        super().__init__(random, auditor)
        self._steps: list[Step] = []
        focus = random.choice(_FOCUSES).split()
        self._focus = [call for call in _OFTEN if call.partition(".")[0] in focus]

    def next(self, call: str | None = None) -> Step:
        """The next step: a fresh wish, or one of the last again, late or as a duplicate.

        Args:
            call: Which one it is to be; default any.
        """
        random = self._random
        wait = random.choice(_SKEW) if random.random() < 0.04 else random.choice(_PAUSES)  # noqa: PLR2004
        self._seconds = max(0.0, self._seconds + wait)
        number = len(self._steps)
        if call is None and self._steps and random.random() < 0.08:  # noqa: PLR2004 - one of twelve comes again
            late = random.choice(self._steps[-12:])
            step = late._replace(number=number, seconds=self._seconds)
        else:
            call = call or self._call()
            step = Step(number, self._seconds, call, self._given(call))
        self._steps.append(step)
        return step

    def _call(self) -> str:
        """One of eight is a seldom one; of the others most are about what this history is about."""
        chance = self._random.random()
        if chance < 0.12:  # noqa: PLR2004
            return self._random.choice(_SELDOM)
        further = self._further() if chance < 0.5 else ()  # noqa: PLR2004
        return self._random.choice(further or (_OFTEN if chance < 0.6 else self._focus))  # noqa: PLR2004

    def _further(self) -> tuple[str, ...]:
        """What goes on with a coordinator turn that somebody holds."""
        held = [turn for turn in self._known.turns.values() if turn.held is not None]
        if not held or "coordinator.prepare" not in self._focus:
            return ()
        latest = self._random.choice(held).latest
        return _FURTHER.get(latest.status if latest else "", ("coordinator.prepare",))

    def _given(self, call: str) -> Given:
        service, _, verb = call.partition(".")
        wish: Callable[[str], Given] = getattr(self, f"_{service}")
        return wish(verb)

    # --- the queue

    def _queue(self, verb: str) -> Given:
        thread, owner = self._one(THREADS), self._one(OWNERS)
        if verb in ("renew", "release", "start_dispatch", "ack", "fail"):
            return self._of_claim(verb)
        wishes: dict[str, Callable[[], Given]] = {
            "append": lambda: self._append(thread),
            "append_many": lambda: {
                "thread_id": thread,
                "submissions": [{"n": 1}, {"n": 2}],
                "idempotency_key": self._one(KEYS),
            },
            "claim_head": lambda: {
                "thread_id": thread,
                "owner": owner,
                "lease": self._one(LEASES),
            },
            "claim_next": lambda: {
                "owner": owner,
                "limit": self._one((1, 2)),
                "lease": self._one(LEASES),
            },
            "recover": lambda: self._one(({}, {"owner": owner}, {"thread_id": thread})),
            "ack_dispatch": lambda: {"thread_id": thread, "dispatch_id": self._dispatch(thread)},
            "reorder": lambda: {"thread_id": thread, "queued_turn_ids": self._shuffled(thread)},
            "pause": lambda: {"thread_id": thread, "reason": "by hand"},
            "fail_in_flight": lambda: {"thread_id": thread, "failure": "restart"},
        }
        return wishes[verb]() if verb in wishes else self._of_turn(verb, thread)

    def _append(self, thread: str) -> Given:
        given: Given = {"thread_id": thread, "submission": {"text": self._one(("one", "two"))}}
        given["idempotency_key"] = self._one(KEYS)
        late = self._one((None,) * 6 + (-30, 30))
        given["not_before"] = None if late is None else max(0.0, self._seconds + late)
        return given

    def _of_claim(self, verb: str) -> Given:
        claim = self._claim(self._known.queues, "a")
        more: dict[str, Given] = {
            "renew": {"lease": self._one(LEASES)},
            "start_dispatch": {"dispatch_id": self._dispatch(claim[0])},
            "fail": {"failure": "no", "outcome_unknown": self._one((True, False))},
        }
        return {"claim": claim, **more.get(verb, {})}

    def _dispatch(self, thread: str) -> str:
        queue = self._known.queue(thread)
        if queue.dispatch is not None and self._random.random() < 0.7:  # noqa: PLR2004
            return queue.dispatch
        return f"d{len(queue.dispatches) - (self._random.random() < 0.2)}"  # noqa: PLR2004

    def _shuffled(self, thread: str) -> list[str]:
        ids = [turn.id for turn in self._known.queue(thread).visible()]
        return self._random.sample(ids, len(ids))

    def _of_turn(self, verb: str, thread: str) -> Given:
        queue = self._known.queue(thread)
        if verb in ("clear", "resume"):
            return {"thread_id": thread}
        failed = [turn.id for turn in queue.turns.values() if turn.state == "failed"]
        turn = self._one(failed or list(queue.turns)[-4:] or ["never"])
        given: Given = {"thread_id": thread, "queued_turn_id": turn}
        if verb == "resolve":
            return {**given, "decision": self._one(("acked", "retry")), "by": "anybody"}
        return {**given, "submission": {"text": "edited"}} if verb == "edit" else given

    # --- the inbox, timers, threads

    def _inbox(self, verb: str) -> Given:
        thread = self._one(THREADS)
        can = self._one(((True, False), (False, True), (True, True), (False, False)))
        match verb:
            case "post":
                given: Given = {"thread_id": thread, "content": "news", "source": "test"}
                given["delivery"] = self._one(("after-turn", "steer-current-turn"))
                back = self._one((None, None, None, 20))
                given["queued_at"] = None if back is None else max(0.0, self._seconds - back)
                return {**given, "idempotency_key": self._one(KEYS)}
            case "claim_next":
                flags = {"can_after_turn": can[0], "can_steer_current_turn": can[1]}
                owner, lease = self._one(OWNERS), self._one(LEASES)
                return {"thread_id": thread, "owner": owner, "lease": lease, **flags}
            case "recover":
                return {"mode": self._one(("at_most_once", "at_least_once"))}
            case "confirm" | "release":
                return {"claim": self._claim(self._known.inboxes, thread)}
            case _:
                messages = list(self._known.inbox(thread).messages)
                return {"thread_id": thread, "message_id": self._one(messages[-4:] or ["never"])}

    def _timers(self, verb: str) -> Given:
        thread = self._one(THREADS)
        match verb:
            case "create":
                delay: Given = {"kind": "delay", "seconds": self._one((0, 0, 5, 30))}
                delay["repeat"] = self._one((False, delay["seconds"] > 0, True))
                given: Given = {"thread_id": thread, "trigger": delay, "content": "ring"}
                return {**given, "idempotency_key": self._one(KEYS)}
            case "fire_due" | "claim_due":
                return {"owner": self._one(OWNERS), "limit": self._one((1, 100))}
            case "mark_due":
                return {}
            case _:
                timers = [(one.thread_id, name) for name, one in self._known.timers.items()]
                thread, name = self._one(timers or [(thread, "never")])
                more = {"owner": self._one(OWNERS)} if verb == "claim" else {}
                return {"thread_id": thread, "timer_id": name, **more}

    def _threads(self, _verb: str) -> Given:
        archived = [name for name, one in self._known.queues.items() if one.life == "archived"]
        return {"thread_id": self._one(archived or THREADS)}

    def _recovery(self, _verb: str) -> Given:
        return {}
