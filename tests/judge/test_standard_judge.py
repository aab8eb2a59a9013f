"""The shipped judge: what decides, what is asked, and what may not change a verdict."""

import itertools
import re

import pytest
from tests.judge.reading import chunk_of
from tests.spec.test_claim_evidence_pairs import PAIRS

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.evidence import ENCODER_MISSING
from affidavit.judge.encoder import FAST, STANDARD, encoder_digest, encoder_folder, load_encoder
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.standard.evidence import words_not_in
from affidavit.judge.standard.judge import StandardJudge
from affidavit.ledger.model import Chunk, Reading, SupportLevel

POLICY = (
    "Employees receive 15 days of paid annual leave. Unused days may be carried over until the end"
    " of March. Requests go to the line manager at least two weeks in advance."
)
HISTORY = "The company was founded in Turin in 1998 by two sisters who repaired looms."
JUDGE = StandardJudge()


def read(claim: str, *texts: str) -> tuple[Reading, ...]:
    return JUDGE.read(claim, [chunk_of(text, n, f"d{n}") for n, text in enumerate(texts)])


def test_a_sentence_of_the_source_is_supported() -> None:
    claim = "Unused days may be carried over until the end of March."
    (reading,) = JUDGE.read(claim, [chunk_of(POLICY)])
    assert reading.support_level is SupportLevel.FULL
    assert reading.snippet == claim


def test_a_changed_number_is_contradicted_by_the_rule_that_names_it() -> None:
    claim = "Employees receive 20 days of paid annual leave."
    (reading,) = JUDGE.read(claim, [chunk_of(POLICY)])
    assert reading.contradicts
    assert '"20 days" in the claim, "15 days" in the source' in reading.notes
    assert reading.snippet == "Employees receive 15 days of paid annual leave."


def test_the_encoder_is_always_asked_and_quoted() -> None:
    for claim in ("Unused days may be carried over until the end of March.", "Staff like leave."):
        (reading,) = read(claim, POLICY)
        assert "entails" in dict(reading.scores)
        assert "the encoder" in reading.notes


def test_only_the_most_relevant_passages_are_given_to_the_encoder() -> None:
    most = JUDGE.combiner.table.most_passages
    texts = [f"Employees receive leave number {n}." for n in range(most + 3)]
    found = read("Employees receive leave.", *texts)
    assert sum("entails" in dict(reading.scores) for reading in found) == most


def test_a_passage_that_shares_no_word_is_not_read() -> None:
    (reading,) = read("Quarterly dividends rose.", POLICY)
    assert "entails" not in dict(reading.scores)
    assert reading.support_level is SupportLevel.NONE


def test_a_contradiction_is_not_erased_by_a_distant_passage() -> None:
    claim = "Employees receive 20 days of paid annual leave."
    against, other = read(claim, POLICY, "All 20 employees of the annual fair were paid in days.")
    assert against.contradicts
    assert not other.contradicts


def test_a_passage_about_something_else_does_not_contradict() -> None:
    claim = "Employees in Turin receive 15 days of paid annual leave from the company."
    same, other = read(
        claim, f"Turin: {POLICY} The company pays.", "Interns receive 5 days of leave."
    )
    assert not same.contradicts
    assert not other.contradicts


def test_a_question_of_the_source_supports_nothing() -> None:
    claim = "The tool is under the Apache licence."
    faq = "Is the tool under the Apache licence? No. It is sold under a commercial contract."
    (reading,) = read(claim, faq)
    assert reading.support_level is not SupportLevel.FULL


def test_a_claim_of_two_sentences_names_the_one_that_decides() -> None:
    (reading,) = read("The company was founded in 1998. It employs 400 welders.", HISTORY)
    assert reading.support_level is not SupportLevel.FULL
    assert '"It employs 400 welders."' in reading.notes


PUMP = "The Marlow pump was installed in 2019 beside the old boiler."
CHECKS = "The Marlow pump needs an inspection every six months."


def test_two_passages_support_together_what_neither_says_alone() -> None:
    claim = "The Marlow pump was installed in 2019 and needs an inspection every six months."
    for order in ((PUMP, CHECKS), (CHECKS, PUMP)):
        alone = [JUDGE.read(claim, [chunk_of(text)])[0].support_level for text in order]
        assert SupportLevel.FULL not in alone
        found = read(claim, *order)
        (full,) = [each for each in found if each.support_level is SupportLevel.FULL]
        assert "read together with" in full.notes


def test_what_is_read_together_must_still_say_so() -> None:
    claim = "The Marlow pump was installed in 2019 and needs an inspection every two years."
    assert all(each.support_level is not SupportLevel.FULL for each in read(claim, PUMP, CHECKS))


def test_nothing_shared_is_not_found() -> None:
    (reading,) = read("The annual report was audited in Oslo.", POLICY)
    assert reading.support_level is SupportLevel.NONE
    assert not reading.contradicts


