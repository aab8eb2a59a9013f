"""A report in pieces is the same bytes as the whole report."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.decision.decision import Decision
from affidavit.decision.report import REPORT_SCHEMA, Report
from affidavit.reports import gate_json
from affidavit.reports.gate_json import gate_report_chunks

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
leaves = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1) | texts
values = st.recursive(
    leaves, lambda each: st.lists(each, max_size=3) | st.dictionaries(texts, each, max_size=3)
)
groups = st.fixed_dictionaries({"outcome": texts, "qids": st.lists(texts, max_size=9)})
dictionaries = st.dictionaries(texts, values, max_size=3)
members: dict[str, Any] = {
    "schema_version": st.just(REPORT_SCHEMA),
    "kind": texts,
    "decision": st.sampled_from(Decision),
    "details": dictionaries,
}
groups_of_items = st.lists(groups, max_size=3).map(tuple)
optional: dict[str, Any] = {"items": groups_of_items, "settings": dictionaries}
reports = st.fixed_dictionaries(members, optional=optional).map(lambda each: Report(**each))
wholes = reports | st.fixed_dictionaries(
    {**members, "parts": st.dictionaries(texts, reports, max_size=3)}
).map(lambda each: Report(**each))


@given(wholes)
def test_the_chunks_are_the_whole_report(report: Report) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_json, "NAMES_PER_CHUNK", 3)
        made = b"".join(gate_report_chunks(report))
    assert made == msgspec.json.format(msgspec.json.encode(report.to_builtins()), indent=2) + b"\n"


def test_no_piece_is_large() -> None:
    names = [f"question {number}" for number in range(50_000)]
    report = Report(
        schema_version=REPORT_SCHEMA,
        kind="rag",
        decision=Decision.SHIP,
        items=({"outcome": "pass", "qids": names},),
    )
    sizes = [*map(len, gate_report_chunks(report))]
    assert max(sizes) < 50 * gate_json.NAMES_PER_CHUNK < sum(sizes)
