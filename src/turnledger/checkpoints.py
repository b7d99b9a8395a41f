"""Checkpoints: what a whole log was at some time, in 32 bytes that can be kept elsewhere.

`ledger.checkpoint()` gives one, `ledger.check()` says whether the log still begins with what it
says. A hash chain alone can't show that its end was cut off; a checkpoint does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import bindparam, select

from turnledger.checkpoint_note import Checkpoint
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import InvalidPayload, StoreDamaged
from turnledger.infrastructure import bundle_file
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.leaves import Leaves
from turnledger.infrastructure.merkle import MerkleTree, Node, root_from, siblings
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import run, statement
from turnledger.infrastructure.store import Store

_RECORDED_AT = statement(
    select(events.c.recorded_at).where(events.c.position == bindparam("position"))
)

Reason = Literal["holds", "other_ledger", "cut", "changed", "other_size"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What became of a checkpoint.

    Attributes:
        ok: Whether the log begins with the very events that it is about.
        reason: holds; other_ledger: it is about another one; cut: the log is shorter; changed:
            what was recorded then isn't what is there now; other_size: this is a bundle, of the
            log at another size.
        message: The same as a sentence.
    """

    checkpoint: Checkpoint
    ok: bool
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionProof:
    """Shows that an event is at its position, to whoever has the checkpoint.

    Attributes:
        position: The event's, from 1 on.
        hash: Its hash in the chain of its stream; hex.
        path: Its audit path (RFC 6962, 2.1.1), from the leaf on; hex.
        checkpoint: Of the log in which it is.
    """

    position: int
    hash: str
    path: tuple[str, ...]
    checkpoint: Checkpoint

    def holds(self) -> bool:
        """Whether it leads to the root of the checkpoint."""
        path = map(bytes.fromhex, self.path)
        place, size = self.position - 1, self.checkpoint.size
        found = root_from(bytes.fromhex(self.hash), place, size, path)
        return found is not None and found.hex() == self.checkpoint.root


class Grown(NamedTuple):
    """A log's tree, and what it is at its size."""

    checkpoint: Checkpoint
    tree: MerkleTree


def take(backend: Backend, size: int | None = None, keep: frozenset[Node] = frozenset()) -> Grown:
    """The checkpoint of the first events, with the nodes of their tree that are to be kept.

    Args:
        backend: The ledger's.
        size: How many events; None takes all that are committed.
        keep: Which nodes.

    Raises:
        StoreDamaged: An event is missing, or its hash is none.
    """
    store = backend.store
    bundle_file.refuse(store, "the tree of the log can't be made of it")
    if size is None:
        store.number()
        size = store.last_position()
    tree, leaves = MerkleTree(keep), Leaves(store, size)
    for page in leaves:
        tree.extend(page)
    if leaves.flaw is not None:
        raise StoreDamaged(store.url, f"{leaves.flaw} (see `turnledger verify`)")
    checkpoint = Checkpoint(
        ledger_id=backend.ledger_id,
        generation=backend.generation,
        size=size,
        root=tree.root().hex(),
        recorded_at=_recorded_at(store, size),
    )
    return Grown(checkpoint, tree)


def _recorded_at(store: Store, position: int) -> datetime | None:
    with store.reading() as cursor:
        found = run(cursor, store.dialect, _RECORDED_AT, {"position": position}).fetchone()
    return None if found is None else from_microseconds(found[0])


def carried(store: Store) -> Checkpoint | None:
    """The checkpoint that a bundle carries; None if the store is a whole ledger.

    Raises:
        InvalidPayload: It can't be read.
    """
    contents = bundle_file.read(store)
    return None if contents is None else Checkpoint.read(contents.checkpoint)[0]


