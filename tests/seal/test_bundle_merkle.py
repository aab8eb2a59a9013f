"""The tree of RFC 6962: its published roots, its laws, and proofs that hold for nothing else."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.seal.bundle.merkle import (
    EMPTY_ROOT,
    MerkleTree,
    audit_path,
    leaf_of,
    leaf_prefixed_lines,
    leaves_of,
    root_from_path,
)

# The leaves and roots with which implementations of certificate transparency are tested.
LEAVES = [
    bytes.fromhex(digits)
    for digits in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    4: "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def root_of(leaves: list[bytes], *, portion: int = 1000) -> bytes:
    tree = MerkleTree()
    for at in range(0, len(leaves), portion):
        tree.extend(b"".join(leaves[at : at + portion]))
    assert tree.size == len(leaves)
    return tree.root()


@pytest.mark.parametrize("size", ROOTS)
def test_the_published_roots(size: int) -> None:
    assert root_of([leaf_of(leaf) for leaf in LEAVES[:size]]).hex() == ROOTS[size]


def test_no_leaves() -> None:
    assert MerkleTree().root() == EMPTY_ROOT


def numbered(size: int) -> list[bytes]:
    return [leaf_of(b"%d" % number) for number in range(size)]


@given(st.integers(1, 70), st.integers(1, 9))
def test_portions_make_no_difference(size: int, portion: int) -> None:
    assert root_of(numbered(size), portion=portion) == root_of(numbered(size))


@given(st.integers(1, 70).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))))
def test_a_proof_leads_to_the_root_and_nowhere_else(sized: tuple[int, int]) -> None:
    size, index = sized
    leaves = numbered(size)
    root, path = root_of(leaves), audit_path(leaves, index)
    assert root_from_path(leaves[index], index, size, path) == root
    assert len(path) <= size.bit_length()
    assert root_from_path(leaf_of(b"x"), index, size, path) != root
    assert root_from_path(leaves[index], index, size, (*path, leaves[0])) is None
    if path:
        assert root_from_path(leaves[index], index, size, path[:-1]) is None
        other = (*path[:-1], hashlib.sha256(path[-1]).digest())
        assert root_from_path(leaves[index], index, size, other) != root
    for wrong in set(range(size)) - {index}:
        assert root_from_path(leaves[index], wrong, size, path) != root


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_a_number_that_no_leaf_has(index: int) -> None:
    assert root_from_path(leaf_of(b""), index, 3, ()) is None


def test_a_node_is_not_a_leaf() -> None:
    first, second = leaf_of(b"a"), leaf_of(b"b")
    assert leaf_of(first + second) != root_of([first, second])


def test_the_lines_of_a_text() -> None:
    found = leaves_of(leaf_prefixed_lines(b"a\n\nbc\n"))
    assert found == leaf_of(b"a") + leaf_of(b"") + leaf_of(b"bc")
