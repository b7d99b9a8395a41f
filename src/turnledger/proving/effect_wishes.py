"""What is wished of coordinator turns, runs and operations."""

from random import Random
from typing import Any

from turnledger.proving.auditor import Auditor
from turnledger.proving.calls import Given

OWNERS = ("x", "y", "z")
ITEMS = ("v", "w")
KEYS = (None, None, "k1", "k2", "k3")
LEASES = (0.001, 10, 60, 60, 3_600)
_EFFECTS = ("applied", "applied", "not_applied", "failed_no_effect", "unknown")
_DECISIONS = ("confirm_applied", "confirm_not_applied", "confirm_failed_no_effect")


class EffectWishes:
    """Chooses arguments, by what is known."""

    def __init__(self, random: Random, known: Auditor) -> None:
        """Take a generator of chance, and what is known."""
        self._random, self._known = random, known
        self._seconds = 0.0

    def _one(self, among: Any) -> Any:
        return self._random.choice(list(among))

    def _claim(self, books: dict[str, Any], fallback: str) -> list[Any]:
        """Mostly a claim that is held; now and then one that was, or that never was."""
        held = [(name, one.held[:2]) for name, one in books.items() if one.held]
        stale = [(name, self._one(one.given[-3:])) for name, one in books.items() if one.given]
        chosen = held if held and self._random.random() < 0.8 else stale or held  # noqa: PLR2004
        if not chosen:
            return [fallback, self._one(OWNERS), 1]
        target, (owner, epoch) = self._one(chosen)
        chance = self._random.random()
        if chance < 0.03:  # noqa: PLR2004
            owner = self._one(OWNERS)
        return [target, owner, max(1, epoch - (chance > 0.9))]  # noqa: PLR2004

    # --- coordinators

    def _coordinator(self, verb: str) -> Given:
        item, owner, lease = self._one(ITEMS), self._one(OWNERS), self._one(LEASES)
        turns = self._known.turns
        match verb:
            case "begin":
                given: Given = {"work_item_id": item, "message": self._one(("hi", "ho"))}
                given["owner"] = self._one((None, None, owner))
                return {**given, "idempotency_key": self._one(KEYS)}
            case "claim" | "resume":
                turn = self._one(list(turns)[-5:] or ["never"])
                return {"turn_id": turn, "owner": owner, "lease": lease}
            case "claim_next":
                return {"owner": owner, "lease": lease, "work_item_id": self._one((None, item))}
            case "recover" | "touch":
                return {"work_item_id": item} if verb == "touch" else {}
            case "late_response" | "resolve" | "cancel":
                return self._of_unknown(verb)
            case _:
                return self._of_turn_claim(verb)

    def _of_unknown(self, verb: str) -> Given:
        turns = self._known.turns
        unknown = [
            (name, number)
            for name, turn in turns.items()
            for number, one in enumerate(turn.attempts, 1)
            if one.status == "unknown"
        ]
        sent = [
            name for name, one in turns.items() if one.latest and one.latest.status == "dispatching"
        ]
        turn, attempt = self._one(unknown or [(name, 1) for name in turns] or [("never", 1)])
        if verb == "cancel":
            return {"turn_id": self._one([*turns, *sent, *sent, turn]), "reason": "not wanted"}
        given: Given = {"turn_id": turn, "attempt": attempt}
        if verb == "late_response":
            return {**given, "response": "late"}
        decision = self._one(("adopt", "retry", "cancel"))
        more: Given = {"response": "found"} if decision == "adopt" else {}
        return {**given, "decision": decision, "by": "anybody", **more}

    def _of_turn_claim(self, verb: str) -> Given:
        claim = self._claim(self._known.turns, "never")
        turn = self._known.turns.get(claim[0])
        latest = turn.latest if turn else None
        attempt = max(1, len(turn.attempts)) if turn else 1
        shown: Given = {"attempt": attempt}
        more: dict[str, Given] = {
            "renew": {"lease": self._one(LEASES)},
            "prepare": {
                "request": self._one(("ask", "ask", "ask again")),
                "attempt": self._one((None, None, None, attempt, attempt + 1)),
            },
            "start_dispatch": shown,
            "respond": {**shown, "request_hash": latest.hash if latest else "0"},
            "refuse": {**shown, "error": "no", "retryable": self._one((True, False))},
            "reject": {**shown, "error": "bad"},
            "complete": {"result": "done", "expected_revision": self._revision(turn)},
            "fail": {"error": "broken"},
        }
        more["respond"]["response"] = "answer"
        return {"claim": claim, **more.get(verb, {})}

    def _revision(self, turn: Any) -> int | None:
        known = self._known.revisions.get(turn.work_item_id, 0) if turn else 0
        wished: int | None = self._one((None, None, known, known + 1))
        return wished

    # --- runs and operations

    def _runs(self, verb: str) -> Given:
        if verb == "start":
            run, owner = f"r{len(self._known.runs) - self._one((0, 1, 1))}", self._one(OWNERS)
            given: Given = {"run_id": run, "work_item_id": "v", "action_id": "act"}
            return {**given, "owner": owner, "lease": self._one(LEASES)}
        if verb == "interrupt":
            return {"run_id": self._one(list(self._known.runs) or ["r0"]), "reason": "stop"}
        more: Given = {"lease": self._one(LEASES)} if verb == "renew" else {}
        return {"claim": self._claim(self._known.runs, "r0"), **more}

    def _operations(self, verb: str) -> Given:
        known = self._known.operations
        if verb == "recover":
            return {}
        if verb in ("create", "create_and_claim"):
            return self._create(verb)
        claim = self._claim(self._known.runs, "r0")
        running = [name for name, one in known.items() if one.is_running or one.is_in_doubt]
        key = self._one(running or list(known)[-4:] or ["never"])
        match verb:
            case "complete":
                one = known.get(key)
                if one is not None and one.is_running:
                    claim = [one.run_id, *one.claimer]
                effect = self._one(_EFFECTS)
                return {"run_claim": claim, "key": key, "effect": effect, "result": "result"}
            case "claim":
                automatic = self._one((True, False))
                waiting = [name for name, one in known.items() if one.execution == "not_started"]
                key = self._one(waiting or [key])
                return {"run_claim": claim, "key": key, "automatic": automatic}
            case "resolve":
                given: Given = {"key": key, "decision": self._one(_DECISIONS), "by": "anybody"}
                return {**given, "evidence": None}
            case _:
                return {"key": key}

    def _create(self, verb: str) -> Given:
        known, claim = self._known.operations, self._claim(self._known.runs, "r0")
        given: Given = {"key": f"o{len(known) - self._one((0, 0, 1))}", "operation_type": "send"}
        given["payload"] = {"to": "ann"}
        given["replay_policy"] = self._one(("safe", "never_automatic", "probe_first"))
        if verb == "create_and_claim":
            return {"run_claim": claim, **given, "automatic": self._one((True, False, False))}
        return {**given, "run_id": claim[0], "work_item_id": "v", "action_id": "act"}
