"""The container of a bundle: a gzip'd tar archive with fixed members, under limits."""

import hashlib
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import MAX_DEPTH, JsonLimits
from affidavit.base.text import excerpt

# How large a bundle may be.
#
# Origin: the limits object of the soak report in ADR-025, with its eight names. The defaults are
# Assay's, so that a bundle that one tool accepts is not too large for the other. A limit is the
# largest accepted value.

# Assay's limits on the keys of one object and on the length of a text.
_MAX_KEYS: Final = 10_000
_MAX_STRING: Final = 1024 * 1024


class BundleLimits(Struct, frozen=True):
    """The eight limits. `max_line_bytes` excludes the line feed; paths are in bytes."""

    max_bundle_bytes: int = 100 * 1024 * 1024
    max_decode_bytes: int = 1024 * 1024 * 1024
    max_manifest_bytes: int = 10 * 1024 * 1024
    max_events_bytes: int = 500 * 1024 * 1024
    max_events: int = 100_000
    max_line_bytes: int = 1024 * 1024
    max_path_len: int = 256
    max_json_depth: int = 64

    def for_json(self, max_bytes: int) -> JsonLimits:
        """Return the limits of one JSON text of the bundle."""
        return JsonLimits(max_bytes, self.max_json_depth, _MAX_KEYS, _MAX_STRING)


DEFAULT_LIMITS: Final = BundleLimits()
LIMIT_NAMES: Final = BundleLimits.__struct_fields__


def limits_from_wire(value: object, defaults: BundleLimits = DEFAULT_LIMITS) -> BundleLimits:
    """Return the defaults with the overrides of a JSON object.

    An unknown name is an error: a misspelt limit would otherwise be ignored in silence.
    """
    if not isinstance(value, Mapping):
        raise _invalid_limits("they are not a JSON object")
    for name, number in value.items():
        if name not in LIMIT_NAMES:
            raise _invalid_limits(f"no limit is called {excerpt(str(name))!a}")
        if type(number) is not int or number < 1:
            raise _invalid_limits("it is not a whole number above zero", name)
    if value.get("max_json_depth", 1) > MAX_DEPTH:
        raise _invalid_limits(f"{MAX_DEPTH} levels can be read at most", "max_json_depth")
    return replace(defaults, **value)


def _invalid_limits(problem: str, field: str | None = None) -> AffidavitError:
    known = ", ".join(LIMIT_NAMES)
    return AffidavitError(faults.BUNDLE_LIMITS, Where(field=field), problem=problem, known=known)


# The strict reader of the bundle container: one gzip member with a tar archive of two plain files.
#
# gzip (RFC 1952): Python's own module reads any number of members and zero bytes behind them; zlib
# reads one and ignores the rest. A bundle has one meaning, so both are rejected. Deflate has many
# spellings of one content, so changed bytes can unpack to the same content. Our bundles therefore
# have the digest of their compressed bytes in an extra field of the gzip header, which other
# readers ignore: no bit of them can change.
#
# tar (POSIX ustar and GNU headers, of which Assay writes the plain part): nothing is extracted and
# no extension is honoured. Long names, PAX headers, links, sparse files and devices are rejected.

