"""The page of a gate: one file, escaped, readable without its drawings, and small."""

import re
import shutil
import subprocess
from html import escape
from os import environ
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from lxml import etree
from msgspec import structs
from msgspec.structs import replace
from tests.reports import gate_samples

from affidavit.decision.decision import Decision
from affidavit.gates import report as gate_report
from affidavit.gates.report import parse_report
from affidavit.reports.gate_charts import (
    MOST_ROWS,
    MOST_RUNS,
    charts_of,
    frontier_chart,
    gate_chart,
    heatmaps,
    load_chart,
    place,
    round_steps,
    tag,
    trend_charts,
)
from affidavit.reports.gate_history import HistoryRun, history_lines, parse_history_line
from affidavit.reports.gate_tables import ReportTable

NO_TABLE = ReportTable("", (), ())


def past(count: int = 5) -> list[HistoryRun]:
    return [
        parse_history_line(line, 1, "h")
        for n in range(count)
        for line in history_lines(
            parse_report(gate_samples.rag(8, n % 8)), f"2026-01-{n % 28 + 1:02}T0{n // 28}:00:00Z"
        )
    ]


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_the_page_needs_nothing_from_elsewhere_and_has_no_script(kind: str) -> None:
    page = gate_samples.html_of(gate_samples.KINDS[kind](), past())
    assert "default-src 'none'" in page
    assert not re.search(r"\bsrc=|url\(|<script|@import|https?://", page)
    assert not re.search(r"\shref=\"(?!#)", page)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert page.count("<html") == page.count("</html>") == 1


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_every_drawing_has_words_and_numbers(kind: str) -> None:
    page = gate_samples.html_of(gate_samples.KINDS[kind](), past())
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        root = etree.fromstring(drawing)
        assert root.get("role") == "img"
        assert root[0].tag == "title"
        assert root[0].text
        assert root[1].tag == "desc"
        assert root.get("aria-label") == f"{root[0].text}. {root[1].text}"
    drawings = page.count("<figure>")
    # The numbers of the gates stand in the table above their drawing.
    assert page.count("The numbers of this drawing") == max(0, drawings - 1)


def test_the_decision_stands_first_and_in_the_title() -> None:
    page = gate_samples.html_of(gate_samples.rag(5, 5))
    assert "<title>Do not ship: RAG answers</title>" in page
    assert '<div class="decision no_ship">Do not ship</div>' in page
    assert page.index("precision is 0.5 (5 of 10)") < page.index("<h2>Gates</h2>")


def test_text_from_outside_is_escaped_everywhere() -> None:
    hostile = "</title><img src=x onerror=1>&\"'\u202e"
    wire = gate_samples.rag(5, 5, changes={"claim": hostile, "citations": [hostile]})
    wire["reasons"] = wire["warnings"] = [hostile]
    wire["kind"] = "rag"
    wire["inputs"]["gold"]["path"] = hostile
    wire["gates"][0]["metric"] = hostile
    wire["comparison"]["broken"]["first"] = [hostile]
    page = gate_samples.html_of(wire)
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\\u202e" in page


def test_a_page_of_several_gates_leads_to_each() -> None:
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "reasons": [f"reason {n}" for n in range(30)],
        "parts": {kind: make() for kind, make in gate_samples.KINDS.items() if kind != "stopped"},
    }
    page = gate_samples.html_of(whole)
    assert '<a class="no_ship" href="#latency">' in page
    assert '<section class="part" id="latency">' in page
    assert "and 10 more" in page


def test_a_million_rows_make_a_small_page() -> None:
    wire = gate_samples.stability()
    question = wire["details"]["questions"][1]
    wire["details"]["questions"] = [{**question, "qid": f"question {n}"} for n in range(20_000)]
    run = wire["details"]["by_run"][0]
    wire["details"]["by_run"] = [{**run, "seed": n} for n in range(5_000)]
    wire["listings"]["unstable"] = {"total": 10**6, "first": ["x" * 500] * 100}
    page = gate_samples.html_of(wire)
    assert len(page.encode()) < 200_000
    assert f"{20_000 - MOST_ROWS} more questions" in page
    assert "4900 more seeds" in page
    runs = gate_samples.research()
    runs["details"]["runs"] = [
        {**runs["details"]["runs"][0], "run_id": str(n)} for n in range(5_000)
    ]
    assert "4900 more runs" in gate_samples.html_of(runs)
    gates = gate_samples.latency()
    gates["gates"] = [{**gates["gates"][0], "metric": f"p95_ms/{n}rps"} for n in range(60)]
    # Three figures without a gate have an interval, and are drawn too.
    assert "(the first 40 of 63)" in gate_samples.html_of(gates)


