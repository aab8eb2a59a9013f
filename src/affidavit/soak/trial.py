"""One trial of a soak: its seed, how it came out, and what it left."""

from enum import StrEnum
from hashlib import sha256
from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Position = Annotated[int, Meta(ge=1)]
DigestText = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]


class TrialStatus(StrEnum):
    """How a trial came out. An infra error is neither a pass nor a failure."""

    PASS = "pass"  # noqa: S105 - the word of soak-report-v1
    FAIL = "fail"
    INFRA_ERROR = "infra_error"


class InfraErrorKind(StrEnum):
    """Why a trial could not be judged."""

    TIME_BUDGET_EXCEEDED = "time_budget_exceeded"
    SUBPROCESS_FAILED = "subprocess_failed"
    IO_ERROR = "io_error"
    INVALID_OUTPUT = "invalid_output"
    LIMIT_EXCEEDED = "limit_exceeded"


class InfraError(Struct, frozen=True):
    """Why one trial could not be judged, in one line."""

    kind: InfraErrorKind
    message: str


class Trial(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A finished trial, as it is recorded. `violated_rules` has the rules of every severity.

    A stored bundle has no seed. `bundle` is the file of the evidence, `bundle_id` names its content
    without times, and `bundle_digest` is that of the file.
    `faults` counts the injected faults by kind. `said` is the last line that a command printed as
    an error before it failed.
    """

    index: Position
    seed: Count | None = None
    status: TrialStatus
    duration_ms: Count
    case: str | None = None
    violated_rules: tuple[str, ...] = ()
    infra_error: InfraError | None = None
    bundle: str | None = None
    bundle_id: DigestText | None = None
    bundle_digest: DigestText | None = None
    faults: dict[str, int] = {}
    said: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether it passed or failed."""
        return self.status is not TrialStatus.INFRA_ERROR


_SEED_BYTES = 4  # Generators such as numpy's refuse a seed of more than 32 bits.


def trial_seed(seed: int, index: int) -> int:
    """Return the seed of a trial, from 0 to 2^32 - 1.

    It is the first 4 bytes of SHA-256 over the ASCII text "affidavit-soak-1/<seed>/<index>", so
    that soaks with neighbouring seeds share no trial.
    """
    digest = sha256(f"affidavit-soak-1/{seed}/{index}".encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def case_of(cases: tuple[str, ...], index: int) -> str | None:
    """Return the case of a trial: the cases take turns."""
    return cases[(index - 1) % len(cases)] if cases else None
