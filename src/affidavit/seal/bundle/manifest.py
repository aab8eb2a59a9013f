"""The manifest of a bundle, and the totals over all events that it states.

Origin: Assay's Evidence Contract v1, with two more blocks. `x-assay` names the packs that were
applied and their mappings (ADR-025, data contract 3). `x-affidavit` has a Merkle root over whole
lines, whether the run had finished, and what the packs found. Unknown members are kept.

No root covers the manifest, so anybody can write another one for the same events. What it states
about the events is recomputed; the rest is covered by the digest of the manifest alone (ADR 29).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.seal.bundle.commitments import count_commitments, may_be_redacted
from affidavit.seal.bundle.container import EVENTS, MANIFEST, BundleLimits
from affidavit.seal.bundle.events import RUN_FINISHED, RUN_STARTED, VerifiedBatch
from affidavit.seal.bundle.merkle import DIGEST_BYTES, MerkleTree, leaves_of

SCHEMA_VERSION: Final = 1
ALGORITHMS: Final[Mapping[str, str]] = {
    "canon": "jcs-rfc8785",
    "hash": "sha256",
    "root": 'sha256(concat(content_hash + "\\n"))',
}
MERKLE: Final = "rfc6962-sha256"
AFFIDAVIT_BLOCK: Final = "x-affidavit"
ASSAY_BLOCK: Final = "x-assay"
PACK_RESULTS: Final = "pack_results"
# Blocks of version 1 were written before their statements were recomputed, and some did not hold.
BLOCK_VERSION: Final = 2
_KNOWN_VERSIONS: Final = (1, BLOCK_VERSION)


class ProducerV1(msgspec.Struct, frozen=True):
    """Who wrote the bundle."""

    name: str
    version: str
    git: str | None = None


class ManifestFileV1(msgspec.Struct, frozen=True):
    """A member of the archive."""

    path: str
    sha256: str
    bytes: int


class PackAppliedV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pack that was applied to the run (ADR-025, data contract 3)."""

    name: str
    version: str
    digest: str
    kind: str
    source_url: str | None = None


class MappingV1(msgspec.Struct, frozen=True):
    """The part of a framework that a rule refers to (ADR-025, data contract 3)."""

    rule: str
    framework: str
    ref: str


class AssayBlockV1(msgspec.Struct, frozen=True):
    """The block `x-assay`."""

    packs_applied: tuple[PackAppliedV1, ...] = ()
    mappings: tuple[MappingV1, ...] = ()


class PackResultV1(msgspec.Struct, frozen=True, kw_only=True):
    """What a pack found in the events when they were sealed: the ids of the rules that failed.

    `registry_digest` covers the whole pack, also what Assay's digest of it leaves out.
    """

    pack: str
    digest: str
    registry_digest: str
    engine: str
    rules: int
    failed: tuple[str, ...] = ()


class AffidavitBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """The block `x-affidavit`, of version 1 or 2.

    `origin` is a salted commitment to the bundle that a redacted one was made from. `finished` is
    absent if no event says that a run began.
    """

    version: int
    merkle: str
    merkle_root: str
    tree_size: int
    finished: bool | None = None
    origin: str | None = None
    redacted_values: int = 0
    torn_bytes: int = 0
    pack_results: tuple[PackResultV1, ...] = ()


class BundleManifestV1(
    msgspec.Struct, frozen=True, rename={"affidavit": AFFIDAVIT_BLOCK, "assay": ASSAY_BLOCK}
):
    """The known members of a manifest."""

    schema_version: int
    bundle_id: str
    producer: ProducerV1
    run_id: str
    event_count: int
    run_root: str
    algorithms: dict[str, str]
    files: dict[str, ManifestFileV1]
    affidavit: AffidavitBlock | None = None
    assay: AssayBlockV1 | None = None

    @property
    def packs_applied(self) -> tuple[PackAppliedV1, ...]:
        """The packs that were applied to the run."""
        return () if self.assay is None else self.assay.packs_applied

    @property
    def is_recomputable(self) -> bool:
        """Whether what it states about the events is recomputed when a bundle is verified."""
        return self.affidavit is not None and self.affidavit.version == BLOCK_VERSION


class Manifest(msgspec.Struct, frozen=True):
    """A manifest: all of its members, and the known ones typed."""

    value: Mapping[str, JsonValue]
    known: BundleManifestV1

    @property
    def digest(self) -> str:
        """The digest of manifest.json, which is canonical."""
        return digest_of(jcs(dict(self.value)))

    @property
    def events(self) -> ManifestFileV1:
        """The entry of the events."""
        return self.known.files[EVENTS]

    @property
    def events_sha256(self) -> str:
        """The digest of the events as `sha256:<hex>`."""
        return f"sha256:{self.events.sha256.removeprefix('sha256:')}"


