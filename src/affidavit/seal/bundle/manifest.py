"""The manifest of a bundle, and the totals over all events that it states.

Origin: Assay's Evidence Contract v1, with two more blocks. `x-assay` names the packs that were
applied and their mappings (ADR-025, data contract 3). `x-affidavit` has a Merkle root over whole
lines, and whether the run had finished. Unknown members are kept.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.seal.bundle.container import EVENTS, MANIFEST, BundleLimits
from affidavit.seal.bundle.merkle import MerkleTree, leaves_of

SCHEMA_VERSION: Final = 1
ALGORITHMS: Final[Mapping[str, str]] = {
    "canon": "jcs-rfc8785",
    "hash": "sha256",
    "root": 'sha256(concat(content_hash + "\\n"))',
}
MERKLE: Final = "rfc6962-sha256"
AFFIDAVIT_BLOCK: Final = "x-affidavit"
ASSAY_BLOCK: Final = "x-assay"


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


class AffidavitBlockV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """The block `x-affidavit`.

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
    affidavit: AffidavitBlockV1 | None = None
    assay: AssayBlockV1 | None = None


class Manifest(msgspec.Struct, frozen=True):
    """A manifest: all of its members, and the known ones typed."""

    value: Mapping[str, JsonValue]
    known: BundleManifestV1

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
    if known.affidavit is not None and (known.affidavit.version, known.affidavit.merkle) != (
        1,
        MERKLE,
    ):
        raise _unknown_version(
            f"{AFFIDAVIT_BLOCK}.version", known.affidavit.version, f"1 with {MERKLE}"
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


class ManifestDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest states besides its events; `kept` are members of another manifest to copy."""

    producer: Mapping[str, JsonValue]
    finished: bool | None
    origin: str | None = None
    redacted_values: int = 0
    torn_bytes: int = 0
    packs: AssayBlockV1 = AssayBlockV1()
    kept: Mapping[str, JsonValue] = {}


def manifest_bytes(contents: ManifestContents, details: ManifestDetails) -> bytes:
    """Return the canonical bytes of a manifest."""
    ours = AffidavitBlockV1(
        version=1,
        merkle=MERKLE,
        merkle_root=contents.merkle_root,
        tree_size=contents.count,
        finished=details.finished,
        origin=details.origin,
        redacted_values=details.redacted_values,
        torn_bytes=details.torn_bytes,
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


# Leaves at a time, because each level of the tree has a fixed cost.
_TREE_BATCH: Final = 4096


class EventTotals:
    """Count, digest and roots of event lines, for writing and verifying alike."""

    def __init__(self) -> None:
        self._bytes = hashlib.sha256()
        self._hashes = hashlib.sha256()
        self._tree = MerkleTree()
        self._leaves: list[bytes] = []
        self.size = 0

    @property
    def count(self) -> int:
        """The number of events."""
        return self._tree.size + len(self._leaves)

    def add(self, text: bytes, hashes: Sequence[bytes], lines: Sequence[bytes]) -> None:
        """Add whole lines: their text, their content hashes in hexadecimal digits, and each line.

        The lines have the leaf prefix, as `merkle.leaf_prefixed_lines` returns them.
        """
        self._bytes.update(text)
        self.size += len(text)
        self._hashes.update(b"sha256:%b\n" % b"\nsha256:".join(hashes))
        self._leaves += leaves_of(lines)
        if len(self._leaves) >= _TREE_BATCH:
            self._grow()

    def _grow(self) -> None:
        self._tree.extend(self._leaves)
        self._leaves = []

    def contents(self, run_id: str) -> ManifestContents:
        """Return what a manifest must state about these events."""
        self._grow()
        return ManifestContents(
            run_id=run_id,
            count=self.count,
            size=self.size,
            sha256=f"sha256:{self._bytes.hexdigest()}",
            run_root=f"sha256:{self._hashes.hexdigest()}",
            merkle_root=f"sha256:{self._tree.root().hex()}",
        )
