"""Files as sources: JSON, CSV and YAML, decoded strictly and cached until the file changes.

CSV is UTF-8, with or without a byte order mark, separated by commas, with a header of distinct
names. Every row is an object of strings; nothing is converted to a number: "01" and "1" differ.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from affidavit.base.config import decode_yaml
from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.timestamps import NANOSECONDS, find_nanoseconds
from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.checks.operators import find_equal
from affidavit.checks.values import display_value, is_scalar, kind_of, look_up_path
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
    file_identity,
    located_message,
    require_json,
    rows_as_result,
)
from affidavit.tools.observation_time import ObservationTime, timestamp_from_seconds
from affidavit.tools.settings import fill_arguments, fill_text, single_argument

Content = TypeVar("Content")

# A file can be written twice within one tick of its clock, so a recent file is not cached.
_STABLE_AFTER_NS: Final = 2 * NANOSECONDS
MAX_CACHED_FILES: Final = 64
_PATH_MARKS: Final = ("/", "\\", "\0", ":")
FILE_FORMATS: Final = {".json": "json", ".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class DecodedFile(Generic[Content]):
    """A decoded file, its modification time, and which file it is."""

    content: Content
    modified_at: str | None
    identity: str


class CachedFile(Generic[Content]):
    """A file that is decoded on first use, and again when it has changed."""

    def __init__(
        self, path: Path, shown: str, max_bytes: int, decoder: Callable[[bytes], Content]
    ) -> None:
        self._path = path
        self._shown = shown
        self._max_bytes = max_bytes
        self._decoder = decoder
        self._cached: tuple[tuple[int, ...], DecodedFile[Content]] | None = None

    def load(self, request: SourceRequest) -> DecodedFile[Content]:
        """Return the decoded file, or raise SourceFailedError."""
        try:
            status = self._path.stat()
        except (OSError, ValueError):
            raise SourceFailedError(
                FailureReason.MISSING, f"there is no file {self._shown}"
            ) from None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)
        cached = self._cached
        if cached is not None and cached[0] == stamp:
            return cached[1]
        modified_at = timestamp_from_seconds(status.st_mtime_ns // NANOSECONDS)
        loaded = DecodedFile(self._read(), modified_at, file_identity(status))
        asked = find_nanoseconds(request.asked_at)
        if asked is not None and asked - status.st_mtime_ns >= _STABLE_AFTER_NS:
            self._cached = (stamp, loaded)
        return loaded

    def _read(self) -> Content:
        try:
            return self._decoder(read_bounded(self._path, self._max_bytes))
        except AffidavitError as error:
            reason = _FAILURE_REASONS.get(error.fault.code, FailureReason.MALFORMED)
            raise SourceFailedError(reason, f"{self._shown}: {located_message(error)}") from None


_FAILURE_REASONS: Final = {
    "AF010": FailureReason.MISSING,
    "AF011": FailureReason.FORBIDDEN,
    "AF012": FailureReason.MISSING,
    "AF013": FailureReason.TOO_LARGE,
    "AF015": FailureReason.MISSING,
    "AF027": FailureReason.TOO_LARGE,
}


def decoder_of(form: str, max_bytes: int) -> Callable[[bytes], JsonValue]:
    """Return the decoder of a file format."""
    limits = JsonLimits(max_bytes, DOCUMENT_LIMITS.max_depth)
    decoders: dict[str, Callable[[bytes], Any]] = {
        "json": lambda raw: decode(raw, limits),
        "yaml": lambda raw: decode_yaml(raw, limits),
        "csv": lambda raw: list(csv_rows(raw)),
    }
    return decoders[form]


def csv_rows(raw: bytes) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file, or raise SourceFailedError with the invalid line."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceFailedError(FailureReason.MALFORMED, "the CSV file is not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, None)
        if not header or len(set(header)) != len(header) or not all(map(str.strip, header)):
            problem = "the first line of the CSV file must have a distinct name for every column"
            raise SourceFailedError(FailureReason.MALFORMED, problem)
        for row in reader:
            if row and len(row) != len(header):
                problem = f"line {reader.line_num} has {len(row)} cells, the header {len(header)}"
                raise SourceFailedError(FailureReason.MALFORMED, problem)
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        problem = f"line {reader.line_num} of the CSV file: {excerpt(str(error))}"
        raise SourceFailedError(FailureReason.MALFORMED, problem) from None


class FileSelector:
    """Files whose path has slots, such as `prices/{country}.json`; each is cached.

    An argument is one name: it cannot lead to another folder.
    """

    def __init__(self, folder: Path, path: str, max_bytes: int, form: str) -> None:
        self._folder = folder
        self._path = path
        self.max_bytes = max_bytes
        self._form = form
        self._files: dict[str, CachedFile[JsonValue]] = {}

    def file(self, args: CheckArguments) -> CachedFile[JsonValue]:
        """Return the file that the arguments name."""
        name = fill_text(self._path, args, _file_name)
        if name not in self._files:
            if len(self._files) >= MAX_CACHED_FILES:
                self._files.clear()
            decoder = decoder_of(self._form, self.max_bytes)
            self._files[name] = CachedFile(self._folder / name, name, self.max_bytes, decoder)
        return self._files[name]


def _file_name(text: str) -> str:
    if not text or text.startswith(".") or any(mark in text for mark in _PATH_MARKS):
        problem = f"{display_value(text)} is not one name of a file or folder"
        raise SourceFailedError(FailureReason.FORBIDDEN, problem)
    return text


@dataclass(frozen=True, slots=True)
class FileFeed:
    """One file, or one of several. `select` is a path into it, `where` keeps rows by value."""

    source: EvidenceSource
    files: FileSelector
    timing: ObservationTime
    select: tuple[str | int, ...] = ()
    where: Mapping[str, Any] | None = None

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return what the arguments select."""
        loaded = self.files.file(args).load(request)
        value = loaded.content
        for step in self.select:
            value = _select_step(value, fill_arguments(step, args))
        if self.where is not None:
            value = rows_as_result(
                _rows_where(value, {k: fill_arguments(v, args) for k, v in self.where.items()})
            )
        raw = require_json(value, self.files.max_bytes)
        moment = self.timing.moment(raw, request.asked_at, modified=loaded.modified_at)
        return SourceAnswer(self.source, raw, moment, (loaded.identity,))


