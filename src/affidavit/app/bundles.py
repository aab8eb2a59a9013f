"""Bundle files: found, opened, verified, and written so that a crash leaves none or a whole one."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TypeAlias

from affidavit.app.verify_inputs import UnreadableInput
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import is_folder, open_to_read, write_atomically
from affidavit.base.json_values import JsonValue
from affidavit.base.notebook import result_table
from affidavit.seal.bundle.container import MEMBERS, ByteStream
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import ManifestContents, manifest_bytes
from affidavit.seal.bundle.reader import BundleReader, read_bundle, verify_bundle
from affidavit.seal.bundle.verification import BundleVerification
from affidavit.seal.bundle.writer import BundlePacker, EventWriter

# Bundles as files: found, opened, and written so that a crash leaves none or a whole one.

ENDING: Final = ".tar.gz"
STANDARD_INPUT: Final = Path("-")
_PIECE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class ManifestFields:
    """What a manifest says beside its events."""

    finished: bool | None
    ours: Mapping[str, JsonValue] | None = None
    kept: Mapping[str, JsonValue] | None = None
    packs_applied: tuple[Mapping[str, JsonValue], ...] = ()
    mappings: tuple[Mapping[str, JsonValue], ...] = ()
    producer: Mapping[str, JsonValue] | None = None


@contextmanager
def open_bundle(path: Path, limits: BundleLimits = DEFAULT_LIMITS) -> Iterator[BundleReader]:
    """Open a bundle to read it. What is wrong inside is raised with the file's name before it."""
    with bundle_stream(path) as stream:
        try:
            yield read_bundle(stream, limits)
        except AffidavitError as error:
            raise error_in_bundle(path, error) from None


@contextmanager
def bundle_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open the bytes that a path names; of standard input they can be had once."""
    if path == STANDARD_INPUT:
        # One that is closed is None: nothing was given.
        yield BytesIO() if sys.stdin is None else sys.stdin.buffer
        return
    with open_to_read(path) as stream:
        yield stream


def shown_name(path: Path) -> str:
    """Return how a bundle is called in what people and machines are told."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def error_in_bundle(path: Path, error: AffidavitError) -> AffidavitError:
    """Return an error of a member of a bundle as an error of the bundle."""
    member = error.where.file
    if member not in (None, *MEMBERS):
        return error
    file = shown_name(path) if member is None else f"{shown_name(path)}: {member}"
    where = Where(file, error.where.line, error.where.field)
    return AffidavitError(error.fault, where, **error.values)


def bundles_in(paths: Iterable[Path]) -> list[Path]:
    """Return the bundles that are meant: those named, and those below folders, in order.

    A folder that may not be looked into stands for what it might hold: it cannot be read either.
    """
    return [file for path in paths for file in (_below(path) if is_folder(path) else (path,))]


def _below(folder: Path) -> Iterator[Path]:
    closed: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=lambda e: closed.append(Path(e.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.endswith((ENDING, ".tgz")):
                yield Path(place, name)
    yield from closed


def write_bundle(
    target: Path, drafting: EventWriter, lines: Iterable[bytes], about: Callable[[], ManifestFields]
) -> ManifestContents:
    """Write the lines that a drafting makes as a bundle; `about` is asked when all are made.

    Both members are put aside first: the manifest comes before the events and knows their digest.
    """
    with _space_aside(), TemporaryFile() as events, TemporaryFile() as body:
        for line in lines:
            events.write(line)
        totals = drafting.finished_totals()
        if not totals.count:
            raise AffidavitError(faults.BUNDLE_EMPTY)
        contents = totals.contents(drafting.run.id)
        said = about()
        manifest = manifest_bytes(
            contents,
            said.producer or drafting.run.producer_as_wire(),
            finished=said.finished,
            about=said.ours,
            packs_applied=said.packs_applied,
            mappings=said.mappings,
            kept=said.kept,
        )
        packing = BundlePacker()
        for piece in packing.body(manifest, _pieces(events), totals.size):
            body.write(piece)
        write_atomically(target, chain((packing.header(),), _pieces(body)))
    return contents


def limits_hint(contents: ManifestContents) -> dict[str, int]:
    """Return the limits that have to be raised to read a bundle back; none where defaults do.

    How far it can be packed is not known before, so the limit on the packed bytes is not named.
    """
    # What is unpacked beside the events: a manifest, headers, and zeros.
    unpacked = contents.size + DEFAULT_LIMITS.max_manifest_bytes
    needed = {
        "max_events": contents.count,
        "max_events_bytes": contents.size,
        "max_decode_bytes": unpacked,
    }
    return {name: size for name, size in needed.items() if size > getattr(DEFAULT_LIMITS, name)}


@contextmanager
def _space_aside() -> Iterator[None]:
    """Say of what is put aside that it is no file of the user's, if there is no room for it."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error}; TMPDIR names another folder"
        where = Where(file="a temporary file")
        raise AffidavitError(FILE_UNWRITABLE, where, reason=reason) from None


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    stream.seek(0)
    while piece := stream.read(_PIECE_BYTES):
        yield piece


# Verifies bundles: each in numbered steps, and what cannot be opened is an outcome too.


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """A bundle with its verification."""

    name: str
    verification: BundleVerification

    @property
    def error(self) -> AffidavitError | None:
        """What is wrong with it, if something is."""
        return self.verification.error

    @property
    def exit(self) -> Exit:
        """Yes: every step was done and holds."""
        return self.verification.exit

    def as_wire(self) -> dict[str, object]:
        """Return the outcome as machines get it."""
        return {"bundle": self.name, **self.verification.as_wire()}

    def _repr_html_(self) -> str:
        status = "valid" if self.exit is Exit.YES else "not valid"
        rows = ((step.status.value, step.name, step.detail) for step in self.verification.steps)
        return result_table(self.name, status, ("Status", "Step", "Detail"), rows)


BundleOutcome: TypeAlias = VerifiedBundle | UnreadableInput


def verify_files(
    paths: Iterable[Path], limits: BundleLimits = DEFAULT_LIMITS
) -> Iterator[BundleOutcome]:
    """Verify each file; one that is bad hides none of the others."""
    for path in paths:
        try:
            with bundle_stream(path) as stream:
                yield verify_stream(stream, shown_name(path), limits)
        except AffidavitError as error:
            yield UnreadableInput("bundle", shown_name(path), error_in_bundle(path, error))


def verify_stream(
    stream: ByteStream, name: str, limits: BundleLimits = DEFAULT_LIMITS
) -> VerifiedBundle:
    """Verify a bundle that comes from anywhere."""
    return VerifiedBundle(name, verify_bundle(stream, limits))
