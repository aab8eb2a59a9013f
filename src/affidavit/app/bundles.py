"""Bundle files: finding, opening, verifying and writing them.

A crash while writing leaves no bundle or a whole one.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from affidavit.app.bundle_packs import ManifestPacks, PackRun, PackRunner, packs_block
from affidavit.app.pack_files import pack_folder
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import is_folder, open_to_read, write_atomically
from affidavit.base.strict_json import decode, read_json_file
from affidavit.packs.model import Pack
from affidavit.seal.bundle.container import DEFAULT_LIMITS, MEMBERS, BundleLimits, limits_from_wire
from affidavit.seal.bundle.manifest import (
    Manifest,
    ManifestContents,
    ManifestDetails,
    manifest_bytes,
)
from affidavit.seal.bundle.reader import (
    BundleReader,
    BundleVerification,
    RunBatches,
    read_bundle,
    verify_bundle,
)
from affidavit.seal.bundle.writer import BundlePacker, EventWriter
from affidavit.seal.verification import UnreadableInput, VerifiedInput

ENDING: Final = ".tar.gz"
STANDARD_INPUT: Final = Path("-")
_PIECE_BYTES: Final = 256 * 1024


@contextmanager
def open_bundle(path: Path, limits: BundleLimits = DEFAULT_LIMITS) -> Iterator[BundleReader]:
    """Open a bundle to read it. Errors inside name the file."""
    with bundle_stream(path) as stream:
        try:
            yield read_bundle(stream, limits)
        except AffidavitError as error:
            raise error_in_bundle(path, error) from None


@contextmanager
def bundle_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open the bytes that a path names; standard input can be read once."""
    if path == STANDARD_INPUT:
        # A closed standard input is None and counts as empty.
        yield BytesIO() if sys.stdin is None else sys.stdin.buffer
        return
    with open_to_read(path) as stream:
        yield stream


def shown_name(path: Path) -> str:
    """Return the name of a bundle in messages and reports."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def error_in_bundle(path: Path, error: AffidavitError) -> AffidavitError:
    """Return the error of a member as an error of the bundle file."""
    member = error.where.file
    if member not in (None, *MEMBERS):
        return error
    file = shown_name(path) if member is None else f"{shown_name(path)}: {member}"
    where = Where(file, error.where.line, error.where.field)
    return AffidavitError(error.fault, where, **error.values)


def limits_from_text(text: str | None) -> BundleLimits:
    """Return the limits of a JSON object, or of `@FILE` that holds one; None for the defaults."""
    if text is None:
        return DEFAULT_LIMITS
    name = text[1:] if text.startswith("@") else "--limits"
    try:
        return limits_from_wire(
            read_json_file(Path(name)) if text.startswith("@") else decode(text.encode())
        )
    except AffidavitError as error:
        raise error.at(file=name) from None


def bundles_in(paths: Iterable[Path]) -> list[Path]:
    """Return the named bundles, and those below named folders, in order.

    A folder that cannot be listed is returned as it is, so that opening it raises the error.
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


class WrittenBundle(msgspec.Struct, frozen=True):
    """A bundle that was written: what it holds, what identifies it, and what its packs found."""

    contents: ManifestContents
    manifest_digest: str
    packs: PackRun

    def as_wire(self) -> dict[str, object]:
        """Return what was written for `--json`."""
        return {
            "bundle_id": self.contents.run_root,
            "run_id": self.contents.run_id,
            "event_count": self.contents.count,
            "merkle_root": self.contents.merkle_root,
            "manifest_digest": self.manifest_digest,
            "pack_results": self.packs.results,
        }


