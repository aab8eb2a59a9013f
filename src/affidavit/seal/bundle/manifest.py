"""The manifest of a bundle, and the totals over all events that it states."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.seal.bundle.container import EVENTS, MANIFEST
from affidavit.seal.bundle.limits import BundleLimits
from affidavit.seal.bundle.merkle import MerkleTree, leaves_of

# The manifest of a bundle: what it says, and what is ours in it.
#
# Origin: Assay's Evidence Contract v1, with two blocks beside it. `x-assay` names the packs that
# were applied and what they map to (ADR-025, data contract 3). `x-affidavit` covers what the
# contract leaves open: a Merkle root over whole lines, and whether the run had finished. Keys that
# are not known are kept as they are.

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
    """What the manifest says of a member."""

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
    """What a rule speaks to in a framework (ADR-025, data contract 3)."""

    rule: str
    framework: str
    ref: str


class AssayBlockV1(msgspec.Struct, frozen=True):
    """The block `x-assay`."""

    packs_applied: tuple[PackAppliedV1, ...] = ()
    mappings: tuple[MappingV1, ...] = ()


class AffidavitBlockV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """The block `x-affidavit`. `origin` commits, behind a salt, to what a redacted bundle was.

    Whether the run had finished is left out where no event says that one began.
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
    """A manifest, as far as it is known."""

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


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest: all that it holds, and its parts that are known."""

    value: Mapping[str, JsonValue]
    known: BundleManifestV1

    @property
    def events(self) -> ManifestFileV1:
        """What it says of the events."""
        return self.known.files[EVENTS]

    @property
    def events_sha256(self) -> str:
        """The digest of the events as it stands everywhere else: `sha256:<hex>`."""
        said = self.events.sha256
        return said if said.startswith("sha256:") else f"sha256:{said}"


def manifest_from_bytes(raw: bytes, limits: BundleLimits) -> Manifest:
    """Return the manifest, or raise why it is none: strict JSON, canonical, complete, of version 1.

    Assay reads a manifest that is not canonical. Its writers write none, and two texts for one
    manifest would be two bundles with one meaning, so here it is refused.
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
        known = msgspec.convert(value, BundleManifestV1)
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


def _unknown_version(what: str, found: object, known: object) -> AffidavitError:
    shown = excerpt(repr(found))
    return AffidavitError(faults.BUNDLE_VERSION, what=what, found=shown, known=known)


@dataclass(frozen=True, slots=True)
class ManifestContents:
    """What a manifest is made from when the events are known."""

    run_id: str
    count: int
    size: int
    sha256: str
    run_root: str
    merkle_root: str


def manifest_bytes(
    contents: ManifestContents,
    producer: Mapping[str, JsonValue],
    *,
    finished: bool | None,
    about: Mapping[str, JsonValue] | None = None,
    packs_applied: Sequence[Mapping[str, JsonValue]] = (),
    mappings: Sequence[Mapping[str, JsonValue]] = (),
    kept: Mapping[str, JsonValue] | None = None,
) -> bytes:
    """Return the canonical bytes of a manifest.

    `about` adds to our own block; `kept` are members of another manifest that stay as they are.
    """
    ours: dict[str, JsonValue] = {
        "version": 1,
        "merkle": MERKLE,
        "merkle_root": contents.merkle_root,
        "tree_size": contents.count,
        **({} if finished is None else {"finished": finished}),
        **(about or {}),
    }
    events = {"path": EVENTS, "sha256": contents.sha256, "bytes": contents.size}
    manifest: dict[str, object] = {
        ASSAY_BLOCK: {"packs_applied": list(packs_applied), "mappings": list(mappings)},
        **(kept or {}),
        "schema_version": SCHEMA_VERSION,
        "bundle_id": contents.run_root,
        "producer": dict(producer),
        "run_id": contents.run_id,
        "event_count": contents.count,
        "run_root": contents.run_root,
        "algorithms": dict(ALGORITHMS),
        "files": {EVENTS: events},
        AFFIDAVIT_BLOCK: ours,
    }
    return jcs(manifest)


# What all events of a bundle come to: the same sums whether a bundle is written or verified.

_TREE_BATCH: Final = 4096  # Leaves at a time: a level of the tree costs some steps by itself.


class EventTotals:
    """Counts, digests and roots of lines that come in portions."""

    def __init__(self) -> None:
        self._bytes = hashlib.sha256()
        self._hashes = hashlib.sha256()
        self._tree = MerkleTree()
        self._leaves: list[bytes] = []
        self.size = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return self._tree.size + len(self._leaves)

    def add(self, text: bytes, hashes: Sequence[bytes], lines: Sequence[bytes]) -> None:
        """Add whole lines: the text, the content hash of each in hexadecimal digits, and each line.

        The lines stand behind the mark of a leaf, as `merkle.marked_lines` gives them.
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
        """Return what a manifest has to say of these events."""
        self._grow()
        return ManifestContents(
            run_id,
            self.count,
            self.size,
            f"sha256:{self._bytes.hexdigest()}",
            f"sha256:{self._hashes.hexdigest()}",
            f"sha256:{self._tree.root().hex()}",
        )
