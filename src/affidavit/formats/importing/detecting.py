"""Which tool wrote a file, told from its rows; and if none did, which is nearest."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.formats.importing.catalog import DIALECTS
from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.model import Format

SAMPLED: Final = 100
"""Values that are looked at: the first spans of an export may be about something else."""
_ROWS_SAMPLED: Final = 1000
_SHOWN: Final = 12


def dialect_of(values: Sequence[object], file: str, format: Format | None = None) -> Dialect:
    """Return the dialect of a file by its first values, or say what was looked for and found."""
    asked = tuple(one for one in DIALECTS if format in (None, one.format))
    for value in values:
        for dialect in asked:
            if any(map(dialect.knows, _rows(dialect, value))):
                return dialect
    found = fields_found(values[0])
    if format is not None:
        wanted = " or ".join(" and ".join(names) for one in asked for names in one.signatures[:3])
        raise AffidavitError(
            faults.IMPORT_MISMATCH, Where(file), format=format.value, wanted=wanted, found=found
        )
    raise AffidavitError(
        faults.IMPORT_UNKNOWN, Where(file), found=found, nearest=nearest_to(values[0])
    )


def _rows(dialect: Dialect, value: object) -> Iterator[object]:
    return islice(dialect.unfold(value) or (), _ROWS_SAMPLED)


def fields_found(value: object) -> str:
    """Return the names of the fields of a value, for people."""
    row = value
    while isinstance(row, list) and row:
        row = row[0]
    if not isinstance(row, Mapping):
        return "no rows with named fields"
    names = [excerpt(str(name), 40) for name in row]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "no field"


def nearest_to(value: object) -> str:
    """Return the format that lacks the smallest part of its fields, with those that it lacks."""
    best: tuple[float, str] | None = None
    for dialect in DIALECTS:
        row = next(_rows(dialect, value), None)
        present = frozenset(row) if isinstance(row, Mapping) else frozenset()
        for names in dialect.signatures:
            missing = [name for name in names if name not in present]
            share = 1 - len(missing) / len(names)
            if share and (best is None or share > best[0]):
                best = share, f"{dialect.format}, which also has {' and '.join(missing)}"
    if best is not None:
        return best[1]
    wanted = {one.format: " and ".join(one.signatures[0]) for one in reversed(DIALECTS)}
    looked_for = "; ".join(f"{name}: {fields}" for name, fields in sorted(wanted.items()))
    return f"none (looked for {looked_for})"