def test_a_report_of_another_hand_makes_a_small_page_too() -> None:
    latency = gate_samples.latency()
    part = latency["details"]["load"]["5rps"]
    latency["details"]["load"] = {f"{n}rps": part for n in range(3_000)}
    made = latency["details"]["tradeoff"]["frontier"][0]
    latency["details"]["tradeoff"]["frontier"] = [{**made, "config": f"c{n}"} for n in range(3_000)]
    agreement = gate_samples.agreement()
    agreement["details"]["confusion"] = [
        {"scholar": f"a{n}", "auditor": f"b{n}", "count": 1} for n in range(3_000)
    ]
    rag = gate_samples.rag(5, 5)
    rag["offenders"] = rag["offenders"] * 1_000
    for wire in (latency, agreement):
        assert len(gate_samples.html_of(wire).encode()) < 600_000
    # Every offender is on the page, about 350 bytes each.
    assert len(gate_samples.html_of(rag).encode()) < 3_000_000


def test_where_the_gold_set_changed_is_marked() -> None:
    runs = past(4)
    changed = [replace(run, inputs={"gold": "sha256:other"}) for run in runs[2:]]
    chart = next(trend_charts([*runs[:2], *changed], "rag"))
    root = etree.fromstring(chart.drawing)
    assert len([line for line in root.iter("line") if line.get("class") == "moved"]) == 1
    assert "the gold set changed there" in chart.key
    assert next(trend_charts(runs, "rag")).key == ""


def test_a_figure_stands_where_its_value_is() -> None:
    chart = gate_chart(parse_report(gate_samples.rag(5, 5)))
    root = etree.fromstring(chart.drawing)
    points = {str(point[0].text).partition(":")[0]: point for point in root.iter("circle")}
    assert points["precision"].get("cx") == "50.0%"
    assert points["precision"].get("class") == "point fail"
    assert "scu_violations" not in points
    (threshold, *_) = (line for line in root.iter("line") if line.get("class") == "threshold")
    assert threshold.get("x1") == "80.0%"


def test_a_kappa_below_zero_has_a_scale_that_shows_it() -> None:
    wire = gate_samples.agreement("VN NV VN NV VV")
    root = etree.fromstring(gate_chart(parse_report(wire)).drawing)
    at = [point.get("cx") for point in root.iter("circle") if "kappa" in str(point[0].text)]
    assert float(str(at[0]).rstrip("%")) < 50


def test_curves_of_loads_and_their_limits() -> None:
    report = parse_report(gate_samples.latency(overrides=["p95_ms<=2500", "p95_ms/5rps<=2000"]))
    titles = [chart.title for chart in charts_of(report)]
    assert titles == [
        "Figures against their thresholds",
        "Latency by load",
        "Configurations worth having",
    ]
    _, loads, frontier = charts_of(report)
    root = etree.fromstring(loads.drawing)
    assert len([line for line in root.iter("line") if line.get("class") == "limit"]) == 2
    assert [text.text for text in root.iter("text") if "end" in str(text.get("class"))] == [
        "P50",
        "P95",
        "P99",
    ]
    assert "at 5rps P50 1130, P95 1547, P99 2717.4 ms" in loads.says
    assert "k5 P95 1300 ms, precision 0.84" in frontier.says


def test_a_load_without_figures_and_one_without_a_limit() -> None:
    details = gate_report.LatencyDetails(
        load={
            "1rps": gate_report.Percentiles(n=0),
            "2rps": gate_report.Percentiles(n=1, p50_ms=5.0, p90_ms=5.0, p95_ms=5.0),
        }
    )
    root = etree.fromstring(load_chart(details, (), NO_TABLE).drawing)
    assert len([*root.iter("circle")]) == 2


def test_what_is_beaten_is_hollow_and_what_is_not_measured_is_not_drawn() -> None:
    tradeoff = gate_report.Tradeoff(
        frontier=(
            gate_report.ConfigurationFigures("a", 100.0, 0.9, passes=True),
            gate_report.ConfigurationFigures("c"),
        ),
        dominated=(gate_report.ConfigurationFigures("b", 200.0, 0.5), "named only"),
    )
    root = etree.fromstring(frontier_chart(tradeoff, NO_TABLE).drawing)
    states = {str(point[0].text)[0]: point.get("class") for point in root.iter("circle")}
    assert states == {"a": "point pass", "b": "point hollow"}


def test_the_confusion_of_labels_is_shaded_by_its_share() -> None:
    (heat,) = heatmaps(parse_report(gate_samples.agreement("VV VV VV NV")))
    assert heat.columns == ("NOT_IN_CONTEXT", "VALID")
    cells = {
        (name, column): cell
        for name, row in heat.rows
        for column, cell in zip(heat.columns, row, strict=True)
    }
    assert cells["VALID", "VALID"].status == "pass"
    assert cells["VALID", "VALID"].shade == pytest.approx(0.75**0.5, abs=0.001)
    assert cells["NOT_IN_CONTEXT", "VALID"].status == "fail"
    assert cells["VALID", "NOT_IN_CONTEXT"].shade == 0


def test_a_question_without_runs_is_hatched_not_red() -> None:
    questions, _ = heatmaps(parse_report(gate_samples.stability()))
    rows = dict(questions.rows)
    assert {cell.status for cell in rows["q000"]} == {"not_measured"}
    assert [cell.status for cell in rows["q001"]] == ["fail", "pass", "pass", "fail", "pass"]


