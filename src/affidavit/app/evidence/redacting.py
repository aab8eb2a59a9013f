"""Takes values out of a bundle and leaves commitments; the new bundle verifies like any other.

It names the bundle that it was made from by digest. The salts are written apart, for the owner
alone: with a salt and a value anybody checks that this is what was there, and without it nobody
learns more than how long it was.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app.evidence.bundle_files import About, opened_bundle, write_bundle
from affidavit.app.evidence.commitments import (
    KEY,
    SALT_BYTES,
    Pointer,
    commitment,
    holds,
    is_commitment,
    places_of,
    pointer_from,
)
from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import digest_file, write_atomically
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle.drafting import Drafting, Run
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import OURS, Contents
from affidavit.seal.bundle.reading import BundleReader

SALTS_SCHEMA: Final = "affidavit-salts/1"
_WRITTEN_ANEW: Final = frozenset(
    {
        "schema_version",
        "bundle_id",
        "event_count",
        "run_root",
        "run_id",
        "algorithms",
        "files",
        OURS,
    }
)
Chance = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be redacted: values at some places, in events of some types, or of all."""

    pointers: tuple[Pointer, ...]
    types: frozenset[str]

    def in_type(self, kind: str) -> bool:
        """Say whether events of a type are meant."""
        return not self.types or kind in self.types


@dataclass(slots=True)
class Redaction:
    """A redaction in the making: each value that was taken out, with its salt."""

    wanted: Wanted
    chance: Chance
    salts: list[dict[str, JsonValue]] = field(default_factory=list)

    def redact(self, event: dict[str, Any]) -> dict[str, Any]:
        """Take the values out of an event, which is changed."""
        if self.wanted.in_type(event["type"]):
            for pointer in self.wanted.pointers:
                for holder, key, path in places_of(event, pointer):
                    self._take(event, holder, key, path)
        return event

    def _take(self, event: dict[str, Any], holder: Any, key: Any, path: str) -> None:
        value = holder[key]
        if is_commitment(value):
            return
        salt = self.chance(SALT_BYTES)
        holder[key] = commitment(value, salt)
        self.salts.append({"event": event["assayseq"], "path": path, "salt": salt.hex()})


def wanted_from(paths: Sequence[str], types: Sequence[str]) -> Wanted:
    """Return what is to be redacted; types without paths mean the whole data of their events."""
    return Wanted(tuple(map(pointer_from, paths or ("/data",))), frozenset(types))


def redact_bundle(
    source: Path,
    target: Path,
    salts: Path,
    wanted: Wanted,
    chance: Chance,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> tuple[Contents, int]:
    """Write the redacted bundle and its salts; return what it holds and how many values are out.

    The salts are written first: a bundle without them could never be revealed.
    """
    redaction = Redaction(wanted, chance)
    origin = digest_file(source)
    with opened_bundle(source, limits) as reader:
        manifest = reader.manifest.value
        known = reader.manifest.known

        def about() -> About:
            if not redaction.salts:
                raise AffidavitError(faults.REDACT_NOTHING, Where(file=str(source)))
            _write_salts(salts, origin, redaction)
            earlier = 0 if known.ours is None else known.ours.redacted_values
            ours: dict[str, JsonValue] = {
                "origin": origin,
                "redacted_values": earlier + len(redaction.salts),
            }
            kept = {key: value for key, value in manifest.items() if key not in _WRITTEN_ANEW}
            finished = known.ours is None or known.ours.finished
            producer = msgspec.to_builtins(known.producer)
            return About(finished, ours, kept, producer=producer)

        drafting = Drafting(Run(known.run_id, "urn:redacted", known.producer.name, ""))
        lines = _lines(reader, drafting, redaction)
        contents = write_bundle(target, drafting, lines, about)
    return contents, len(redaction.salts)


def _lines(reader: BundleReader, drafting: Drafting, redaction: Redaction) -> Iterator[bytes]:
    for _, event in reader.events():
        yield drafting.rewritten(redaction.redact(event))


def _write_salts(path: Path, origin: str, redaction: Redaction) -> None:
    document = {"schema": SALTS_SCHEMA, "origin": origin, "salts": redaction.salts}
    write_atomically(path, jcs(document) + b"\n", private=True)


class RevealedV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that its owner reveals: where it stood, the salt, and the value."""

    event: int
    path: str
    salt: str
    value: Any


def check_revealed(
    bundle: Path, revealed: JsonValue, limits: BundleLimits = DEFAULT_LIMITS
) -> RevealedV1:
    """Return what is revealed if the bundle holds the commitment to it; raise where not."""
    try:
        read = msgspec.convert(revealed, RevealedV1)
        salt = bytes.fromhex(read.salt)
    except (msgspec.ValidationError, ValueError) as error:
        raise AffidavitError(faults.REVEAL_FORMAT, problem=str(error)) from None
    pointer = pointer_from(read.path)
    found: list[Any] = []
    with opened_bundle(bundle, limits) as reader:
        for _, event in reader.events():
            if event["assayseq"] == read.event:
                found = [holder[key] for holder, key, _ in places_of(event, pointer)]
    if len(found) != 1 or not is_commitment(found[0]):
        problem = f"event {read.event} has no redacted value at {read.path}"
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=problem)
    if not holds(found[0], read.value, salt):
        said = found[0][KEY]
        digest = said.get("digest") if isinstance(said, dict) else said
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=f"it says {digest}")
    return read
