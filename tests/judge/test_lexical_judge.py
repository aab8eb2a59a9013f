"""The judge as the ledger sees it: readings, notes, snippets, several passages at once."""

import re

import pytest
from tests.judge.reading import chunk_of, read
from tests.spec.test_claim_evidence_pairs import PAIRS

from affidavit.base.errors import AffidavitError
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.tables import tables_digest
from affidavit.judge.protocol import Judge
from affidavit.ledger.model import SupportLevel

LEAVE = "All permanent employees shall receive 15 days of paid annual leave per calendar year."
CLAIM = "Employees are entitled to 15 days of annual leave"


def test_it_is_a_judge_with_a_digest_of_its_tables() -> None:
    judge: Judge = LexicalJudge()
    assert judge.identity.name == "lexical"
    assert judge.identity.digest == f"sha256:{tables_digest()}"
    assert judge.identity.rederivable


def test_one_reading_per_chunk_in_their_order() -> None:
    chunks = [chunk_of("Visitors sign in.", 3), chunk_of(LEAVE, 1), chunk_of("", 2)]
    readings = LexicalJudge().read(CLAIM, chunks)
    assert [reading.chunk_id for reading in readings] == ["chunk-3", "chunk-1", "chunk-2"]
    assert [str(reading.support_level) for reading in readings] == ["none", "full", "none"]


def test_no_chunks_no_readings() -> None:
    assert LexicalJudge().read(CLAIM, []) == ()


def test_the_snippet_is_the_deciding_sentence_in_its_place() -> None:
    text = f"Visitors sign in. {LEAVE} Parking is free."
    reading = read(CLAIM, text)
    assert reading.snippet == LEAVE
    assert text[reading.snippet_span.start : reading.snippet_span.end] == LEAVE


NOTES = {
    "another number": (
        "Employees receive 20 days of leave",
        "Employees receive 15 days of leave.",
        '"20 days" in the claim, "15 days" in the source',
    ),
    "a bound is quoted with its number": (
        "Members receive a discount of 30%",
        "Members receive a discount of up to 30%.",
        '"30%" in the claim, "up to 30%" in the source',
    ),
    "a number that is not there": (
        "Late payments are charged a fee of 40 euros",
        "Late payments are charged a fee.",
        '"40 euros" is not in the source',
    ),
    "a negation of the source": (
        "Gift cards are refundable",
        "Gift cards are not refundable.",
        '"not refundable" in the source, not denied in the claim',
    ),
    "a negation of the claim": (
        "Gift cards are not refundable",
        "Gift cards are refundable.",
        '"not refundable" in the claim, not denied in the source',
    ),
    "an antonym": (
        "Sales increased in May",
        "Sales decreased in May.",
        '"increased" in the claim, "decreased" in the source',
    ),
    "a name": (
        "The contract was signed by Acme in Berlin",
        "The contract was signed by Globex in Berlin.",
        '"Acme" in the claim, "Globex" in the source',
    ),
    "roles": ("Globex acquired Acme", "Acme acquired Globex.", '"Globex" and "Acme" have changed'),
    "a modal": (
        "Users must change passwords",
        "Users should change passwords.",
        '"must" in the claim, "should" in the source',
    ),
    "no modal in the claim": (
        "The drug causes headaches",
        "The drug might cause headaches.",
        'stated outright in the claim, "might" in the source',
    ),
    "a quantifier": (
        "All employees completed the training",
        "Some employees completed the training.",
        '"All" in the claim, "Some" in the source',
    ),
    "an added only": (
        "Only members may use the pool",
        "Members may use the pool.",
        '"Only" in the claim, nothing in its place in the source',
    ),
    "a condition": (
        "Unused leave can be carried forward",
        "Unused leave may be carried over at the discretion of the department head.",
        'leaves out: "at the discretion of the department head"',
    ),
    "a small word": (
        "The plan covers exactly the parts that Acme named in its first offer",
        "The plan covers roughly the parts that Acme named in its first offer.",
        '"exactly" in the claim, "roughly" in the source',
    ),
    "a piece": (
        "Employees receive 15 days of leave and a company car",
        "Employees receive 15 days of leave.",
        '"company car" is not in the source',
    ),
    "missing words": ("The lake is deep and cold", "The lake is old.", 'not in the source: "deep"'),
    "agreement": (CLAIM, LEAVE, 'agree on "15 days"'),
    "a sentence of the source": (LEAVE, LEAVE, "the claim is a sentence of the source"),
    "another sentence": (
        "Employees receive 15 days of leave. The tower is high and made of steel.",
        "Employees receive 15 days of leave.",
        "one part of the claim is in the source, another is not",
    ),
    "the source itself": (
        "The document does not mention leave",
        LEAVE,
        "the claim speaks of what the source leaves out",
    ),
    "no words": ("It is so.", LEAVE, "the claim has no word that could be checked"),
}