@dataclass(frozen=True, slots=True)
class FolderFeed:
    """The files below a folder: the argument `file` names one, `key` a path in it if given.

    Nothing outside the folder is read: no absolute name, no `..`, no link that leads out.
    """

    source: EvidenceSource
    root: Path
    timing: ObservationTime
    max_bytes: int

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the content of the file, or the value at the key."""
        name = single_argument("file", args)
        path = self._inside(name)
        form = FILE_FORMATS.get(path.suffix.lower())
        if form is None:
            problem = f"{display_value(name)} ends in none of {', '.join(FILE_FORMATS)}"
            raise SourceFailedError(FailureReason.ARGUMENT, problem)
        file = CachedFile(
            path, display_value(name), self.max_bytes, decoder_of(form, self.max_bytes)
        )
        loaded = file.load(request)
        content = _as_result(loaded.content, form)
        if "key" in args:
            lookup = look_up_path(content, single_argument("key", args))
            if not lookup.found:
                raise SourceFailedError(FailureReason.MISSING, lookup.reason)
            content = lookup.value
        raw = require_json(content, self.max_bytes)
        moment = self.timing.moment(raw, request.asked_at, modified=loaded.modified_at)
        return SourceAnswer(self.source, raw, moment, (loaded.identity,))

    def _inside(self, name: str) -> Path:
        try:
            root = self.root.resolve()
            path = (root / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise SourceFailedError(
                FailureReason.ARGUMENT, f"{display_value(name)} is no file name"
            ) from None
        if not path.is_relative_to(root):
            raise SourceFailedError(
                FailureReason.FORBIDDEN, f"{display_value(name)} leads out of the folder"
            )
        return path


def _as_result(content: JsonValue, form: str) -> JsonValue:
    return rows_as_result(content) if form == "csv" and isinstance(content, list) else content


def _select_step(value: JsonValue, step: JsonValue) -> JsonValue:
    if isinstance(value, dict) and is_scalar(step):
        key = step if isinstance(step, str) else str(step)
        if key in value:
            return value[key]
        raise SourceFailedError(
            FailureReason.MISSING, f"the file has no key {display_value(key)} there"
        )
    if isinstance(value, list) and type(step) is int and 0 <= step < len(value):
        return value[step]
    raise SourceFailedError(
        FailureReason.MISSING, f"{kind_of(value)} of the file has no {display_value(step)} in it"
    )


def _rows_where(rows: JsonValue, wanted: Mapping[str, JsonValue]) -> list[JsonValue]:
    if not isinstance(rows, list):
        raise SourceFailedError(
            FailureReason.MALFORMED, f"the file has {kind_of(rows)} there, not rows"
        )
    for number, row in enumerate(rows):
        absent = wanted.keys() - row.keys() if isinstance(row, dict) else wanted.keys()
        if absent:
            problem = f"row {number + 1} has no {display_value(min(absent))}"
            raise SourceFailedError(FailureReason.MALFORMED, problem)
    return [
        row
        for row in rows
        if isinstance(row, dict)
        and all(find_equal(row[name], value) is True for name, value in wanted.items())
    ]
