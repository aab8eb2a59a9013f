"""`compare`: two stored reports, the earlier one first."""

from pathlib import Path

from affidavit.app.gating.baselines import stored_value
from affidavit.gates.report_comparison import ReportComparison, compare_reports


def compare_files(before: Path, now: Path) -> ReportComparison:
    """Return what can be said of the reports in two files."""
    return compare_reports(stored_value(before), stored_value(now), (str(before), str(now)))
