"""The files of a gold set or of traces: our own JSON lines, or what another tool wrote."""

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.app.gating.files import STANDARD_INPUT, files_named, shown_name
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import open_to_read

if TYPE_CHECKING:
    from affidavit.formats.importing import Format

# A key that only our own rows have, and in which of the two files.
_OWN_KEYS: Final = {"gold": b'"answerable"', "trace": b'"answer_json"'}
_OWN_ENDINGS: Final = (".jsonl", ".ndjson")
_HEAD_BYTES: Final = 1 << 16
LARGE_GOLD_BYTES: Final = 32 << 20
"""About 100,000 items; fewer are quicker held at once."""
SHARE_BYTES: Final = 8 << 20
MOST_SHARES: Final = 200


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, how it is named, and the tool that wrote it.

    One that `is_own` is JSON lines of ours, which are read the quick way. `doubt` is why it could
    not be told what it is, if it is only taken for ours. Nothing at all is in one that `is_empty`.
    """

    file: str
    shown: str
    is_own: bool = True
    format: "Format | None" = None
    doubt: AffidavitError | None = None
    is_empty: bool = False


@contextmanager
def sources_named(role: str, names: Iterable[str]) -> Iterator[tuple[Source, ...]]:
    """Give the sources that names stand for.

    Standard input is kept in a file for as long as it is needed: rows are looked at twice.
    """
    files = files_named(names)
    with _standard_input() if STANDARD_INPUT in files else nullcontext("") as kept:
        yield tuple(
            _told(kept if name == STANDARD_INPUT else name, shown_name(name), role)
            for name in files
        )


@contextmanager
def _standard_input() -> Iterator[str]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="affidavit-") as folder:
        file = Path(folder) / "standard-input.jsonl"
        with file.open("wb") as kept:
            if sys.stdin is not None:  # One that is closed is None: nothing was given.
                shutil.copyfileobj(sys.stdin.buffer, kept)
        yield str(file)


def _told(file: str, shown: str, role: str) -> Source:
    """Return a file with its format; our own lines are told by a glance at the first of them.

    A file that is named as JSON lines and cannot be told is taken for our own, so that what is
    wrong with its lines is said of each.
    """
    with open_to_read(file) as stream:
        head = stream.read(_HEAD_BYTES).lstrip()
    first_line = head.partition(b"\n")[0]
    if not head or (first_line.startswith(b"{") and _OWN_KEYS[role] in first_line):
        return Source(file, shown, is_empty=not head)
    from affidavit.formats.importing import Format, detect

    try:
        found = detect(file)
    except AffidavitError as error:
        where = Where(shown, error.where.line, error.where.field)
        doubt = AffidavitError(error.fault, where, **error.values)
        is_said_of_lines = error.fault not in (faults.IMPORT_UNKNOWN, faults.IMPORT_PACKED)
        if is_said_of_lines and file.endswith(_OWN_ENDINGS):
            return Source(file, shown, doubt=doubt)
        raise doubt from None
    # Those who save a file with a byte order mark do not know it; only the quick way minds.
    is_own = found is Format.NATIVE and not head.startswith(BOM_UTF8)
    return Source(file, shown, is_own, found)


def shares_needed(golds: Iterable[Source], sources: Iterable[Source]) -> int:
    """Return how many shares a gold set is dealt into; none if it is small, or another tool's."""
    given = tuple(golds)
    size = sum(Path(source.file).stat().st_size for source in given)
    if size <= LARGE_GOLD_BYTES or not all(source.is_own for source in chain(given, sources)):
        return 0
    return min(MOST_SHARES, size // SHARE_BYTES + 1)
