"""What all events of a bundle come to: the same sums whether a bundle is written or verified."""

import hashlib
from collections.abc import Sequence
from typing import Final

from affidavit.seal.bundle.manifest import Contents
from affidavit.seal.bundle.merkle import MerkleTree, leaves_of

_TREE_PORTION: Final = 4096  # Leaves at a time: a level of the tree costs some steps by itself.


class Totals:
    """Counts, digests and roots of lines that come in portions."""

    def __init__(self) -> None:
        self._bytes = hashlib.sha256()
        self._hashes = hashlib.sha256()
        self._tree = MerkleTree()
        self._leaves: list[bytes] = []
        self.size = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return self._tree.size + len(self._leaves)

    def add(self, text: bytes, hashes: Sequence[bytes], lines: Sequence[bytes]) -> None:
        """Add whole lines: the text, the content hash of each in hexadecimal digits, and each line.

        The lines stand behind the mark of a leaf, as `merkle.marked_lines` gives them.
        """
        self._bytes.update(text)
        self.size += len(text)
        self._hashes.update(b"sha256:%b\n" % b"\nsha256:".join(hashes))
        self._leaves += leaves_of(lines)
        if len(self._leaves) >= _TREE_PORTION:
            self._grow()

    def _grow(self) -> None:
        self._tree.extend(self._leaves)
        self._leaves = []

    def contents(self, run_id: str) -> Contents:
        """Return what a manifest has to say of these events."""
        self._grow()
        return Contents(
            run_id,
            self.count,
            self.size,
            f"sha256:{self._bytes.hexdigest()}",
            f"sha256:{self._hashes.hexdigest()}",
            f"sha256:{self._tree.root().hex()}",
        )
