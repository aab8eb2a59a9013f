"""The numbered steps of a bundle verification, its result, and the matching Assay codes."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.verification import StepStatus, VerificationStep

# Assay's code for each of our faults. Ours are finer: Assay has one code for every JSON error.
ASSAY_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "archive.format": "IntegrityGzip",
        "archive.corrupt": "IntegrityGzip",
        "archive.path": "SecurityPathTraversal",
        "archive.type": "ContractUnexpectedFile",
        "archive.duplicate": "ContractDuplicateFile",
        "archive.unlisted": "ContractUnexpectedFile",
        "archive.missing": "ContractMissingFile",
        "archive.order": "ContractFileOrder",
        "limit.bundle_bytes": "LimitBundleBytes",
        "limit.decode_bytes": "LimitDecodeBytes",
        "limit.manifest_bytes": "LimitFileSize",
        "limit.events_bytes": "LimitFileSize",
        "limit.events": "LimitTotalEvents",
        "limit.line_bytes": "LimitLineBytes",
        "limit.path": "LimitPathLength",
        "limit.members": "ContractUnexpectedFile",
        "json.syntax": "ContractInvalidJson",
        "json.encoding": "ContractInvalidJson",
        "json.unicode": "ContractInvalidJson",
        "json.trailing": "ContractInvalidJson",
        "json.duplicate_key": "ContractInvalidJson",
        "json.number_domain": "ContractInvalidJson",
        "json.depth": "LimitJsonDepth",
        "limit.json_keys": "ContractInvalidJson",
        "limit.json_string": "ContractInvalidJson",
        "bundle.manifest": "ContractInvalidJson",
        "bundle.version": "ContractSchemaVersion",
        "bundle.size": "IntegrityFileSizeMismatch",
        "digest.mismatch": "IntegrityManifestHash",
        "bundle.event": "ContractInvalidEvent",
        "bundle.event_hash": "IntegrityEventHash",
        "bundle.sequence": "ContractSequenceGap",
        "bundle.run_id": "ContractRunIdMismatch",
        "bundle.empty": "ContractInvalidEvent",
        "bundle.count": "ContractSequenceGap",
        "bundle.run_root": "IntegrityRunRootMismatch",
        "bundle.id": "ContractBundleIdMismatch",
    }
)
# Assay accepts what these faults reject.
WITHOUT_ASSAY_CODE: Final = (
    "archive.gzip_members",
    "archive.trailing",
    "canon.noncanonical",
    "canon.unicode_collision",
    "bundle.merkle_root",
)


class BundleStepName(StrEnum):
    """The steps, in order."""

    CONTAINER = "container"
    MANIFEST = "manifest"
    EVENTS = "events"
    TOTALS = "totals"
    MERKLE = "merkle"
    END = "end"


STEP_DESCRIPTIONS: Final = {
    BundleStepName.CONTAINER: "one gzip member, a tar archive, manifest.json first",
    BundleStepName.MANIFEST: "strict and canonical JSON, complete, of a version that is known",
    BundleStepName.EVENTS: "every line canonical, its content hash holds, in sequence, of this run",
    BundleStepName.TOTALS: "size, digest, count, run root and bundle id are those of the manifest",
    BundleStepName.MERKLE: "the Merkle root covers every byte of every line",
    BundleStepName.END: "two members and nothing else, nothing behind them, the checksum holds",
}
_NO_MERKLE_ROOT: Final = "the bundle has none; times and sources are covered by its digest alone"
_NOT_REACHED: Final = "not looked at, because an earlier step failed"


class BundleError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a bundle does not verify: our error, and Assay's code for it."""

    code: str
    name: str
    message: str
    next: str
    file: str | None
    line: int | None
    field: str | None
    column: int | msgspec.UnsetType = msgspec.UNSET
    assay_code: str | None

    @property
    def where(self) -> Where:
        """Where the error is."""
        return Where(self.file, self.line, self.field)


class BundleVerification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verification of one bundle; the ids are None if the manifest could not be read.

    The error is the first one found, because nothing after it is checked.
    """

    bundle_id: str | None
    run_id: str | None
    event_count: int | None
    merkle_root: str | None
    finished: bool | None
    valid: bool
    exit: Exit
    error: BundleError | None
    steps: tuple[VerificationStep, ...]


def bundle_verification(
    done: Mapping[BundleStepName, StepStatus],
    manifest: Manifest | None,
    error: AffidavitError | None,
) -> BundleVerification:
    """Return the verification, from the steps that were done and the error that ended it."""
    known = None if manifest is None else manifest.known
    ours = None if known is None else known.affidavit
    return BundleVerification(
        bundle_id=None if known is None else known.bundle_id,
        run_id=None if known is None else known.run_id,
        event_count=None if known is None else known.event_count,
        merkle_root=None if ours is None else ours.merkle_root,
        finished=None if ours is None else ours.finished,
        valid=error is None,
        exit=Exit.YES if error is None else error.fault.exit,
        error=None if error is None else _bundle_error(error),
        steps=tuple(_steps(done, error)),
    )


def _bundle_error(error: AffidavitError) -> BundleError:
    assay_code = ASSAY_CODES.get(error.fault.name)
    return msgspec.convert({**error.as_wire(), "assay_code": assay_code}, BundleError)


def _steps(
    done: Mapping[BundleStepName, StepStatus], error: AffidavitError | None
) -> Iterator[VerificationStep]:
    for number, name in enumerate(BundleStepName, 1):
        status, code = done.get(name), None
        if status is not None:
            detail = STEP_DESCRIPTIONS[name] if status is StepStatus.PASSED else _NO_MERKLE_ROOT
        elif error is not None:
            status, detail, code = StepStatus.FAILED, error.message, error.fault.code
            error = None
        else:
            status, detail = StepStatus.NOT_CHECKED, _NOT_REACHED
        yield VerificationStep(
            number=number, name=name.value, status=status, code=code, detail=detail
        )
