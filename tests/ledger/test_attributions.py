"""Words that only say where a statement is from are not compared, and are shown."""

import time

import pytest

from affidavit.ledger.attributions import without_attribution
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import Exemption

SAID = "leave is paid"
FORMS = [
    "The guide says that {}.",
    "The guide clearly states: {}.",
    "The employee handbook of 2024 explains that {}.",
    "Section 4.2 of the handbook notes that {}.",
    "Table 3 shows that {}.",
    "RFC 9110 states that {}.",
    "HR_Policy.pdf says that {}.",
    "The Debian Policy Manual specifies that {}.",
    "According to the guide, {}.",
    "According to our guide for new staff, {}.",
    "As stated in the policy, {}.",
    "As the release notes explain, {}.",
    "Based on the information in the manual, {}.",
    "It is clearly stated in the handbook that {}.",
    "{}, says the guide.",
    "{}, the guide says.",
    "{}, as the guide explains.",
    "{}, according to the guide.",
    "{}, as described in chapter 3.",
    "{}, per the policy.",
]
KEPT = [
    "A guide says that leave is paid",
    "The minister says that leave is paid",
    "According to Eva Marek, leave is paid",
    "According to the law, leave is paid",
    "The guide recommends that leave is paid",
    "The guide rarely shows errors",
    "Leave is paid according to the policy",
    "Leave is described in the guide",
    "The document management system says that leave is paid",
]


@pytest.mark.parametrize("form", FORMS)
def test_the_judge_reads_the_statement_and_the_claim_keeps_its_words(form: str) -> None:
    answer = form.format(SAID)
    (claim,) = split_answer(answer[0].upper() + answer[1:]).claims
    assert claim.statement.lower() == SAID
    assert claim.text.lower() == answer.rstrip(".").lower()


@pytest.mark.parametrize("sentence", KEPT)
def test_what_is_no_attribution_to_a_source(sentence: str) -> None:
    assert without_attribution(sentence) == sentence
    (claim,) = split_answer(f"{sentence}.").claims
    assert claim.statement == sentence


def test_a_source_that_is_silent_is_no_claim_but_one_that_excludes_is() -> None:
    split = split_answer("The guide does not mention leave. The policy does not cover leave.")
    assert [remark.exemption for remark in split.remarks] == [Exemption.ABSENCE]
    assert [claim.statement for claim in split.claims] == ["The policy does not cover leave"]


def test_nothing_is_left_of_a_sentence_that_says_only_where_it_is_from() -> None:
    for sentence in ("The guide says that.", "According to the guide, it", "no, says the guide"):
        assert without_attribution(sentence) == sentence


def test_hostile_text_costs_no_time() -> None:
    begun = time.process_time()
    for text in ("the " + "a " * 4000, "according to the " * 900, "Section 1" + " of the" * 2000):
        without_attribution(text)
    assert time.process_time() - begun < 2