MAGIC: Final = b"\x1f\x8b"
# Deflate; no flags, or the one for an extra field; no time; best compression; no system.
_PLAIN_HEADER: Final = MAGIC + b"\x08\x00\x00\x00\x00\x00\x02\xff"
_SEALED: Final = MAGIC + b"\x08\x04\x00\x00\x00\x00\x02\xff"
_NAMED: Final = b"\x08\x08"  # Deflate, and the flag for a file name.
MAX_NAME_BYTES: Final = 255
_FIXED_BYTES: Final = 10
# The extra field: its length, the name of its only part, and the length of that, a SHA-256.
_EXTRA: Final = b"\x24\x00AF\x20\x00"
_DIGEST_BYTES: Final = 32
CHUNK_BYTES: Final = 128 * 1024
# glibc returns freed memory to the system and gets it back page by page with every portion, which
# takes a fifth of the time. After a large block was freed once, untouched, it keeps the memory.
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
    """An open binary file, or anything else that can be read in pieces."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        ...


def sealed_header(packed_sha256: bytes) -> bytes:
    """Return the gzip header of our bundles, for compressed bytes with this digest."""
    return _SEALED + _EXTRA + packed_sha256


class Inflater:
    """Reads one gzip member from a stream, within limits and in constant memory."""

    def __init__(self, stream: ByteStream, limits: BundleLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._packed = hashlib.sha256()
        self._read_bytes = 0
        self._made_bytes = 0
        self._crc = 0
        self._expected: bytes | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the header holds the digest of the compressed bytes."""
        return self._expected is not None

    def pieces(self) -> Iterator[bytes]:
        """Yield the content. At its end, size, checksum and digest have been checked."""
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
        if self._expected is not None and self._expected != self._packed.digest():
            raise _corrupt("its compressed bytes are not those that were written")

    def _read(self) -> bytes:
        piece = self._stream.read(CHUNK_BYTES)
        self._read_bytes += len(piece)
        limit = self._limits.max_bundle_bytes
        if self._read_bytes > limit:
            raise AffidavitError(faults.LIMIT_BUNDLE_BYTES, limit=limit, name="max_bundle_bytes")
        return piece

    def _after_header(self) -> bytes:
        """Read the header; return the bytes that were read after it."""
        held = self._more(b"", _FIXED_BYTES)
        if not held.startswith(MAGIC):
            problem = next(text for start, text in _OTHER_KINDS.items() if held.startswith(start))
            raise AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
        if held.startswith(_SEALED):
            size = len(_SEALED) + len(_EXTRA) + _DIGEST_BYTES
            held = self._more(held, size)
            self._expected = held[size - _DIGEST_BYTES : size]
            if not held.startswith(_EXTRA, len(_SEALED)):
                raise _corrupt("the extra field of its gzip header is not the one of a bundle")
            return held[size:]
        if held[2:4] == _NAMED:
            return self._after_name(held[_FIXED_BYTES:])
        if held[2:4] != _PLAIN_HEADER[2:4]:
            problem = "its gzip header has a method or flags that a bundle does not have"
            raise AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
        return held[_FIXED_BYTES:]

    def _after_name(self, held: bytes) -> bytes:
        """Pass over the name of the file, which `gzip run.tar` writes and no reader interprets."""
        held = self._more(MAGIC + held, len(MAGIC) + MAX_NAME_BYTES)[len(MAGIC) :]
        name, end, rest = held.partition(b"\0")
        if not end or len(name) > MAX_NAME_BYTES:
            problem = f"the file name in its gzip header has more than {MAX_NAME_BYTES} bytes"
            raise AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
        return rest

    def _more(self, held: bytes, size: int) -> bytes:
        while len(held) < size and (piece := self._read()):
            held += piece
        if held.startswith(MAGIC) and len(held) < size:
            raise _corrupt("it ends within its header")
        return held

    def _inflated(self, packed: bytes) -> Iterator[bytes]:
        if self._expected is not None:
            self._packed.update(packed)
        rest = packed
        while rest and not self._inflate.eof:
            try:
                made = self._inflate.decompress(rest, CHUNK_BYTES)
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
        """Return the error for what follows the first member."""
        behind = self._more(self._inflate.unused_data + held, TRAILER_BYTES + len(MAGIC))
        if behind[TRAILER_BYTES:].startswith(MAGIC):
            return AffidavitError(faults.ARCHIVE_GZIP_MEMBERS)
        return AffidavitError(faults.ARCHIVE_TRAILING, what="compressed data")


def gzip_trailer(crc: int, size: int) -> bytes:
    """Return the end of a gzip member whose content has this CRC-32 and size."""
    return crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _corrupt(problem: str) -> AffidavitError:
    return AffidavitError(faults.ARCHIVE_CORRUPT, problem=problem)


MANIFEST: Final = "manifest.json"
EVENTS: Final = "events.ndjson"
MEMBERS: Final = (MANIFEST, EVENTS)
BLOCK: Final = 512
RECORD: Final = 20 * BLOCK
_ZEROS: Final = bytes(BLOCK)
_MAX_MEMBERS: Final = 16
_MAX_EXTENSION: Final = 1024 * 1024
_PLAIN_FILE: Final = (b"0", b"\0")
_LONG_NAME: Final = b"L"
_PAX_KINDS: Final = (b"x", b"g")
_REFUSED_KINDS: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a folder",
    b"6": "a pipe",
    b"S": "a sparse file",
    b"K": "a link with a long target",
    _LONG_NAME: "a member with a name apart",
    b"x": "a member with a PAX header",
    b"g": "a PAX header for all members",
}


