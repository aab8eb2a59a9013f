"""Langfuse: traces, observations and dataset items, as returned by its API and as CSV.

Origin: the public API's models in langfuse 5.0.4 (`ObservationV2`, `DatasetItem`) and the traces of
its earlier versions. The observations of a trace are combined, so all of them are kept until the
end of the file; traces and items are read one by one.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from affidavit.importers.fields import (
    decode_if_json,
    find_answer,
    find_passages,
    find_question,
    milliseconds,
    row_in,
    rows_in,
    score_from,
    text,
)
from affidavit.importers.grouping import group_rows
from affidavit.importers.otlp import SpanStep, first_non_empty, observation_step, retrieved_chunks
from affidavit.importers.tool_format import (
    ImportedChunk,
    Numbered,
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    row_shaper,
    unfold_list,
)


def unfold(value: object) -> Iterable[object] | None:
    """Return the rows of an API page or of a file."""
    if isinstance(value, Mapping) and isinstance(value.get("data"), list):
        data: list[object] = value["data"]
        return data
    return unfold_list(value)


def by_trace(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield traces and items unchanged, and the observations of each trace as one trace."""
    return group_rows(
        rows, lambda row: row.get("traceId") if "type" in row else None, "observations"
    )


def record(row: Row) -> Record:
    """Return the record of a trace or of a dataset item."""
    if "observations" not in row and ("expectedOutput" in row or "expected_output" in row):
        return _item(row)
    observations = sorted(_observations(row), key=lambda one: str(one.get("startTime")))
    steps = [_step(one) for one in observations]
    known = {str(one.get("id")) for one in observations}
    roots = [
        step
        for one, step in zip(observations, steps, strict=True)
        if str(one.get("parentObservationId") or "") not in known
    ]
    found = retrieved_chunks(steps)
    models = (step.answered for step in reversed(steps) if step.is_model)
    return Record(
        qid=first_non_empty(_qid(one) for one in (row, *observations)),
        question=find_question(row.get("input"))
        or first_non_empty(step.asked for step in (*roots, *steps)),
        is_run=True,
        answer=find_answer(row.get("output"))
        or first_non_empty((*(one.answered for one in roots), *models)),
        retrieved=_beside(row) if found is None else found,
        scores=_scores(row),
        latency_ms=milliseconds(row.get("latency"), 1000) or _time_between(observations),
    )


def _beside(row: Row) -> tuple[ImportedChunk, ...] | None:
    """Return passages that a program without an observation of a retriever recorded."""
    held = (decode_if_json(row.get(name)) for name in ("metadata", "output", "input"))
    return next(
        (found for one in held if isinstance(one, Mapping) and (found := find_passages(one))), None
    )


def _time_between(observations: list[Row]) -> float | None:
    """Return the milliseconds from the first start to the last end of the observations."""
    try:
        times = [
            datetime.fromisoformat(str(one[name]))
            for one in observations
            for name in ("startTime", "endTime")
        ]
        spent = max(times) - min(times)
    except (KeyError, ValueError, TypeError):  # No times, or some without a time zone.
        return None
    return milliseconds(spent / timedelta(milliseconds=1))


def _item(row: Row) -> Record:
    expected = decode_if_json(row.get("expectedOutput", row.get("expected_output")))
    reference = find_answer(expected)
    return Record(
        qid=_qid(row) or text(row, "id"),
        question=find_question(row.get("input")),
        references=None if reference is None else (reference,),
    )


def _observations(row: Row) -> list[Row]:
    """Return the observations of a trace; in a list of traces there are only their ids."""
    found = decode_if_json(row.get("observations"))
    if not isinstance(found, list) or any(isinstance(one, str) for one in found):
        return []
    return rows_in(found, "observations")


def _step(observation: Row) -> SpanStep:
    return observation_step(
        observation.get("type"), observation.get("input"), observation.get("output")
    )


def _qid(row: Row) -> str | None:
    metadata = decode_if_json(row.get("metadata"))
    return text(metadata, "qid") if isinstance(metadata, Mapping) else None


def _scores(row: Row) -> dict[str, ToolScore]:
    found: dict[str, ToolScore] = {}
    scores = decode_if_json(row.get("scores"))
    for one in scores if isinstance(scores, list) else ():
        score = row_in(one, "scores") if isinstance(one, Mapping) else {}
        value = score.get("value", score.get("stringValue"))
        if isinstance(value, str | int | float):
            found[text(score, "name") or "unnamed"] = score_from(value)
    return found


LANGFUSE: Final = ToolFormat(
    format=ToolName.LANGFUSE,
    signatures=(
        ("traceId", "type", "startTime"),
        ("id", "timestamp", "name", "input", "output"),
        ("input", "expectedOutput", "status"),
        ("input", "expectedOutput", "datasetName"),
    ),
    shape=row_shaper(record),
    unfold=unfold,
    regroup=by_trace,
    appends=True,
)
