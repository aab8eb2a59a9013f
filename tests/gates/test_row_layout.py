"""Lines that look alike are read at once, and nothing that has two meanings gets through."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.json_rows import _MOST_LAYOUTS, LayoutReader
from affidavit.gates.rag_rows import GoldItem, TraceAnswer, TraceRow

ROW: dict[str, Any] = {
    "ts": 1,
    "qid": "a",
    "retrieved_ids": ["p1"],
    "answer_json": {"claim": "c", "citations": ["p1"], "model": "m"},
    "meta": {"cost": 1, "by": {"team": "x"}},
}


def reader() -> LayoutReader[TraceRow]:
    return LayoutReader(TraceRow, ("answer_json", TraceAnswer))


def text(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def changed(**fields: Any) -> dict[str, Any]:
    return {**ROW, **fields}


FLAT = {name: value for name, value in ROW.items() if name != "meta"}
ALIKE = {
    "the same fields": text(FLAT, FLAT),
    "objects in what is passed over": text(ROW, ROW),
    "colons in texts": text(changed(qid="a: b", ts="10:30"), ROW),
    "the end of a key in what is passed over": text(changed(ts='say "x": y'), ROW),
    "no answer": text(FLAT, {**FLAT, "answer_json": None}),
    "a known field in some lines": text(FLAT, {**FLAT, "q_id": "b"}, FLAT),
    "a known field missing in some lines": text(
        {**FLAT, "q_id": "b"}, FLAT, {**FLAT, "answer_json": {"claim": "c", "model": "m"}}
    ),
    "another field in some lines": text(FLAT, {**FLAT, "more": {"a": 1}}, FLAT),
    "without the last line feed": text(FLAT)[:-1],
    "no white space": json.dumps(FLAT, separators=(",", ":")).encode(),
    "colons in texts that are read": text({**FLAT, "qid": "a: b"}, FLAT),
    "keys of any language": text({**FLAT, "\u00e9 \u4e2d.x": 1}),
    "a key like our own for those": text({**FLAT, "other": 1, "passed_over_0": 2}),
}


@pytest.mark.parametrize("raw", ALIKE.values(), ids=ALIKE.keys())
def test_read_at_once(raw: bytes) -> None:
    rows = [json.loads(line) for line in raw.splitlines()]
    made = reader().rows(raw, len(rows))
    assert made is not None
    for row, found in zip(rows, made, strict=True):
        assert found.qid == row["qid"]
        assert found.q_id == row.get("q_id")
        answer = row["answer_json"]
        assert (found.answer_json is None) is (answer is None)
        if found.answer_json is not None:
            assert found.answer_json.citations == (tuple(answer.get("citations", ())) or None)


LEFT = {
    "a key twice": b'{"qid": "a", "answer_json": null, "qid": "b"}',
    "an inner key twice": b'{"qid": "a", "answer_json": {"claim": "a", "claim": "b"}}',
    "a key twice, once by escapes": b'{"qid": "a", "answer_json": null, "q\\u0069d": "b"}',
    "a key twice, before a space": b'{"qid": "a", "answer_json": null, "qid" : "b"}',
    "a key twice, before a tab": b'{"qid": "a", "answer_json": null, "qid"\t: "b"}',
    "a key twice that is passed over": b'{"qid": "a", "answer_json": null, "x": 1, "x": 2}',
    "a null that may be left out": b'{"answer_json": null, "qid": "a", "q_id": null}\n'
    b'{"answer_json": null, "qid": "a"}',
    "the end of a key in a text": text({**FLAT, "qid": 'a": b'}),
    "keys that need escapes": text({**FLAT, 'a "b"': 1}),
    "very many keys": text({**FLAT, **{f"k{n}": n for n in range(201)}}),
    "a field that is not there": text(FLAT, {**FLAT, "ts": 1} | {"ts": 1, "qid": "b"}, {"x": 1}),
    "not an object": b"[]\n",
    "not JSON": b"{\n",
    "not text": b'{"qid": "\xff", "answer_json": null}',
    "not text in a later line": text(FLAT) + b'{"qid": "\xff", "answer_json": null}',
    "a wrong kind": text({**FLAT, "qid": []}),
    "a blank line": text(FLAT) + b"\n" + text(FLAT),
    "nothing": b"",
}


@pytest.mark.parametrize("raw", LEFT.values(), ids=LEFT.keys())
def test_left_to_a_closer_look(raw: bytes) -> None:
    assert reader().rows(raw, raw.count(b"\n") + (not raw.endswith(b"\n"))) is None


def test_layouts_are_not_kept_without_end() -> None:
    one = reader()
    for number in range(_MOST_LAYOUTS):
        assert one.rows(text({**FLAT, f"x{number}": 1}), 1) is not None
    assert one.rows(text({**FLAT, "one more": 1}), 1) is None
    assert one.rows(text({**FLAT, "x0": 1}), 1) is not None


def test_what_some_lines_lack_is_asked_of_no_later_ones() -> None:
    one = reader()
    short = {"qid": "b", "answer_json": {"claim": "c"}}
    first, second = one.rows(text(FLAT), 1), one.rows(text(short), 1)
    third = one.rows(text(FLAT, short, FLAT), 3)
    assert first is not None
    assert second is not None
    assert third is not None
    assert type(first[0]) is not type(second[0]) is type(third[0])


def test_lines_that_are_no_rows_teach_nothing() -> None:
    one = reader()
    before = one.rows(text(FLAT), 1)
    assert one.rows(text(FLAT, {"x": 1}), 2) is None
    after = one.rows(text(FLAT), 1)
    assert before is not None
    assert after is not None
    assert type(before[0]) is type(after[0])


def test_rows_without_an_inner_object() -> None:
    gold = {"qid": "a", "answerable": True, "notes": {"by": "me"}}
    made = LayoutReader(GoldItem).rows(text(gold, gold), 2)
    assert made is not None
    assert [row.answerable for row in made] == [True, True]


FIELDS = st.sampled_from(['"qid": "a"', '"qid" :"b"', '"x": 1', '"answer_json": null', '"q": ":"'])


@given(st.lists(st.lists(FIELDS, max_size=5), min_size=1, max_size=4))
def test_what_is_read_at_once_has_each_key_once(lines: list[list[str]]) -> None:
    raw = "\n".join("{" + ", ".join(fields) + "}" for fields in lines)
    made = reader().rows(raw.encode(), len(lines))
    if made is not None:
        for line in raw.splitlines():
            keys = [key for key, _ in json.loads(line, object_pairs_hook=list)]
            assert len(keys) == len(set(keys))