def manifest_from_bytes(raw: bytes, limits: BundleLimits) -> Manifest:
    """Read a manifest: strict and canonical JSON, complete, of version 1.

    Assay also reads manifests that are not canonical, but writes none. Two texts for one manifest
    would be two bundles with one meaning, so they are rejected here.
    """
    try:
        value = require_canonical(raw, limits.for_json(limits.max_manifest_bytes))
        return _manifest(value)
    except AffidavitError as error:
        raise error.at(file=MANIFEST) from None


def _manifest(value: JsonValue) -> Manifest:
    if not isinstance(value, dict):
        raise AffidavitError(faults.BUNDLE_MANIFEST, problem="it is not a JSON object")
    version = value.get("schema_version")
    if type(version) is int and version != SCHEMA_VERSION:
        raise _unknown_version("schema_version", version, SCHEMA_VERSION)
    try:
        known = msgspec.convert(_readable(value), BundleManifestV1)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(faults.BUNDLE_MANIFEST, Where(field=field), problem=problem) from None
    for name, wanted in ALGORITHMS.items():
        if known.algorithms.get(name) != wanted:
            raise _unknown_version(f"algorithms.{name}", known.algorithms.get(name), wanted)
    ours = known.affidavit
    if ours is not None and (ours.version not in _KNOWN_VERSIONS or ours.merkle != MERKLE):
        raise _unknown_version(
            f"{AFFIDAVIT_BLOCK}.version", ours.version, f"1 or {BLOCK_VERSION} with {MERKLE}"
        )
    if EVENTS not in known.files:
        raise AffidavitError(
            faults.ARCHIVE_MISSING, Where(field="files"), name=EVENTS, problem="it is not listed"
        )
    return Manifest(value, known)


def _readable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a manifest without the block `x-assay`, if another producer gave it another shape.

    Assay's own fixtures do, and its reader ignores the block. Ours has the shape of ADR-025.
    """
    try:
        msgspec.convert(value.get(ASSAY_BLOCK), AssayBlockV1 | None)
    except msgspec.ValidationError:
        if AFFIDAVIT_BLOCK not in value:
            return {key: member for key, member in value.items() if key != ASSAY_BLOCK}
    return value


def _unknown_version(what: str, found: object, known: object) -> AffidavitError:
    shown = excerpt(repr(found))
    return AffidavitError(faults.BUNDLE_VERSION, what=what, found=shown, known=known)


class ManifestContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest states about the events."""

    run_id: str
    count: int
    size: int
    sha256: str
    run_root: str
    merkle_root: str
    finished: bool | None
    redacted_values: int


class ManifestDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest states besides its events; `kept` are members of another manifest to copy."""

    producer: Mapping[str, JsonValue]
    origin: str | None = None
    torn_bytes: int = 0
    packs: AssayBlockV1 = AssayBlockV1()
    pack_results: tuple[PackResultV1, ...] = ()
    kept: Mapping[str, JsonValue] = {}


def manifest_bytes(contents: ManifestContents, details: ManifestDetails) -> bytes:
    """Return the canonical bytes of a manifest."""
    ours = AffidavitBlock(
        version=BLOCK_VERSION,
        merkle=MERKLE,
        merkle_root=contents.merkle_root,
        tree_size=contents.count,
        finished=contents.finished,
        origin=details.origin,
        redacted_values=contents.redacted_values,
        torn_bytes=details.torn_bytes,
        pack_results=details.pack_results,
    )
    events = ManifestFileV1(EVENTS, contents.sha256, contents.size)
    members: dict[str, object] = {
        ASSAY_BLOCK: details.packs,
        **details.kept,
        "schema_version": SCHEMA_VERSION,
        "bundle_id": contents.run_root,
        "producer": details.producer,
        "run_id": contents.run_id,
        "event_count": contents.count,
        "run_root": contents.run_root,
        "algorithms": ALGORITHMS,
        "files": {EVENTS: events},
        AFFIDAVIT_BLOCK: ours,
    }
    return jcs(msgspec.to_builtins(members))


_decode = msgspec.json.decode


class LineDigests(msgspec.Struct, frozen=True, kw_only=True):
    """What the totals need of whole lines. It may be computed in another process.

    `hashes` are the lines of the run root, `leaves` the hashes of the Merkle tree. `finished` says
    whether the run ends with these lines; None if it neither starts nor ends in them.
    """

    hashes: bytes
    leaves: bytes
    finished: bool | None
    redacted_values: int

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.leaves) // DIGEST_BYTES


def line_digests(text: bytes, batch: VerifiedBatch) -> LineDigests:
    """Return what the totals need of the lines of a text, which were verified or written."""
    redacted = 0
    if may_be_redacted(text):
        redacted = sum(count_commitments(_decode(line[1:])) for line in batch.leaves)
    named = {RUN_STARTED, RUN_FINISHED}.intersection(batch.types)
    last = next((each for each in reversed(batch.types) if each in named), None) if named else None
    return LineDigests(
        hashes=b"sha256:%b\n" % b"\nsha256:".join(batch.hashes),
        leaves=leaves_of(batch.leaves),
        finished=None if last is None else last == RUN_FINISHED == batch.types[-1],
        redacted_values=redacted,
    )


class EventTotals:
    """Count, digest and roots of event lines, for writing and verifying alike."""

    def __init__(self) -> None:
        self._bytes = hashlib.sha256()
        self._hashes = hashlib.sha256()
        self._tree = MerkleTree()
        self._finished: bool | None = None
        self._redacted_values = 0
        self.size = 0

    @property
    def count(self) -> int:
        """The number of events."""
        return self._tree.size

    def add(self, text: bytes, digests: LineDigests) -> None:
        """Add whole lines."""
        if digests.finished is not None:
            self._finished = digests.finished
        elif self._finished is not None:
            self._finished = False  # Whatever comes after the end of a run opens it again.
        self._redacted_values += digests.redacted_values
        self._bytes.update(text)
        self.size += len(text)
        self._hashes.update(digests.hashes)
        self._tree.extend(digests.leaves)

    def contents(self, run_id: str) -> ManifestContents:
        """Return what a manifest must state about these events."""
        return ManifestContents(
            run_id=run_id,
            count=self.count,
            size=self.size,
            sha256=f"sha256:{self._bytes.hexdigest()}",
            run_root=f"sha256:{self._hashes.hexdigest()}",
            merkle_root=f"sha256:{self._tree.root().hex()}",
            finished=self._finished,
            redacted_values=self._redacted_values,
        )


_EMPTY: Final[tuple[JsonValue, ...]] = ([], {})


def require_statements(
    manifest: Manifest, contents: ManifestContents, producers: Iterable[ProducerV1]
) -> None:
    """Raise if a member of a manifest contradicts its events; `producers` are those they name.

    The results of packs are left to whoever has the packs.
    """
    known, ours = manifest.known, manifest.known.affidavit
    if ours is None or not known.is_recomputable:
        return
    _require("files", known.files[EVENTS].path, EVENTS)
    _require("finished", ours.finished, contents.finished)
    _require("redacted_values", ours.redacted_values, contents.redacted_values)
    if ours.origin is None:
        for found in producers:
            _require("producer", _producer_text(known.producer), _producer_text(found))
        applied = [pack.digest for pack in known.packs_applied]
        _require(PACK_RESULTS, [result.digest for result in ours.pack_results], applied)
    elif not contents.redacted_values:
        _require("origin", ours.origin, None)


def uncovered_statements(manifest: Manifest) -> tuple[str, ...]:
    """Return the members of a manifest that do not follow from its events."""
    known, ours = manifest.known, manifest.known.affidavit
    block: dict[str, object] = dict.fromkeys(("version", "merkle", "merkle_root", "tree_size"))
    proven: dict[str, object] = {
        **dict.fromkeys(("schema_version", "bundle_id", "run_id", "event_count", "run_root")),
        "algorithms": dict.fromkeys(ALGORITHMS),
        "files": {EVENTS: dict.fromkeys(("path", "sha256", "bytes"))},
        AFFIDAVIT_BLOCK: block,
        ASSAY_BLOCK: {},
    }
    if ours is None or not known.is_recomputable:
        return tuple(_uncovered(manifest.value, proven))
    if ours.origin is None:
        proven["producer"] = dict.fromkeys(("name", "version", "git"))
    block |= dict.fromkeys(("finished", "redacted_values", PACK_RESULTS))
    proven[ASSAY_BLOCK] = dict.fromkeys(("packs_applied", "mappings"))
    return tuple(_uncovered(manifest.value, proven))


def _producer_text(producer: ProducerV1) -> str:
    return excerpt(f"{producer.name} {producer.version}, git {producer.git or 'unknown'}", 120)


def _require(field: str, said: object, found: object) -> None:
    if said != found:
        where = Where(MANIFEST, field=field)
        shown = {"said": msgspec.json.encode(said), "found": msgspec.json.encode(found)}
        values = {name: excerpt(text.decode(), 200) for name, text in shown.items()}
        raise AffidavitError(faults.BUNDLE_STATEMENT, where, **values)


def _uncovered(
    value: Mapping[str, JsonValue], proven: Mapping[str, object], path: str = ""
) -> Iterator[str]:
    """Yield the members that are not proven and not empty, as JSON pointers."""
    for key, member in value.items():
        inner = proven.get(key)
        if isinstance(inner, Mapping) and isinstance(member, dict):
            yield from _uncovered(member, inner, f"{path}/{key}")
        elif key not in proven and member not in _EMPTY:
            yield f"{path}/{key}"
