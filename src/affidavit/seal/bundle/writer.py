"""Writes a bundle: event lines from drafts, then the archive.

The same events make the same bytes: no name, time or user of the machine is in the archive. The
compressed bytes also depend on Python's deflate library; the content and its digests do not.
"""

import hashlib
import hmac
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.bundles import RECORD_VALUE
from affidavit.base.json_values import JsonValue
from affidavit.seal.bundle.container import BLOCK, EVENTS, MANIFEST, gzip_trailer, sealed_header
from affidavit.seal.bundle.events import (
    FLAGS,
    LEAF_SALT_BYTES,
    AwareDatetime,
    LineTemplate,
    VerifiedBatch,
    content_hash,
    encoded_name,
    encoded_subject,
)
from affidavit.seal.bundle.manifest import EventTotals, line_digests
from affidavit.seal.bundle.merkle import leaf_prefixed_lines

_BATCH_LINES: Final = 512  # Lines that are added to the totals at a time.


class RunIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all events of a run have in common."""

    id: str
    source: str
    producer: str
    producer_version: str
    git: str = "unknown"
    # A secret of the run, in hexadecimal digits; the salts of its lines are made from it.
    salt: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")] = ""

    def __post_init__(self) -> None:
        if not self.id or ":" in self.id:
            raise _invalid("a run id is a text without a colon, and not empty", "run_id")
        if self.source.find(":") < 1:
            raise _invalid("a source is an address like urn:example:run", "source")

    def producer_as_wire(self) -> dict[str, JsonValue]:
        """Return the producer as the manifest names it."""
        named: dict[str, JsonValue] = {"name": self.producer, "version": self.producer_version}
        return named if self.git == "unknown" else {**named, "git": self.git}


class EventDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event without its number, id and hash: a line of the log of a run."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    time: str
    data: Any
    subject: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    personal_data: bool = False
    secrets: bool = False


class EventWriter:
    """Turns drafts into lines, and keeps the totals for the manifest."""

    def __init__(self, run: RunIdentity) -> None:
        self.run = run
        self.totals = EventTotals()
        self._count = 0
        self._lines: list[bytes] = []
        self._hashes: list[bytes] = []
        self._types: list[str] = []
        self._template = LineTemplate.of(
            run_id=run.id,
            source=run.source,
            producer=run.producer,
            version=run.producer_version,
            git=run.git,
            is_salted=bool(run.salt),
        )
        self._salt = bytes.fromhex(run.salt)
        self._form = self._template.form() + b"\n"

    def append(self, draft: EventDraft) -> bytes:
        """Return the line of the next event, with its line feed."""
        data, kind = jcs(draft.data), encoded_name(draft.type)
        subject, number = encoded_subject(draft.subject), b"%d" % self._count
        hashed = b'{"data":%b%b%b,"type":%b}' % (data, self._template.hashed, subject, kind)
        content = hashlib.sha256(hashed).hexdigest().encode()
        time = require_time(draft.time).encode()
        flags = FLAGS[draft.personal_data], FLAGS[draft.secrets]
        values = (content, *flags, number, data, number, subject, time, kind)
        salt = (self._leaf_salt(values),) if self._salt else ()
        return self._added(self._form % (*salt, *values), content, draft.type)

    def _leaf_salt(self, values: tuple[bytes, ...]) -> bytes:
        """Return the salt of a line, which follows from the secret of the run and the line."""
        line = jcs(self.run.id) + b"".join(values)
        return hmac.digest(self._salt, line, "sha256")[:LEAF_SALT_BYTES].hex().encode()

    def rewrite(self, event: Mapping[str, JsonValue]) -> bytes:
        """Return the line of a whole event, of which only the content hash is computed again."""
        digest = content_hash(event)
        line = jcs({**event, "assaycontenthash": digest}) + b"\n"
        return self._added(line, digest.removeprefix("sha256:").encode(), str(event["type"]))

    def finish(self) -> EventTotals:
        """Return the totals of all lines."""
        self._add_to_totals()
        return self.totals

    def _added(self, line: bytes, content: bytes, kind: str) -> bytes:
        self._count += 1
        self._lines.append(line)
        self._hashes.append(content)
        self._types.append(kind)
        if len(self._lines) == _BATCH_LINES:
            self._add_to_totals()
        return line

    def _add_to_totals(self) -> None:
        if self._lines:
            text = b"".join(self._lines)
            batch = VerifiedBatch(self._hashes, leaf_prefixed_lines(text), self._types)
            self.totals.add(text, line_digests(text, batch))
        self._lines, self._hashes, self._types = [], [], []


def require_time(text: str) -> str:
    """Return a time if it is RFC 3339 with a zone; raise otherwise."""
    try:
        msgspec.convert(text, AwareDatetime)
    except msgspec.ValidationError:
        problem = "it is not a time like 2026-01-31T14:30:00Z"
        raise _invalid(problem, "time") from None
    return text


def _invalid(problem: str, field: str) -> AffidavitError:
    return AffidavitError(RECORD_VALUE, Where(field=field), problem=problem)


# Takes half the time of the best level and makes events a few per cent larger.
COMPRESSION_LEVEL: Final = 6
_OWNER: Final = b"affidavit"


class BundlePacker:
    """Packs one bundle. The header holds a digest of the body, so the body is made first."""

    def __init__(self) -> None:
        self._packed = hashlib.sha256()

    def body(self, manifest: bytes, events: Iterable[bytes], size: int) -> Iterator[bytes]:
        """Yield everything after the header. The pieces of `events` have `size` bytes in all."""
        packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
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
        """Return the header; the body must be complete."""
        return sealed_header(self._packed.digest())


def _tar_pieces(manifest: bytes, events: Iterable[bytes], size: int) -> Iterator[bytes]:
    yield tar_header(MANIFEST, len(manifest))
    yield manifest + bytes(-len(manifest) % BLOCK)
    yield tar_header(EVENTS, size)
    yield from events
    yield bytes(-size % BLOCK) + bytes(2 * BLOCK)


def tar_header(name: str, size: int) -> bytes:
    """Return the ustar header of a plain file without a user or a time."""
    block = bytearray(BLOCK)
    block[: len(name)] = name.encode()
    block[100:124] = b"0000644\x000000000\x000000000\x00"
    block[124:148] = b"%011o\x0000000000000\x00" % size
    block[148:157] = b"        0"
    block[257:265] = b"ustar\x0000"
    block[265 : 265 + len(_OWNER)] = _OWNER
    block[297 : 297 + len(_OWNER)] = _OWNER
    block[148:156] = b"%06o\x00 " % sum(block)
    return bytes(block)
