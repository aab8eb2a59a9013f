"""Writes a bundle, piece by piece: the same events make the same bytes.

No name, time or user of the machine stands in it. The bytes also depend on the deflate library that
Python was built with; the content, and so every digest in the manifest, does not.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from affidavit.seal.bundle.archive import BLOCK, EVENTS, MANIFEST
from affidavit.seal.bundle.inflating import gzip_trailer, sealed_header

# Half the time of the best level, and within some per cent of its size, on events.
LEVEL: Final = 6
_NAME: Final = b"affidavit"


class Packing:
    """Packs one bundle. Its header has a digest of what follows, so it is known last.

    Whoever cannot hold the body in memory puts it aside, and writes the header before it.
    """

    def __init__(self) -> None:
        self._packed = hashlib.sha256()

    def body(self, manifest: bytes, events: Iterable[bytes], size: int) -> Iterator[bytes]:
        """Yield all but the header. `events` are the lines in pieces, `size` bytes in all."""
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        crc, written = 0, 0
        for piece in _tar_pieces(manifest, events, size):
            crc = zlib.crc32(piece, crc)
            written += len(piece)
            if packed := packer.compress(piece):
                self._packed.update(packed)
                yield packed
        last = packer.flush()
        self._packed.update(last)
        yield last + gzip_trailer(crc, written)

    def header(self) -> bytes:
        """Return the header, when the body is complete."""
        return sealed_header(self._packed.digest())


def bundle_bytes(manifest: bytes, events: bytes) -> bytes:
    """Return a bundle that is small enough to be held."""
    packing = Packing()
    body = b"".join(packing.body(manifest, (events,), len(events)))
    return packing.header() + body


def _tar_pieces(manifest: bytes, events: Iterable[bytes], size: int) -> Iterator[bytes]:
    yield tar_header(MANIFEST, len(manifest))
    yield manifest + bytes(-len(manifest) % BLOCK)
    yield tar_header(EVENTS, size)
    yield from events
    yield bytes(-size % BLOCK) + bytes(2 * BLOCK)


def tar_header(name: str, size: int) -> bytes:
    """Return the ustar header of a plain file that is nobody's and of no time."""
    block = bytearray(BLOCK)
    block[: len(name)] = name.encode()
    block[100:124] = b"0000644\x000000000\x000000000\x00"
    block[124:148] = b"%011o\x0000000000000\x00" % size
    block[148:157] = b"        0"
    block[257:265] = b"ustar\x0000"
    block[265 : 265 + len(_NAME)] = _NAME
    block[297 : 297 + len(_NAME)] = _NAME
    block[148:156] = b"%06o\x00 " % sum(block)
    return bytes(block)
