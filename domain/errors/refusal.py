"""The state doesn't allow it; nothing changed."""

from typing import Any

from turnledger.domain.errors.root import LedgerError


class Refusal(LedgerError):
    """The state doesn't allow it. Nothing changed."""


class AttemptsExhausted(Refusal):
    """The coordinator turn has as many attempts as the retry policy allows. Settle it."""

    turn_id: str
    attempt: int
    limit: int

    def __init__(self, turn_id: str, attempt: int, limit: int) -> None:
        super().__init__(
            f"turn {turn_id} can't have attempt {attempt}, as its retry policy allows {limit}; "
            "complete or fail it",
            turn_id=turn_id,
            attempt=attempt,
            limit=limit,
        )


class ClaimLost(Refusal):
    """The claim isn't the current one any more, or its lease is over. Stop working on it."""

    thread_id: str
    owner: str
    epoch: int

    def __init__(
        self, target: str, owner: str, epoch: int, reason: str, *, kind: str = "thread"
    ) -> None:
        super().__init__(
            f"{owner}'s claim on {kind} {target} (epoch {epoch}) is lost: {reason}; stop "
            "working on it",
            **{f"{kind}_id": target},
            owner=owner,
            epoch=epoch,
            reason=reason,
        )


class ContentPurged(Refusal):
    """The contents of a thread or a work item were erased: nothing more is taken about it."""

    def __init__(self, subject: str) -> None:
        kind, _, target = subject.partition(":")
        name = kind.replace("_", " ")
        super().__init__(
            f"the contents of {name} {target} were purged; nothing more is taken about it",
            **{f"{kind}_id": target},
        )


class IdempotencyConflict(Refusal):
    """The key was used before, for something else."""

    def __init__(self, scope: str, key: str, command: str) -> None:
        super().__init__(
            f"key {key!r} of {scope} was used by {command} with other arguments; use a new key "
            "for a new request",
            scope=scope,
            key=key,
            command=command,
        )


class InvalidTransition(Refusal):
    """What is there isn't in a state from which this command goes on."""

    def __init__(
        self, target: str, command: str, reason: str, *, kind: str = "thread", **facts: Any
    ) -> None:
        super().__init__(
            f"{command} on {kind} {target}: {reason}",
            **{f"{kind}_id": target},
            command=command,
            reason=reason,
            **facts,
        )


class NotEncrypted(Refusal):
    """The ledger wasn't made with `encrypt=True`, so nothing of it can be purged."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url}: {reason}", url=url, reason=reason)


class NothingRecorded(Refusal):
    """The ledger has no event about it."""

    def __init__(self, kind: str, target: str) -> None:
        name = kind.replace("_", " ")
        super().__init__(f"there is no event about {name} {target}", **{f"{kind}_id": target})


class OperationNotFound(Refusal):
    """No such operation was ever created."""

    def __init__(self, key: str) -> None:
        super().__init__(f"there is no operation {key}", key=key)


class OperationSettled(Refusal):
    """The operation is settled, and had no effect. Use another key to try again."""

    key: str
    effect: str

    def __init__(self, key: str, effect: str) -> None:
        super().__init__(
            f"operation {key} is settled, and its effect is {effect}; use another key to try again",
            key=key,
            effect=effect,
        )


class OutcomeUnknown(Refusal):
    """Nobody can know whether the operation took effect. Find out, and resolve it."""

    key: str
    execution: str
    effect: str

    def __init__(self, key: str, execution: str, effect: str) -> None:
        super().__init__(
            f"operation {key} is {execution}, and its effect {effect}; wait for its owner, or find "
            "out and resolve it",
            key=key,
            execution=execution,
            effect=effect,
        )


class QueueFull(Refusal):
    """The thread has as many visible queued turns as the setting allows."""

    retryable = True
    limit: int
    visible: int

    def __init__(self, thread_id: str, visible: int, limit: int) -> None:
        super().__init__(
            f"thread {thread_id} has {visible} visible queued turns of at most {limit}; delete "
            "some, or wait until they have run",
            thread_id=thread_id,
            visible=visible,
            limit=limit,
        )


class QueuedTurnNotFound(Refusal):
    """The thread has no such queued turn, or not any more."""

    def __init__(self, thread_id: str, queued_turn_id: str) -> None:
        super().__init__(
            f"thread {thread_id} has no queued turn {queued_turn_id} in its visible queue",
            thread_id=thread_id,
            queued_turn_id=queued_turn_id,
        )


class ReorderMismatch(Refusal):
    """The given ids aren't exactly the visible queue. List it again and decide anew."""

    retryable = True
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    def __init__(
        self,
        thread_id: str,
        missing: tuple[str, ...],
        unknown: tuple[str, ...],
        repeated: tuple[str, ...] = (),
    ) -> None:
        parts = (("missing", missing), ("unknown", unknown), ("given twice", repeated))
        said = "; ".join(f"{word}: {', '.join(ids)}" for word, ids in parts if ids)
        super().__init__(
            f"the ids aren't exactly the visible queue of thread {thread_id} ({said}); list it "
            "again",
            thread_id=thread_id,
            missing=missing,
            unknown=unknown,
            repeated=repeated,
        )


class RequestChanged(Refusal):
    """The attempt was prepared with another request. The stored one counts."""

    turn_id: str
    attempt: int

    def __init__(self, turn_id: str, attempt: int, request_hash: str, given: str) -> None:
        super().__init__(
            f"attempt {attempt} of turn {turn_id} was prepared with the request {request_hash}, "
            f"not {given}; send the stored request, or prepare another attempt",
            turn_id=turn_id,
            attempt=attempt,
            request_hash=request_hash,
            given=given,
        )


class StaleRevision(Refusal):
    """The work item has changed since. Read it again and decide anew."""

    work_item_id: str
    expected: int
    revision: int

    def __init__(self, work_item_id: str, expected: int, revision: int) -> None:
        super().__init__(
            f"work item {work_item_id} is at revision {revision}, not {expected}; read it again "
            "and decide anew",
            work_item_id=work_item_id,
            expected=expected,
            revision=revision,
        )


class ThreadArchived(Refusal):
    """The thread is archived: it takes and starts no work until it is unarchived."""

    def __init__(self, thread_id: str) -> None:
        message = f"thread {thread_id} is archived; unarchive it first"
        super().__init__(message, thread_id=thread_id)


class ThreadDeleted(Refusal):
    """The thread is deleted. Its history remains; it takes no more commands."""

    def __init__(self, thread_id: str) -> None:
        message = f"thread {thread_id} is deleted; use another thread"
        super().__init__(message, thread_id=thread_id)


class TimerLimitReached(Refusal):
    """The thread has as many live timers as the setting allows."""

    retryable = True
    limit: int
    live: int

    def __init__(self, thread_id: str, live: int, limit: int) -> None:
        super().__init__(
            f"thread {thread_id} has {live} live timers of at most {limit}; delete some, or wait "
            "until they have ended",
            thread_id=thread_id,
            live=live,
            limit=limit,
        )


class TimerNotFound(Refusal):
    """The thread has no such timer, or not any more."""

    def __init__(self, thread_id: str, timer_id: str) -> None:
        super().__init__(
            f"thread {thread_id} has no live timer {timer_id}",
            thread_id=thread_id,
            timer_id=timer_id,
        )


class TurnNotFound(Refusal):
    """No such coordinator turn was ever begun."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"there is no turn {turn_id}", turn_id=turn_id)
