"""The numbered steps of a bundle verification, their result, and the matching Assay codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.steps import StepStatus

# What Assay calls what we refuse, for those who know its codes.
#
# Ours are finer: Assay calls every kind of JSON that it cannot read by one name. Where it has no
# name it accepts what we refuse.

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
# Refused here, and accepted there.
WITHOUT_ASSAY_CODE: Final = (
    "archive.gzip_members",
    "archive.trailing",
    "canon.noncanonical",
    "canon.unicode_collision",
    "bundle.merkle_root",
)


# The numbered steps of the verification of a bundle, and what they come to.


class BundleStepName(StrEnum):
    """The steps, in their order."""

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
BUNDLE_STEP_NUMBERS: Final = {name: number for number, name in enumerate(BundleStepName, 1)}


@dataclass(frozen=True, slots=True)
class BundleStep:
    """One line of the verification of a bundle."""

    name: BundleStepName
    status: StepStatus
    detail: str
    error: AffidavitError | None = None

    @property
    def number(self) -> int:
        """Which of the steps it is, counted from 1."""
        return BUNDLE_STEP_NUMBERS[self.name]

    def as_wire(self) -> dict[str, object]:
        """Return the line as machines get it."""
        return {
            "number": self.number,
            "name": self.name.value,
            "status": self.status.value,
            "code": None if self.error is None else self.error.fault.code,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class BundleVerification:
    """All lines of the verification of one bundle; `manifest` is None where it could not be read.

    What the manifest says counts only if the verification is a yes.
    """

    steps: tuple[BundleStep, ...]
    manifest: Manifest | None

    @property
    def error(self) -> AffidavitError | None:
        """What is wrong, if something is: the first thing, for nothing behind it was looked at."""
        return next((step.error for step in self.steps if step.error is not None), None)

    @property
    def exit(self) -> Exit:
        """Yes: every step was done and holds."""
        return Exit.YES if self.error is None else self.error.fault.exit

    @property
    def is_unfinished(self) -> bool:
        """Whether the bundle says that its run was cut off."""
        ours = None if self.manifest is None else self.manifest.known.ours
        return ours is not None and ours.finished is False

    def as_wire(self) -> dict[str, object]:
        """Return the verification as machines get it."""
        known = None if self.manifest is None else self.manifest.known
        ours = None if known is None else known.ours
        return {
            "bundle_id": None if known is None else known.bundle_id,
            "run_id": None if known is None else known.run_id,
            "event_count": None if known is None else known.event_count,
            "merkle_root": None if ours is None else ours.merkle_root,
            "finished": None if ours is None else ours.finished,
            "valid": self.exit is Exit.YES,
            "exit": int(self.exit),
            "error": None if self.error is None else _error_as_wire(self.error),
            "steps": [step.as_wire() for step in self.steps],
        }


def _error_as_wire(error: AffidavitError) -> dict[str, object]:
    return {**error.as_wire(), "assay_code": ASSAY_CODES.get(error.fault.name)}


def bundle_steps(
    done: Mapping[BundleStepName, StepStatus], error: AffidavitError | None
) -> tuple[BundleStep, ...]:
    """Return all lines: what was done, where it stopped, and what was therefore not looked at."""
    lines = []
    for name in BundleStepName:
        status = done.get(name)
        if status is not None:
            lines.append(
                BundleStep(
                    name,
                    status,
                    STEP_DESCRIPTIONS[name] if status is StepStatus.PASSED else _NO_MERKLE_ROOT,
                )
            )
        elif error is not None:
            lines.append(BundleStep(name, StepStatus.FAILED, error.message, error))
            error = None
        else:
            lines.append(BundleStep(name, StepStatus.NOT_CHECKED, _NOT_REACHED))
    return tuple(lines)
