"""MLflow: the table of `mlflow.genai.evaluate`, and that of `mlflow.evaluate` and `log_table`.

Origin: mlflow 3.17.2. The first has a trace for each row, with the passages in the outputs of its
retriever spans; the second has columns that the user names.
"""

from collections.abc import Mapping
from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.fields import (
    decode_if_json,
    find_answer,
    find_passages,
    find_question,
    is_score,
    milliseconds,
    score_from,
)
from affidavit.importers.tool_format import (
    ImportedChunk,
    Record,
    Row,
    ToolFormat,
    ToolName,
    row_shaper,
)

_VALUE: Final = "/value"
_EXPECTED: Final = "expected_response/value"
_SPAN_TYPE: Final = "mlflow.spanType"
_SPAN_OUTPUTS: Final = "mlflow.spanOutputs"
_COLUMNS: Final = Columns(
    {
        "qid": ("qid", "id"),
        "question": ("inputs", "question", "query"),
        "references": ("ground_truth", "targets", "target"),
        "answer": ("outputs", "predictions", "prediction"),
        "retrieved": ("retrieved_context", "retrieved_contexts", "contexts", "context"),
    },
    convert={
        "question": lambda value, _: find_question(value),
        "answer": lambda value, _: find_answer(value),
    },
)


def record(row: Row) -> Record:
    """Return the record of a row."""
    if "trace_id" not in row:
        return _COLUMNS.record(row)
    expected = find_answer(row.get(_EXPECTED))
    return Record(
        question=find_question(row.get("request")),
        references=None if expected is None else (expected,),
        is_run=True,
        answer=find_answer(row.get("response")),
        retrieved=_retrieved(decode_if_json(row.get("spans"))),
        scores={
            name.removesuffix(_VALUE): score_from(value)
            for name, value in row.items()
            if name.endswith(_VALUE) and name != _EXPECTED and is_score(value)
        },
        latency_ms=milliseconds(row.get("execution_duration")),
    )


def _retrieved(spans: object) -> tuple[ImportedChunk, ...] | None:
    """Return the passages of the last span of a retriever."""
    found = None
    for span in spans if isinstance(spans, list) else ():
        attributes = span.get("attributes") if isinstance(span, Mapping) else None
        if isinstance(attributes, Mapping) and "RETRIEVER" in str(attributes.get(_SPAN_TYPE)):
            found = find_passages(attributes.get(_SPAN_OUTPUTS))
    return found


MLFLOW: Final = ToolFormat(
    format=ToolName.MLFLOW,
    signatures=(
        ("trace_id", "request", "response"),
        ("inputs", "ground_truth"),
        ("inputs", "outputs", "targets"),
    ),
    shape=row_shaper(record),
)
