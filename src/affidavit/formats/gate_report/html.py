"""A gate's report as one HTML file that works offline: no font, script or style from elsewhere.

It has no script at all: what is folded is folded by the browser.
"""

from collections.abc import Iterable, Mapping

from affidavit import __version__
from affidavit.formats.gate_report import words
from affidavit.formats.gate_report.charts import charts_of
from affidavit.formats.gate_report.detail_tables import detail_tables
from affidavit.formats.gate_report.heat import heats_of
from affidavit.formats.gate_report.past import PastRunV1
from affidavit.formats.gate_report.tables import gate_table, input_table, offender_table
from affidavit.formats.gate_report.trend import trends_of
from affidavit.formats.gate_report.wire import ReportV1, each_part, report_of
from affidavit.formats.page_templates import page_templates


def render(wire: Mapping[str, object], history: Iterable[PastRunV1] = ()) -> str:
    """Return the page; with a history it shows how the figures went."""
    report, runs = report_of(wire), tuple(history)
    templates = page_templates()
    templates.filters.update(visible=words.visible, listed=words.listed)
    return templates.get_template("gate_report.html.j2").render(
        title=words.kind_in_words(report),
        whole=_head(report),
        parts=[_view(part, runs) for part in each_part(report)],
        several=bool(report.parts),
        version=__version__,
    )


def _head(report: ReportV1) -> dict[str, object]:
    return {
        "kind": report.kind,
        "name": words.kind_in_words(report),
        "decision": report.decision,
        "said": words.DECISIONS[report.decision],
        "headline": words.headline(report),
        "reasons": report.reasons,
    }


def _view(report: ReportV1, history: tuple[PastRunV1, ...]) -> dict[str, object]:
    charts, heats = tuple(charts_of(report)), tuple(heats_of(report))
    drawn = {chart.table.title for chart in charts if chart.table is not None}
    # A shaded table shows all that the plain one would.
    others = [] if heats else [made for made in detail_tables(report) if made.title not in drawn]
    return {
        **_head(report),
        "gates": gate_table(report) if report.gates or report.metrics else None,
        "meanings": {name: words.metric_in_words(name) for name in _names(report)},
        "charts": charts,
        "heats": heats,
        "tables": others,
        "trends": tuple(trends_of(history, report.kind)),
        "offenders": offender_table(report),
        "steps": report.next_steps,
        "comparison": report.comparison,
        "listings": tuple(words.listings_beyond_offenders(report)),
        "warnings": report.warnings,
        "inputs": input_table(report) if report.inputs else None,
        "counts": report.counts,
    }


def _names(report: ReportV1) -> set[str]:
    return {*report.metrics, *(gate.metric for gate in report.gates)}