def test_a_run_that_measured_nothing_is_hatched() -> None:
    wire = gate_samples.stability()
    wire["details"]["by_run"] = [
        {"seed": 1, "jitter": "a", "right": 4, "wrong": 0},
        {"seed": 1, "jitter": "b", "not_measured": 2},
        {"seed": 2, "jitter": "a", "right": 1, "wrong": 3},
    ]
    _, runs = heatmaps(parse_report(wire))
    assert [[cell.status for cell in cells] for _, cells in runs.rows] == [
        ["pass", "not_measured"],
        ["fail", "not_measured"],
    ]


def test_a_trend_needs_two_runs_of_the_same_kind() -> None:
    assert [*trend_charts(past(1), "rag")] == []
    assert [*trend_charts(past(5), "latency")] == []
    charts = [*trend_charts(past(5), "rag")]
    assert [chart.title for chart in charts] == [
        "precision",
        "chr",
        "under_refusal",
        "over_refusal",
    ]
    assert charts[0].says == "5 runs; the last is 0.6667, and >= 0.8 is asked"
    table = charts[0].table
    assert table is not None
    assert [row.cells[0] for row in table.rows] == [
        f"2026-01-0{n}T00:00:00Z" for n in (5, 4, 3, 2, 1)
    ]


def test_a_long_history_shows_its_last_runs_and_a_gap_where_nothing_was_measured() -> None:
    runs = past(MOST_RUNS + 10)
    runs[-2] = structs.replace(
        runs[-2], decision=Decision.INCONCLUSIVE, metrics={}, gates=(), inputs={}
    )
    chart = next(trend_charts(runs, "rag"))
    root = etree.fromstring(chart.drawing)
    assert len([*root.iter("circle")]) == MOST_RUNS - 1
    assert len([line for line in root.iter("line") if line.get("class") == "gap"]) == 1


def test_a_trend_whose_last_run_measured_nothing_says_so() -> None:
    runs = past(3)
    last = structs.replace(runs[-1], decision=Decision.INCONCLUSIVE, metrics={}, inputs={})
    assert "the last is not measured" in next(trend_charts([*runs, last], "rag")).says


CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def chromium(*arguments: str, folder: Path) -> str:
    """Return what Chromium says; a test that needs it is skipped where there is none."""
    if CHROMIUM is None and environ.get("CI") != "true":
        pytest.skip("no Chromium here; `make browser` installs it")
    assert CHROMIUM is not None, "CI needs Chromium; `make browser` installs it"
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
    done = subprocess.run(
        [CHROMIUM, *flags, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    return done.stdout


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_nothing_is_wider_than_the_window(width: int, tmp_path: Path) -> None:
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "parts": {kind: make() for kind, make in gate_samples.KINDS.items() if kind != "stopped"},
    }
    # Chromium opens no narrow window, so the page stands in a frame of that width.
    page = escape(gate_samples.html_of(whole, past()))
    frame = f'<iframe style="width: {width}px" srcdoc="{page}"></iframe>'
    measure = "document.title = document.querySelector('iframe').contentDocument.body.scrollWidth"
    file = tmp_path / "page.html"
    file.write_text(f"<title>none</title>{frame}<script>onload = () => {{ {measure} }}</script>")
    shown = chromium("--dump-dom", file.as_uri(), folder=tmp_path)
    found = re.search(r"<title>(\d+)</title>", shown)
    assert found is not None
    assert int(found[1]) <= width


def test_on_paper_nothing_is_folded_away(tmp_path: Path) -> None:
    file, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    file.write_text(gate_samples.html_of(gate_samples.latency(), past()))
    chromium("--no-pdf-header-footer", f"--print-to-pdf={paper}", file.as_uri(), folder=tmp_path)
    with pdfium.PdfDocument(paper) as pages:
        said = "".join(page.get_textpage().get_text_bounded() for page in pages)
    text = "".join(said.split())  # A name may be broken where its column ends.
    assert "runs/latency.jsonl" in text  # What was read.
    assert "P99/P50" in text  # The numbers of a drawing.


STEPS = {
    "thousands": (4510.0, [0.0, 1000.0, 2000.0, 3000.0, 4000.0]),
    "below one": (0.9, [0.0, 0.2, 0.4, 0.6, 0.8]),
    "far below one": (0.0042, [0.0, 0.001, 0.002, 0.003, 0.004]),
    "nothing": (0.0, [0.0]),
}


@pytest.mark.parametrize(("high", "wanted"), STEPS.values(), ids=STEPS.keys())
def test_round_steps(high: float, wanted: list[float]) -> None:
    assert round_steps(high) == wanted


def test_places_and_elements() -> None:
    assert place(5, 0, 10) == 0.5
    assert place(50, 0, 10) == 1
    assert place(7, 7, 7) == 0.5
    assert tag("a", class_="x", text_anchor='"') == '<a class="x" text-anchor="&quot;"/>'
