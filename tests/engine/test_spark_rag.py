"""The join of gold items and traces, as Spark runs it, finds what one process finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_gate_rag_command import answer, good, item, lines, many
from tests.engine.standin_rdd import StandIn, StandInSession

from affidavit.app.gate_inputs import InputLines
from affidavit.app.gate_rag import RagPlan, gate_rag, spark_paths
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_MISSING
from affidavit.engine import spark, spark_rag
from affidavit.engine.spark import SparkInput, SparkRow
from affidavit.reports.gate_json import gate_report_chunks


@contextmanager
def session(master: str) -> Iterator[StandInSession]:
    yield StandInSession(master)


def head_here(_: object, name: str) -> bytes:
    try:
        return Path(name).read_bytes()[: 1 << 16]
    except FileNotFoundError:
        raise AffidavitError(FILE_MISSING, Where(name)) from None


def read_here(_: object, names: tuple[str, ...]) -> Any:
    """Return the lines of files as `engine.spark.read_input` numbers them."""
    found, digests, before = [], [], 0
    for name in names:
        given = InputLines("any", [name])
        for block in given.blocks():
            for number, raw in enumerate(block.raw.splitlines(), block.first_line):
                found.append(SparkRow(before + number, name, number, raw))
        before = len(found)
        digests.append(str(given.as_input().digest))
    return SparkInput(StandIn(found), tuple(digests))


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "spark_session", session)
    monkeypatch.setattr(spark, "_head_of", head_here)
    monkeypatch.setattr(spark_rag, "read_input", read_here)


def plan(folder: Path, gold: bytes, /, *traces: bytes, **changes: Any) -> RagPlan:
    (folder / "gold.jsonl").write_bytes(gold)
    for number, raw in enumerate(traces):
        (folder / f"trace-{number}.jsonl").write_bytes(raw)
    named = {"gold": (str(folder / "gold.jsonl"),), "trace": (str(folder / "trace-*.jsonl"),)}
    return RagPlan(**{**named, **changes})


def on(engine: str, asked: RagPlan, *, items: bool = True) -> bytes:
    try:
        return b"".join(gate_report_chunks(gate_rag(asked, items=items, engine=engine)))
    except AffidavitError as error:
        return str(error).encode()


GOLD, TRACES = (lines(rows) for rows in many(120, 3))
HALF = TRACES.find(b"\n", len(TRACES) // 2) + 1
BAD = TRACES + b'{"qid": 7}\n\n{\n' + TRACES
CASES: dict[str, tuple[tuple[bytes, ...], dict[str, Any]]] = {
    "every kind of row": ((GOLD, TRACES), {}),
    "several files": ((GOLD, TRACES[:HALF], b"\n" + TRACES[HALF:]), {}),
    "all is well": (tuple(lines(rows) for rows in good()), {}),
    "bad lines, skipped": ((GOLD, BAD), {"skip_bad": True}),
    "bad lines, refused": ((GOLD, BAD), {}),
    "bad gold": ((GOLD + b"{}\n", TRACES), {}),
    "gold items twice": ((lines([item("b"), item("a"), item("a"), item("b")]), TRACES), {}),
    "no traces": ((GOLD, b""), {}),
    "no gold": ((b"", TRACES), {}),
    "strays alone": ((lines([item("a")]), lines([answer("s"), answer("t"), answer("s")])), {}),
    "another gold set": ((GOLD, TRACES), {"expect_gold_digest": "sha256:" + "0" * 64}),
}


@pytest.mark.parametrize(("files", "changes"), CASES.values(), ids=CASES.keys())
def test_the_same_bytes(tmp_path: Path, files: tuple[bytes, ...], changes: dict[str, Any]) -> None:
    asked = plan(tmp_path, *files, **changes)
    assert on("spark", asked) == on("local", asked)
    assert on("spark", asked, items=False) == on("local", asked, items=False)


def test_rows_of_parquet_come_as_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold, traces = good()
    asked = plan(tmp_path, lines(gold), lines(traces))
    wanted = on("local", asked)

    def as_values(session: object, names: tuple[str, ...]) -> SparkInput:
        given = read_here(session, names)
        rows = gold if names[0].endswith("gold.jsonl") else traces
        found = (
            SparkRow(line.number, line.file, line.line, row)
            for line, row in zip(given.lines.rows, rows, strict=True)
        )
        return SparkInput(StandIn(found), given.digests)

    monkeypatch.setattr(spark_rag, "read_input", as_values)
    assert on("spark", asked) == wanted


def test_what_spark_cannot_read() -> None:
    assert on("spark", RagPlan(gold=("g",), trace=("-",))).startswith(b"AF427: standard input")


CONTEXT = "The office is open on 5 days of the week."
RIGHT, WRONG = "The office is open on 5 days.", "The office is open on 6 days."
JUDGED: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a file of another tool, without gold": (
        [
            {"question": f"When {number}?", "answer": text, "contexts": [CONTEXT]}
            for number, text in enumerate([RIGHT, WRONG] * 20)
        ],
        {"gold": ()},
    ),
    "a sample": (
        [
            {"question": f"When {number}?", "answer": RIGHT, "contexts": [CONTEXT]}
            for number in range(9)
        ],
        {"gold": (), "sample": 3},
    ),
    "our own traces with the texts of their contexts": (
        [answer(f"q{number}", {"claim": RIGHT}, contexts=[CONTEXT]) for number in range(9)],
        {},
    ),
    "rows that lack what is needed": ([{"question": "Why?", "answer": RIGHT}], {"gold": ()}),
}


@pytest.mark.parametrize(("rows", "changes"), JUDGED.values(), ids=JUDGED.keys())
def test_answers_are_judged_with_the_same_bytes(
    tmp_path: Path, rows: list[dict[str, Any]], changes: dict[str, Any]
) -> None:
    gold = lines([item(f"q{number}") for number in range(9)])
    asked = plan(tmp_path, gold, lines(rows), **{"judge": "lexical", **changes})
    local = on("local", asked)
    assert on("spark", asked) == local
    assert (b'"judge_digest"' in local) == ("contexts" in rows[0])


def test_a_missing_file_is_the_same_error() -> None:
    asked = RagPlan(gold=(), trace=("none.jsonl",))
    assert on("spark", asked) == on("local", asked) != b""


def test_patterns_of_this_machine_are_spread_out_and_addresses_are_not(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"")
    names = spark_paths((f"{tmp_path}/*", "s3a://bucket/runs/*.jsonl"))
    assert names == (f"{tmp_path}/a", f"{tmp_path}/b", "s3a://bucket/runs/*.jsonl")
