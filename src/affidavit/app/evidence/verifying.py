"""Verifies bundles: each in numbered steps, and what cannot be opened is an outcome too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from affidavit.app.evidence.bundle_files import bundle_stream, shown_name, within
from affidavit.app.unreadable import Unreadable
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.seal.bundle.inflating import ByteStream
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.steps import BundleVerification
from affidavit.seal.bundle.verifying import verify_bundle


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


BundleOutcome: TypeAlias = VerifiedBundle | Unreadable


def verify_files(
    paths: Iterable[Path], limits: BundleLimits = DEFAULT_LIMITS
) -> Iterator[BundleOutcome]:
    """Verify each file; one that is bad hides none of the others."""
    for path in paths:
        try:
            with bundle_stream(path) as stream:
                yield verify_stream(stream, shown_name(path), limits)
        except AffidavitError as error:
            yield Unreadable("bundle", shown_name(path), within(path, error))


def verify_stream(
    stream: ByteStream, name: str, limits: BundleLimits = DEFAULT_LIMITS
) -> VerifiedBundle:
    """Verify a bundle that comes from anywhere."""
    return VerifiedBundle(name, verify_bundle(stream, limits))
