"""What a ledger offers to those who want proof of what it holds."""

from collections.abc import Iterable

from turnledger import checkpoints
from turnledger.checkpoints import Checked, Checkpoint, InclusionProof
from turnledger.infrastructure.backend import Backend


class Provable:
    """The part of `Ledger` that makes checkpoints and proofs."""

    _backend: Backend

    def checkpoint(self) -> Checkpoint:
        """What the whole log is now: its size and the root of its Merkle tree (RFC 6962, 2.1).

        Keep its text where nobody who can write the ledger can write, or let others' tools sign it.

        Raises:
            StoreDamaged: An event is missing, or its hash is none.
        """
        return checkpoints.take(self._backend).checkpoint

    def check(self, checkpoint: Checkpoint) -> Checked:
        """Look whether the log still begins with the events that a checkpoint is about.

        Events are compared by their hashes; `verify` shows that their bytes give these. A ledger
        that was restored from a backup is still the same one: what the backup held is compared,
        and what it didn't is gone.
        """
        return self.check_all([checkpoint])[0]

    def check_all(self, several: Iterable[Checkpoint]) -> tuple[Checked, ...]:
        """The same for several checkpoints; the log is read once."""
        return checkpoints.check(self._backend, several)

    def prove(self, position: int) -> InclusionProof:
        """The proof that an event is at its position; the hashes of the whole log are read.

        Args:
            position: The event's, from 1 on.

        Raises:
            InvalidPayload: There is no such event.
            StoreDamaged: An event is missing, or its hash is none.
        """
        return checkpoints.prove(self._backend, position)