def prove(backend: Backend, position: int) -> InclusionProof:
    """The proof that an event is in the log; all hashes of the log are read for it.

    Raises:
        InvalidPayload: There is no such event.
        StoreDamaged: An event is missing, or its hash is none.
    """
    backend.store.number()
    size = backend.store.last_position()
    if isinstance(position, bool) or not isinstance(position, int) or not 1 <= position <= size:
        raise InvalidPayload("position", f"must be one from 1 to {size}, not {position!r}")
    path = tuple(siblings(position - 1, size))
    checkpoint, tree = take(backend, size, frozenset(path))
    [leaf] = next(iter(Leaves(backend.store, position, after=position - 1)))
    return InclusionProof(
        position=position,
        hash=leaf.hex(),
        path=tuple(tree.kept[node].hex() for node in path),
        checkpoint=checkpoint,
    )


def check(backend: Backend, checkpoints: Iterable[Checkpoint]) -> tuple[Checked, ...]:
    """Look whether the log begins with what each checkpoint says; one pass serves them all."""
    wanted = list(checkpoints)
    mine_is = carried(backend.store)
    if mine_is is not None:
        return tuple(_compared(one, mine_is) for one in wanted)
    backend.store.number()
    last = backend.store.last_position()
    mine = [one for one in wanted if one.ledger_id == backend.ledger_id]
    sizes = sorted({one.size for one in mine if one.size <= last})
    roots, flaw = _roots(backend.store, sizes)
    return tuple(_checked(backend, one, last, roots.get(one.size), flaw) for one in wanted)


def _roots(store: Store, sizes: list[int]) -> tuple[dict[int, str], str | None]:
    """The root at each of some sizes, as far as the log is whole; and what is wrong with it."""
    tree, leaves = MerkleTree(), Leaves(store, max(sizes, default=0))
    roots, rest = {0: tree.root().hex()}, [size for size in sizes if size]
    for page in leaves:
        start = 0
        while rest and rest[0] <= tree.size + len(page) - start:
            end = start + rest[0] - tree.size
            tree.extend(page[start:end])
            roots[rest.pop(0)], start = tree.root().hex(), end
        tree.extend(page[start:])
    return roots, leaves.flaw


def _compared(checkpoint: Checkpoint, carried: Checkpoint) -> Checked:
    """A checkpoint beside the one that a bundle carries."""
    reason: Reason
    if checkpoint.ledger_id != carried.ledger_id:
        reason = "other_ledger"
        said = f"it is about ledger {checkpoint.ledger_id}, and this is of {carried.ledger_id}"
    elif checkpoint.size != carried.size:
        reason = "other_size"
        said = f"the bundle was made at {carried.size:,} events, and can be compared with no other"
    elif checkpoint.root != carried.root:
        reason, said = "changed", "the bundle is of a log of other ones"
    else:
        reason, said = "holds", "it is the one of the bundle; verify tests the bundle's events"
    return Checked(checkpoint=checkpoint, ok=reason == "holds", reason=reason, message=said)


def _checked(
    backend: Backend, checkpoint: Checkpoint, last: int, root: str | None, flaw: str | None
) -> Checked:
    size, restored = checkpoint.size, ""
    if checkpoint.generation != backend.generation:
        restored = (
            f"; the ledger was restored since: it was of generation {checkpoint.generation}"
            f" then, and is of {backend.generation} now"
        )
    reason: Reason
    if checkpoint.ledger_id != backend.ledger_id:
        reason = "other_ledger"
        said = f"it is about ledger {checkpoint.ledger_id}, and this is {backend.ledger_id}"
    elif size > last:
        reason = "cut"
        said = f"the log has {last:,}; those behind position {last} are gone from its end{restored}"
    elif root is None:
        reason, said = "changed", f"{flaw}: the log isn't what it was{restored}"
    elif root != checkpoint.root:
        reason, said = "changed", f"the log begins with other ones{restored}"
    else:
        reason, said = "holds", f"the log begins with these{restored}"
    return Checked(checkpoint=checkpoint, ok=reason == "holds", reason=reason, message=said)
