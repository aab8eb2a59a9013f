"""Discloses parts of a bundle: redaction with salted commitments, reveals, and inclusion proofs.

A commitment replaces a redacted value. Its digest covers 32 random bytes and the canonical value,
so nobody can find a short value by trying all of them. The salts are written to a separate file,
for the owner alone: with a salt and a value anybody can check what was there. The original bundle
is also named behind a salt: bundles are reproducible, so its digest would allow guessing short
values until a bundle with that digest comes out. For the same reason the line of a redacted event
gets a new salt: with the old one, its leaf in the tree of the original would be such a digest.

An inclusion proof has the number of an event, the size of the tree and some twenty digests. With
a trusted Merkle root anybody can check one event without seeing the others.
"""

import hmac
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from affidavit.app.bundles import WrittenBundle, open_bundle, write_bundle
from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.digest import digest_of, hex_from_digest
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.files import digest_file, write_atomically
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.packs.pointers import child_pointer, pointer_steps
from affidavit.seal.bundle.commitments import (
    SALT_BYTES,
    commitment,
    commitment_holds,
    is_commitment,
    is_redacted_subject,
    salted_digest,
    subject_commitment,
)
from affidavit.seal.bundle.container import DEFAULT_LIMITS, EVENTS, BundleLimits
from affidavit.seal.bundle.events import LEAF_SALT, LEAF_SALT_BYTES
from affidavit.seal.bundle.manifest import (
    AFFIDAVIT_BLOCK,
    MERKLE,
    Manifest,
    ManifestDetails,
    manifest_from_bytes,
)
from affidavit.seal.bundle.merkle import (
    DIGEST_BYTES,
    audit_path,
    leaf_of,
    leaf_prefixed_lines,
    leaves_of,
    root_from_path,
)
from affidavit.seal.bundle.reader import BundleReader
from affidavit.seal.bundle.writer import EventWriter, RunIdentity

# Searches a redacted bundle for redacted values that still stand elsewhere in it.

MAX_LEFTOVERS: Final = 20  # Places that are named; all are counted.
_MAX_WORDS: Final = 8  # Of a longer value, the first words are searched for.
_WORD: Final = re.compile(r"\w+")
# Members of an event that hold no value of the user: digests, numbers, and the id of the run twice.
_UNSEARCHED: Final = frozenset(
    {"assaycontenthash", "assayseq", "datacontenttype", "id", "specversion", "time", LEAF_SALT}
)


class EventPlace(msgspec.Struct, frozen=True):
    """A place in an event, or in the manifest if the event is None."""

    event: int | None
    path: str

    def __str__(self) -> str:
        holder = "the manifest" if self.event is None else f"event {self.event}"
        return f"{holder} at {self.path}"


class Leftover(msgspec.Struct, frozen=True):
    """A place where a redacted value still stands."""

    value_of: EventPlace
    place: EventPlace


class LeftoverSearch:
    """Searches a redacted bundle for values that were redacted elsewhere in it.

    A value is found by its words, whatever their case and what stands between them. Single digits,
    true, false and null are everywhere and are not searched for. A value in another form, such as
    its digest, is not found.
    """

    def __init__(self) -> None:
        self._expected: dict[tuple[str, ...], EventPlace] = {}
        self._lengths: set[int] = set()
        self.found: list[Leftover] = []
        self.count = 0

    def expect(self, value: JsonValue, place: EventPlace) -> None:
        """Search for the texts and numbers of a redacted value."""
        for text, _ in _texts_in(value, ""):
            words = _words(text)[:_MAX_WORDS]
            if words and not (len(text) == 1 and text.isdigit()):
                self._expected.setdefault(words, place)
                self._lengths.add(len(words))

    def search(self, event: Mapping[str, Any]) -> None:
        """Note the places of an event that still have one of the values."""
        kept = {name: event[name] for name in sorted(event.keys() - _UNSEARCHED)}
        self._search_value(kept, event["assayseq"])

    def search_manifest(self, kept: Mapping[str, JsonValue]) -> None:
        """Note the places in members of a manifest that still have one of the values."""
        self._search_value(dict(sorted(kept.items())), None)

    def _search_value(self, members: dict[str, JsonValue], event: int | None) -> None:
        for name, value in members.items():
            for text, path in _texts_in(value, child_pointer("", name), with_keys=True):
                self._search_text(_words(text), EventPlace(event, path))

    def _search_text(self, words: tuple[str, ...], place: EventPlace) -> None:
        for start in range(len(words)):
            for length in self._lengths:
                value_of = self._expected.get(words[start : start + length])
                if value_of is not None:
                    self.count += 1
                    if len(self.found) < MAX_LEFTOVERS:
                        self.found.append(Leftover(value_of, place))
                    return


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text, or the text itself if it has none."""
    folded = text.casefold()
    return tuple(_WORD.findall(folded)) or tuple(filter(None, (folded.strip(),)))


def _texts_in(value: JsonValue, path: str, *, with_keys: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a value as texts, perhaps the keys too, each with its path."""
    pending: list[tuple[JsonValue, str]] = [(value, path)]
    while pending:
        here, at = pending.pop()
        if isinstance(here, dict):
            if not is_commitment(here):
                pending += [(here[key], child_pointer(at, key)) for key in reversed(here)]
                yield from ((key, child_pointer(at, key)) for key in here if with_keys)
        elif isinstance(here, list):
            pending += [(here[index], f"{at}/{index}") for index in reversed(range(len(here)))]
        elif isinstance(here, str) or (here is not None and not isinstance(here, bool)):
            yield here if isinstance(here, str) else jcs(here).decode(), at


