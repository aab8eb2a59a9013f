"""Unpacks gzip strictly, piece by piece: one member, nothing before, after or beside it.

Origin: RFC 1952. Python's own gzip reads any number of members and zero bytes behind them; zlib
reads one and says nothing of the rest. A bundle has one meaning, so each of these is refused.

Deflate has many spellings of one content (in a run of zeros any distance will do), so that changed
bytes can unpack to what they were. Bundles of ours have the digest of their compressed bytes in an
extra field of the gzip header, which every reader of gzip passes over: in them no bit can change.
"""

import hashlib
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import bundles as faults
from affidavit.seal.bundle.limits import BundleLimits

MAGIC: Final = b"\x1f\x8b"
# Deflate; no flags or the one for an extra field; no time; best compression; no system.
_PLAIN: Final = MAGIC + b"\x08\x00\x00\x00\x00\x00\x02\xff"
_SEALED: Final = MAGIC + b"\x08\x04\x00\x00\x00\x00\x02\xff"
_FIXED_BYTES: Final = 10
# The extra field: its length, the name of its one part, the length of that: a SHA-256.
_EXTRA: Final = b"\x24\x00AF\x20\x00"
_DIGEST_BYTES: Final = 32
PORTION: Final = 128 * 1024
# glibc gives freed memory back to the system, and gets it again page by page, at every portion: a
# fifth of the whole time. Having freed a large block once (none of which was touched) it keeps it.
bytes(30 * 1024 * 1024)
TRAILER_BYTES: Final = 8
_OTHER_KINDS: Final = {
    b"\xfd7zXZ": "it is compressed with xz",
    b"BZh": "it is compressed with bzip2",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd",
    b"PK\x03\x04": "it is a ZIP archive",
    b"": "it does not begin as gzip does, or is empty",
}


class ByteStream(Protocol):
    """An open binary file, or anything else that is read in pieces."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; nothing at the end."""
        ...


def sealed_header(packed_sha256: bytes) -> bytes:
    """Return the gzip header of a bundle of ours, for compressed bytes with this digest."""
    return _SEALED + _EXTRA + packed_sha256


class Inflater:
    """Reads one gzip member from a stream, under limits; nothing is held but the piece in hand."""

    def __init__(self, stream: ByteStream, limits: BundleLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._packed = hashlib.sha256()
        self._read_bytes = 0
        self._made_bytes = 0
        self._crc = 0
        self._said: bytes | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the header has the digest of the compressed bytes, and nothing else in it."""
        return self._said is not None

    def pieces(self) -> Iterator[bytes]:
        """Yield the content; when it ends, everything that gzip promises has been checked."""
        held = self._after_header()
        while True:
            yield from self._inflated(held[:-TRAILER_BYTES])
            held = held[-TRAILER_BYTES:]
            piece = self._read()
            if not piece:
                break
            if self._inflate.eof:
                raise self._late(held + piece)
            held += piece
        if self._inflate.unused_data:
            raise self._late(held)
        if not self._inflate.eof:
            raise _corrupt("it ends before its content does")
        if held != gzip_trailer(self._crc, self._made_bytes):
            raise _corrupt("the checksum of its content does not hold")
        if self._said is not None and self._said != self._packed.digest():
            raise _corrupt("its compressed bytes are not those that were written")

    def _read(self) -> bytes:
        piece = self._stream.read(PORTION)
        self._read_bytes += len(piece)
        limit = self._limits.max_bundle_bytes
        if self._read_bytes > limit:
            raise AffidavitError(faults.LIMIT_BUNDLE_BYTES, limit=limit, name="max_bundle_bytes")
        return piece

    def _after_header(self) -> bytes:
        """Read the header; return what was read behind it."""
        held = self._more(b"", _FIXED_BYTES)
        if not held.startswith(MAGIC):
            problem = next(text for start, text in _OTHER_KINDS.items() if held.startswith(start))
            raise AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
        if held.startswith(_SEALED):
            size = len(_SEALED) + len(_EXTRA) + _DIGEST_BYTES
            held = self._more(held, size)
            self._said = held[size - _DIGEST_BYTES : size]
            if not held.startswith(_EXTRA, len(_SEALED)):
                raise _corrupt("the extra field of its gzip header is not the one of a bundle")
            return held[size:]
        if held[2:4] != _PLAIN[2:4]:
            problem = "its gzip header has a method or flags that a bundle does not have"
            raise AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
        return held[_FIXED_BYTES:]

    def _more(self, held: bytes, size: int) -> bytes:
        while len(held) < size and (piece := self._read()):
            held += piece
        if held.startswith(MAGIC) and len(held) < size:
            raise _corrupt("it ends within its header")
        return held

    def _inflated(self, packed: bytes) -> Iterator[bytes]:
        if self._said is not None:
            self._packed.update(packed)
        rest = packed
        while rest and not self._inflate.eof:
            try:
                made = self._inflate.decompress(rest, PORTION)
            except zlib.error:
                raise _corrupt("its compressed data make no sense") from None
            rest = self._inflate.unconsumed_tail
            if made:
                yield self._counted(made)

    def _counted(self, made: bytes) -> bytes:
        self._made_bytes += len(made)
        limit = self._limits.max_decode_bytes
        if self._made_bytes > limit:
            raise AffidavitError(faults.LIMIT_DECODE_BYTES, limit=limit, name="max_decode_bytes")
        self._crc = zlib.crc32(made, self._crc)
        return made

    def _late(self, held: bytes) -> AffidavitError:
        """Say what follows the first member."""
        behind = self._more(self._inflate.unused_data + held, TRAILER_BYTES + len(MAGIC))
        if behind[TRAILER_BYTES:].startswith(MAGIC):
            return AffidavitError(faults.ARCHIVE_GZIP_MEMBERS)
        return AffidavitError(faults.ARCHIVE_TRAILING, what="compressed data")


def gzip_trailer(crc: int, size: int) -> bytes:
    """Return how a gzip member ends whose content has this CRC-32 and so many bytes."""
    return crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _corrupt(problem: str) -> AffidavitError:
    return AffidavitError(faults.ARCHIVE_CORRUPT, problem=problem)
