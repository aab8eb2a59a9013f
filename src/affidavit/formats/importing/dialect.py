"""What a format is to the reader: how it is known, unfolded into rows, and read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from affidavit.formats.importing.fields import Row
from affidavit.formats.importing.model import Choices, Format, ImportedRow

Unfold: TypeAlias = Callable[[object], Iterable[object] | None]
Numbered: TypeAlias = tuple[int, object]
Holds: TypeAlias = frozenset[Literal["gold", "trace"]]

BOTH: Final[Holds] = frozenset({"gold", "trace"})
TRACES: Final[Holds] = frozenset({"trace"})


def itself_or_its_elements(value: object) -> Iterable[object] | None:
    """Unfold a list into its elements; an object is a row by itself."""
    if isinstance(value, list):
        return value
    return (value,) if isinstance(value, Mapping) else None


def each_on_its_own(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Leave the rows as they are: each is about one question."""
    yield from rows


@dataclass(frozen=True, slots=True)
class Dialect:
    """One format.

    `signatures` are sets of fields; a row is of this format if it has all of any set. `unfold`
    gives the rows of a document, or None if it is not built as this format's documents are.
    `shape` makes a row of ours from one of theirs, given its position and line. `regroup` puts
    together what is about one question and stands in several rows.
    """

    format: Format
    signatures: tuple[tuple[str, ...], ...]
    shape: Callable[[Row, int, int, Choices], ImportedRow]
    unfold: Unfold = itself_or_its_elements
    regroup: Callable[[Iterable[Numbered]], Iterator[Numbered]] = each_on_its_own
    holds: Holds = BOTH

    def knows(self, row: object) -> bool:
        """Tell whether a row is of this format."""
        return isinstance(row, Mapping) and any(
            all(name in row for name in names) for names in self.signatures
        )
