"""Ragas: data sets and results, with the field names of 0.1 and of 0.2 and later.

Origin: `SingleTurnSample` and `MultiTurnSample` of ragas 0.4.3, as written by `to_csv`, `to_jsonl`
and `to_pandas` of a data set and of a result; the older names are from its tutorials. Each metric
is a column of its own.
"""

from typing import Final

from affidavit.importers.fields import (
    ASSISTANT_ROLES,
    USER_ROLES,
    chunks,
    find,
    flag,
    has,
    last_text,
    named_chunks,
    scores,
    text,
    texts,
)
from affidavit.importers.tool_format import Record, Row, ToolFormat, ToolName, row_shaper

ANSWERS: Final = ("response", "answer")
RETRIEVED: Final = ("retrieved_contexts", "contexts")
RETRIEVED_IDS: Final = ("retrieved_context_ids",)
RELEVANT: Final = ("reference_contexts",)
RELEVANT_IDS: Final = ("reference_context_ids",)
REFERENCES: Final = ("reference", "ground_truth", "ground_truths")
IDS: Final = ("qid", "id", "question_id")
QUESTIONS: Final = ("user_input", "question")

# How a data set was generated: neither a field of ours nor a score.
_IGNORED: Final = (
    *("multi_responses", "rubrics", "persona_name", "query_style", "query_length"),
    *("reference_tool_calls", "reference_topics", "synthesizer_name", "episode_done"),
)
_TAKEN: Final = frozenset(
    (
        *(*IDS, *QUESTIONS, *ANSWERS, *RETRIEVED, *RETRIEVED_IDS, *RELEVANT, *RELEVANT_IDS),
        *(*REFERENCES, *_IGNORED, "answerable"),
    )
)


def record(row: Row) -> Record:
    """Return the record of a sample."""
    asked = find(row, *QUESTIONS)
    turns = asked[1] if asked is not None and isinstance(asked[1], list) else None
    retrieved = named_chunks(
        chunks(row, *RETRIEVED), texts(row, *RETRIEVED_IDS), "retrieved_context_ids"
    )
    relevant = named_chunks(
        chunks(row, *RELEVANT), texts(row, *RELEVANT_IDS), "reference_context_ids"
    )
    return Record(
        qid=text(row, *IDS),
        question=text(row, *QUESTIONS) if turns is None else last_text(turns, USER_ROLES),
        references=texts(row, *REFERENCES),
        answerable=flag(row, "answerable"),
        relevant=relevant,
        is_run=turns is not None or has(row, *ANSWERS, *RETRIEVED, *RETRIEVED_IDS),
        answer=text(row, *ANSWERS) if turns is None else last_text(turns, ASSISTANT_ROLES),
        retrieved=retrieved,
        scores=scores(row, _TAKEN),
    )


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
