"""What a model may write, and what of it counts. Nothing counts that the passage does not hold."""

import pytest
from tests.judge.chat_server import reply_of
from tests.judge.reading import chunk_of

from affidavit.judge.chat.reply import (
    ParsedReply,
    UnreadableReply,
    locate_quote,
    parse_reply,
    reading_from,
)
from affidavit.ledger.model import Span, SupportLevel
from affidavit.ledger.rules import JudgeThresholds

GOOD = reply_of()
OTHER = reply_of("not_found", support=0.1, quote="")
FENCED, TAKEN_OUT = "a fence of code", "taken out of the text"

READABLE = {
    "as asked": (GOOD, None),
    "with space around it": (f"\n {GOOD} \n", None),
    "in a fence": (f"```json\n{GOOD}\n```", FENCED),
    "in a fence without a language": (f"```\n{GOOD}\n```\n", FENCED),
    "behind prose": (f"Here is my answer: {GOOD}", TAKEN_OUT),
    "between prose": (f"<think>hm {{x}}</think> {GOOD} I hope this helps.", TAKEN_OUT),
    "said twice": (f"{GOOD}\n{GOOD}", TAKEN_OUT),
    "a fence in prose": (f"Sure!\n```json\n{GOOD}\n```\nDone.", TAKEN_OUT),
}


@pytest.mark.parametrize(("content", "repair"), READABLE.values(), ids=READABLE.keys())
def test_a_readable_reply(content: str, repair: str | None) -> None:
    outcome = parse_reply(content)
    assert isinstance(outcome, ParsedReply)
    assert outcome.reply.verdict == "supported"
    assert (outcome.repair is None) if repair is None else repair in str(outcome.repair)


UNREADABLE = {
    "nothing": ("", "empty"),
    "white space": (" \n", "empty"),
    "prose": ("The claim is supported.", "not strict JSON"),
    "cut off": (GOOD[:-20], "not strict JSON"),
    "two answers that differ": (f"{OTHER}\n{GOOD}", "several answers"),
    "a list": (f"[{GOOD},{OTHER}]", "several answers"),
    "another verdict": (reply_of("true"), "verdict"),
    "a score beyond one": (reply_of(support=1.5), "support"),
    "a score as text": (reply_of(support="0.9"), "support"),
    "a field more": (reply_of(sure=True), "sure"),
    "a field less": ('{"verdict":"supported"}', "support"),
    "a duplicate key": (GOOD.replace("{", '{"verdict":"not_found",', 1), "not strict JSON"),
    "no number": (GOOD.replace("0.95", "NaN"), "not strict JSON"),
    "braces without end": ("{" * 100_000, "not strict JSON"),
    "objects without end": ('{"a":' * 20_000, "not strict JSON"),
}


@pytest.mark.parametrize(("content", "problem"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_reply(content: str, problem: str) -> None:
    outcome = parse_reply(content)
    assert isinstance(outcome, UnreadableReply)
    assert problem in outcome.problem
    reading = reading_from(outcome, chunk_of("15 days"), None)
    assert reading.support_level is SupportLevel.NONE
    assert not reading.contradicts
    assert dict(reading.scores) == {"unreadable": 1.0}
    assert "could not be read" in reading.notes


PASSAGE = "Every employee has\n 15 days of leave. Nobody has 20 days."
FULL, PARTIAL, NONE = SupportLevel.FULL, SupportLevel.PARTIAL, SupportLevel.NONE
AGAINST = {"support": 0.05, "contradiction": 0.9}

COUNTS = {
    "supported, with its quote": (reply_of(quote="has 15 days of leave"), FULL, False),
    "weak, with its quote": (reply_of("weak", support=0.6), PARTIAL, False),
    "contradicted, with its quote": (reply_of("contradicted", **AGAINST), NONE, True),
    "not found, without one": (reply_of("not_found", support=0.1, quote=""), NONE, False),
    "not found, with one": (reply_of("not_found", support=0.1), NONE, False),
}


@pytest.mark.parametrize(("content", "level", "contradicts"), COUNTS.values(), ids=COUNTS.keys())
def test_what_counts(content: str, level: SupportLevel, contradicts: bool) -> None:
    outcome = parse_reply(content)
    reading = reading_from(outcome, chunk_of(PASSAGE), "a remark")
    assert (reading.support_level, reading.contradicts) == (level, contradicts)
    span = reading.snippet_span
    assert reading.snippet == PASSAGE[span.start : span.end]
    assert "refused" not in dict(reading.scores)
    assert reading.notes == "the model says: it says so; a remark"


REFUSED = {
    "no quote": (reply_of(quote=" "), "quotes nothing"),
    "a quote that was made up": (reply_of(quote="has 25 days of leave"), "does not stand"),
    "a quote in another case": (reply_of(quote="every EMPLOYEE has"), "does not stand"),
    "a quote of one small word": (reply_of(quote="has"), "too short"),
    "sure of nothing": (reply_of(support=0.2), "say otherwise"),
    "sure of both": (reply_of(contradiction=0.95), "say otherwise"),
    "a contradiction made up": (reply_of("contradicted", quote="no leave", **AGAINST), "stand"),
    "a contradiction with the scores of support": (reply_of("contradicted"), "say otherwise"),
    "weak, and against": (reply_of("weak", **AGAINST), "say otherwise"),
    "not found, and sure of it": (reply_of("not_found", quote=""), "say otherwise"),
}


@pytest.mark.parametrize(("content", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_count(content: str, why: str) -> None:
    reading = reading_from(parse_reply(content), chunk_of(PASSAGE), None)
    assert (reading.support_level, reading.contradicts) == (NONE, False)
    assert (reading.similarity, reading.contradiction, reading.snippet) == (0.0, 0.0, "")
    assert "counts as nothing" in reading.notes
    assert why in reading.notes
    # Nor do the thresholds of a user raise it from the dead: they look for this score.
    assert "support" not in dict(reading.scores)
    assert JudgeThresholds().verdict(reading.similarity, reading.contradiction) == "not_found"


QUOTES = {
    "letter for letter": ("15 days", Span(20, 27)),
    "over a line break": ("has 15 days", Span(15, 27)),
    "not there": ("16 days", None),
    "empty": ("  ", None),
    "signs are no patterns": (".*", None),
}


@pytest.mark.parametrize(("quote", "span"), QUOTES.values(), ids=QUOTES.keys())
def test_where_a_quote_stands(quote: str, span: Span | None) -> None:
    assert locate_quote(quote, PASSAGE) == span
