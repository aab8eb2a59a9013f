"""The one exception of the product.

An error is data: a fault from the closed catalog, its position, and the values of its message. Only
the command line and the service render it.
"""

from dataclasses import dataclass

from affidavit.base.exits import Exit


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of error: a stable code and name, the message, and the next step for the user.

    `message` and `next_step` are format strings for the values that are given when it is raised.
    Codes and names are never renamed or reused.
    """

    code: str
    name: str
    message: str
    next_step: str
    exit: Exit = Exit.INPUT


@dataclass(frozen=True, slots=True)
class Where:
    """The position that an error points at; unknown parts are None."""

    file: str | None = None
    line: int | None = None
    field: str | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = (
            self.file,
            None if self.line is None else f"line {self.line}",
            None if self.column is None else f"column {self.column}",
            None if self.field is None else f"field {self.field}",
        )
        return ", ".join(part for part in parts if part is not None)


NOWHERE = Where()


class AffidavitError(Exception):
    """Raised for every error that a user can cause; contains everything needed to render it."""

    def __init__(self, fault: Fault, where: Where = NOWHERE, **values: object) -> None:
        self.fault = fault
        self.where = where
        self.values = values
        super().__init__(str(self))

    @property
    def message(self) -> str:
        """The message with its values, without the position."""
        return self.fault.message.format_map(self.values)

    @property
    def next_step(self) -> str:
        """The next step with its values."""
        return self.fault.next_step.format_map(self.values)

    def at(
        self,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        column: int | None = None,
    ) -> "AffidavitError":
        """Return the same error with a more exact position; known parts are kept."""
        known = self.where
        place = Where(
            file if known.file is None else known.file,
            line if known.line is None else known.line,
            field if known.field is None else known.field,
            column if known.column is None else known.column,
        )
        return AffidavitError(self.fault, place, **self.values)

    def as_wire(self) -> dict[str, str | int | None]:
        """Return the error as `--json` and the service write it; `column` only if it is known."""
        wire: dict[str, str | int | None] = {
            "code": self.fault.code,
            "name": self.fault.name,
            "message": self.message,
            "next": self.next_step,
            "file": self.where.file,
            "line": self.where.line,
            "field": self.where.field,
        }
        if self.where.column is not None:
            wire["column"] = self.where.column
        return wire

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place}: {self.message}" if place else self.message
        return f"{self.fault.code}: {text}. Next: {self.next_step}"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors are pickled between processes (-j, Spark); the default would lose the keywords.
        return (_rebuild_error, (self.fault, self.where, self.values))


def _rebuild_error(fault: Fault, where: Where, values: dict[str, object]) -> AffidavitError:
    return AffidavitError(fault, where, **values)
