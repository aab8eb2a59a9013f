"""Reads and verifies a bundle from a stream in constant memory, in numbered steps.

The order of the checks is Assay's (docs/bundles.md has its codes beside ours), and reading stops at
the first error. Nothing is extracted. Events may be trusted only when the last one was read without
an error, because the totals in the manifest are checked at the end.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.input import JSON_LONG_LINE
from affidavit.base.faults.receipts import DIGEST_MISMATCH
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.seal.bundle import container
from affidavit.seal.bundle.container import (
    DEFAULT_LIMITS,
    EVENTS,
    MANIFEST,
    BundleLimits,
    ByteStream,
    Inflater,
    TarHeader,
    TarStream,
)
from affidavit.seal.bundle.events import (
    EventV1,
    ExpectedPosition,
    LineTemplate,
    VerifiedBatch,
    event_from_line,
    require_known_digest,
    template_of,
    verify_batch,
)
from affidavit.seal.bundle.manifest import (
    AFFIDAVIT_BLOCK,
    EventTotals,
    LineDigests,
    Manifest,
    ManifestContents,
    ProducerV1,
    line_digests,
    manifest_from_bytes,
    require_statements,
    uncovered_statements,
)
from affidavit.seal.bundle.merkle import leaf_prefixed_lines
from affidavit.seal.verification import StepStatus, VerificationStep

# Assay's code for each of our faults. Ours are finer: Assay has one code for every JSON error.
ASSAY_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "archive.format": "IntegrityGzip",
        "archive.corrupt": "IntegrityGzip",
        "archive.path": "SecurityPathTraversal",
        "archive.type": "ContractUnexpectedFile",
        "archive.duplicate": "ContractDuplicateFile",
        "archive.unlisted": "ContractUnexpectedFile",
        "archive.missing": "ContractMissingFile",
        "archive.order": "ContractFileOrder",
        "limit.bundle_bytes": "LimitBundleBytes",
        "limit.decode_bytes": "LimitDecodeBytes",
        "limit.manifest_bytes": "LimitFileSize",
        "limit.events_bytes": "LimitFileSize",
        "limit.events": "LimitTotalEvents",
        "limit.line_bytes": "LimitLineBytes",
        "limit.path": "LimitPathLength",
        "limit.members": "ContractUnexpectedFile",
        "json.syntax": "ContractInvalidJson",
        "json.encoding": "ContractInvalidJson",
        "json.unicode": "ContractInvalidJson",
        "json.trailing": "ContractInvalidJson",
        "json.duplicate_key": "ContractInvalidJson",
        "json.number_domain": "ContractInvalidJson",
        "json.depth": "LimitJsonDepth",
        "limit.json_keys": "ContractInvalidJson",
        "limit.json_string": "ContractInvalidJson",
        "bundle.manifest": "ContractInvalidJson",
        "bundle.version": "ContractSchemaVersion",
        "bundle.size": "IntegrityFileSizeMismatch",
        "digest.mismatch": "IntegrityManifestHash",
        "bundle.event": "ContractInvalidEvent",
        "bundle.event_hash": "IntegrityEventHash",
        "bundle.sequence": "ContractSequenceGap",
        "bundle.run_id": "ContractRunIdMismatch",
        "bundle.empty": "ContractInvalidEvent",
        "bundle.count": "ContractSequenceGap",
        "bundle.run_root": "IntegrityRunRootMismatch",
        "bundle.id": "ContractBundleIdMismatch",
    }
)
# Assay accepts what these faults reject.
WITHOUT_ASSAY_CODE: Final = (
    "archive.gzip_members",
    "archive.trailing",
    "canon.noncanonical",
    "canon.unicode_collision",
    "bundle.merkle_root",
    "bundle.statement",
    "bundle.pack_result",
    "bundle.manifest_digest",
)


class BundleStepName(StrEnum):
    """The steps, in order."""

    CONTAINER = "container"
    MANIFEST = "manifest"
    EVENTS = "events"
    TOTALS = "totals"
    MERKLE = "merkle"
    END = "end"
    STATEMENTS = "statements"
    PACKS = "packs"


STEP_DESCRIPTIONS: Final = {
    BundleStepName.CONTAINER: "one gzip member, a tar archive, manifest.json first",
    BundleStepName.MANIFEST: "strict and canonical JSON, complete, of a version that is known",
    BundleStepName.EVENTS: "every line canonical, its content hash holds, in sequence, of this run",
    BundleStepName.TOTALS: "size, digest, count, run root and bundle id are those of the manifest",
    BundleStepName.MERKLE: "the Merkle root covers every byte of every line",
    BundleStepName.END: "two members and nothing else, nothing behind them, the checksum holds",
    BundleStepName.STATEMENTS: "finished, redacted values and producer are those of the events",
    BundleStepName.PACKS: "the packs that the manifest names find what it says that they found",
}
_SKIPPED: Final = {
    BundleStepName.MERKLE: "the bundle has none; times and sources are covered by its digest alone",
    BundleStepName.STATEMENTS: "not covered: only newer manifests are compared with their events",
    BundleStepName.PACKS: "the manifest names none, or not all could be run again",
}
_NOT_REACHED: Final = "not looked at, because an earlier step failed"


class BundleError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a bundle does not verify: our error, and Assay's code for it."""

    code: str
    name: str
    message: str
    next: str
    file: str | None
    line: int | None
    field: str | None
    column: int | msgspec.UnsetType = msgspec.UNSET
    assay_code: str | None

    @property
    def where(self) -> Where:
        """Where the error is."""
        return Where(self.file, self.line, self.field)


