"""Which tool wrote a file, told from its rows; and if none did, which is nearest."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.formats.importing.catalog import DIALECTS
from affidavit.formats.importing.containers import Container
from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.model import Format
from affidavit.formats.importing.spans import TRACE

SAMPLED: Final = 100
"""Values that are looked at: the first spans of an export may be about something else."""
_ROWS_SAMPLED: Final = 1000
_SHOWN: Final = 12


def dialect_of(
    values: Sequence[object], container: Container, file: str, format: Format | None = None
) -> Dialect:
    """Return the dialect of a file by its first values, or say what was looked for and found."""
    asked = [
        one
        for one in DIALECTS
        if format in (None, one.format) and _may_be_in(container, one.format)
    ]
    for value in values:
        for dialect in asked:
            if any(map(dialect.knows, _rows(dialect, value))):
                return dialect
    empty = next((one for one in asked if _has_no_rows(one, values)), None)
    if empty is not None:
        return empty
    found = fields_found(values[0])
    if format is not None:
        wanted = " or ".join(_spoken(names) for one in asked for names in one.signatures[:3])
        raise AffidavitError(
            faults.IMPORT_MISMATCH, Where(file), format=format.value, wanted=wanted, found=found
        )
    raise AffidavitError(
        faults.IMPORT_UNKNOWN, Where(file), found=found, nearest=nearest_to(values[0])
    )


def _may_be_in(container: Container, format: Format) -> bool:
    """Our own rows are JSON lines, or in a container that has more than texts: not in CSV."""
    if format is Format.NATIVE:
        return container is Container.JSON_LINES
    return format is not Format.NATIVE_ROWS or container not in (
        Container.JSON_LINES,
        Container.CSV,
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
    """Return the formats that lack the smallest part of their fields, with what they lack."""
    shares: dict[str, float] = {}
    for dialect in DIALECTS:
        row = next(_rows(dialect, value), None)
        present = frozenset(row) if isinstance(row, Mapping) else frozenset()
        for names in dialect.signatures if dialect.format is not Format.NATIVE_ROWS else ():
            missing = tuple(name for name in names if name not in present)
            said = f"{dialect.format}, which also has {_spoken(missing)}"
            shares[said] = 1 - len(missing) / len(names)
    best = max(shares.values())
    if best:
        return "; or ".join([said for said, share in shares.items() if share == best][:3])
    looked_for = "; ".join(
        f"{one.format}: {_spoken(one.signatures[0])}"
        for one in DIALECTS
        if one.format is not Format.NATIVE_ROWS
    )
    return f"none (looked for {looked_for})"


def _has_no_rows(dialect: Dialect, values: Sequence[object]) -> bool:
    """Tell whether a file is built as this format's files are, and empty."""
    rows = [dialect.unfold(value) for value in values]
    return all(one is not None and not any(True for _ in one) for one in rows)


def _spoken(names: Sequence[str]) -> str:
    """Return a signature as people say it."""
    said = " and ".join(name for name in names if name != TRACE)
    return f"OTLP spans with {said}" if TRACE in names else said
