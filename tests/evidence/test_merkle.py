"""The tree is that of RFC 6962: against Certificate Transparency's vectors and the definition."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnledger.infrastructure.merkle import (
    Inclusion,
    MerkleTree,
    Node,
    root_from,
    siblings,
)

# Of Certificate Transparency's own tests: the leaves, and the root of the first n of them.
LEAVES = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PATHS = {
    0: [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    5: [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}


def defined(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, as it stands there."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()


def defined_path(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, 2.1.1, as it stands there."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*defined_path(m, leaves[:k]), defined(leaves[k:])]
    return [*defined_path(m - k, leaves[k:]), defined(leaves[:k])]


def split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def grown(leaves: list[bytes], wanted: set[int] | None = None, pages: int = 3) -> MerkleTree:
    """A tree that got its leaves page by page."""
    keep = {node for place in wanted or () for node in siblings(place, len(leaves))}
    tree = MerkleTree(keep)
    for start in range(0, len(leaves), pages):
        tree.extend(leaves[start : start + pages])
    return tree


@pytest.mark.parametrize("size", range(9))
def test_the_roots_are_those_of_certificate_transparency(size: int) -> None:
    assert grown(LEAVES[:size]).root().hex() == ROOTS[size]


@pytest.mark.parametrize("place", PATHS)
def test_the_audit_paths_are_those_of_certificate_transparency(place: int) -> None:
    tree = grown(LEAVES, {place})
    assert tree.root().hex() == ROOTS[8]
    assert [tree.kept[node].hex() for node in siblings(place, 8)] == PATHS[place]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 140), st.integers(1, 40), st.data())
def test_roots_and_paths_are_those_of_the_definition(
    size: int, pages: int, data: st.DataObject
) -> None:
    leaves = [b"%d" % number for number in range(size)]
    chosen = data.draw(st.sets(st.integers(0, size - 1), max_size=9)) if size else set()
    tree = grown(leaves, chosen, pages)
    assert tree.root() == defined(leaves)
    for place in chosen:
        path = [tree.kept[node] for node in siblings(place, size)]
        assert path == defined_path(place, leaves)
        assert root_from(leaves[place], place, size, path) == defined(leaves)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 140), st.data())
def test_a_leaf_is_proven_at_its_own_place_and_at_no_other(size: int, data: st.DataObject) -> None:
    leaves = [b"%d" % number for number in range(size)]
    chosen = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9, unique=True))
    tree = grown(leaves, set(chosen))
    inclusion = Inclusion(size, tree.root(), tree.kept)
    for place in chosen:
        assert not inclusion.holds(place, b"another")
        assert not inclusion.holds(place ^ 1, leaves[place])
        assert inclusion.holds(place, leaves[place])
        assert not inclusion.holds(place, b"another")
    assert not inclusion.holds(-1, leaves[0])
    assert not inclusion.holds(size, leaves[0])


def test_nodes_that_dont_lead_to_the_root_prove_nothing() -> None:
    tree = grown(LEAVES, {2, 5})
    root = tree.root()
    for node in tree.kept:
        rest = {one: hashed for one, hashed in tree.kept.items() if one != node}
        for place in (2, 5):
            needs = node in siblings(place, 8)
            for nodes in (rest, {**rest, node: bytes(32)}):
                assert Inclusion(8, root, nodes).holds(place, LEAVES[place]) is not needs


def test_a_path_of_the_wrong_length_leads_nowhere() -> None:
    path = [bytes.fromhex(text) for text in PATHS[5]]
    root = root_from(LEAVES[5], 5, 8, path)
    assert root is not None
    assert root.hex() == ROOTS[8]
    for wrong in (path[:2], [*path, path[0]], []):
        assert root_from(LEAVES[5], 5, 8, wrong) is None
    assert root_from(LEAVES[5], 8, 8, path) is None


def test_only_what_is_to_be_kept_is_kept() -> None:
    leaves = [bytes(32)] * 5_000
    tree = grown(leaves, pages=700)
    tree.root()
    assert tree.kept == {}
    assert len(tree._left) <= 14
    keep = {Node(0, 4_999), Node(3, 0)}
    kept = MerkleTree(keep)
    kept.extend(leaves)
    assert set(kept.kept) == keep
