"""Lines into rows: what is refused, with its place, and what is passed over."""

import pytest
from msgspec import Struct
from tests.gates.making import GOLD, TRACE

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.json_rows import keep_last
from affidavit.gates.rag_rows import (
    TraceAnswer,
    TraceRow,
    gold_by_qid,
    gold_from_chunk,
    gold_from_line,
    gold_from_value,
    qid_of,
    require_digest,
    trace_from_line,
    trace_from_value,
    traces_from_chunk,
)

BAD_TRACES = {
    "not JSON": (b'{"qid": "a",', "AF020", None),
    "not an object": (b"[1]", "AF407", None),
    "no qid": (b'{"answer_json": null}', "AF407", "qid"),
    "an empty qid": (b'{"qid": "", "answer_json": null}', "AF407", "qid"),
    "no answer_json": (b'{"qid": "a"}', "AF407", "answer_json"),
    "no claim": (b'{"qid": "a", "answer_json": {}}', "AF407", "answer_json.claim"),
    "a claim that is null": (
        b'{"qid": "a", "answer_json": {"claim": null}}',
        "AF407",
        "answer_json.claim",
    ),
    "citations that are a text": (
        b'{"qid": "a", "answer_json": {"claim": "b", "citations": "p1"}}',
        "AF407",
        "answer_json.citations",
    ),
    "a retrieved id that is a number": (
        b'{"qid": "a", "answer_json": null, "retrieved_ids": ["a", 1]}',
        "AF407",
        "retrieved_ids[1]",
    ),
    "a key twice": (b'{"qid": "a", "qid": "b", "answer_json": null}', "AF024", "qid"),
    "a key twice, once in escapes": (
        b'{"qid": "a", "\\u0071id": "b", "answer_json": null}',
        "AF024",
        "qid",
    ),
    "half a surrogate pair": (b'{"qid": "\\ud800", "answer_json": null}', "AF022", "qid"),
    "a number that is none": (b'{"qid": NaN, "answer_json": null}', "AF025", "qid"),
    "nested without end": (b'{"x": ' + b"[" * 100_000, "AF026", None),
}


