"""Lints bundles: each is verified and looked at in one pass, and what does not verify says nothing.

The events are fed to the rules while they are verified. What the manifest says of all of them is
checked at the end, so the findings of a bundle that fails there are thrown away.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from affidavit.app.evidence.bundle_files import bundle_stream, shown_name, within
from affidavit.base.errors import AffidavitError
from affidavit.packs.lint import LintPass, LintResult
from affidavit.packs.model import Pack
from affidavit.seal.bundle.limits import BundleLimits
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reading import read_bundle


@dataclass(frozen=True, slots=True)
class Linted:
    """A bundle that verified, and what lint says of it."""

    path: str
    digest: str
    manifest: Manifest
    result: LintResult


@dataclass(frozen=True, slots=True)
class Refused:
    """A bundle that did not verify or could not be read: it was not linted."""

    path: str
    error: AffidavitError


LintedOrRefused = Linted | Refused


class _Digesting:
    """A stream that knows the digest of what was read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""
        data = self._stream.read(size)
        self._digest.update(data)
        return data

    def finished(self) -> str:
        """Return the digest of the whole, what was not asked for included."""
        while self.read(1 << 20):
            pass
        return f"sha256:{self._digest.hexdigest()}"


def lint_bundle(
    path: Path,
    packs: Sequence[Pack],
    limits: BundleLimits,
    max_results: int,
    also: Callable[[int, bytes], None] | None = None,
) -> Linted:
    """Verify and lint one bundle, or raise what is wrong with it.

    `also` is called with each line and its number, in the same pass.
    """
    with bundle_stream(path) as opened:
        stream = _Digesting(opened)
        try:
            reader = read_bundle(stream, limits)
            done = LintPass(packs, reader.manifest.value, max_results)
            for lines in reader.lines():
                done.feed_lines(lines.first, lines.text)
                if also is not None:
                    for number, line in lines.each():
                        also(number, line)
        except AffidavitError as error:
            raise within(path, error) from None
        return Linted(shown_name(path), stream.finished(), reader.manifest, done.finish())


def lint_bundles(
    paths: Iterable[Path], packs: Sequence[Pack], limits: BundleLimits, max_results: int
) -> Iterator[LintedOrRefused]:
    """Lint many; one that cannot be linted does not keep the others from it."""
    for path in paths:
        try:
            yield lint_bundle(path, packs, limits, max_results)
        except AffidavitError as error:
            yield Refused(shown_name(path), error)
