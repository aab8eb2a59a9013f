"""Reads a bundle from a stream: the manifest, then the events, verified as they come.

Origin: Assay's order of verification (docs/bundles.md has the table of its codes beside ours). It
stops at the first thing that is wrong. Nothing is extracted and memory does not grow with the
bundle. Whoever reads events believes them only when the last one was read without an error: what
the manifest says of all of them is checked at the end.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.receipts import DIGEST_MISMATCH
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle import archive
from affidavit.seal.bundle.archive import EVENTS, MANIFEST, Header, Unpacked
from affidavit.seal.bundle.inflating import ByteStream, Inflater
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import OURS, Contents, Manifest, manifest_from_bytes
from affidavit.seal.bundle.steps import StepName
from affidavit.seal.bundle.verifying_events import EventVerifier, Lines
from affidavit.seal.steps import Status

Told = Callable[[StepName, Status], None]
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class BundleReader:
    """One bundle that is being read. It is made by `read_bundle`, and read once."""

    def __init__(self, stream: ByteStream, limits: BundleLimits, told: Told) -> None:
        self._limits = limits
        self._told = told
        self._inflater = Inflater(stream, limits)
        self._content = Unpacked(self._inflater.pieces())
        self.manifest = self._read_manifest()
        self._verifier = EventVerifier(self.manifest.known.run_id, limits)

    def events(self) -> Iterator[tuple[int, dict[str, JsonValue]]]:
        """Yield each event with the number of its line, counted from 1."""
        for lines in self.lines():
            for number, line in lines.each():
                yield number, _decode(line)

    def lines(self) -> Iterator[Lines]:
        """Yield the lines of the events in portions, verified, then check what they come to."""
        header = self._events_header()
        for text in self._verifier.whole_lines(self._portions(header)):
            yield self._verifier.verify(text)
        self._told(StepName.EVENTS, Status.PASSED)
        self._check_totals()
        self._check_end(header)

    def _portions(self, header: Header) -> Iterator[bytes]:
        missing = header.size
        for portion in self._content.portions(header.size):
            missing -= len(portion)
            yield portion
        if missing:
            raise _cut(header.name)

    def _read_manifest(self) -> Manifest:
        header = self._member(MANIFEST)
        limit = self._limits.max_manifest_bytes
        if header.size > limit:
            raise AffidavitError(
                faults.LIMIT_MANIFEST_BYTES,
                size=header.size,
                limit=limit,
                name="max_manifest_bytes",
            )
        raw = b"".join(self._portions(header))
        self._told(StepName.CONTAINER, Status.PASSED)
        manifest = manifest_from_bytes(raw, self._limits)
        if manifest.known.ours is not None and not self._inflater.is_sealed:
            problem = "its gzip header is not the one that Affidavit writes"
            raise AffidavitError(faults.ARCHIVE_CORRUPT, problem=problem)
        archive.require_padding(self._content, header)
        self._told(StepName.MANIFEST, Status.PASSED)
        return manifest

    def _events_header(self) -> Header:
        header = self._member(EVENTS)
        limit, said = self._limits.max_events_bytes, self.manifest.events.bytes
        if header.size > limit:
            raise AffidavitError(
                faults.LIMIT_EVENTS_BYTES, size=header.size, limit=limit, name="max_events_bytes"
            )
        if header.size != said:
            raise AffidavitError(faults.BUNDLE_SIZE, said=said, found=header.size)
        return header

    def _member(self, name: str) -> Header:
        header = archive.next_member(self._content, self._limits)
        if header is None:
            raise AffidavitError(
                faults.ARCHIVE_MISSING, name=name, problem="the archive ends before it"
            )
        if header.name == name:
            return header
        if name == MANIFEST and header.name == EVENTS:
            raise AffidavitError(faults.ARCHIVE_ORDER, name=header.name)
        raise archive.refuse_member(header, self._content, self._limits)

    def _check_totals(self) -> None:
        known = self.manifest.known
        found = self._verifier.totals.contents(known.run_id)
        said = self.manifest.events_sha256
        if found.sha256 != said:
            values = {"what": MANIFEST, "said": said, "found": found.sha256}
            raise AffidavitError(DIGEST_MISMATCH, Where(EVENTS), **values)
        if not found.count:
            raise AffidavitError(faults.BUNDLE_EMPTY)
        if found.count != known.event_count:
            raise AffidavitError(faults.BUNDLE_COUNT, said=known.event_count, found=found.count)
        if found.run_root != known.run_root:
            raise AffidavitError(faults.BUNDLE_RUN_ROOT, said=known.run_root, found=found.run_root)
        if found.run_root != known.bundle_id:
            raise AffidavitError(faults.BUNDLE_ID, said=known.bundle_id, found=found.run_root)
        self._told(StepName.TOTALS, Status.PASSED)
        self._check_merkle(found)

    def _check_merkle(self, found: Contents) -> None:
        ours = self.manifest.known.ours
        if ours is None:
            self._told(StepName.MERKLE, Status.SKIPPED)
            return
        if (found.merkle_root, found.count) != (ours.merkle_root, ours.tree_size):
            raise AffidavitError(
                faults.BUNDLE_MERKLE_ROOT,
                Where(MANIFEST, field=OURS),
                said=ours.merkle_root,
                said_size=ours.tree_size,
                found=found.merkle_root,
                found_size=found.count,
            )
        self._told(StepName.MERKLE, Status.PASSED)

    def _check_end(self, header: Header) -> None:
        archive.require_padding(self._content, header)
        extra = archive.next_member(self._content, self._limits)
        if extra is not None:
            raise archive.refuse_member(extra, self._content, self._limits)
        archive.require_end(self._content)
        self._told(StepName.END, Status.PASSED)


def read_bundle(
    stream: ByteStream,
    limits: BundleLimits = DEFAULT_LIMITS,
    told: Told = lambda step, status: None,
) -> BundleReader:
    """Begin to read a bundle: its manifest is read and verified when this returns.

    `told` is called with each step when it is done.
    """
    return BundleReader(stream, limits, told)


def _cut(name: str) -> AffidavitError:
    return AffidavitError(faults.ARCHIVE_CORRUPT, problem=f"it ends within {name}")
