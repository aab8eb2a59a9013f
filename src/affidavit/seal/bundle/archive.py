"""Walks a tar archive as it is unpacked, and refuses what is not two plain files.

Origin: POSIX ustar and GNU headers, of which Assay's writers use the plain part. Nothing is ever
extracted, no extension is honoured: a long name, a PAX header, a link, a sparse file or a device
has no place in a bundle, and is refused by what it would have done.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import bundles as faults
from affidavit.base.places import excerpt
from affidavit.seal.bundle.limits import BundleLimits

MANIFEST: Final = "manifest.json"
EVENTS: Final = "events.ndjson"
MEMBERS: Final = (MANIFEST, EVENTS)
BLOCK: Final = 512
RECORD: Final = 20 * BLOCK
_ZEROS: Final = bytes(BLOCK)
_MAX_MEMBERS: Final = 16
_MAX_EXTENSION: Final = 1024 * 1024
_PLAIN: Final = (b"0", b"\0")
_LONG_NAME: Final = b"L"
_PAX_KINDS: Final = (b"x", b"g")
_KINDS: Final = {
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


class Unpacked:
    """Takes exact numbers of bytes from content that comes in pieces of any size."""

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


@dataclass(frozen=True, slots=True)
class Header:
    """What a tar header says of a member."""

    name: str
    size: int

    @property
    def padding(self) -> int:
        """How many bytes fill its last block."""
        return -self.size % BLOCK


def next_member(content: Unpacked, limits: BundleLimits) -> Header | None:
    """Return the header of the next member, whose content follows; None at the archive's end."""
    block = content.take(BLOCK)
    if block == _ZEROS:
        return None
    if len(block) < BLOCK:
        raise AffidavitError(faults.ARCHIVE_CORRUPT, problem="the tar archive has no end")
    kind, raw_name, size = _fields(block)
    if size > limits.max_decode_bytes:
        limit = limits.max_decode_bytes
        raise AffidavitError(faults.LIMIT_DECODE_BYTES, limit=limit, name="max_decode_bytes")
    if kind in _PLAIN:
        return Header(_name(raw_name, limits), size)
    raise _refused_kind(kind, raw_name, content.take(min(size, _MAX_EXTENSION)), limits)


def require_padding(content: Unpacked, header: Header) -> None:
    """Read what fills a member's last block: zeros, or something was hidden there."""
    if content.take(header.padding) != bytes(header.padding):
        raise AffidavitError(faults.ARCHIVE_TRAILING, what=f"member {header.name}")


def require_end(content: Unpacked) -> None:
    """Read what follows the first zero block: another one, and zeros up to a full record."""
    if content.take(BLOCK) != _ZEROS:
        raise AffidavitError(faults.ARCHIVE_CORRUPT, problem="the tar archive has no end")
    rest = content.take(RECORD)
    if len(rest) >= RECORD or len(rest) % BLOCK or rest.strip(b"\0"):
        raise AffidavitError(faults.ARCHIVE_TRAILING, what="tar archive")


def refuse_member(header: Header, content: Unpacked, limits: BundleLimits) -> AffidavitError:
    """Return why a member cannot stand where it stands: it is foreign, doubled, or one of many."""
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
    """Return kind, name and size as a header has them, when its checksum holds."""
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
    """Return an octal number; the base-256 form, for sizes beyond 8 GiB, is beyond every limit."""
    digits = field.strip(b" \0")
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise _not_tar("a number in a header is not octal")
    return int(digits, 8)


def _name(field: bytes, limits: BundleLimits) -> str:
    """Return a member's name, or refuse one that could lead anywhere but to itself."""
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
    kind: bytes, raw_name: bytes, said: bytes, limits: BundleLimits
) -> AffidavitError:
    """Return why a member that is not a plain file is refused; `said` is its content.

    What gives a name apart is refused for the name, if that is the worse of the two.
    """
    names = [said] if kind == _LONG_NAME else _pax_paths(said) if kind in _PAX_KINDS else []
    for name in names:
        _name(name, limits)
    is_sparse = kind in _PAX_KINDS and b"GNU.sparse." in said
    what = "a sparse file" if is_sparse else _KINDS.get(kind, "of an unknown kind")
    shown = excerpt(raw_name.rstrip(b"\0").decode("utf-8", "backslashreplace"))
    return AffidavitError(faults.ARCHIVE_TYPE, name=shown, kind=what)


def _pax_paths(said: bytes) -> list[bytes]:
    """Return the names that a PAX header would give; it is refused anyway, but for the worst."""
    lines = said.split(b"\n")
    return [line.partition(b"=")[2] for line in lines if line.partition(b"=")[0].endswith(b"path")]


def _not_tar(problem: str) -> AffidavitError:
    return AffidavitError(faults.ARCHIVE_FORMAT, problem=problem)
