"""Judging rows: what is remembered, and contexts that cannot be read."""

import pytest
from tests.app.stub_judge import StubJudge

from affidavit.app import groundedness
from affidavit.app.groundedness import MemoryJudge, RowJudge, judge_rows
from affidavit.app.judges import BuiltIn
from affidavit.documents import passages
from affidavit.documents.model import DocumentLimits, DocumentSettings
from affidavit.documents.passages import PassageIndex
from affidavit.gates.groundedness import ContextRow, RetrievedContext
from affidavit.gates.rag_counts import AnswerState

POLICY = "Employees are entitled to 25 days of annual leave."
ROW = ContextRow(
    name="q",
    question_id="q",
    question="How many days?",
    answer="Employees are entitled to 25 days of annual leave.",
    contexts=(RetrievedContext(POLICY),),
)
JUDGE = RowJudge(choice=BuiltIn.LEXICAL)


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groundedness, "_REMEMBERED", 2)
    judge = MemoryJudge(StubJudge(), None)
    chunks = PassageIndex(["0.9 0.1 of the stub"]).chunks
    for claim in ("one", "two", "two", "three", "one"):
        assert len(judge.read(claim, chunks)) == 1
    assert len(judge.fresh) == 4


def test_a_context_that_is_too_large_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = DocumentSettings(limits=DocumentLimits(max_characters=10))
    monkeypatch.setattr(passages, "_SETTINGS", small)
    long = ContextRow(
        name="q",
        question_id="q",
        answer=ROW.answer,
        contexts=(RetrievedContext("x " * 20_000),),
    )
    found = judge_rows(iter([long]), JUDGE)
    assert found is not None
    (row,) = found.rows.values()
    assert (row.counts.state, row.counts.unread, row.counts.claims) == (AnswerState.SHIPPED, 1, 0)


def test_rows_without_contexts_load_no_judge() -> None:
    assert (
        judge_rows(iter([ContextRow(name="q", question_id="q", answer="Yes, it is.")]), JUDGE)
        is None
    )


def test_a_question_without_words_says_nothing_about_relevance() -> None:
    found = judge_rows(iter([ROW]), JUDGE)
    assert found is not None
    assert found.rows["q"].counts.is_relevant
    empty = ContextRow(
        name="q", question_id="q", question="?", answer=ROW.answer, contexts=ROW.contexts
    )
    found = judge_rows(iter([empty]), JUDGE)
    assert found is not None
    assert found.rows["q"].counts.is_relevant is None