_ANY: Final = "*"
_INDEX_DIGITS: Final = 10  # A longer number is no index of any list, and slow to parse.


SUBJECT: Final = "/subject"


@dataclass(frozen=True, slots=True)
class RedactionPath:
    """The subject of an event, or a JSON pointer into its data; `*` stands for every member."""

    text: str
    steps: tuple[str, ...]


def redaction_path_from(text: str) -> RedactionPath:
    """Parse a pointer (RFC 6901); raise if it is not /subject and does not begin with /data."""
    if text == SUBJECT:
        return RedactionPath(text, ())
    steps = pointer_steps(text.removeprefix("/"))
    if not text.startswith("/data") or steps[0] != "data":
        raise AffidavitError(faults.REDACT_PATH, path=excerpt(text))
    return RedactionPath(text, steps[1:])


def locations_of(event: dict[str, Any], pointer: RedactionPath) -> Iterator[tuple[Any, Any, str]]:
    """Yield each place that a pointer names: the container, the key, and the exact path."""
    if pointer.text == SUBJECT:
        if isinstance(event.get("subject"), str):
            yield event, "subject", SUBJECT
        return
    places: list[tuple[Any, Any, str]] = [(event, "data", "/data")]
    for step in pointer.steps:
        places = [
            (value, key, child_pointer(path, key))
            for holder, at, path in places
            for value in (holder[at],)
            for key in _keys(value, step)
        ]
    yield from places


def _keys(value: Any, step: str) -> list[Any]:
    if isinstance(value, dict) and not is_commitment(value):
        return list(value) if step == _ANY else [step] if step in value else []
    if isinstance(value, list):
        if step == _ANY:
            return list(range(len(value)))
        is_index = step.isdecimal() and len(step) < _INDEX_DIGITS and int(step) < len(value)
        return [int(step)] if is_index else []
    return []


SALTS_SCHEMA: Final = "affidavit-salts/1"
# Unsalted digests, from which a redacted value could be guessed.
_UNSALTED_DIGESTS: Final = ("assaysemanticdigest", "assaydigestprofile")
_REWRITTEN_FIELDS: Final = frozenset(
    {
        "schema_version",
        "bundle_id",
        "event_count",
        "run_root",
        "run_id",
        "algorithms",
        "files",
        AFFIDAVIT_BLOCK,
    }
)
RandomBytes = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class RedactionRequest:
    """What to redact: values at some paths, in events of some types or of all."""

    pointers: tuple[RedactionPath, ...]
    types: frozenset[str]

    def in_type(self, kind: str) -> bool:
        """Return whether events of a type are to be redacted."""
        return not self.types or kind in self.types


