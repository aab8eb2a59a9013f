"""Lines that were skipped stand in the report, each with its place and what is wrong with it."""

from dataclasses import replace

from affidavit.app.gating.files import BadLines
from affidavit.gates.report import Report


def with_skipped(report: Report, bad: BadLines) -> Report:
    """Return a report that lists what was skipped; without any it is as it was."""
    if not bad.count:
        return report
    return replace(report, listings={**report.listings, "skipped_lines": bad.listing()})
