"""What all events of a bundle come to: the same sums whether a bundle is written or verified."""

import hashlib
from collections.abc import Sequence

from affidavit.seal.bundle.manifest import Contents
from affidavit.seal.bundle.merkle import MerkleTree, leaves_of_text


class Totals:
    """Counts, digests and roots of lines that come in portions."""

    def __init__(self) -> None:
        self._bytes = hashlib.sha256()
        self._hashes = hashlib.sha256()
        self._tree = MerkleTree()
        self.size = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return self._tree.size

    def add(self, text: bytes, hashes: Sequence[bytes]) -> None:
        """Add whole lines, with the content hash of each in hexadecimal digits."""
        self._bytes.update(text)
        self.size += len(text)
        self._hashes.update(b"sha256:%b\n" % b"\nsha256:".join(hashes))
        self._tree.extend(leaves_of_text(text))

    def contents(self, run_id: str) -> Contents:
        """Return what a manifest has to say of these events."""
        return Contents(
            run_id,
            self.count,
            self.size,
            f"sha256:{self._bytes.hexdigest()}",
            f"sha256:{self._hashes.hexdigest()}",
            f"sha256:{self._tree.root().hex()}",
        )
