"""LlamaIndex: results of evaluators, and labelled data sets.

Origin: `EvaluationResult` and `BatchEvalRunner` of llama-index-core 0.14.25, and `save_json` of
`LabelledRagDataset`, which 0.13 and earlier have.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.fields import is_score, score_from
from affidavit.importers.tool_format import (
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    row_shaper,
    unfold_list,
)

_EVALUATORS: Final = "evaluators"
_COLUMNS: Final = Columns(
    {
        "question": ("query",),
        "references": ("reference_answer", "reference"),
        "relevant": ("reference_contexts",),
        "answer": ("response",),
        "retrieved": ("contexts",),
    },
    are_scores=False,
)


def unfold(value: object) -> Iterable[object] | None:
    """Return the examples of a data set, the results of a batch, or the rows of a file."""
    if isinstance(value, Mapping) and isinstance(value.get("examples"), list):
        examples: list[object] = value["examples"]
        return examples
    if isinstance(value, Mapping) and value and all(map(_are_results, value.values())):
        return _joined(value)
    return unfold_list(value)


def _are_results(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, Mapping) and "passing" in one for one in value
    )


def _joined(batch: Mapping[str, list[Row]]) -> Iterable[object]:
    """Yield one row for each answer, which every evaluator has judged."""
    for number in range(max(map(len, batch.values()))):
        found = {name: rows[number] for name, rows in batch.items() if number < len(rows)}
        yield {**next(iter(found.values())), _EVALUATORS: found}


def record(row: Row) -> Record:
    """Return the record of a result or of an example."""
    judged = row.get(_EVALUATORS)
    found: dict[str, ToolScore] = {}
    for name, result in judged.items() if isinstance(judged, Mapping) else (("score", row),):
        value = result.get("score", result.get("passing"))
        if "passing" in result and is_score(value):
            found[str(name)] = score_from(value)
    return _COLUMNS.record(row, scores=found)


LLAMAINDEX: Final = ToolFormat(
    format=ToolName.LLAMAINDEX,
    signatures=(("query", "response", "passing"), ("query", "reference_answer")),
    shape=row_shaper(record),
    unfold=unfold,
)