@dataclass(slots=True)
class Redaction:
    """A redaction in progress, with the salt of each redacted value."""

    wanted: RedactionRequest
    random: RandomBytes
    salts: list[dict[str, JsonValue]] = field(default_factory=list)
    leftovers: LeftoverSearch = field(default_factory=LeftoverSearch)

    def redact(self, event: dict[str, Any]) -> dict[str, Any]:
        """Replace the values of an event, in place."""
        before = len(self.salts)
        if self.wanted.in_type(event["type"]):
            for pointer in self.wanted.pointers:
                for holder, key, path in locations_of(event, pointer):
                    self._redact_value(event, holder, key, path)
        if len(self.salts) > before:
            for name in _UNSALTED_DIGESTS:
                event.pop(name, None)
            if LEAF_SALT in event:
                # With the salt of the original line its values could be guessed from a proof.
                event[LEAF_SALT] = self.random(LEAF_SALT_BYTES).hex()
        return event

    def _redact_value(self, event: dict[str, Any], holder: Any, key: Any, path: str) -> None:
        value = holder[key]
        is_subject = path == SUBJECT
        if is_redacted_subject(value) if is_subject else is_commitment(value):
            return
        salt = self.random(SALT_BYTES)
        holder[key] = subject_commitment(value, salt) if is_subject else commitment(value, salt)
        self.leftovers.expect(value, EventPlace(event["assayseq"], path))
        self.salts.append({"event": event["assayseq"], "path": path, "salt": salt.hex()})


class RedactedBundle(msgspec.Struct, frozen=True):
    """A redacted bundle that was written, and where redacted values still stand in it."""

    written: WrittenBundle
    redacted_values: int
    leftovers: tuple[Leftover, ...]
    leftover_count: int


def redaction_request_from(paths: Sequence[str], types: Sequence[str]) -> RedactionRequest:
    """Return the request; types without paths mean all data of their events."""
    return RedactionRequest(tuple(map(redaction_path_from, paths or ("/data",))), frozenset(types))


def redact_bundle(
    source: Path,
    target: Path,
    *,
    salts: Path,
    wanted: RedactionRequest,
    random: RandomBytes,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> RedactedBundle:
    """Write the redacted bundle and its salts; return it, and where values still stand in it.

    The salts are written first, because without them nothing can be revealed.
    """
    redaction = Redaction(wanted, random)
    origin, origin_salt = digest_file(source), random(SALT_BYTES)
    _refuse_known_salts(salts)
    with open_bundle(source, limits) as reader:
        manifest = reader.manifest.value
        known = reader.manifest.known
        kept = {key: manifest[key] for key in manifest.keys() - _REWRITTEN_FIELDS}

        def details() -> ManifestDetails:
            if not redaction.salts:
                raise AffidavitError(faults.REDACT_NOTHING, Where(file=str(source)))
            _write_salts(salts, origin, origin_salt, redaction)
            ours = known.affidavit
            return ManifestDetails(
                producer=msgspec.to_builtins(known.producer),
                origin=salted_digest(origin, origin_salt),
                torn_bytes=0 if ours is None else ours.torn_bytes,
                pack_results=() if ours is None else ours.pack_results,
                kept=kept,
            )

        writer = EventWriter(RunIdentity(known.run_id, "urn:redacted", known.producer.name, ""))
        lines = _lines(reader, writer, redaction, limits)
        try:
            written = write_bundle(target, writer, lines, details)
        except BaseException:
            # We wrote the salts, and the bundle that they belong to does not exist.
            with suppress(OSError):
                salts.unlink()
            raise
    search = redaction.leftovers
    search.search_manifest(kept)
    with open_bundle(target, limits) as reader:
        for _, event in reader.events():
            search.search(event)
    return RedactedBundle(written, len(redaction.salts), tuple(search.found), search.count)


def _refuse_known_salts(salts: Path) -> None:
    """Refuse to overwrite salts: without them, redacted values are lost for ever."""
    if os.path.lexists(salts):
        raise AffidavitError(faults.REDACT_SALTS_EXIST, Where(file=str(salts)))


def _lines(
    reader: BundleReader, writer: EventWriter, redaction: Redaction, limits: BundleLimits
) -> Iterator[bytes]:
    line_limits = limits.for_json(limits.max_line_bytes)
    for number, event in reader.events():
        line = writer.rewrite(redaction.redact(event))
        try:
            # A commitment may be longer and deeper than the value.
            require_canonical(line[:-1], line_limits)
        except AffidavitError as error:
            where = Where(EVENTS, number, error.where.field)
            raise AffidavitError(error.fault, where, **error.values) from None
        yield line


def _write_salts(path: Path, origin: str, origin_salt: bytes, redaction: Redaction) -> None:
    document = {
        "schema": SALTS_SCHEMA,
        "origin": {"origin": origin, "salt": origin_salt.hex()},
        "salts": redaction.salts,
    }
    write_atomically(path, jcs(document) + b"\n", private=True)


_DIGITS: Final = 2 * SALT_BYTES
_Salt = Annotated[str, msgspec.Meta(pattern=rf"^[0-9a-f]{{{_DIGITS}}}$")]


class RevealedV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A revealed value: its event and path, the salt, and the value."""

    event: int
    path: str
    salt: _Salt
    value: Any


class RevealedOriginV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of the bundle that a redacted one was made from, and its salt."""

    origin: str
    salt: _Salt


def check_revealed(
    bundle: Path, revealed: JsonValue, limits: BundleLimits = DEFAULT_LIMITS
) -> RevealedV1 | RevealedOriginV1:
    """Return what is revealed if the bundle has a commitment to it; raise otherwise."""
    try:
        if isinstance(revealed, dict) and "origin" in revealed:
            origin = msgspec.convert(revealed, RevealedOriginV1)
            _require_origin(bundle, origin, limits)
            return origin
        read = msgspec.convert(revealed, RevealedV1)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.REVEAL_FORMAT, problem=str(error)) from None
    _require_value(bundle, read, limits)
    return read


