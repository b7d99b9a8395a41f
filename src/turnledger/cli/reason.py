"""Why a queue gives out no claim, in words."""

_SENTENCES = {
    "deleted": "the thread is deleted",
    "archived": "the thread is archived (turnledger thread unarchive)",
    "paused": "the queue is paused (turnledger queue resume)",
    "expired_claim": "the claim on its head is over (turnledger queue recover)",
    "in_flight": "a queued turn is in flight",
    "failed_head": "its head has failed (turnledger queue retry, resolve or delete)",
    "not_yet": "its head can't be claimed yet (its not_before is to come)",
    "empty": "nothing waits in it",
}
_MOVED = "another process was faster, and its head could be claimed now"


def explained(reason: str | None) -> str:
    """The reason's word and what it means."""
    if reason is None:
        return _MOVED
    return f"{reason}, {_SENTENCES[reason]}" if reason in _SENTENCES else reason
