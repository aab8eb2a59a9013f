"""Inspect: the samples of an evaluation log, as JSON or in its archive.

Origin: logs of version 2 as inspect-ai 0.3.285 writes them. Inspect has no retrieval; passages are
read from the metadata of a sample, under the usual names.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.fields import (
    ASSISTANT_ROLES,
    USER_ROLES,
    chunks,
    flag,
    last_text,
    milliseconds,
    named_chunks,
    row_in,
    score_from,
    text,
    texts,
)
from affidavit.importers.tool_format import (
    FilePlan,
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    row_shaper,
    unfold_list,
)

_CONTEXTS: Final = ("retrieved_contexts", "contexts", "context", "documents")
_ATTACHED: Final = "attachment://"
# Inspect counts correct, incorrect, partial and no answer so (`value_to_float`).
_GRADES: Final[Mapping[str, ToolScore]] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def unfold(value: object) -> Iterable[object] | None:
    """Return the samples of a log; the header of an archive has none."""
    if isinstance(value, Mapping) and "eval" in value:
        samples = value.get("samples")
        return () if samples is None else samples if isinstance(samples, list) else None
    return unfold_list(value)


def plan_of(value: Row) -> FilePlan | None:
    """Return how many samples the evaluation planned, and why the log is not whole.

    A log is written while the evaluation runs; only the status `success` ends it.
    """
    if "eval" not in value:
        return None
    spec = row_in(value["eval"] or {}, "eval")
    config, dataset = spec.get("config") or {}, spec.get("dataset") or {}
    results = value.get("results") or {}
    rows = row_in(results, "results").get("total_samples")
    if not isinstance(rows, int):
        samples = row_in(dataset, "eval.dataset").get("samples")
        epochs = row_in(config, "eval.config").get("epochs") or 1
        is_known = isinstance(samples, int) and isinstance(epochs, int)
        rows = int(str(samples)) * int(str(epochs)) if is_known else None
    status = value.get("status", "started")
    problem = None if status == "success" else f"its status is {status!r}, not 'success'"
    if problem is None and value.get("invalidated"):
        problem = "it was marked as invalid"
    return FilePlan(rows, problem)


def record(row: Row) -> Record:
    """Return the record of a sample in one epoch."""
    metadata = row_in(row.get("metadata") or {}, "metadata")
    retrieved = named_chunks(
        chunks(metadata, *_CONTEXTS), texts(metadata, "retrieved_ids"), "metadata.retrieved_ids"
    )
    return Record(
        qid=_qid(row),
        repeats=text(row, "id") if _qid(row) != text(row, "id") else None,
        question=_attached(row, _question(row)),
        references=texts(row, "target"),
        answerable=flag(metadata, "answerable"),
        relevant=chunks(metadata, "reference_contexts"),
        is_run=True,
        answer=_attached(row, _answer(row)),
        retrieved=retrieved,
        scores=_scores(row),
        latency_ms=milliseconds(row.get("total_time"), 1000),
    )


def _qid(row: Row) -> str | None:
    """Return the sample's id; each further epoch of a sample is a separate question."""
    name = text(row, "id")
    epoch = row.get("epoch")
    return f"{name}#{epoch}" if name and isinstance(epoch, int) and epoch > 1 else name


def _question(row: Row) -> str | None:
    asked = row.get("input")
    return last_text(asked, USER_ROLES) if isinstance(asked, list) else text(row, "input")


def _answer(row: Row) -> str | None:
    """Return the completion; None for a sample that ended in an error."""
    output = row_in(row.get("output") or {}, "output")
    if row.get("error") is not None:
        return None  # What it had said until then is not what it would have answered.
    if output.get("choices") or output.get("completion"):
        return text(output, "completion") or last_text(row.get("messages"), ASSISTANT_ROLES) or ""
    return None


def _attached(row: Row, value: str | None) -> str | None:
    """Return a text; the log may store it separately, under its digest."""
    if value is None or not value.startswith(_ATTACHED):
        return value
    attachments = row_in(row.get("attachments") or {}, "attachments")
    return text(attachments, value.removeprefix(_ATTACHED)) or value


def _scores(row: Row) -> dict[str, ToolScore]:
    found: dict[str, ToolScore] = {}
    for name, score in row_in(row.get("scores") or {}, "scores").items():
        value = row_in(score, f"scores.{name}").get("value")
        parts = value.items() if isinstance(value, Mapping) else ((None, value),)
        for part, figure in parts:
            key = name if part is None else f"{name}.{part}"
            found[key] = _score(figure)
    return found


def _score(value: object) -> ToolScore:
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    return score_from(value) if isinstance(value, str | int | float) else None


INSPECT: Final = ToolFormat(
    format=ToolName.INSPECT,
    signatures=(("id", "epoch", "input", "target"),),
    shape=row_shaper(record),
    unfold=unfold,
    plan_of=plan_of,
)