class BundleVerification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verification of one bundle; the ids are None if the manifest could not be read.

    The error is the first one found, because nothing after it is checked. `finished` follows from
    the events. `not_covered` are the members of the manifest that only its digest covers.
    """

    bundle_id: str | None
    run_id: str | None
    event_count: int | None
    merkle_root: str | None
    manifest_digest: str | None
    finished: bool | None
    not_covered: tuple[str, ...]
    valid: bool
    exit: Exit
    error: BundleError | None
    steps: tuple[VerificationStep, ...]


class _Progress(msgspec.Struct):
    """What a verification has found so far."""

    done: dict[BundleStepName, StepStatus] = {}
    manifest: Manifest | None = None
    finished: bool | None = None
    not_covered: tuple[str, ...] = ()


def _bundle_verification(progress: _Progress, error: AffidavitError | None) -> BundleVerification:
    """Return the verification, from what was found and the error that ended it."""
    manifest = progress.manifest
    known = None if manifest is None else manifest.known
    ours = None if known is None else known.affidavit
    return BundleVerification(
        bundle_id=None if known is None else known.bundle_id,
        run_id=None if known is None else known.run_id,
        event_count=None if known is None else known.event_count,
        merkle_root=None if ours is None else ours.merkle_root,
        manifest_digest=None if manifest is None else manifest.digest,
        finished=progress.finished,
        not_covered=progress.not_covered,
        valid=error is None,
        exit=Exit.YES if error is None else error.fault.exit,
        error=None if error is None else _bundle_error(error),
        steps=tuple(_steps(progress.done, error)),
    )


def _bundle_error(error: AffidavitError) -> BundleError:
    assay_code = error.values.get("assay_code") or ASSAY_CODES.get(error.fault.name)
    return msgspec.convert({**error.as_wire(), "assay_code": assay_code}, BundleError)


def _steps(
    done: Mapping[BundleStepName, StepStatus], error: AffidavitError | None
) -> Iterator[VerificationStep]:
    for number, name in enumerate(BundleStepName, 1):
        status, code = done.get(name), None
        if status is not None:
            detail = (STEP_DESCRIPTIONS if status is StepStatus.PASSED else _SKIPPED)[name]
        elif error is not None:
            status, detail, code = StepStatus.FAILED, error.message, error.fault.code
            error = None
        else:
            status, detail = StepStatus.NOT_CHECKED, _NOT_REACHED
        yield VerificationStep(
            number=number, name=name.value, status=status, code=code, detail=detail
        )


class VerifiedLines(msgspec.Struct, frozen=True):
    """Whole verified lines, and the number of the first, counted from 1."""

    text: bytes
    first: int

    def each(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line without its line feed, with its number."""
        return enumerate(self.text[:-1].split(b"\n"), self.first)


class LineBatch(msgspec.Struct, frozen=True):
    """Whole lines to verify at once, and the number of events before them."""

    text: bytes
    first: int
    template: LineTemplate | None
    limits: JsonLimits


Batches = tuple[LineBatch, ...]
BatchDigests = list[LineDigests | None]
RunBatches = Callable[
    [Callable[[Batches], BatchDigests], Iterable[Batches]], Iterator[BatchDigests]
]
"""Calls a function with each item and yields the results in order, as `map` does."""


def verify_batches(batches: Batches) -> BatchDigests:
    """Return the digests of each batch; None if its lines have to be read one by one.

    This is most of the work of a verification. It needs nothing else, so any process can do it.
    """
    return [_verify_at_once(batch) for batch in batches]


