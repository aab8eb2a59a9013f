"""A report in pieces is the same bytes as the whole report."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.reports import gate_json
from affidavit.reports.gate_json import gate_report_chunks

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
leaves = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1) | texts
values = st.recursive(
    leaves, lambda each: st.lists(each, max_size=3) | st.dictionaries(texts, each, max_size=3)
)
groups = st.fixed_dictionaries({"outcome": texts, "qids": st.lists(texts, max_size=9)})
reports = st.fixed_dictionaries(
    {"kind": texts, "details": values},
    optional={"items": st.lists(groups, max_size=3), "comparison": values},
)
wires = reports | st.fixed_dictionaries(
    {"kind": texts, "parts": st.dictionaries(texts, reports, max_size=3)}
)


@given(wires)
def test_the_pieces_are_the_whole(wire: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_json, "NAMES_PER_CHUNK", 3)
        made = b"".join(gate_report_chunks(wire))
    assert made == msgspec.json.format(msgspec.json.encode(wire), indent=2) + b"\n"


def test_no_piece_is_large() -> None:
    names = [f"question {number}" for number in range(50_000)]
    sizes = [*map(len, gate_report_chunks({"items": [{"outcome": "pass", "qids": names}]}))]
    assert max(sizes) < 50 * gate_json.NAMES_PER_CHUNK < sum(sizes)
