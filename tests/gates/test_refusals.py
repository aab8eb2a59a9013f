"""Refusals in other words: which answers say that the sources do not answer, and which do not."""

import pytest
from tests.gates.making import gold, profile, trace

from affidavit.gates.rag_counts import AnswerState
from affidavit.gates.refusals import MAX_REFUSAL, is_refusal_in_words

REFUSALS = (
    "The documents do not mention the price of the plan.",
    "The provided context does not contain information about refunds.",
    "I'm sorry, but I cannot find the answer in the provided documents.",
    "There is no information about this in the given sources.",
    "The context doesn't say who founded the company.",
    "I don't know.",
    "I do not have enough information to answer this question.",
    "This is not mentioned in the documents.",
    "Unfortunately, the passages do not specify a date.",
    "Based on the provided context, I cannot determine the answer.",
    "Not in context.",
    "NOT IN CONTEXT",
    "The text does not explicitly state the limit. Please consult the full policy.",
    "I could not find any mention of parental leave in the sources.",
    "I am unable to answer this question because the documents do not address it.",
    "No relevant information was found.",
    "The question cannot be answered from the context.",
    "We are not able to determine this. Let me know if you have other documents.",
    "It isn't specified.",
    "There's no mention of it in the text; please contact support.",
    "The search results don't include an answer.",
    "Unknown.",
    "The sources never mention it.",
)
ANSWERS = (
    "The limit is five days.",
    "The documents do not mention a limit, so there is no limit.",
    "The documents do not mention fees, but the plan costs 10 euros.",
    "No.",
    "No, it is not allowed.",
    "Employees do not receive overtime pay.",
    "The policy does not provide reimbursement for taxis.",
    "X rejects null keys.",
    "I cannot find a better plan than Basic, which costs 5 euros; it is the cheapest.",
    "The documents do not mention this. The answer is 42.",
    "It is not possible to carry leave forward.",
    "There is no fee.",
    "The word does not occur often, although it is listed.",
    "You should contact the manager.",
    "Sorry for the delay. The report is due on Monday.",
    "Not in context? It says five days.",
    "Notice is two weeks.",
    "The sources never lie.",
    "",
    "The documents do not mention it. " * 40,
)


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_in_other_words(answer: str) -> None:
    assert is_refusal_in_words(answer, ["not in context"])


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_no_refusal(answer: str) -> None:
    assert not is_refusal_in_words(answer, ["not in context"])


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_token_between_spaces_is_the_token_also_if_it_is_the_second(is_exact: bool) -> None:
    run = trace({"claim": " keine Angabe "})
    found = profile(gold(), run, more_refusals=("keine Angabe",), exact_refusals=is_exact)
    assert found.answer_state is AnswerState.REFUSED


def test_a_token_of_any_language_with_a_full_stop() -> None:
    assert is_refusal_in_words("Keine Angabe.", ["keine Angabe"])


def test_a_long_text_is_an_answer() -> None:
    assert not is_refusal_in_words("I don't know. " * MAX_REFUSAL)
