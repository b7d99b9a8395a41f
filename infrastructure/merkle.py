"""The Merkle tree over the log (RFC 6962, section 2.1), hashed as its leaves come.

The tree of n leaves is split at the largest power of two below n. That is the same as putting the
nodes of each level together in pairs and letting one that is left over move up as it is; so a node
has a level, 0 for leaves, and a place in it, from 0 on. No library is used: ADR 25 says why.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

_sha256 = hashlib.sha256
EMPTY_ROOT = _sha256(b"").digest()
HASH_BYTES = 32


class Node(NamedTuple):
    """Where a node stands."""

    level: int
    place: int


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf: SHA-256(0x00 ‖ leaf)."""
    return _sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 ‖ left ‖ right)."""
    return _sha256(b"\1" + left + right).digest()


class MerkleTree:
    """A tree that grows at its right end; its memory grows with the logarithm of its size.

    Attributes:
        size: How many leaves it has.
        kept: The hashes of the nodes that are to be kept, as far as they are known.
    """

    def __init__(self, keep: Collection[Node] = ()) -> None:
        """Start with no leaf.

        Args:
            keep: The nodes whose hashes somebody will ask for.
        """
        self.size = 0
        self.kept: dict[Node, bytes] = {}
        self._keep = keep
        self._left: list[bytes | None] = []  # by level: what waits for the node to its right

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Take the next leaves: the more at once, the faster."""
        nodes = [_sha256(b"\0" + leaf).digest() for leaf in leaves]
        first, level = self.size, 0
        self.size += len(nodes)
        while nodes:
            self._see(level, first, nodes)
            if level == len(self._left):
                self._left.append(None)
            waiting = self._left[level]
            if waiting is not None:
                nodes.insert(0, waiting)
            self._left[level] = nodes[-1] if len(nodes) & 1 else None
            pairs = zip(nodes[::2], nodes[1::2], strict=False)
            nodes = [_sha256(b"\1" + left + right).digest() for left, right in pairs]
            first, level = first >> 1, level + 1

    def _see(self, level: int, first: int, nodes: Iterable[bytes]) -> None:
        if self._keep:
            for place, node in enumerate(nodes, first):
                if (level, place) in self._keep:
                    self.kept[Node(level, place)] = node

    def root(self) -> bytes:
        """The hash of the tree as it is; that of nothing if it is empty.

        With it, also the nodes at the right edge are kept.
        """
        edge: bytes | None = None
        for level, waiting in enumerate(self._left):
            if waiting is not None:
                edge = waiting if edge is None else node_hash(waiting, edge)
            if edge is not None:
                self._see(level + 1, self.size >> (level + 1), [edge])
        return EMPTY_ROOT if edge is None else edge


def siblings(place: int, size: int) -> Iterator[Node]:
    """The nodes beside a leaf's way to the root, from the leaf on: its audit path (2.1.1).

    Args:
        place: The leaf's, from 0 on.
        size: How many leaves the tree has.
    """
    level = 0
    while size > 1:
        beside = place ^ 1
        if beside < size:
            yield Node(level, beside)
        place, size, level = place >> 1, (size + 1) >> 1, level + 1


def root_from(leaf: bytes, place: int, size: int, path: Iterable[bytes]) -> bytes | None:
    """The root that a leaf and its audit path lead to; None if the path has a wrong length.

    Args:
        leaf: Its content.
        place: Where it stands, from 0 on.
        size: How many leaves the tree has.
        path: The hashes of its `siblings`.
    """
    node, given = leaf_hash(leaf), list(path)
    beside = list(siblings(place, size))
    if not 0 <= place < size or len(given) != len(beside):
        return None
    for sibling, other in zip(beside, given, strict=True):
        node = node_hash(node, other) if sibling.place & 1 else node_hash(other, node)
    return node


class Inclusion:
    """Shows of one leaf after the other that it is in a tree, each by itself."""

    def __init__(self, size: int, root: bytes, nodes: Mapping[Node, bytes]) -> None:
        """Take the tree's size and root, and the `siblings` of all leaves that will be asked for.

        The nodes may come from anybody: they prove a leaf only if they lead to the root.
        """
        self._size = size
        self._nodes = nodes
        self._proven = {Node(max(size - 1, 0).bit_length(), 0): root}

    def holds(self, place: int, leaf: bytes) -> bool:
        """Whether the leaf at a place, from 0 on, is this one."""
        if not 0 <= place < self._size:
            return False
        seen: dict[Node, bytes] = {}
        node, width, at = leaf_hash(leaf), self._size, Node(0, place)
        while at not in self._proven:
            seen[at] = node
            beside = Node(at.level, at.place ^ 1)
            if beside.place < width:
                other = self._nodes.get(beside)
                if other is None:
                    return False
                seen[beside] = other
                node = node_hash(node, other) if beside.place & 1 else node_hash(other, node)
            at, width = Node(at.level + 1, at.place >> 1), (width + 1) >> 1
        if self._proven[at] != node:
            return False
        self._proven.update(seen)  # what led to the root needn't be climbed again
        return True
