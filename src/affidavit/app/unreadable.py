"""What should have been verified and could not be read: an outcome like any other, never a yes."""

from dataclasses import dataclass
from typing import Literal

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What should have been a receipt or a bundle, and why it could not be read as one."""

    kind: Literal["receipt", "bundle"]
    name: str
    error: AffidavitError

    @property
    def exit(self) -> Exit:
        """Never a yes."""
        return self.error.fault.exit

    def as_wire(self) -> dict[str, object]:
        """Return the outcome as machines get it."""
        error = self.error.as_wire()
        return {self.kind: self.name, "valid": False, "exit": int(self.exit), "error": error}
