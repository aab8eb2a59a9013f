"""LangSmith: results of an experiment, runs, and examples of a data set.

Origin: langsmith 0.14.17. `ExperimentResults.to_pandas` has a column for each input, output and
reference (`inputs.question`); a run and an example have them as objects. The names in them are the
user's, so the usual ones are recognised.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from affidavit.importers.fields import (
    decode_if_json,
    find_answer,
    find_passages,
    find_question,
    is_score,
    milliseconds,
    score_from,
    text,
)
from affidavit.importers.grouping import group_rows
from affidavit.importers.tool_format import (
    Numbered,
    Record,
    Row,
    ToolFormat,
    ToolName,
    row_shaper,
)

_RUNS: Final = "runs"


def by_trace(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield results and examples unchanged, and the runs of each trace as one row."""
    return group_rows(rows, lambda row: row.get("trace_id") if "run_type" in row else None, _RUNS)


def record(row: Row) -> Record:
    """Return the record of a result, of an example, or of the runs of a trace."""
    if _RUNS in row:
        return _run(row[_RUNS])
    if "dataset_id" in row:
        return _example(row)
    inputs, outputs, reference = (_part(row, name) for name in ("inputs", "outputs", "reference"))
    expected = find_answer(reference)
    return Record(
        qid=text(inputs, "qid"),
        question=find_question(inputs),
        references=None if expected is None else (expected,),
        relevant=find_passages(reference),
        is_run=True,
        answer=find_answer(outputs),
        retrieved=find_passages(outputs) or find_passages(inputs),
        scores={
            name.removeprefix("feedback."): score_from(value)
            for name, value in row.items()
            if name.startswith("feedback.") and is_score(value)
        },
        latency_ms=_seconds(row.get("execution_time")),
    )


def _part(row: Row, name: str) -> dict[str, object]:
    """Return the inputs, outputs or references, which are columns of their own."""
    start = f"{name}."
    return {key[len(start) :]: value for key, value in row.items() if key.startswith(start)}


def _seconds(value: object) -> float | None:
    number = score_from(value) if is_score(value) else None
    return milliseconds(number, 1000)


def _example(row: Row) -> Record:
    inputs, outputs = decode_if_json(row.get("inputs")), decode_if_json(row.get("outputs"))
    metadata = decode_if_json(row.get("metadata"))
    expected = find_answer(outputs)
    return Record(
        qid=text(metadata, "qid") if isinstance(metadata, Mapping) else None,
        question=find_question(inputs),
        references=None if expected is None else (expected,),
        relevant=find_passages(outputs),
    )


def _run(runs: object) -> Record:
    found = [one for one in runs if isinstance(one, Mapping)] if isinstance(runs, list) else []
    found.sort(key=lambda one: str(one.get("dotted_order")))
    root = next((one for one in found if one.get("parent_run_id") is None), found[0])
    retrieved = [
        chunk
        for one in found
        if one.get("run_type") == "retriever"
        for chunk in find_passages(one.get("outputs")) or ()
    ]
    has_retriever = any(one.get("run_type") == "retriever" for one in found)
    return Record(
        question=find_question(root.get("inputs")),
        is_run=True,
        answer=find_answer(root.get("outputs")),
        retrieved=tuple(retrieved) if has_retriever else find_passages(root.get("outputs")),
    )


LANGSMITH: Final = ToolFormat(
    format=ToolName.LANGSMITH,
    signatures=(
        ("example_id", "execution_time"),
        ("run_type", "trace_id", "inputs"),
        ("dataset_id", "inputs", "outputs"),
    ),
    shape=row_shaper(record),
    regroup=by_trace,
)
