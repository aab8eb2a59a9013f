"""Takes values out of a bundle and leaves commitments; the new bundle verifies like any other.

The salts are written apart, for the owner alone: with a salt and a value anybody checks that this
is what was there, and without it nobody learns more than how long it was. The bundle that it was
made from is named behind a salt, too: bundles are reproducible, so whoever has the digest of the
first one tries short values until a bundle with that digest comes out.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app.evidence.bundle_files import About, opened_bundle, write_bundle
from affidavit.app.evidence.commitments import (
    SALT_BYTES,
    Pointer,
    commitment,
    is_commitment,
    places_of,
    pointer_from,
    salted_digest,
)
from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import digest_file, write_atomically
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle.archive import EVENTS
from affidavit.seal.bundle.drafting import Drafting, Run
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import OURS, Contents
from affidavit.seal.bundle.reading import BundleReader

SALTS_SCHEMA: Final = "affidavit-salts/1"
# Digests of what stood there, without a salt: what was taken out could be guessed from them.
_TELL_TALES: Final = ("assaysemanticdigest", "assaydigestprofile")
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
        before = len(self.salts)
        if self.wanted.in_type(event["type"]):
            for pointer in self.wanted.pointers:
                for holder, key, path in places_of(event, pointer):
                    self._take(event, holder, key, path)
        if len(self.salts) > before:
            for name in _TELL_TALES:
                event.pop(name, None)
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
    origin, origin_salt = digest_file(source), chance(SALT_BYTES)
    _refuse_known_salts(salts)
    with opened_bundle(source, limits) as reader:
        manifest = reader.manifest.value
        known = reader.manifest.known

        def about() -> About:
            if not redaction.salts:
                raise AffidavitError(faults.REDACT_NOTHING, Where(file=str(source)))
            _write_salts(salts, origin, origin_salt, redaction)
            earlier = 0 if known.ours is None else known.ours.redacted_values
            ours: dict[str, JsonValue] = {
                "origin": salted_digest(origin, origin_salt),
                "redacted_values": earlier + len(redaction.salts),
            }
            kept = {key: value for key, value in manifest.items() if key not in _WRITTEN_ANEW}
            finished = None if known.ours is None else known.ours.finished
            producer = msgspec.to_builtins(known.producer)
            return About(finished, ours, kept, producer=producer)

        drafting = Drafting(Run(known.run_id, "urn:redacted", known.producer.name, ""))
        lines = _lines(reader, drafting, redaction, limits)
        try:
            contents = write_bundle(target, drafting, lines, about)
        except BaseException:
            # They are ours, and of a bundle that is not there.
            with suppress(OSError):
                salts.unlink()
            raise
    return contents, len(redaction.salts)


def _refuse_known_salts(salts: Path) -> None:
    """Refuse to write over salts: without them what they reveal is hidden for ever."""
    if os.path.lexists(salts):
        raise AffidavitError(faults.REDACT_SALTS_EXIST, Where(file=str(salts)))


def _lines(
    reader: BundleReader, drafting: Drafting, redaction: Redaction, limits: BundleLimits
) -> Iterator[bytes]:
    line_limits = limits.for_json(limits.max_line_bytes)
    for number, event in reader.events():
        line = drafting.rewritten(redaction.redact(event))
        try:
            # A commitment is longer and deeper than many a value.
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
