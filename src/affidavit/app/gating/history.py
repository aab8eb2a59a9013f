"""The history of runs: a file to which every run adds a line, and which a trend is drawn from."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.files import append_line_durably, open_to_read
from affidavit.base.json_limits import LINE_LIMITS
from affidavit.base.json_lines import read_lines
from affidavit.formats.gate_report.past import SCHEMA, PastRunV1, lines_of, run_from_line, runs_of

__all__ = ["History", "append", "read", "require_history", "runs_of"]

_BEGINNING: Final = f'{{"schema_version":"{SCHEMA}"'.encode()


@dataclass(frozen=True, slots=True)
class History:
    """The runs in the order of the file, and the lines that are none."""

    runs: tuple[PastRunV1, ...] = ()
    findings: tuple[AffidavitError, ...] = ()


def append(path: Path, wire: Mapping[str, object], at: str) -> None:
    """Add a run to the history, and return when it is on the disk; `at` is when it was made.

    The folder is made if there is none: `eval/history.jsonl` is where a project begins.
    """
    lines = tuple(lines_of(wire, at))
    with suppress(
        OSError
    ):  # What keeps the folder from being made keeps the line out, by its code.
        path.parent.mkdir(parents=True, exist_ok=True)
    for line in lines:
        append_line_durably(path, line)


def read(path: Path) -> History:
    """Return the history; a line that was torn by a crash, or by hand, is reported and left out."""
    runs, findings = [], []
    with open_to_read(path) as stream:
        try:
            lines = [line.rstrip(b"\r\n") for line in read_lines(stream)]
        except AffidavitError as error:
            raise error.at(file=str(path)) from None
    for number, line in enumerate(lines, start=1):
        if line:
            try:
                runs.append(run_from_line(line, number, str(path)))
            except AffidavitError as error:
                findings.append(error)
    return History(tuple(runs), tuple(findings))


def require_history(path: Path) -> None:
    """Refuse a file that is something else: it would get a line that its readers do not know.

    Its first line tells. One that a crash tore is the beginning of a run all the same.
    """
    try:
        with open_to_read(path) as stream:
            line = stream.read(LINE_LIMITS.max_bytes).lstrip().partition(b"\n")[0]
    except AffidavitError as error:
        if error.fault is FILE_MISSING:
            return
        raise
    if line and not _BEGINNING.startswith(line[: len(_BEGINNING)]):
        run_from_line(line, 1, str(path))