def _require_value(bundle: Path, read: RevealedV1, limits: BundleLimits) -> None:
    pointer = redaction_path_from(read.path)
    found: list[Any] = []
    with open_bundle(bundle, limits) as reader:
        for _, event in reader.events():
            if event["assayseq"] == read.event:
                found = [holder[key] for holder, key, _ in locations_of(event, pointer)]
    is_redacted = is_redacted_subject if pointer.text == SUBJECT else is_commitment
    if len(found) != 1 or not is_redacted(found[0]):
        problem = f"event {read.event} has no redacted value at {excerpt(read.path)}"
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=problem)
    if not commitment_holds(found[0], read.value, bytes.fromhex(read.salt)):
        problem = f"it says {excerpt(jcs(found[0]).decode(), 160)}"
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=problem)


def _require_origin(bundle: Path, read: RevealedOriginV1, limits: BundleLimits) -> None:
    with open_bundle(bundle, limits) as reader:
        for _ in reader.lines():
            pass
        ours = reader.manifest.known.affidavit
    stated = None if ours is None else ours.origin
    if stated is None:
        raise AffidavitError(faults.REVEAL_MISMATCH, problem="the bundle names no origin")
    if not hmac.compare_digest(stated, salted_digest(read.origin, bytes.fromhex(read.salt))):
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=f"its origin is {excerpt(stated, 80)}")


PROOF_SCHEMA: Final = "affidavit-proof/2"
_FIRST_PROOF_SCHEMA: Final = "affidavit-proof/1"
PROOF_SCHEMAS: Final = (_FIRST_PROOF_SCHEMA, PROOF_SCHEMA)


