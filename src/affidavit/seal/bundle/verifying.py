"""Verifies a bundle, in numbered steps, offline, from its bytes alone."""

from affidavit.base.errors import AffidavitError
from affidavit.seal.bundle.inflating import ByteStream
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reading import read_bundle
from affidavit.seal.bundle.steps import BundleVerification, StepName, steps_from
from affidavit.seal.steps import Status


def verify_bundle(stream: ByteStream, limits: BundleLimits = DEFAULT_LIMITS) -> BundleVerification:
    """Return every step of the verification. It never raises for what is in the stream."""
    done: dict[StepName, Status] = {}
    manifest: Manifest | None = None
    wrong: AffidavitError | None = None
    try:
        reader = read_bundle(stream, limits, done.__setitem__)
        manifest = reader.manifest
        for _ in reader.lines():
            pass
    except AffidavitError as error:
        wrong = error
    return BundleVerification(steps_from(done, wrong), manifest)
