"""Rows for the tests of gates, as short as they can be written."""

from typing import Any

from affidavit.gates.rag_counts import ItemProfile, RagCounts
from affidavit.gates.rag_rows import GoldItem, TraceRow, gold_from_value, qid_of, trace_from_value
from affidavit.gates.rag_scoring import (
    DEFAULT_SETTINGS,
    RagScorer,
    RagSettings,
    counts_from_runs,
    gold_set,
    score_traces,
)

# The gold item and the trace of the document, section 1.
GOLD: dict[str, Any] = {
    "qid": "A0001",
    "question": "Does X support null keys?",
    "answerable": True,
    "gold_claim_substr": ["rejects null keys"],
    "gold_citations": ["p1#2"],
    "constraints": ["X rejects null keys."],
    "notes": "Entity+constraint co-located in p1#2",
}
ANSWER: dict[str, Any] = {
    "claim": "X rejects null keys.",
    "citations": ["p1#2"],
    "constraints_echo": ["X rejects null keys."],
}
TRACE: dict[str, Any] = {
    "ts": 1723430400,
    "qid": "A0001",
    "q": "Does X support null keys?",
    "retrieved_ids": ["p1#1", "p1#2", "p2#1"],
    "answer_json": ANSWER,
    "ok": True,
    "reason": "ok",
}
REFUSED: dict[str, Any] = {"claim": "not in context", "citations": []}


def gold(**changes: Any) -> GoldItem:
    return gold_from_value(without_dropped({**GOLD, **changes}))


def trace(answer: dict[str, Any] | None = None, **changes: Any) -> TraceRow:
    """Return the document's trace, with some fields of its answer and of itself changed."""
    merged = without_dropped({**ANSWER, **(answer or {})})
    return trace_from_value(without_dropped({**TRACE, "answer_json": merged, **changes}))


DROP = object()


def without_dropped(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not DROP}


def profile(item: GoldItem, run: TraceRow | None, **settings: Any) -> ItemProfile:
    return RagScorer(RagSettings(**settings)).score(item, run)


def counts(
    items: list[GoldItem], runs: list[TraceRow], settings: RagSettings = DEFAULT_SETTINGS
) -> RagCounts:
    scorer = RagScorer(settings)
    ready = gold_set({qid_of(item): item for item in items}, scorer)
    return counts_from_runs(ready, score_traces(enumerate(runs, 1), ready, scorer))
