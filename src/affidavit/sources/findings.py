"""What was met while reading sources: data that is stored and listed, and that stops nothing."""

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where


class Finding(msgspec.Struct, frozen=True):
    """One coded fault of one file. `read` tells whether the document is used in spite of it."""

    code: str
    name: str
    file: str
    message: str
    next_step: str
    read: bool

    def __str__(self) -> str:
        return f"{self.code}: {self.file}: {self.message}. Next: {self.next_step}"


class Warned(msgspec.Struct, frozen=True):
    """A fault that a reader met without giving up, before the file's name is known."""

    fault: Fault
    values: dict[str, object] = {}


def finding(fault: Fault, file: str, *, read: bool = False, **values: object) -> Finding:
    """Return the finding of a fault from the catalog."""
    return finding_from_error(AffidavitError(fault, Where(file=file), **values), file, read=read)


def finding_from_error(error: AffidavitError, file: str, *, read: bool = False) -> Finding:
    """Return an error as a finding of `file`."""
    fault = error.fault
    return Finding(fault.code, fault.name, file, error.message, error.next_step, read)
