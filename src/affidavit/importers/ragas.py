"""Ragas: data sets and results, with the field names of 0.1 and of 0.2 and later.

Origin: `SingleTurnSample` and `MultiTurnSample` of ragas 0.4.3, as written by `to_csv`, `to_jsonl`
and `to_pandas` of a data set and of a result; the older names are from its tutorials. Each metric
is a column of its own.
"""

from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.fields import ASSISTANT_ROLES, USER_ROLES, last_text
from affidavit.importers.tool_format import Record, Row, ToolFormat, ToolName, row_shaper

_COLUMNS: Final = Columns(
    {
        "qid": ("qid", "id", "question_id"),
        "question": ("user_input", "question"),
        "references": ("reference", "ground_truth", "ground_truths"),
        "relevant": ("reference_contexts",),
        "relevant_ids": ("reference_context_ids",),
        "answer": ("response", "answer"),
        "retrieved": ("retrieved_contexts", "contexts"),
        "retrieved_ids": ("retrieved_context_ids",),
    },
    # How a data set was generated: neither a field of ours nor a score.
    ignored=(
        *("multi_responses", "rubrics", "persona_name", "query_style", "query_length"),
        *("reference_tool_calls", "reference_topics", "synthesizer_name", "episode_done"),
    ),
)


def record(row: Row) -> Record:
    """Return the record of a sample; the last turn of a conversation counts."""
    turns = row.get("user_input")
    if not isinstance(turns, list):
        return _COLUMNS.record(row)
    spoken = {
        "user_input": last_text(turns, USER_ROLES),
        "response": last_text(turns, ASSISTANT_ROLES),
    }
    return _COLUMNS.record({**row, **spoken})


RAGAS: Final = ToolFormat(
    format=ToolName.RAGAS,
    signatures=(
        ("user_input",),
        ("question", "contexts"),
        ("question", "ground_truth"),
        ("question", "ground_truths"),
    ),
    shape=row_shaper(record),
)
