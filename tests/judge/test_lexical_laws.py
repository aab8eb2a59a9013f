"""Laws of the lexical judge, over texts made by chance."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.reading import chunk_of, read

from affidavit.judge.lexical.features import features
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.passages import passage_of
from affidavit.judge.lexical.windows import select_window
from affidavit.ledger.model import SupportLevel

SUBJECTS = ("Employees", "The manager", "Acme", "No visitor", "All members of the board", "Berlin")
VERBS = ("must submit", "may not carry over", "received", "is not entitled to", "approved", "sold")
OBJECTS = (
    "15 days of annual leave", "a report within 30 days", "$1.2 million in 2019", "the contract",
    "at least 12 characters", "between 3% and 5% of revenue", "Globex on 12 March 2024",
    "no more than two requests per month", "half of the shares",
)  # fmt: skip
ENDS = (".", " if the board agrees.", ", unless stated otherwise.", " and never again.", "!")

sentences = st.builds(
    lambda *parts: " ".join(parts[:3]) + parts[3],
    st.sampled_from(SUBJECTS),
    st.sampled_from(VERBS),
    st.sampled_from(OBJECTS),
    st.sampled_from(ENDS),
)
texts = st.lists(sentences, min_size=1, max_size=6).map(" ".join)
anything = st.text(max_size=300)


@given(texts, st.data())
@settings(max_examples=150, deadline=None)
def test_a_sentence_of_the_evidence_is_full_support(text: str, data: st.DataObject) -> None:
    sentence = data.draw(st.sampled_from(passage_of(text).sentences))
    reading = read(sentence.text, text)
    assert reading.support_level is SupportLevel.FULL
    assert reading.similarity > 0.85
    assert not reading.contradicts
    assert reading.directness == 1


@given(anything, st.data())
@settings(max_examples=150, deadline=None)
def test_a_sentence_of_any_text_is_full_support(text: str, data: st.DataObject) -> None:
    found = [s for s in passage_of(text).sentences if any(w.kind is not Kind.MARK for w in s.words)]
    if found:
        sentence = data.draw(st.sampled_from(found))
        assert read(sentence.text, text).support_level is SupportLevel.FULL


@given(sentences, st.lists(texts, min_size=2, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_chunks_does_not_matter(
    claim: str, parts: list[str], order: Random
) -> None:
    chunks = [chunk_of(text, number, f"doc-{number % 2}") for number, text in enumerate(parts)]
    mixed = list(chunks)
    order.shuffle(mixed)
    judge = LexicalJudge()
    plain = {reading.chunk_id: reading for reading in judge.read(claim, chunks)}
    assert {reading.chunk_id: reading for reading in judge.read(claim, mixed)} == plain


@given(anything, anything)
@settings(max_examples=200, deadline=None)
def test_any_text_gets_the_same_sound_reading_twice(claim: str, text: str) -> None:
    reading = read(claim, text)
    assert read(claim, text) == reading
    assert 0 <= reading.similarity <= 1
    assert 0 <= reading.contradiction <= 1
    assert 0.5 <= reading.directness <= 1
    assert text[reading.snippet_span.start : reading.snippet_span.end] == reading.snippet
    full = reading.support_level is SupportLevel.FULL
    assert full == (reading.similarity > 0.85)
    assert reading.contradicts == (reading.contradiction > 0.5)
    assert not (full and reading.contradicts)


@given(sentences, texts)
@settings(max_examples=100, deadline=None)
def test_levels_and_scores_agree(claim: str, text: str) -> None:
    reading = read(claim, text)
    full = reading.support_level is SupportLevel.FULL
    assert full == (reading.similarity > 0.85)
    assert reading.contradicts == (reading.contradiction > 0.5)
    assert features(claim, text).as_pairs() == tuple(
        pair for pair in reading.scores if pair[0] != "support"
    )


@given(sentences, texts)
@settings(max_examples=100, deadline=None)
def test_a_window_is_made_of_the_text(claim: str, text: str) -> None:
    window = select_window(claim, text)
    assert window.text == " ".join(text[span.start : span.end] for span in window.spans)
    assert 0 <= window.recall <= 1
