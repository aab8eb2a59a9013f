"""A Merkle tree over the lines of a bundle, and proofs that one line is among them.

Origin: RFC 6962, section 2.1. A leaf is hashed with a zero byte as its prefix and a node with a
one, so neither passes for the other; the size determines the shape of the tree. The leaves are the
lines of events.ndjson without line feeds, so time, source and run id are covered, which Assay's
content hashes leave out.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

_sha256 = hashlib.sha256
LEAF_PREFIX: Final = b"\0"
_NODE_PREFIX: Final = b"\1"
EMPTY_ROOT: Final = _sha256().digest()
DIGEST_BYTES: Final = 32


def leaf_of(line: bytes) -> bytes:
    """Return the hash of a line without its line feed."""
    return _sha256(LEAF_PREFIX + line).digest()


def leaf_prefixed(text: bytes) -> bytes:
    """Return whole lines with the leaf prefix before each, without the last line feed."""
    return (LEAF_PREFIX + text[:-1]).replace(b"\n", b"\n" + LEAF_PREFIX)


def leaf_prefixed_lines(text: bytes) -> list[bytes]:
    """Return the lines of a text, each with the leaf prefix."""
    return leaf_prefixed(text).split(b"\n")


def leaves_of(lines: Iterable[bytes]) -> bytes:
    """Return the hashes of lines that have the leaf prefix, one behind the other."""
    return b"".join([_sha256(line).digest() for line in lines])


def node_of(both: bytes) -> bytes:
    """Return the hash of two nodes, left and right."""
    return _sha256(_NODE_PREFIX + both).digest()


def joined_parents(nodes: bytes) -> list[bytes]:
    """Return the hashes of neighbouring pairs of nodes that stand one behind the other."""
    size, sha256, prefix = 2 * DIGEST_BYTES, _sha256, _NODE_PREFIX
    return [sha256(prefix + nodes[at : at + size]).digest() for at in range(0, len(nodes), size)]


def _parents(nodes: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of neighbouring pairs; the number of nodes is even."""
    pairs = zip(nodes[::2], nodes[1::2], strict=True)
    return [_sha256(_NODE_PREFIX + left + right).digest() for left, right in pairs]


class MerkleTree:
    """Computes the root of leaves that come in portions; it keeps one node for each level."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []  # Empty where no node waits for its neighbour.
        self.size = 0

    def extend(self, leaves: bytes) -> None:
        """Append leaves, given as their hashes one behind the other."""
        self.size += len(leaves) // DIGEST_BYTES
        nodes, level = leaves, 0
        while nodes:
            if level == len(self._waiting):
                self._waiting.append(b"")
            nodes = self._waiting[level] + nodes
            paired = len(nodes) - len(nodes) % (2 * DIGEST_BYTES)
            self._waiting[level] = nodes[paired:]
            nodes = b"".join(joined_parents(nodes[:paired]))
            level += 1

    def root(self) -> bytes:
        """Return the root of the leaves so far."""
        found = None
        for left in self._waiting:
            if left:
                found = left if found is None else _sha256(_NODE_PREFIX + left + found).digest()
        return EMPTY_ROOT if found is None else found


def audit_path(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return the nodes from one leaf to the root, lowest first (RFC 6962, 2.1.1)."""
    nodes, path = list(leaves), []
    while len(nodes) > 1:
        beside = index ^ 1
        if beside < len(nodes):
            path.append(nodes[beside])
        odd = [nodes.pop()] if len(nodes) % 2 else []
        nodes = _parents(nodes) + odd
        index //= 2
    return tuple(path)


def root_from_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root at the end of a path; None if no tree of this size has such a path."""
    if not 0 <= index < size:
        return None
    node, rest, last = leaf, list(path), size - 1
    while last:
        if index % 2 or index < last:
            if not rest:
                return None
            beside = rest.pop(0)
            pair = beside + node if index % 2 else node + beside
            node = _sha256(_NODE_PREFIX + pair).digest()
        index, last = index // 2, last // 2
    return None if rest else node
