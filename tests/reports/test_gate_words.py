"""How figures are said, and how a stored report is held to its shape."""

from typing import Any

import pytest
from tests.reports import gate_samples

from affidavit.base.errors import AffidavitError
from affidavit.gates.metrics import METRICS_BY_KIND
from affidavit.gates.report import parse_report
from affidavit.reports import gate_tables
from affidavit.reports.gate_tables import MAX_DETAIL_ROWS, detail_tables, gate_table, offender_table

FIGURES = {
    "nothing was measured": ((None,), "–"),
    "a whole number has no fraction": ((1.0,), "1"),
    "four digits are enough": ((0.833333,), "0.8333"),
    "not so few that it looks like the threshold": ((0.799999, 0.8), "0.799999"),
    "equal to the threshold is shown so": ((0.8, 0.8), "0.8"),
    "closer than any digit that is shown": ((0.8000000000000002, 0.8), "0.8000000000000002"),
}


@pytest.mark.parametrize(("given", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figure(given: tuple[Any, ...], wanted: str) -> None:
    assert gate_tables.format_figure(*given) == wanted


INTERVALS = {
    "none": (None, "–"),
    "two digits tell its ends apart": ((0.490162, 0.943318), "0.49 to 0.94"),
    "a narrow one needs more": ((0.79921, 0.80078), "0.7992 to 0.8008"),
    "both ends are the same": ((0.5, 0.5), "0.5 to 0.5"),
}


@pytest.mark.parametrize(("given", "wanted"), INTERVALS.values(), ids=INTERVALS.keys())
def test_interval(given: tuple[float, float] | None, wanted: str) -> None:
    assert gate_tables.format_interval(given) == wanted


def test_names_that_no_table_knows_are_said_as_they_are() -> None:
    assert gate_tables.describe_metric("novel") == ""
    assert gate_tables.describe_metric("p95_ms/5rps") == "95th percentile, milliseconds at 5rps"
    assert gate_tables.describe_reason("some_other_reason") == "some other reason"
    assert (
        gate_tables.describe_kind(parse_report({**gate_samples.rag(), "kind": "novel"})) == "novel"
    )


def test_what_no_reader_would_see_is_shown() -> None:
    assert gate_tables.escape_controls("a\x00b\u202ec\ud800d\ne") == "a\\u0000b\\u202ec\\ud800d\ne"
    assert gate_tables.escape_controls("q1\u200b \ufeff\xad") == "q1\\u200b \\ufeff\\u00ad"
    assert gate_tables.escape_controls("\U000e0041") == "\\U000e0041"


def test_what_a_script_or_an_emoji_is_written_with_stays() -> None:
    text = "नमस्ते क्\u200dष 👩\u200d🚀 ✈\ufe0f é 漢字 ﷽"
    assert gate_tables.escape_controls(text) == text


def test_every_metric_of_the_gates_has_words() -> None:
    known = {name for table in METRICS_BY_KIND.values() for name in table}
    assert known == set(gate_tables.METRIC_DESCRIPTIONS)


def test_a_list_says_how_many_more_there_are() -> None:
    assert gate_tables.list_names([], 3) == "–"
    assert gate_tables.list_names(["a", "b"], 3) == "a, b"
    assert gate_tables.list_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert gate_tables.list_names(["a", "b"], 2, total=1000) == "a, b and 998 more"


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_every_table_has_as_many_cells_as_columns(kind: str) -> None:
    report = parse_report(gate_samples.KINDS[kind]())
    tables = [gate_table(report), *detail_tables(report)]
    offenders = offender_table(report)
    for table in [*tables, *([offenders] if offenders else [])]:
        assert {len(row.cells) for row in table.rows} <= {len(table.columns)}


def test_a_long_table_says_what_it_leaves_out() -> None:
    wire = gate_samples.research()
    run = wire["details"]["runs"][0]
    wire["details"]["runs"] = [{**run, "run_id": f"r{n}"} for n in range(MAX_DETAIL_ROWS + 7)]
    (table,) = detail_tables(parse_report(wire))
    assert (table.title, len(table.rows)) == ("Run by run (the first 50 of 57)", MAX_DETAIL_ROWS)
    wire = gate_samples.agreement()
    pairs = [{"scholar": f"a{n:03}", "auditor": f"a{n:03}", "count": 1} for n in range(200)]
    wire["details"]["confusion"] = pairs
    (table,) = detail_tables(parse_report(wire))
    assert len(table.columns) == 31


def test_details_without_anything_make_no_table() -> None:
    empties: dict[str, dict[str, Any]] = {
        "latency": {"tradeoff": {"frontier": []}},
        "agreement": {},
        "stability": {},
        "research": {},
        "rag": {},
    }
    for kind, details in empties.items():
        wire = {**gate_samples.rag(), "kind": kind, "details": details, "offenders": []}
        assert [*detail_tables(parse_report(wire))] == []


def test_the_limits_of_an_unstable_question_in_words() -> None:
    wire = gate_samples.stability()
    question = {**wire["offenders"][0], "failed": ["refused_always", "scu_cons", "acr"]}
    table = offender_table(parse_report({**wire, "offenders": [question]}))
    assert table is not None
    assert table.rows[0].cells[2] == (
        "has no answer, but was refused in 0 of 9 runs only,"
        " constraints not echoed in every run, acr 0.6667"
    )


def test_what_was_not_measured_of_an_offender_is_said() -> None:
    wire = gate_samples.rag()
    offender = {**wire["offenders"][0], "failed": ["C"], "not_measured": ["H"]}
    table = offender_table(parse_report({**wire, "offenders": [offender]}))
    assert table is not None
    assert table.rows[0].cells[1] == "wrong answer (fails C; H not measured)"


LONG = "x" * 100_000


def _with_long_names(kind: str) -> dict[str, Any]:
    wire = gate_samples.KINDS[kind]()
    wire["offenders"] = [{**each, "qid": LONG} for each in wire["offenders"]]
    details = wire["details"]
    for questions in (details.get("questions", []), details.get("by_run", [])):
        for each in questions:
            each.update({"qid": LONG} if "qid" in each else {"jitter": LONG})
    for run in details.get("runs", []):
        run.update(run_id=LONG, query=LONG)
    if kind == "latency":
        details["config"] = {LONG: {"n": 1}}
        details["tradeoff"]["frontier"][0]["config"] = LONG
    return wire


@pytest.mark.parametrize("kind", ["rag", "latency", "agreement", "stability", "research"])
def test_names_of_any_length_leave_a_report_readable(kind: str) -> None:
    wire = _with_long_names(kind)
    assert len(str(wire)) > 100_000
    report = parse_report(wire)
    tables = [*detail_tables(report), offender_table(report)]
    cells = [cell for table in tables if table for row in table.rows for cell in row.cells]
    assert max(map(len, cells)) < 3_000
    assert len(gate_samples.html_of(wire)) < 200_000


def test_runs_without_an_answer_are_said() -> None:
    wire = gate_samples.stability()
    wire["offenders"] = [{**wire["offenders"][0], "no_answer": 2}]
    table = offender_table(parse_report(wire))
    assert table is not None
    assert table.rows[0].cells[1] == "9 (2 without an answer)"


def test_what_changed_against_a_baseline_is_named() -> None:
    wire = gate_samples.rag()
    wire["comparison"]["mended"] = {"total": 1, "first": ["m"]}
    wire["comparison"]["lost"] = {"total": 2, "first": ["x", "y"]}
    made = parse_report(wire).comparison
    assert made is not None
    assert [(name, listing.total) for name, listing in made.listings] == [
        ("Now wrong", 6),
        ("Now right", 1),
        ("Right before and not measured now", 2),
    ]


def test_a_title_says_how_many_there_are_beside_those_that_are_shown() -> None:
    wire = gate_samples.stability()
    wire["listings"]["unstable"]["total"] = 300
    table = offender_table(parse_report(wire))
    assert table is not None
    assert table.title == "Questions that are not stable (5 of 300)"
    wire = gate_samples.agreement()
    wire["details"]["disagreements"] = 90
    table = offender_table(parse_report(wire))
    assert table is not None
    assert table.title == "Where the agents differ or are overruled (4 of 90)"


def test_loads_stand_in_the_order_of_their_numbers() -> None:
    wire = gate_samples.latency()
    wire["details"]["load"]["odd"] = {"n": 1}
    table = next(detail_tables(parse_report(wire)))
    assert [row.cells[0] for row in table.rows] == ["1rps", "5rps", "10rps", "20rps", "odd"]


def test_one_configuration_for_both_uses() -> None:
    wire = gate_samples.latency()
    wire["details"]["tradeoff"].update(batch="k5", dominated=[{"config": "k10"}], not_measured=[])
    *_, table = detail_tables(parse_report(wire))
    assert [row.cells[5] for row in table.rows] == ["–", "interactive and batch", "–"]
    assert table.note == "Beaten by another: k10."


GATE = {"metric": "precision", "op": ">=", "threshold": 0.8, "value": 0.9, "status": "pass"}
BAD = {
    "no decision": ({"decision": "maybe"}, "decision"),
    "a value that is a text": ({"metrics": {"precision": {"value": "1"}}}, "metrics[...].value"),
    "a status that is none": ({"gates": [{"status": "ok"}]}, "gates[0].status"),
    "details that are not of the kind": ({"kind": "latency", "details": {"load": 3}}, "load"),
    "an offender without a name": ({"offenders": [{"why": "x"}]}, "qid"),
    "another schema": ({"schema_version": "affidavit-gate/9"}, "schema_version"),
    "a pass without a value": ({"gates": [{**GATE, "value": None}]}, "gates[0].status"),
    "to ship, although a gate fails": (
        {"decision": "ship", "gates": [{**GATE, "status": "fail"}]},
        "decision",
    ),
    "to ship, although a gate is open": (
        {"decision": "ship", "gates": [{**GATE, "status": "not_measured"}]},
        "decision",
    ),
    "a status that only ledgers have": (
        {"gates": [{**GATE, "status": "nothing_to_measure"}]},
        "gates[0].status",
    ),
    "to ship, although a part is not": (
        {"decision": "ship", "gates": [GATE], "parts": {"rag": gate_samples.rag(9, 1)}},
        "decision",
    ),
}


@pytest.mark.parametrize(("changes", "field"), BAD.values(), ids=BAD.keys())
def test_what_is_not_a_report_is_refused_with_its_place(changes: Any, field: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        parse_report({**gate_samples.rag(), **changes}, "r.json")
    assert (caught.value.fault.code, caught.value.where.file) == ("AF430", "r.json")
    assert str(caught.value.where.field).startswith(field.split("[...]")[0])


def test_parts_are_read_one_level_deep() -> None:
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "parts": {"rag": gate_samples.rag(), "latency": gate_samples.latency()},
    }
    assert [part.kind for part in parse_report(whole).each_part] == ["rag", "latency"]
    with pytest.raises(AffidavitError) as caught:
        parse_report({**whole, "parts": {"all": whole}})
    assert caught.value.where.field == "parts.all"


def test_a_count_below_nothing_is_no_report() -> None:
    wire = gate_samples.agreement()
    wire["details"]["confusion"][0]["count"] = -1
    with pytest.raises(AffidavitError, match="AF430"):
        parse_report(wire)


def test_a_skipped_line_in_a_deep_folder_says_what_is_wrong() -> None:
    line = f"{'folder/' * 20}trace.jsonl, line 3: this is not JSON (AF020)"
    given = {"trace": {"path": "trace.jsonl", "skipped": 1, "skipped_lines": [line]}}
    report = parse_report({**gate_samples.rag(), "inputs": given})
    assert dict(gate_tables.listings_beyond_offenders(report))["Skipped lines (1)"] == line


def test_a_stored_report_is_an_object() -> None:
    with pytest.raises(AffidavitError, match="AF430"):
        parse_report([])