class ProofV2(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A proof file. A Merkle root does not determine the size of its tree; the manifest does.

    The manifest is left out unless it is asked for: it has the run root, a digest without a salt.
    """

    schema: str
    event: int
    tree_size: int
    merkle: str
    merkle_root: str
    manifest_digest: str
    path: list[str]
    manifest: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class CheckedProof(msgspec.Struct, frozen=True, kw_only=True):
    """What a proof proves. Members are None if only a trusted manifest would prove them."""

    valid: bool = True
    event: int
    run_id: str
    merkle_root: str
    tree_size: int | None = None
    bundle_id: str | None = None
    manifest_digest: str | None = None


def prove_event(
    path: Path, event: int, limits: BundleLimits = DEFAULT_LIMITS, *, with_manifest: bool = False
) -> tuple[ProofV2, bytes]:
    """Return the proof of an event and its line. The whole bundle is verified."""
    leaves = bytearray()
    line = b""
    with open_bundle(path, limits) as reader:
        for lines in reader.lines():
            leaves += leaves_of(leaf_prefixed_lines(lines.text))
            for number, each in lines.each():
                if number == event + 1:
                    line = each
    size = len(leaves) // DIGEST_BYTES
    if not 0 <= event < size:
        raise AffidavitError(faults.PROOF_EVENT, event=event, last=size - 1)
    each_leaf = [
        bytes(leaves[at : at + DIGEST_BYTES]) for at in range(0, len(leaves), DIGEST_BYTES)
    ]
    nodes = audit_path(each_leaf, event)
    root = root_from_path(each_leaf[event], event, size, nodes)
    proof = ProofV2(
        schema=PROOF_SCHEMA,
        event=event,
        tree_size=size,
        merkle=MERKLE,
        merkle_root=f"sha256:{(root or b'').hex()}",
        manifest_digest=reader.manifest.digest,
        path=[f"sha256:{node.hex()}" for node in nodes],
        manifest=dict(reader.manifest.value) if with_manifest else msgspec.UNSET,
    )
    return proof, line


def is_salted(line: bytes) -> bool:
    """Return whether the line of an event has a salt, which a canonical line begins with."""
    return line.startswith(b'{"affidavitsalt":')


def check_proof(
    proof: JsonValue, event: JsonValue, *, root: str | None, manifest_digest: str | None
) -> CheckedProof:
    """Return what a proof proves about an event; raise if it does not hold.

    The caller trusts the root or the digest of the manifest, or both. What the proof itself says
    is only compared with them.
    """
    read = _proof_from(proof)
    if not isinstance(event, Mapping):
        raise AffidavitError(faults.PROOF_FORMAT, problem="the event is not a JSON object")
    if event.get("assayseq") != read.event:
        raise _mismatch(f"the event is not number {read.event}")
    nodes = [bytes.fromhex(hex_from_digest(node)) for node in read.path]
    found = root_from_path(leaf_of(jcs(event)), read.event, read.tree_size, nodes)
    if found is None:
        raise _mismatch("no tree of this size has such a path")
    if root is not None and found.hex() != hex_from_digest(root):
        raise _mismatch(f"event and path lead to sha256:{found.hex()}, not to {root}")
    found_root = f"sha256:{found.hex()}"
    if read.merkle_root != found_root:
        raise _mismatch("it is a proof for another root")
    proved = CheckedProof(
        event=read.event, run_id=str(event.get("assayrunid")), merkle_root=found_root
    )
    if manifest_digest is None:
        return proved
    manifest = _trusted_manifest(read, manifest_digest)
    ours = manifest.known.affidavit
    stated = None if ours is None else (ours.merkle_root, ours.tree_size)
    if stated != (found_root, read.tree_size) or manifest.known.run_id != proved.run_id:
        raise _mismatch("the manifest is of another bundle")
    return msgspec.structs.replace(
        proved,
        tree_size=read.tree_size,
        bundle_id=manifest.known.bundle_id,
        manifest_digest=manifest_digest,
    )


def _trusted_manifest(proof: ProofV2, digest: str) -> Manifest:
    hex_from_digest(digest)
    if proof.manifest is msgspec.UNSET:
        problem = "it holds no manifest to compare with the digest"
        raise AffidavitError(faults.PROOF_FORMAT, problem=problem)
    raw = jcs(proof.manifest)
    if digest_of(raw) != digest:
        raise _mismatch(f"the digest of its manifest is {digest_of(raw)}, not {digest}")
    if proof.manifest_digest not in ("", digest):  # Earlier proofs have none.
        raise _mismatch(f"it states the digest {proof.manifest_digest} of its manifest")
    return manifest_from_bytes(raw, DEFAULT_LIMITS)


def _proof_from(value: JsonValue) -> ProofV2:
    members = dict(value) if isinstance(value, Mapping) else {}
    if members.get("schema") == _FIRST_PROOF_SCHEMA:
        # It names a bundle and a run, which nothing proves, and has no digest of a manifest.
        members = {
            **{key: members[key] for key in members.keys() - {"bundle_id", "run_id"}},
            "schema": PROOF_SCHEMA,
            "manifest_digest": "",
        }
    try:
        proof = msgspec.convert(members, ProofV2)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.PROOF_FORMAT, problem=str(error)) from None
    if (proof.schema, proof.merkle) != (PROOF_SCHEMA, MERKLE):
        problem = f"it is not {PROOF_SCHEMA} with {MERKLE}"
        raise AffidavitError(faults.PROOF_FORMAT, problem=problem)
    return proof


def _mismatch(problem: str) -> AffidavitError:
    return AffidavitError(faults.PROOF_MISMATCH, problem=problem)