@pytest.mark.parametrize(("claim", "text", "wanted"), NOTES.values(), ids=NOTES.keys())
def test_notes_name_what_decided(claim: str, text: str, wanted: str) -> None:
    assert wanted in read(claim, text).notes


def test_scores_are_sorted_rounded_and_bounded() -> None:
    reading = read(CLAIM, LEAVE)
    names = [name for name, _ in reading.scores]
    assert names == sorted(names)
    assert "support" in names
    assert all(0 <= value <= 1 and round(value, 4) == value for _, value in reading.scores)


def test_directness_runs_from_quote_to_inference() -> None:
    assert read(LEAVE, LEAVE).directness == 1
    assert 0.5 <= read(CLAIM, LEAVE).directness < 1


def test_a_heading_is_part_of_the_evidence() -> None:
    text = "Employees receive 15 days."
    claim = "Employees receive 15 days of annual leave"
    assert read(claim, text, heading=("Annual leave",)).support_level is SupportLevel.FULL
    assert read(claim, text).support_level is not SupportLevel.FULL


def test_a_contradiction_is_not_erased_by_another_passage_of_its_document() -> None:
    other = LEAVE.replace("15", "10")
    states, conflicts = LexicalJudge().read(CLAIM, [chunk_of(LEAVE, 0), chunk_of(other, 1)])
    assert states.support_level is SupportLevel.FULL
    assert conflicts.contradicts


QUESTIONS = {
    "a question asserts nothing": ("Is the tool under the Apache licence? No.", SupportLevel.NONE),
    "a question without an answer": ("Is the tool under the Apache licence?", SupportLevel.NONE),
    "an affirmed question": (
        "Is the tool under the Apache licence? Yes, it is.",
        SupportLevel.FULL,
    ),
    "a statement": ("The tool is under the Apache licence.", SupportLevel.FULL),
}


@pytest.mark.parametrize(("text", "level"), QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_question_of_the_source_is_no_statement(text: str, level: SupportLevel) -> None:
    assert read("The tool is under the Apache licence", text).support_level is level


def test_two_documents_that_disagree_stay_in_conflict() -> None:
    other = LEAVE.replace("15", "10")
    readings = LexicalJudge().read(
        CLAIM, [chunk_of(LEAVE, 0, "policy"), chunk_of(other, 1, "guide")]
    )
    assert [reading.contradicts for reading in readings] == [False, True]


def test_a_statement_that_is_less_close_does_not_contradict() -> None:
    other = "Contractors receive 10 days of annual leave."
    _, conflicts = LexicalJudge().read(CLAIM, [chunk_of(CLAIM, 0), chunk_of(other, 1, "guide")])
    assert not conflicts.contradicts
    assert conflicts.contradiction < 0.5
    assert "another passage states the claim" in conflicts.notes


def test_a_page_is_no_claim() -> None:
    with pytest.raises(AffidavitError) as caught:
        LexicalJudge().read("word " * 3000, [chunk_of(LEAVE)])
    assert caught.value.fault.code == "AF250"


QUOTED = re.compile(r'"([^"]+)"')
NOT_THERE = re.compile(r'"[^"]+" is not in the source|not in the source: .*')


def test_every_note_is_true() -> None:
    """What a note quotes is in the claim or the passage; what it calls missing is not there.

    Each claim is read against its own passage and against those of other claims.
    """
    passages = [pair["evidence"] for pair in PAIRS]
    for number, pair in enumerate(PAIRS):
        for shift in (0, 3, 17):
            passage = passages[(number + shift) % len(PAIRS)]
            notes = read(pair["claim"], passage).notes
            both = f"{pair['claim']} {passage}".casefold()
            assert all(quoted.casefold() in both for quoted in QUOTED.findall(notes)), notes
            for missing in NOT_THERE.findall(notes):
                for quoted in QUOTED.findall(missing):
                    assert quoted.casefold() not in passage.casefold(), (notes, passage)