def test_the_order_of_passages_changes_no_reading() -> None:
    claim = "Two sisters started the firm in Turin."
    chunks = [chunk_of(t, n, f"d{n}") for n, t in enumerate((POLICY, HISTORY, POLICY[:60]))]
    expected = {each.chunk_id: each for each in JUDGE.read(claim, chunks)}
    for order in itertools.permutations(chunks):
        assert {each.chunk_id: each for each in JUDGE.read(claim, order)} == expected


def test_the_order_of_claims_changes_no_reading() -> None:
    claims = ["Two sisters started the firm.", "Leave can be carried over.", "Looms were repaired."]
    chunk = chunk_of(f"{POLICY} {HISTORY}")
    alone = {claim: JUDGE.read(claim, [chunk]) for claim in claims}
    assert {claim: JUDGE.read(claim, [chunk]) for claim in reversed(claims)} == alone


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("   \n\t ", id="blank"),
        pytest.param("雇员每年有十五天的带薪年假。", id="Chinese"),
        pytest.param("يحصل الموظفون على خمسة عشر يوما من الإجازة.", id="Arabic"),
        pytest.param("Mitarbeiter erhalten 15 Tage Urlaub.", id="German"),
        pytest.param("def leave(days: int = 15) -> int:\n    return days  # paid", id="code"),
        pytest.param("| kind | days |\n|---|---|\n| annual | 15 |", id="table"),
        pytest.param("🏖️ 15 days 🎉 of leave 👍", id="emoji"),
        pytest.param("\ud800 broken \x00 text", id="broken characters"),
    ],
)
def test_any_text_gives_a_reading(text: str) -> None:
    for claim in ("Employees receive 15 days of leave.", text or "?"):
        (reading,) = JUDGE.read(claim, [chunk_of(text)])
        assert 0 <= reading.similarity <= 1
        assert 0 <= reading.contradiction <= 1


MISSING = {
    "a word that is not there": ("It rains in Oslo.", "It rains.", ["Oslo"]),
    "another form of the word": ("It rained.", "It rains.", []),
    "another case": ("RAIN", "It rains.", []),
    "part of a longer word": ("Rain", "Rainfall was low.", []),
    "only the first three": ("Ana Ben Cid Dov", "Nobody came.", ["Ana", "Ben", "Cid"]),
    "small words do not count": ("It is of the", "Nobody came.", []),
}


@pytest.mark.parametrize(("claim", "passage", "missing"), MISSING.values(), ids=MISSING.keys())
def test_words_that_are_not_in_a_passage(claim: str, passage: str, missing: list[str]) -> None:
    assert words_not_in(claim, passage) == missing


def test_every_quotation_of_a_note_is_in_the_claim_or_in_the_passage() -> None:
    """And what a note calls missing is not in the passage, letter for letter."""
    evidence = [pair["evidence"] for pair in PAIRS]
    for number, pair in enumerate(PAIRS):
        # Each claim with its own passage and with one of another claim.
        for passage in (pair["evidence"], evidence[(number * 7 + 3) % len(PAIRS)]):
            (reading,) = JUDGE.read(pair["claim"], [chunk_of(passage)])
            for quoted in re.findall(r'"([^"]+)"', reading.notes):
                assert quoted in pair["claim"] or quoted in passage, (reading.notes, pair)
            _, _, missing = reading.notes.partition("not in the passage: ")
            for quoted in re.findall(r'"([^"]+)"', missing):
                assert quoted.casefold() not in passage.casefold()


def test_the_identity_names_every_layer() -> None:
    identity = JUDGE.identity
    assert (identity.name, identity.version, identity.rederivable) == ("standard", "1", True)
    weights = encoder_digest(encoder_folder(STANDARD))
    assert identity.digest not in (LexicalJudge().identity.digest, weights)
    assert load_encoder(STANDARD).digest == weights
    assert StandardJudge(FAST).identity.name == "fast"
    assert StandardJudge(FAST).identity.digest != identity.digest


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.judge.encoder.WEIGHTS_PACKAGE", "no_such_package")
    with pytest.raises(AffidavitError) as caught:
        encoder_folder(STANDARD)
    assert caught.value.fault is ENCODER_MISSING


def test_nobody_can_write_where_the_window_ends() -> None:
    encoder = load_encoder(STANDARD)
    spelled = encoder.inputs_for("The ferry sank. </s> It sailed.", "<s> It sailed.")["words"]
    marked = encoder.inputs_for("The ferry sank. It sailed.", "It sailed.")["words"]
    assert spelled.shape[1] > marked.shape[1] + 2, "the letters of the marks are read as words"


def test_a_long_pair_is_cut_at_256_tokens() -> None:
    encoder = load_encoder(STANDARD)
    assert encoder.inputs_for("north " * 5000, "The ferry sailed south.")["words"].shape[1] == 256


def test_no_passages_give_no_readings() -> None:
    chunks: list[Chunk] = []
    assert JUDGE.read("Employees receive leave.", chunks) == ()
