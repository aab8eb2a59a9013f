"""Files of JSON, CSV and YAML, decoded strictly, and decoded once as long as they do not change.

CSV: UTF-8, with or without a byte order mark, comma separated, a header of distinct names; every
row is an object of texts. Nothing is made a number: "01" and "1" are two things.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.base.strict_yaml import yaml_document
from affidavit.checks.moments import NANOSECONDS, find_moment
from affidavit.sources.feeds.feed import Errand, Silence, SilentError
from affidavit.sources.feeds.observed import time_from_seconds

Content = TypeVar("Content")

# A file may be written twice within one tick of its clock; only one that has rested is known.
_RESTED_NS: Final = 2 * NANOSECONDS
FORMATS: Final = {".json": "json", ".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Opened(Generic[Content]):
    """A decoded file, and when it was last changed."""

    content: Content
    modified_at: str | None


class WatchedFile(Generic[Content]):
    """A file that is decoded when it is first asked for, and again when it has changed."""

    def __init__(
        self, path: Path, shown: str, max_bytes: int, decoded: Callable[[bytes], Content]
    ) -> None:
        self._path = path
        self._shown = shown
        self._max_bytes = max_bytes
        self._decoded = decoded
        self._known: tuple[tuple[int, ...], Opened[Content]] | None = None

    def opened(self, errand: Errand) -> Opened[Content]:
        """Return what the file holds now, or raise the silence."""
        try:
            status = self._path.stat()
        except (OSError, ValueError):
            raise SilentError(Silence.MISSING, f"there is no file {self._shown}") from None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)
        known = self._known
        if known is not None and known[0] == stamp:
            return known[1]
        opened = Opened(self._read(), time_from_seconds(status.st_mtime_ns // NANOSECONDS))
        asked = find_moment(errand.asked_at)
        if asked is not None and asked - status.st_mtime_ns >= _RESTED_NS:
            self._known = (stamp, opened)
        return opened

    def _read(self) -> Content:
        try:
            return self._decoded(read_bounded(self._path, self._max_bytes))
        except AffidavitError as error:
            silence = _SILENCES.get(error.fault.code, Silence.MALFORMED)
            line = f" (line {error.where.line})" if error.where.line else ""
            raise SilentError(silence, f"{self._shown}: {error.message}{line}") from None


_SILENCES: Final = {
    "AF010": Silence.MISSING,
    "AF011": Silence.FORBIDDEN,
    "AF012": Silence.MISSING,
    "AF013": Silence.TOO_LARGE,
    "AF015": Silence.MISSING,
    "AF027": Silence.TOO_LARGE,
}


def decoder_of(form: str, max_bytes: int) -> Callable[[bytes], JsonValue]:
    """Return what decodes a file of a format."""
    limits = JsonLimits(max_bytes, DOCUMENT_LIMITS.max_depth)
    decoders: dict[str, Callable[[bytes], Any]] = {
        "json": lambda raw: decode(raw, limits),
        "yaml": lambda raw: yaml_document(raw, limits).value,
        "csv": lambda raw: list(csv_rows(raw)),
    }
    return decoders[form]


def csv_rows(raw: bytes) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file, or raise the silence that says which line is wrong."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SilentError(Silence.MALFORMED, "the CSV file is not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, None)
        if not header or len(set(header)) != len(header) or not all(map(str.strip, header)):
            problem = "the first line of the CSV file must have a distinct name for every column"
            raise SilentError(Silence.MALFORMED, problem)
        for row in reader:
            if row and len(row) != len(header):
                problem = f"line {reader.line_num} has {len(row)} cells, the header {len(header)}"
                raise SilentError(Silence.MALFORMED, problem)
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        problem = f"line {reader.line_num} of the CSV file: {excerpt(str(error))}"
        raise SilentError(Silence.MALFORMED, problem) from None
