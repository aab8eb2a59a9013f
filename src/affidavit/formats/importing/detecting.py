"""Which tool wrote a file, told from its first row; and if none did, which is nearest."""

from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.formats.importing.catalog import DIALECTS, dialect_named
from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.model import Format

_SHOWN: Final = 12


def dialect_of(value: object, file: str, format: Format | None = None) -> Dialect:
    """Return the dialect of a file by its first value, or say what was looked for and found."""
    if format is not None:
        wanted = dialect_named(format)
        if first_row(wanted, value) is None:
            raise AffidavitError(
                faults.IMPORT_MISMATCH,
                Where(file),
                format=format.value,
                wanted=_any_of(wanted),
                found=fields_found(value),
            )
        return wanted
    for dialect in DIALECTS:
        if first_row(dialect, value) is not None:
            return dialect
    raise AffidavitError(
        faults.IMPORT_UNKNOWN, Where(file), found=fields_found(value), nearest=nearest_to(value)
    )


def first_row(dialect: Dialect, value: object) -> object | None:
    """Return the first row of a value if it is of a dialect."""
    rows = dialect.unfold(value)
    row = None if rows is None else next(iter(rows), None)
    return row if dialect.knows(row) else None


def fields_found(value: object) -> str:
    """Return the names of the fields of a value, for people."""
    row = value
    while isinstance(row, list) and row:
        row = row[0]
    if not isinstance(row, Mapping):
        return "no rows with names"
    names = [excerpt(str(name), 40) for name in row]
    shown = ", ".join(repr(name) if not name.isprintable() else name for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "no field"


def nearest_to(value: object) -> str:
    """Return the format that lacks the fewest fields, with those that it lacks."""
    best: tuple[float, str] | None = None
    for dialect in DIALECTS:
        rows = dialect.unfold(value)
        row = None if rows is None else next(iter(rows), None)
        found = frozenset(row) if isinstance(row, Mapping) else frozenset()
        for names in dialect.signatures:
            missing = [name for name in names if name not in found]
            share = 1 - len(missing) / len(names)
            if share and (best is None or share > best[0]):
                best = share, f"{dialect.format}, which also has {', '.join(missing)}"
    if best is not None:
        return best[1]
    wanted = "; ".join(f"{one.format}: {' and '.join(one.signatures[0])}" for one in DIALECTS)
    return f"none (looked for {wanted})"


def _any_of(dialect: Dialect) -> str:
    return " or ".join(" and ".join(names) for names in dialect.signatures[:4])
