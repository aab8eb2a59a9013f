"""Each format is detected as itself only; for an unknown one the error lists missing fields."""

import re
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.importers.imported import (
    export,
    json_bytes,
    lines,
    refusal,
    rows_from,
    span,
)
from tests.repository import ROOT

from affidavit.importers.otlp import TRACE_ID_KEY
from affidavit.importers.reader import TOOL_FORMATS, detect, read_rows
from affidavit.importers.tool_format import ToolName

FILES = Path(__file__).parent / "files"
PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")
SECTIONS = {
    section.partition("\n")[0]: section for section in re.split(r"^## ", PAGE, flags=re.M)[1:]
}


def heading_of(tool: ToolName) -> str:
    """Return the heading of the section about a tool, which contains the name of its format."""
    word = tool.removesuffix("-rows")
    (heading,) = (one for one in SECTIONS if word in one.lower())
    return heading


@pytest.mark.parametrize("tool", [one for one in ToolName if one is not ToolName.TABLE])
def test_the_page_lists_the_fields_that_identify_a_format(tool: ToolName) -> None:
    heading = heading_of(tool)
    known = re.search(r"^Known by: (.+?)\.$", SECTIONS[heading], re.MULTILINE | re.DOTALL)
    assert known is not None
    said = {tuple(re.findall(r"`([^`]+)`", part)) for part in known[1].split(";")}
    wanted = {
        tuple(name for name in names if name != TRACE_ID_KEY)
        for dialect in TOOL_FORMATS
        if heading_of(dialect.format) == heading
        for names in dialect.signatures
    }
    assert said == wanted


@pytest.mark.parametrize("name", sorted(path.name for path in FILES.iterdir()))
def test_a_file_has_one_format(name: str) -> None:
    own = detect(FILES / name)
    assert detect(FILES / name, own) is own
    # The plain table accepts every file with a question and an answer under a common name, and
    # reports of Haystack have columns of the user, such as those of Ragas.
    accepted = {own, ToolName.TABLE}
    accepted |= {ToolName.RAGAS} if name.startswith("haystack_report") else set()
    for other in set(ToolName) - accepted:
        with pytest.raises(Exception, match=r"AF425: .* it has ") as caught:
            detect(FILES / name, other)
        assert f"this is not {other.value}, which has" in str(caught.value)


NEAREST = {
    "one field is missing": ({"input": "q", "foo": 1}, "deepeval, which also has actual_output"),
    "the one that lacks least": (
        {"id": 1, "epoch": 1, "input": "q"},
        "inspect, which also has target",
    ),
    "spans": (
        export(span("t", "a")),
        "langfuse, which also has langfuse.observation.type; or openinference",
    ),
}


@pytest.mark.parametrize(("value", "wanted"), NEAREST.values(), ids=NEAREST.keys())
def test_the_error_names_the_nearest_format(value: object, wanted: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, json_bytes(value))
    assert error.fault.code == "AF420"
    assert f"nearest is {wanted}" in error.message


def test_a_file_that_is_like_no_format_is_not_compared_with_each(tmp_path: Path) -> None:
    assert refusal(tmp_path, json_bytes({"foo": 1})).message == "unknown import format: it has foo"


MAPPINGS = {
    "likely names": ({"asked": "q", "reply": "a", "sources": []}, "question=asked"),
    "a name with a space": ({"User asks": "q", "the reply": "a"}, "--map answer='the reply'"),
    "contexts too": ({"asked": "q", "reply": "a", "sources": []}, "--map contexts=sources;"),
    "a field within a column": (
        {"metric_input": {"user_input": "q", "response": "a"}, "prompts": {}},
        "--map question=metric_input.user_input --map answer=metric_input.response;",
    ),
    "the right answer is not the answer": (
        {"ask": "q", "answer_gt": "a", "text_generated": "a", "doc_ids": [1], "doc_text": "c"},
        "--map question=ask --map answer=text_generated;",
    ),
    "a question and contexts are known by what they hold": (
        {"Frage": "Wie viel?", "bot": "a", "Fundstellen": '["c", "d"]'},
        "--map question=Frage --map answer=bot --map contexts=Fundstellen;",
    ),
    "nothing likely": ({"foo": 1}, "--map question=COLUMN --map answer=COLUMN;"),
}


