"""Stored gate reports: read, compare, and append to a history."""

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
from affidavit.decision.report import Report
from affidavit.gates.comparison import ReportComparison, compare_reports
from affidavit.gates.report import parse_report
from affidavit.reports.gate_history import (
    HISTORY_SCHEMA,
    HistoryRun,
    history_lines,
    parse_history_line,
)


def compare_files(before: Path, now: Path) -> ReportComparison:
    """Return the comparison of the reports in two files."""
    return compare_reports(
        read_stored_report(before), read_stored_report(now), (str(before), str(now))
    )


_RUN_LINE_START: Final = f'{{"schema_version":"{HISTORY_SCHEMA}"'.encode()


@dataclass(frozen=True, slots=True)
class History:
    """The runs in the order of the file, and errors for lines that are not runs."""

    runs: tuple[HistoryRun, ...] = ()
    findings: tuple[AffidavitError, ...] = ()


def append_run(path: Path, report: Report, at: str) -> None:
    """Append a run to the history durably; `at` is the time of the run.

    The folder is created if it is missing: projects start with `eval/history.jsonl`.
    """
    lines = tuple(history_lines(report, at))
    with suppress(
        OSError
    ):  # If the folder cannot be created, writing the line fails with the right error.
        path.parent.mkdir(parents=True, exist_ok=True)
    for line in lines:
        append_line_durably(path, line)


def read_history(path: Path) -> History:
    """Return the history; a line that a crash or an edit cut off is reported and skipped."""
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
    """Refuse a file that is not a history, judged by its first line.

    A line that a crash cut off still begins like a run.
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


MAX_REPORT_BYTES: Final = 512 * 1024 * 1024
"""A report names every item, so one of a million items has some tens of megabytes."""


def read_report(path: Path) -> tuple[dict[str, Any], Report]:
    """Return a stored report, as its file has it and validated."""
    value = read_json_file(path, MAX_REPORT_BYTES)
    if not isinstance(value, dict):
        problem = "it is not a JSON object"
        raise AffidavitError(faults.REPORT_MALFORMED, Where(str(path)), problem=problem)
    return value, parse_report(value, str(path))
