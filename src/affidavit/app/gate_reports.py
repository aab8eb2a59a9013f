"""Stored gate reports: read back, compared, rendered again, and appended to a history."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from affidavit.app.gate_inputs import read_stored_report
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.files import append_line_durably, open_to_read
from affidavit.base.json_values import LINE_LIMITS
from affidavit.base.strict_json import read_json_file, read_lines
from affidavit.decision.comparison import ReportComparison, compare_reports
from affidavit.decision.report import Report, parse_report
from affidavit.reports.gate_history import (
    HISTORY_SCHEMA,
    HistoryRun,
    history_lines,
    parse_history_line,
)

# `compare`: two stored reports, the earlier one first.


def compare_files(before: Path, now: Path) -> ReportComparison:
    """Return what can be said of the reports in two files."""
    return compare_reports(
        read_stored_report(before), read_stored_report(now), (str(before), str(now))
    )


# The history of runs: a file to which every run adds a line, and which a trend is drawn from.

_RUN_LINE_START: Final = f'{{"schema_version":"{HISTORY_SCHEMA}"'.encode()


@dataclass(frozen=True, slots=True)
class History:
    """The runs in the order of the file, and the lines that are none."""

    runs: tuple[HistoryRun, ...] = ()
    findings: tuple[AffidavitError, ...] = ()


def append_run(path: Path, report: Report, at: str) -> None:
    """Add a run to the history, and return when it is on the disk; `at` is when it was made.

    The folder is made if there is none: `eval/history.jsonl` is where a project begins.
    """
    lines = tuple(history_lines(report, at))
    with suppress(
        OSError
    ):  # What keeps the folder from being made keeps the line out, by its code.
        path.parent.mkdir(parents=True, exist_ok=True)
    for line in lines:
        append_line_durably(path, line)


def read_history(path: Path) -> History:
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
                runs.append(parse_history_line(line, number, str(path)))
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
    if line and not _RUN_LINE_START.startswith(line[: len(_RUN_LINE_START)]):
        parse_history_line(line, 1, str(path))


# Reports that were stored, read back and written in other forms: nothing is measured again.

MAX_REPORT_BYTES: Final = 512 * 1024 * 1024
"""A report names every item, so one of a million items has some tens of megabytes."""


def read_report(path: Path) -> tuple[dict[str, Any], Report]:
    """Return a stored report, as its file has it and validated."""
    value = read_json_file(path, MAX_REPORT_BYTES)
    if not isinstance(value, dict):
        problem = "it is not a JSON object"
        raise AffidavitError(faults.REPORT_MALFORMED, Where(str(path)), problem=problem)
    return value, parse_report(value, str(path))