@pytest.mark.parametrize(("value", "wanted"), MAPPINGS.values(), ids=MAPPINGS.keys())
def test_the_error_names_the_option_that_helps(value: object, wanted: str, tmp_path: Path) -> None:
    assert wanted in refusal(tmp_path, json_bytes([value])).next_step


def test_the_option_that_the_error_names_helps(tmp_path: Path) -> None:
    data = json_bytes([{"asked": "q", "reply": "a", "sources": ["c"]}])
    step = refusal(tmp_path, data).next_step.partition(";")[0]
    columns = dict(pair.split("=") for pair in re.findall(r"--map (\S+)", step))
    (row,) = rows_from(tmp_path, data, columns=columns)
    assert (row.trace or {})["q"] == "q"
    assert [chunk.text for chunk in row.chunks] == ["c"]


def test_the_error_lists_the_fields_that_were_found(tmp_path: Path) -> None:
    many = {f"column {number}": 1 for number in range(14)}
    assert "column 10, column 11 and 2 more" in refusal(tmp_path, json_bytes([many])).message
    assert r"it has 'a\x1b'" in refusal(tmp_path, json_bytes({"a\x1b": 1})).message


def test_the_first_known_row_decides(tmp_path: Path) -> None:
    data = lines({"note": "made by hand"}, {"user_input": "q", "response": "x"})
    error = refusal(tmp_path, data)
    assert (error.fault.code, error.where.line) == ("AF421", 1)


def test_a_plain_table_is_not_read_as_native_rows(tmp_path: Path) -> None:
    (row,) = rows_from(tmp_path, b"qid,answerable,question\na,true,q\n")
    assert row.gold == {"qid": "a", "answerable": True, "question": "q"}


ROWS = st.lists(
    st.fixed_dictionaries(
        {"user_input": st.text(min_size=1).filter(str.strip)},
        optional={"response": st.text(), "reference": st.text(), "contexts": st.lists(st.text())},
    ),
    min_size=1,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_them(
    tmp_path: Path, values: list[Any], random: Random
) -> None:
    def found(rows: list[Any]) -> list[str]:
        imported = rows_from(tmp_path, lines(*rows))
        return sorted(repr((row.gold, row.trace, dict(row.scores))) for row in imported)

    shuffled = list(values)
    random.shuffle(shuffled)
    assert found(shuffled) == found(values)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.permutations(range(12)))
def test_the_order_of_spans_does_not_change_rows(tmp_path: Path, order: list[int]) -> None:
    exported = (FILES / "openinference.jsonl").read_bytes().splitlines(keepends=True)

    def found(data: bytes) -> list[str]:
        return sorted(repr((row.trace, row.scores)) for row in rows_from(tmp_path, data))

    assert found(b"".join(exported[at] for at in order)) == found(b"".join(exported))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_memory_does_not_grow_with_the_rows(kind: str, tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = tmp_path / "file"
        if kind == "parquet":
            import pyarrow
            from pyarrow import parquet

            columns = {"user_input": [f"q{n}" for n in range(count)], "response": ["x"] * count}
            parquet.write_table(pyarrow.table(columns), path, row_group_size=500)
        elif kind == "csv":
            path.write_text("user_input,response\n" + "".join(f"q{n},x\n" for n in range(count)))
        else:
            path.write_bytes(
                lines(*({"user_input": f"q{n}", "response": "x"} for n in range(count)))
            )
        tracemalloc.start()
        assert sum(1 for _ in read_rows(path)) == count
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return reached

    peak(10)  # What is imported on the way is not the rows' memory.
    assert peak(6000) < 2 * peak(2000)