def write_bundle(
    target: Path,
    writer: EventWriter,
    lines: Iterable[bytes],
    details: Callable[[], ManifestDetails],
    packs: Sequence[Pack] = (),
) -> WrittenBundle:
    """Write lines as a bundle, run the packs over it, and name both in its manifest.

    `details` is called after the last line. The manifest precedes the events and holds their
    digest, so the events go to a temporary file first.
    """
    with _temporary_space(), TemporaryFile() as events, TemporaryFile() as body:
        for line in lines:
            events.write(line)
        totals = writer.finish()
        if not totals.count:
            raise AffidavitError(faults.BUNDLE_EMPTY)
        contents = totals.contents(writer.run.id)
        manifest, run = _manifest_with_packs(contents, details(), packs, events)
        packer = BundlePacker()
        for piece in packer.body(manifest, _pieces(events), totals.size):
            body.write(piece)
        write_atomically(target, chain((packer.header(),), _pieces(body)))
    return WrittenBundle(contents, digest_of(manifest), run)


def _manifest_with_packs(
    contents: ManifestContents, details: ManifestDetails, packs: Sequence[Pack], events: IO[bytes]
) -> tuple[bytes, PackRun]:
    named = replace(details, packs=packs_block(packs)) if packs else details
    manifest = manifest_bytes(contents, named)
    if not packs:
        return manifest, PackRun()
    runner = PackRunner(packs, msgspec.json.decode(manifest))
    first = 1
    events.seek(0)
    while lines := events.readlines(_PIECE_BYTES):
        runner.feed(first, b"".join(lines))
        first += len(lines)
    run = runner.finish()
    return manifest_bytes(contents, replace(named, pack_results=run.results)), run


def limits_hint(contents: ManifestContents) -> dict[str, int]:
    """Return the limits that have to be raised to read a bundle back, if any.

    The compressed size is not known in advance, so `max_bundle_bytes` is not among them.
    """
    # The archive also holds a manifest, headers and padding.
    unpacked = contents.size + DEFAULT_LIMITS.max_manifest_bytes
    needed = {
        "max_events": contents.count,
        "max_events_bytes": contents.size,
        "max_decode_bytes": unpacked,
    }
    return {name: size for name, size in needed.items() if size > getattr(DEFAULT_LIMITS, name)}


@contextmanager
def _temporary_space() -> Iterator[None]:
    """Explain in the error that a temporary file, not a file of the user, could not be written."""
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


def verify_opened(
    stream: IO[bytes],
    limits: BundleLimits = DEFAULT_LIMITS,
    manifest_digest: str | None = None,
    packs: Sequence[Pack] = (),
    jobs: int = 1,
) -> BundleVerification:
    """Verify a bundle from its bytes, and run the packs that its manifest names, if at hand."""

    def checker(manifest: Manifest) -> ManifestPacks | None:
        known = manifest.known
        if not (known.is_recomputable and known.packs_applied):
            return None
        return ManifestPacks(manifest, packs, pack_folder())

    return verify_bundle(
        stream, limits, manifest_digest=manifest_digest, packs=checker, run=sharing_between(jobs)
    )


def sharing_between(jobs: int) -> RunBatches | None:
    """Return what shares the work on the events of a bundle between processes; None for one."""
    if jobs <= 1:
        return None
    from affidavit.engine.local import map_in_processes

    return partial(map_in_processes, jobs=jobs)


VerifiedBundle: TypeAlias = VerifiedInput[BundleVerification]
BundleOutcome: TypeAlias = VerifiedBundle | UnreadableInput


def require_readable(outcomes: Sequence[object]) -> None:
    """Raise the error of the only input if it could not be read."""
    if len(outcomes) == 1 and isinstance(outcomes[0], UnreadableInput):
        raise outcomes[0].error


def verify_files(
    paths: Iterable[Path],
    limits: BundleLimits = DEFAULT_LIMITS,
    *,
    manifest_digest: str | None = None,
    packs: Sequence[Pack] = (),
    jobs: int = 1,
) -> Iterator[BundleOutcome]:
    """Verify each bundle; one that cannot be opened is an outcome too.

    `packs` are at hand besides the built-in ones and those of the config folder. `jobs` processes
    share the work on one large bundle.
    """
    for path in paths:
        name = shown_name(path)
        try:
            with bundle_stream(path) as stream:
                yield VerifiedInput(
                    "bundle", name, verify_opened(stream, limits, manifest_digest, packs, jobs)
                )
        except AffidavitError as error:
            yield UnreadableInput("bundle", name, error_in_bundle(path, error))
