"""A gate report as one HTML file that works offline, without external fonts or styles.

It has no scripts; sections are folded with plain HTML.
"""

from collections.abc import Iterable

from affidavit import __version__
from affidavit.decision.report import Report
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_charts import charts_of, heatmaps, trend_charts
from affidavit.reports.gate_history import HistoryRun
from affidavit.reports.gate_tables import detail_tables, gate_table, input_table, offender_table
from affidavit.reports.pages import page_templates


def gate_html(report: Report, history: Iterable[HistoryRun] = ()) -> str:
    """Return the page; with a history it shows trends."""
    runs = tuple(history)
    templates = page_templates()
    templates.filters.update(visible=wording.escape_controls, listed=wording.list_names)
    return templates.get_template("gate_report.html.j2").render(
        title=wording.describe_kind(report),
        whole=_summary_view(report),
        parts=[_part_view(part, runs) for part in report.each_part],
        several=bool(report.parts),
        version=__version__,
    )


def _summary_view(report: Report) -> dict[str, object]:
    return {
        "kind": report.kind,
        "name": wording.describe_kind(report),
        "decision": report.decision,
        "said": wording.DECISION_NAMES[report.decision],
        "headline": wording.headline(report),
        "reasons": report.reasons,
    }


def _part_view(report: Report, history: tuple[HistoryRun, ...]) -> dict[str, object]:
    charts, heats = tuple(charts_of(report)), tuple(heatmaps(report))
    drawn = {chart.table.title for chart in charts if chart.table is not None}
    # A heatmap replaces the plain table.
    others = [] if heats else [made for made in detail_tables(report) if made.title not in drawn]
    return {
        **_summary_view(report),
        "gates": gate_table(report) if report.gates or report.metrics else None,
        "meanings": {name: wording.describe_metric(name) for name in _metric_names(report)},
        "charts": charts,
        "heats": heats,
        "tables": others,
        "trends": tuple(trend_charts(history, report.kind)),
        "offenders": offender_table(report),
        "steps": report.next_steps,
        "comparison": report.comparison,
        "listings": tuple(wording.listings_beyond_offenders(report)),
        "warnings": report.warnings,
        "inputs": input_table(report) if report.inputs else None,
        "counts": report.counts,
    }


def _metric_names(report: Report) -> set[str]:
    return {*report.metrics, *(gate.metric for gate in report.gates)}
