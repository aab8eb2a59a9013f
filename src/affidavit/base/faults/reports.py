"""AF43x: reports of gates that were stored, and the history of runs."""

from affidavit.base.errors import Fault

REPORT_MALFORMED = Fault(
    "AF430",
    "report.malformed",
    "this is not a report of a gate: {problem}",
    "name a file that a gate wrote with --report",
)
HISTORY_LINE = Fault(
    "AF431",
    "history.line",
    "this is not a line of a history of runs: {problem}",
    "delete the line, or name a file that a gate wrote with --history",
)