class TarStream:
    """Returns exact numbers of bytes from content that comes in pieces of any size."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._at = 0

    def portions(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes in portions; fewer if the content ends."""
        while size and (portion := self._some(size)):
            size -= len(portion)
            yield portion

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer if the content ends."""
        return b"".join(self.portions(size))

    def _some(self, most: int) -> bytes:
        if self._at == len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
        portion = self._piece[self._at : self._at + most]
        self._at += len(portion)
        return portion


class TarHeader(Struct, frozen=True):
    """The tar header of a member."""

    name: str
    size: int

    @property
    def padding(self) -> int:
        """The number of bytes that fill its last block."""
        return -self.size % BLOCK


def next_member(content: TarStream, limits: BundleLimits) -> TarHeader | None:
    """Return the header of the next member; None at the end of the archive."""
    block = content.take(BLOCK)
    if block == _ZEROS:
        return None
    if len(block) < BLOCK:
        raise AffidavitError(faults.ARCHIVE_CORRUPT, problem="the tar archive has no end")
    kind, raw_name, size = _fields(block)
    if size > limits.max_decode_bytes:
        limit = limits.max_decode_bytes
        raise AffidavitError(faults.LIMIT_DECODE_BYTES, limit=limit, name="max_decode_bytes")
    if kind in _PLAIN_FILE:
        return TarHeader(_name(raw_name, limits), size)
    raise _refused_kind(kind, raw_name, content.take(min(size, _MAX_EXTENSION)), limits)


def require_padding(content: TarStream, header: TarHeader) -> None:
    """Read the padding of a member; raise if anything is hidden in it."""
    if content.take(header.padding) != bytes(header.padding):
        raise AffidavitError(faults.ARCHIVE_TRAILING, what=f"member {header.name}")


def require_end(content: TarStream) -> None:
    """Read the second zero block, and zeros up to a full record."""
    if content.take(BLOCK) != _ZEROS:
        raise AffidavitError(faults.ARCHIVE_CORRUPT, problem="the tar archive has no end")
    rest = content.take(RECORD)
    if len(rest) >= RECORD or len(rest) % BLOCK or rest.strip(b"\0"):
        raise AffidavitError(faults.ARCHIVE_TRAILING, what="tar archive")


def refuse_member(header: TarHeader, content: TarStream, limits: BundleLimits) -> AffidavitError:
    """Return why a member is rejected: it is unknown, a duplicate, or one of too many."""
    name = excerpt(header.name)
    if unicodedata.normalize("NFC", header.name).casefold() in MEMBERS:
        return AffidavitError(faults.ARCHIVE_DUPLICATE, name=name)
    count, following = 1, header
    while not following.size:
        after = next_member(content, limits)
        if after is None:
            break
        count, following = count + 1, after
        if count > _MAX_MEMBERS:
            return AffidavitError(faults.LIMIT_MEMBERS, limit=_MAX_MEMBERS)
    return AffidavitError(faults.ARCHIVE_UNLISTED, name=name)


def _fields(block: bytes) -> tuple[bytes, bytes, int]:
    """Return kind, name and size of a header after checking its checksum."""
    stored = _number(block[148:156])
    if stored != sum(block) - sum(block[148:156]) + 8 * 0x20:
        problem = "the checksum of a tar header does not hold"
        raise AffidavitError(faults.ARCHIVE_CORRUPT, problem=problem)
    if block[257:262] != b"ustar":
        raise _not_tar("a header is neither ustar nor GNU")
    raw_name, raw_prefix = block[:100], block[345:500]
    if block[257:263] == b"ustar\0" and raw_prefix.strip(b"\0"):
        raw_name = raw_prefix.rstrip(b"\0") + b"/" + raw_name
    return block[156:157], raw_name, _number(block[124:136])


def _number(field: bytes) -> int:
    """Return an octal number. The base-256 form is for sizes above 8 GiB, beyond every limit."""
    digits = field.strip(b" \0")
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise _not_tar("a number in a header is not octal")
    return int(digits, 8)


def _name(field: bytes, limits: BundleLimits) -> str:
    """Return the name of a member; raise if it could lead to another path."""
    raw = field.rstrip(b"\0")
    if len(raw) > limits.max_path_len:
        limit = limits.max_path_len
        raise AffidavitError(faults.LIMIT_PATH, limit=limit, name="max_path_len")
    name = raw.decode("utf-8", "backslashreplace")
    parts = name.removesuffix("/").split("/")
    if set("\0\\:") & set(name) or {"", ".", ".."} & set(parts):
        raise AffidavitError(faults.ARCHIVE_PATH, name=excerpt(name))
    return name


def _refused_kind(
    kind: bytes, raw_name: bytes, data: bytes, limits: BundleLimits
) -> AffidavitError:
    """Return why a member that is not a plain file is rejected; `data` is its content.

    If the member carries a name for another one, an unsafe name is the worse of the two reasons.
    """
    names = [data] if kind == _LONG_NAME else _pax_paths(data) if kind in _PAX_KINDS else []
    for name in names:
        _name(name, limits)
    is_sparse = kind in _PAX_KINDS and b"GNU.sparse." in data
    what = "a sparse file" if is_sparse else _REFUSED_KINDS.get(kind, "of an unknown kind")
    shown = excerpt(raw_name.rstrip(b"\0").decode("utf-8", "backslashreplace"))
    return AffidavitError(faults.ARCHIVE_TYPE, name=shown, kind=what)


def _pax_paths(data: bytes) -> list[bytes]:
    """Return the names in a PAX header."""
    lines = data.split(b"\n")
    return [line.partition(b"=")[2] for line in lines if line.partition(b"=")[0].endswith(b"path")]


def _not_tar(problem: str) -> AffidavitError:
    return AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