@pytest.mark.parametrize(("raw", "code", "field"), BAD_TRACES.values(), ids=BAD_TRACES.keys())
def test_a_line_that_is_no_trace(raw: bytes, code: str, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        trace_from_line(raw, 500_001, "trace.jsonl")
    where = caught.value.where
    assert (caught.value.fault.code, where.file, where.line) == (code, "trace.jsonl", 500_001)
    assert field is None or where.field == field


BAD_GOLD = {
    "no qid": (b'{"answerable": true}', "qid"),
    "an empty qid": (b'{"answerable": true, "qid": ""}', "qid"),
    "no answerable": (b'{"qid": "a"}', "answerable"),
    "answerable as a text": (b'{"qid": "a", "answerable": "yes"}', "answerable"),
    "citations that are numbers": (
        b'{"qid": "a", "answerable": true, "gold_citations": [1]}',
        "gold_citations[0]",
    ),
}


@pytest.mark.parametrize(("raw", "field"), BAD_GOLD.values(), ids=BAD_GOLD.keys())
def test_a_line_that_is_no_gold_item(raw: bytes, field: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        gold_from_line(raw, 3)
    assert (caught.value.fault.code, caught.value.where.field) == ("AF406", field)
    assert str(caught.value).startswith(f"AF406: line 3, field {field}: ")


def test_a_line_and_its_value_are_the_same_row() -> None:
    assert gold_from_line(jcs(GOLD)) == gold_from_value(GOLD)
    assert trace_from_line(jcs(TRACE)) == trace_from_value(TRACE)


def test_the_slow_way_reads_the_same() -> None:
    line = b'{"qid": "\\u0041", "q": "qid", "answer_json": {"claim": "\\"qid\\" claim"}}'
    made = trace_from_line(line)
    assert made.answer_json is not None
    assert (made.qid, made.answer_json.claim) == ("A", '"qid" claim')


NAMES = {
    "a text": ({"qid": "a"}, "a"),
    "a number": ({"qid": 7}, "7"),
    "zero is a name": ({"qid": 0}, "0"),
    "the other spelling": ({"q_id": "a"}, "a"),
    "both: the document's spelling counts": ({"q_id": "a", "qid": "b"}, "b"),
}


@pytest.mark.parametrize(("fields", "wanted"), NAMES.values(), ids=NAMES.keys())
def test_the_name_of_a_question(fields: dict[str, object], wanted: str) -> None:
    assert qid_of(trace_from_value({**fields, "answer_json": None})) == wanted


def lines_of(*rows: object) -> bytes:
    return b"\n".join(map(jcs, rows))


ROWS = {
    "alike": [{**TRACE, "qid": f"{n}"} for n in range(3)],
    "with and without fields": [TRACE, {"q_id": 1, "answer_json": None}, {**TRACE, "qid": 0}],
    "a text that is a key": [{**TRACE, "q": "claim"}, TRACE],
    "one": [TRACE],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_many_lines_at_once_are_the_same_rows(rows: list[object], end: bytes) -> None:
    wanted = [(line, known_of(trace_from_value(row))) for line, row in enumerate(rows, 7)]
    found = traces_from_chunk(lines_of(*rows) + end, 7)
    assert [(line, known_of(row)) for line, row in found] == wanted


def known_of(row: TraceRow) -> tuple[object, ...]:
    """Return what a trace knows; rows that were read at once have what they passed over, too."""
    answer = row.answer_json
    inner = None if answer is None else fields_of(answer, TraceAnswer)
    return (*fields_of(row, TraceRow)[1:], inner)


def fields_of(row: object, kind: type[Struct]) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in kind.__struct_fields__)


def test_blank_lines_are_passed_over_and_counted() -> None:
    raw = b"\n".join((b"", jcs(GOLD), b"  ", jcs(GOLD)))
    assert [line for line, _ in gold_from_chunk(raw)] == [2, 4]
    assert [*gold_from_chunk(b"")] == []
    assert [*traces_from_chunk(b"\n")] == []


TWO = b'{"answer_json": null, "qid": "a"} {"answer_json": null, "qid": "b"}\n'
AS_MANY_ROWS_AS_LINES = {
    "a blank line before": b"\n" + TWO,
    "a blank line behind": TWO + b"\n",
    "a line of white space": TWO + b" \t\n",
    "a line that ends as on Windows": TWO + b"\r\n",
    "a blank line that has no end": TWO + b" ",
    "a row on two lines": TWO.replace(b', "qid": "b"', b',\n"qid": "b"'),
    "a row on two lines that looks like two": TWO.replace(
        b'{"answer_json": null, "qid": "b"}', b'{"qid": "b", "answer_json":\n{"claim": "c"}}'
    ),
}


@pytest.mark.parametrize("raw", AS_MANY_ROWS_AS_LINES.values(), ids=AS_MANY_ROWS_AS_LINES.keys())
def test_two_rows_on_a_line_are_hidden_by_no_other_line(raw: bytes) -> None:
    with pytest.raises(AffidavitError, match="AF023") as caught:
        list(traces_from_chunk(raw))
    assert caught.value.where.line == (2 if raw.startswith(b"\n") else 1)


def test_a_key_twice_hides_in_no_chunk() -> None:
    twice = b'{"qid": "a", "qid": "b", "answer_json": null}'
    without = b'{"q_id": "c", "answer_json": null}'
    with pytest.raises(AffidavitError) as caught:
        [*traces_from_chunk(b"\n".join((twice, without)), 5, "t.jsonl")]
    assert str(caught.value).startswith("AF024: t.jsonl, line 5, field qid")
    inner = b'{"qid": "a", "answer_json": {"claim": "a", "claim": "b"}}'
    with pytest.raises(AffidavitError, match=r"AF024: line 1, field answer_json\.claim"):
        [*traces_from_chunk(inner)]
    assert [line for line, _ in traces_from_chunk(without, 3)] == [3]


def test_bad_lines_are_told_of_and_passed_over() -> None:
    found: list[AffidavitError] = []
    raw = b"\n".join((jcs(TRACE), b"{", b'{"qid": "", "answer_json": null}', jcs(TRACE)))
    assert [line for line, _ in traces_from_chunk(raw, 1, "t", found.append)] == [1, 4]
    assert [(error.fault.code, error.where.line) for error in found] == [("AF020", 2), ("AF407", 3)]
    found.clear()
    raw = b"\n".join((jcs(GOLD), b"[]", jcs({**GOLD, "qid": ""})))
    assert [line for line, _ in gold_from_chunk(raw, 1, "g", found.append)] == [1]
    assert [(error.fault.code, error.where.line) for error in found] == [("AF406", 2), ("AF406", 3)]


def test_a_bad_line_stops_a_chunk() -> None:
    with pytest.raises(AffidavitError) as caught:
        [*gold_from_chunk(jcs({**GOLD, "qid": ""}), 500_001, "g")]
    assert (caught.value.where.line, caught.value.where.field) == (500_001, "qid")


def test_a_gold_item_that_stands_twice_is_refused() -> None:
    rows = [(1, gold_from_value(GOLD)), (4, gold_from_value({**GOLD, "qid": "B"}))]
    assert [*gold_by_qid(rows)] == ["A0001", "B"]
    with pytest.raises(AffidavitError) as caught:
        gold_by_qid([*rows, (9, gold_from_value(GOLD))], "gold.jsonl")
    assert (caught.value.fault.code, caught.value.where.line) == ("AF408", 9)


def test_a_frozen_gold_set_is_held_to_its_digest() -> None:
    first, other = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
    require_digest(first, None)
    require_digest(first, first)
    with pytest.raises(AffidavitError) as changed:
        require_digest(first, other, "gold.jsonl")
    assert (changed.value.fault.code, changed.value.fault.exit) == ("AF409", Exit.TAMPERED)
    with pytest.raises(AffidavitError) as malformed:
        require_digest(first, "0" * 64)
    assert malformed.value.fault.code == "AF045"


def test_the_last_row_of_a_key_wins() -> None:
    rows = [
        trace_from_value({**TRACE, "qid": qid, "retrieved_ids": [n]})
        for qid, n in ("a1", "b2", "a3")
    ]
    last, lost = keep_last(rows, qid_of)
    assert ([row.retrieved_ids for row in last.values()], lost) == ([("3",), ("2",)], 1)