def _verify_at_once(batch: LineBatch) -> LineDigests | None:
    if batch.template is None:
        return None
    proven = verify_batch(batch.text, batch.first, batch.template, batch.limits)
    return None if proven is None else line_digests(batch.text, proven)


_BATCHES_PER_TASK: Final = 8  # About a megabyte, so that sending it costs little beside the work.
# To start processes takes about as long as to verify this many bytes.
_MIN_PARALLEL_BYTES: Final = 16 * 1024 * 1024


class EventVerifier:
    """Verifies the events in batches of whole lines, and keeps their totals."""

    def __init__(self, run_id: str, limits: BundleLimits) -> None:
        self.totals = EventTotals()
        self._run_id = run_id
        self._limits = limits
        self._json_limits = limits.for_json(limits.max_line_bytes)
        # The data of an event is one level below its line.
        self._data_limits = replace(self._json_limits, max_depth=limits.max_json_depth - 1)
        self._source: str | None = None
        self._template: LineTemplate | None = None
        # The first producer that the events name, and the first other one.
        self.producers: tuple[ProducerV1, ...] = ()

    def verify(
        self, portions: Iterable[bytes], run: RunBatches | None = None
    ) -> Iterator[VerifiedLines]:
        """Verify the lines of portions of any size, and yield them in order.

        `run` may read ahead. An error that it meets there is raised after those of earlier lines,
        so the result does not depend on it.
        """
        texts = self._whole_lines(portions)
        for first, text in islice(texts, 1):
            yield self._accepted(LineBatch(text, first, None, self._data_limits), None)
        waiting: deque[Batches] = deque()
        late: list[AffidavitError] = []
        size = 1 if run is None else _BATCHES_PER_TASK
        for found in (run or map)(verify_batches, self._tasks(texts, size, waiting, late)):
            for batch, digests in zip(waiting.popleft(), found, strict=True):
                yield self._accepted(batch, digests)
        if late:
            raise late[0]

    def _tasks(
        self,
        texts: Iterator[tuple[int, bytes]],
        size: int,
        waiting: deque[Batches],
        late: list[AffidavitError],
    ) -> Iterator[Batches]:
        batches: list[LineBatch] = []
        try:
            for first, text in texts:
                # No line is longer than the whole text.
                is_short = len(text) <= self._limits.max_line_bytes
                template = self._template if is_short else None
                batches.append(LineBatch(text, first, template, self._data_limits))
                if len(batches) == size:
                    waiting.append(tuple(batches))
                    yield waiting[-1]
                    batches = []
        except AffidavitError as error:
            late.append(error)
        if batches:
            waiting.append(tuple(batches))
            yield waiting[-1]

    def _accepted(self, batch: LineBatch, digests: LineDigests | None) -> VerifiedLines:
        """Add the lines of a batch to the totals, after reading them if that is needed."""
        text, first = batch.text, batch.first
        if digests is None or first + digests.count > self._limits.max_events:
            each = list(self._one_by_one(text, first))
            hashes = [event.assaycontenthash.removeprefix("sha256:").encode() for event in each]
            types = [event.type for event in each]
            digests = line_digests(text, VerifiedBatch(hashes, leaf_prefixed_lines(text), types))
        self.totals.add(text, digests)
        return VerifiedLines(text, first + 1)

    def _one_by_one(self, text: bytes, first: int) -> Iterator[EventV1]:
        for sequence, line in enumerate(text[:-1].split(b"\n"), first):
            if len(line) > self._limits.max_line_bytes:
                raise self._long_line(sequence)
            if sequence >= self._limits.max_events:
                limit = self._limits.max_events
                where = Where(EVENTS, sequence + 1)
                raise AffidavitError(faults.LIMIT_EVENTS, where, limit=limit, name="max_events")
            place = ExpectedPosition(self._run_id, sequence, self._source)
            event = event_from_line(line, sequence + 1, place, self._json_limits)
            self._source = event.source
            self._add_producer(event)
            yield event
        self._template = template_of(event)

    def _add_producer(self, event: EventV1) -> None:
        # Events that are verified in a batch have the producer of an event before them.
        named = ProducerV1(event.assayproducer, event.assayproducerversion, event.assaygit)
        if len(self.producers) < 2 and named not in self.producers:
            self.producers += (named,)

    def _whole_lines(self, portions: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Regroup portions into texts of whole lines, each with the number of lines before it.

        The first line comes alone, because the others are compared with its template.
        """
        held: list[bytes] = []
        count, held_bytes, is_first = 0, 0, True
        for portion in portions:
            end = portion.find(b"\n") if is_first else portion.rfind(b"\n")
            if end < 0:
                held.append(portion)
                held_bytes += len(portion)
                if held_bytes > self._limits.max_line_bytes:
                    raise self._long_line(count)
                continue
            held.append(portion[: end + 1])
            text = b"".join(held)
            yield count, text
            count += text.count(b"\n")
            rest = portion[end + 1 :]
            if is_first and (last := rest.rfind(b"\n")) >= 0:
                yield count, rest[: last + 1]
                count += rest.count(b"\n")
                rest = rest[last + 1 :]
            held, held_bytes, is_first = [rest], len(rest), False
        if held_bytes:
            where = Where(EVENTS, count + 1)
            problem = "its line has no line feed"
            raise AffidavitError(faults.BUNDLE_EVENT, where, problem=problem)

    def _long_line(self, sequence: int) -> AffidavitError:
        limit = self._limits.max_line_bytes
        return AffidavitError(JSON_LONG_LINE, Where(EVENTS, sequence + 1), limit=limit)


StepCallback = Callable[[BundleStepName, StepStatus], None]
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class BundleReader:
    """A bundle that is being read, once. `read_bundle` creates it."""

    def __init__(
        self,
        stream: ByteStream,
        limits: BundleLimits,
        on_step: StepCallback,
        run: RunBatches | None,
    ) -> None:
        self._limits = limits
        self._on_step = on_step
        self._run = run
        self._inflater = Inflater(stream, limits)
        self._content = TarStream(self._inflater.pieces())
        self.manifest = self._read_manifest()
        # Known when the last line was read: what the events come to.
        self.contents: ManifestContents | None = None
        self._verifier = EventVerifier(self.manifest.known.run_id, limits)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the events do not prove of the manifest; known when the last line was read."""
        return () if self.contents is None else uncovered_statements(self.manifest)

    def events(self) -> Iterator[tuple[int, dict[str, JsonValue]]]:
        """Yield each event with the number of its line, counted from 1."""
        for lines in self.lines():
            for number, line in lines.each():
                yield number, _decode(line)

    def lines(self) -> Iterator[VerifiedLines]:
        """Yield the verified lines of the events, then check the totals and the end."""
        header = self._events_header()
        run = self._run if header.size >= _MIN_PARALLEL_BYTES else None
        yield from self._verifier.verify(self._portions(header), run)
        self._on_step(BundleStepName.EVENTS, StepStatus.PASSED)
        found = self._check_totals()
        self._check_end(header)
        self._check_statements(found)

    def _portions(self, header: TarHeader) -> Iterator[bytes]:
        missing = header.size
        for portion in self._content.portions(header.size):
            missing -= len(portion)
            yield portion
        if missing:
            problem = f"it ends within {header.name}"
            raise AffidavitError(faults.ARCHIVE_CORRUPT, problem=problem)

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
        self._on_step(BundleStepName.CONTAINER, StepStatus.PASSED)
        manifest = manifest_from_bytes(raw, self._limits)
        container.require_padding(self._content, header)
        self._on_step(BundleStepName.MANIFEST, StepStatus.PASSED)
        return manifest

    def _events_header(self) -> TarHeader:
        header = self._member(EVENTS)
        limit, stated = self._limits.max_events_bytes, self.manifest.events.bytes
        if header.size > limit:
            raise AffidavitError(
                faults.LIMIT_EVENTS_BYTES, size=header.size, limit=limit, name="max_events_bytes"
            )
        if header.size != stated:
            raise AffidavitError(faults.BUNDLE_SIZE, said=stated, found=header.size)
        return header

    def _member(self, name: str) -> TarHeader:
        header = container.next_member(self._content, self._limits)
        if header is None:
            raise AffidavitError(
                faults.ARCHIVE_MISSING, name=name, problem="the archive ends before it"
            )
        if header.name == name:
            return header
        if name == MANIFEST and header.name == EVENTS:
            raise AffidavitError(faults.ARCHIVE_ORDER, name=header.name)
        raise container.refuse_member(header, self._content, self._limits)

    def _check_totals(self) -> ManifestContents:
        known = self.manifest.known
        found = self._verifier.totals.contents(known.run_id)
        stated = self.manifest.events_sha256
        if found.sha256 != stated:
            values = {"what": MANIFEST, "said": stated, "found": found.sha256}
            raise AffidavitError(DIGEST_MISMATCH, Where(EVENTS), **values)
        if not found.count:
            raise AffidavitError(faults.BUNDLE_EMPTY)
        if found.count != known.event_count:
            raise AffidavitError(faults.BUNDLE_COUNT, said=known.event_count, found=found.count)
        if found.run_root != known.run_root:
            require_known_digest("run_root", known.run_root)
            raise AffidavitError(faults.BUNDLE_RUN_ROOT, said=known.run_root, found=found.run_root)
        if found.run_root != known.bundle_id:
            require_known_digest("bundle_id", known.bundle_id)
            raise AffidavitError(faults.BUNDLE_ID, said=known.bundle_id, found=found.run_root)
        self._on_step(BundleStepName.TOTALS, StepStatus.PASSED)
        self._check_merkle(found)
        return found

    def _check_merkle(self, found: ManifestContents) -> None:
        ours = self.manifest.known.affidavit
        if ours is None:
            self._on_step(BundleStepName.MERKLE, StepStatus.SKIPPED)
            return
        if (found.merkle_root, found.count) != (ours.merkle_root, ours.tree_size):
            require_known_digest(f"{AFFIDAVIT_BLOCK}.merkle_root", ours.merkle_root)
            raise AffidavitError(
                faults.BUNDLE_MERKLE_ROOT,
                Where(MANIFEST, field=AFFIDAVIT_BLOCK),
                said=ours.merkle_root,
                said_size=ours.tree_size,
                found=found.merkle_root,
                found_size=found.count,
            )
        self._on_step(BundleStepName.MERKLE, StepStatus.PASSED)

    def _check_end(self, header: TarHeader) -> None:
        container.require_padding(self._content, header)
        extra = container.next_member(self._content, self._limits)
        if extra is not None:
            raise container.refuse_member(extra, self._content, self._limits)
        container.require_end(self._content)
        if self.manifest.known.affidavit is not None and not self._inflater.is_sealed:
            # Everything in it holds; whoever compressed it again need not have meant any harm.
            raise AffidavitError(faults.ARCHIVE_REPACKED)
        self._on_step(BundleStepName.END, StepStatus.PASSED)

    def _check_statements(self, found: ManifestContents) -> None:
        require_statements(self.manifest, found, self._verifier.producers)
        self.contents = found
        is_covered = self.manifest.known.is_recomputable
        status = StepStatus.PASSED if is_covered else StepStatus.SKIPPED
        self._on_step(BundleStepName.STATEMENTS, status)


def read_bundle(
    stream: ByteStream,
    limits: BundleLimits = DEFAULT_LIMITS,
    on_step: StepCallback = lambda step, status: None,
    run: RunBatches | None = None,
) -> BundleReader:
    """Open a bundle and verify its manifest.

    `on_step` is called after each step. `run` shares the work on many events.
    """
    return BundleReader(stream, limits, on_step, run)


class PackChecker(Protocol):
    """Runs the packs that a manifest names over the lines of its bundle."""

    def feed(self, lines: VerifiedLines) -> None:
        """Read verified lines, in order."""
        ...

    def finish(self) -> tuple[str, ...]:
        """Return what could not be run again; raise if a result is not the recorded one."""
        ...


def verify_bundle(
    stream: ByteStream,
    limits: BundleLimits = DEFAULT_LIMITS,
    *,
    manifest_digest: str | None = None,
    packs: Callable[[Manifest], PackChecker | None] = lambda manifest: None,
    run: RunBatches | None = None,
) -> BundleVerification:
    """Verify a bundle offline, from its bytes alone. Nothing in the stream makes it raise.

    `manifest_digest` is one that the caller trusts. `packs` returns what runs the packs that a
    manifest names; None if it names none. `run` shares the work on many events.
    """
    progress = _Progress()
    found: AffidavitError | None = None
    try:
        reader = read_bundle(stream, limits, progress.done.__setitem__, run)
        progress.manifest = reader.manifest
        _require_digest(progress, manifest_digest)
        checker = packs(reader.manifest)
        for lines in reader.lines():
            if checker is not None:
                checker.feed(lines)
        progress.not_covered = reader.not_covered
        progress.finished = None if reader.contents is None else reader.contents.finished
        not_run = () if checker is None else checker.finish()
        progress.not_covered += not_run
        is_run = checker is not None and not not_run
        status = StepStatus.PASSED if is_run else StepStatus.SKIPPED
        progress.done[BundleStepName.PACKS] = status
    except AffidavitError as error:
        found = error
    return _bundle_verification(progress, found)


def _require_digest(progress: _Progress, trusted: str | None) -> None:
    found = None if progress.manifest is None else progress.manifest.digest
    if trusted is not None and found != trusted:
        del progress.done[BundleStepName.MANIFEST]
        raise AffidavitError(
            faults.BUNDLE_MANIFEST_DIGEST, Where(MANIFEST), said=trusted, found=found
        )
