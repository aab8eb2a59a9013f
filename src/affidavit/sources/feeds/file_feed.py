"""Files as sources: one file whose rows or keys the arguments select, or a folder of files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affidavit.base.json_limits import JsonValue
from affidavit.checks.equality import find_equal
from affidavit.checks.facts import Source
from affidavit.checks.paths import look_at
from affidavit.checks.values import is_single, kind_of, shown
from affidavit.sources.feeds.feed import MAX_RAW_BYTES, Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.file_reading import FORMATS, WatchedFile, decoder_of
from affidavit.sources.feeds.observed import Timing
from affidavit.sources.feeds.results import as_json, as_rows
from affidavit.sources.feeds.slots import filled, single_argument


@dataclass(frozen=True, slots=True)
class FileFeed:
    """One file. `select` leads into it step by step, `where` keeps the rows that are equal."""

    source: Source
    file: WatchedFile[JsonValue]
    timing: Timing
    select: tuple[str | int, ...] = ()
    where: Mapping[str, Any] | None = None

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return what the arguments select."""
        opened = self.file.opened(errand)
        value = opened.content
        for step in self.select:
            value = _stepped(value, filled(step, args))
        if self.where is not None:
            value = as_rows(_rows_where(value, {k: filled(v, args) for k, v in self.where.items()}))
        raw = as_json(value, MAX_RAW_BYTES)
        moment = self.timing.moment(raw, errand.asked_at, modified=opened.modified_at)
        return Reply(raw, moment)


@dataclass(frozen=True, slots=True)
class FolderFeed:
    """The files below a folder: the argument `file` names one, `key` a path in it if given.

    Nothing outside the folder is read: no absolute name, no `..`, no link that leads out.
    """

    source: Source
    root: Path
    timing: Timing
    max_bytes: int

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return what the file holds, or what stands at the key."""
        name = single_argument("file", args)
        path = self._inside(name)
        form = FORMATS.get(path.suffix.lower())
        if form is None:
            problem = f"{shown(name)} ends in none of {', '.join(FORMATS)}"
            raise SilentError(Silence.ARGUMENT, problem)
        watched = WatchedFile(path, shown(name), self.max_bytes, decoder_of(form, self.max_bytes))
        opened = watched.opened(errand)
        content = _as_result(opened.content, form)
        if "key" in args:
            look = look_at(content, single_argument("key", args))
            if not look.found:
                raise SilentError(Silence.MISSING, look.why)
            content = look.value
        raw = as_json(content, MAX_RAW_BYTES)
        moment = self.timing.moment(raw, errand.asked_at, modified=opened.modified_at)
        return Reply(raw, moment)

    def _inside(self, name: str) -> Path:
        try:
            root = self.root.resolve()
            path = (root / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise SilentError(Silence.ARGUMENT, f"{shown(name)} is no file name") from None
        if not path.is_relative_to(root):
            raise SilentError(Silence.FORBIDDEN, f"{shown(name)} leads out of the folder")
        return path


def _as_result(content: JsonValue, form: str) -> JsonValue:
    return as_rows(content) if form == "csv" and isinstance(content, list) else content


def _stepped(value: JsonValue, step: JsonValue) -> JsonValue:
    if isinstance(value, dict) and is_single(step):
        key = step if isinstance(step, str) else str(step)
        if key in value:
            return value[key]
        raise SilentError(Silence.MISSING, f"the file has no key {shown(key)} there")
    if isinstance(value, list) and type(step) is int and 0 <= step < len(value):
        return value[step]
    raise SilentError(Silence.MISSING, f"{kind_of(value)} of the file has no {shown(step)} in it")


def _rows_where(rows: JsonValue, wanted: Mapping[str, JsonValue]) -> list[JsonValue]:
    if not isinstance(rows, list):
        raise SilentError(Silence.MALFORMED, f"the file has {kind_of(rows)} there, not rows")
    for number, row in enumerate(rows):
        absent = wanted.keys() - row.keys() if isinstance(row, dict) else wanted.keys()
        if absent:
            problem = f"row {number + 1} has no {shown(min(absent))}"
            raise SilentError(Silence.MALFORMED, problem)
    return [
        row
        for row in rows
        if isinstance(row, dict)
        and all(find_equal(row[name], value) is True for name, value in wanted.items())
    ]
