"""What the verification of a receipt, a bundle or an attestation is: steps, and one result."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Generic, Literal, Protocol, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.exits import Exit
from affidavit.base.faults import CATALOG
from affidavit.base.notebook import result_table

InputKind = Literal["receipt", "bundle", "attestation", "audit_log"]


class StepStatus(StrEnum):
    """How a step ended.

    Skipped: there was nothing to check, or nothing to check it with. Not checked: the check was
    required but impossible, so nothing is proved.
    """

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_CHECKED = "not_checked"


class VerificationStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a verification."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    name: str
    status: StepStatus
    code: str | None
    detail: str

    @property
    def fault(self) -> Fault | None:
        """The kind of error that the code names."""
        return None if self.code is None else CATALOG[self.code]


class Verification(Protocol):
    """The result of verifying one input. Only `Exit.YES` means that everything holds."""

    @property
    def exit(self) -> Exit:
        """The exit code that the steps amount to."""
        ...

    @property
    def steps(self) -> Sequence[VerificationStep]:
        """The steps, in order."""
        ...


AnyVerification = TypeVar("AnyVerification", bound=Verification, covariant=True)


class VerifiedInput(msgspec.Struct, Generic[AnyVerification], frozen=True):
    """A receipt or a bundle by name, with its verification."""

    kind: InputKind
    name: str
    verification: AnyVerification

    @property
    def exit(self) -> Exit:
        """The exit code of the verification."""
        return self.verification.exit

    def as_wire(self) -> dict[str, object]:
        """Return the outcome for `--json`."""
        return {self.kind: self.name, **msgspec.to_builtins(self.verification)}

    def _repr_html_(self) -> str:
        status = "valid" if self.exit is Exit.YES else "not valid"
        rows = ((step.status.value, step.name, step.detail) for step in self.verification.steps)
        return result_table(self.name, status, ("Status", "Step", "Detail"), rows)


class UnreadableInput(msgspec.Struct, frozen=True):
    """An input that could not be read as a receipt or a bundle. It is an outcome like any other."""

    kind: InputKind
    name: str
    error: AffidavitError

    @property
    def exit(self) -> Exit:
        """The exit code of the error, which is never a yes."""
        return self.error.fault.exit

    def as_wire(self) -> dict[str, object]:
        """Return the outcome for `--json`."""
        error = self.error.as_wire()
        return {self.kind: self.name, "valid": False, "exit": int(self.exit), "error": error}
