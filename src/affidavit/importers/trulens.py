"""TruLens: the table of records and feedback, and the events that it is made of.

Origin: `get_records_and_feedback` and `get_events` of trulens-core 2.16.0. The table has no
passages; the events have them, as attributes of OpenTelemetry spans.
"""

from collections.abc import Iterable, Iterator, Mapping
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
from affidavit.importers.grouping import group_rows
from affidavit.importers.tool_format import Numbered, Record, Row, ToolFormat, ToolName, row_shaper

_EVENTS: Final = "events"
_PREFIX: Final = "ai.observability."
# What is neither a field of ours nor the score of a feedback function.
_IGNORED: Final = (
    *("app_id", "app_name", "app_version", "app_json", "type", "record_id", "conversation_id"),
    *("input_id", "tags", "record_json", "cost_json", "perf_json", "ts", "latency", "events"),
    *("total_tokens", "total_cost", "eval_cost", "eval_cost_snowflake", "cost_currency"),
    *("num_events", "sampled", "sample_rate", "eval_decision_reason", "is_match"),
)
_COLUMNS: Final = Columns(
    {
        "question": ("input",),
        "answer": ("output",),
        "references": ("ground_truth", "ground_truth_output"),
        "retrieved": ("retrieved_contexts", "contexts", "context"),
    },
    convert={
        "question": lambda value, _: find_question(value),
        "answer": lambda value, _: find_answer(value),
    },
    ignored=_IGNORED,
)


def by_record(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield rows of the table unchanged, and the events of each record as one row."""
    return group_rows(rows, lambda row: _attributes(row).get(f"{_PREFIX}record_id"), _EVENTS)


def _attributes(row: Row) -> Row:
    found = decode_if_json(row.get("record_attributes"))
    return found if isinstance(found, Mapping) else {}


def record(row: Row) -> Record:
    """Return the record of a row of the table, or of the events of a record."""
    events = row.get(_EVENTS)
    if not isinstance(events, list):
        seconds = row.get("latency")
        number = score_from(seconds) if is_score(seconds) else None
        return _COLUMNS.record(row, latency_ms=milliseconds(number, 1000))
    spans = [_attributes(one) for one in events]
    kinds = {str(span.get(f"{_PREFIX}span_type")): span for span in spans}
    root = kinds.get("record_root", {})
    passages = f"{_PREFIX}retrieval.retrieved_contexts"
    return Record(
        question=find_question(root.get(f"{_PREFIX}record_root.input")),
        is_run=True,
        answer=find_answer(root.get(f"{_PREFIX}record_root.output")),
        references=_reference(root),
        retrieved=next((find_passages(one[passages]) for one in spans if passages in one), None),
    )


def _reference(root: Row) -> tuple[str, ...] | None:
    found = find_answer(root.get(f"{_PREFIX}record_root.ground_truth_output"))
    return None if found is None else (found,)


TRULENS: Final = ToolFormat(
    format=ToolName.TRULENS,
    signatures=(
        ("record_id", "app_name", "input", "output"),
        ("record_id", "app_id", "input", "output"),
        ("record_attributes", "record_type"),
    ),
    shape=row_shaper(record),
    regroup=by_record,
    appends=True,
    remedy="export the events, which have them: get_events()",
)
