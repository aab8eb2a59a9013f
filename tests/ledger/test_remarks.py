"""What needs no evidence, and what only looks like it: rules E1 to E7 of docs/ledger.md."""

import pytest

from affidavit.ledger.model import Exemption
from affidavit.ledger.remarks import find_exemption, lead_in_length

Q, G, M = Exemption.QUESTION, Exemption.GREETING, Exemption.META
A, N, S = Exemption.ABSENCE, Exemption.INTRODUCTION, Exemption.TOO_SHORT

SPEC = {
    "a question in quotes": ("\u201cIs leave paid?\u201d", Q),
    "hello": ("Hello!", G),
    "dear": ("Dear Jane,", G),
    "thanks": ("Thanks for your question.", G),
    "a good question": ("Great question!", G),
    "welcome": ("Welcome back!", G),
    "thanks to a cause is a claim": ("Thanks to the rule, leave is paid.", None),
    "a welcome gift is a claim": ("Welcome gifts total 500 EUR.", None),
    "a long greeting is a claim": (
        "Hello Kitty lunch boxes in pink and blue and green for children",
        None,
    ),
    "hope": ("I hope this helps!", M),
    "a curly apostrophe": ("I\u2019m happy to help.", M),
    "the writer speaks": ("I would suggest a call.", M),
    "a road is no writer": ("I-95 runs north.", None),
    "let me know": ("Please let me know.", M),
    "feel free": ("Feel free to ask.", M),
    "where to turn": ("Please contact HR.", M),
    "what to hand in is a claim": ("Please submit the form early.", None),
    "more questions": ("If you have further questions, call us.", M),
    "a condition is a claim": ("If you have a badge, the door opens.", None),
    "a name that begins with I": ("I Threes sang the song.", None),
    "the answer itself is a claim": ("The answer is 15 days.", None),
    "who else to ask is a claim": ("If you need help, the court assists you.", None),
    "an announcement that goes on is a claim": ("Here is why: leave is paid.", None),
    "about the answer": ("This answer is based on two files.", M),
    "yes alone": ("Certainly.", M),
    "an announcement": ("Here is a summary of it.", M),
    "an announcement with a number is a claim": ("Here is the answer: 15 days.", None),
    "not in context": ("Not in context.", A),
    "the sources are silent": ("The provided documents do not mention it.", A),
    "an adverb between": ("The sources don't explicitly say so.", A),
    "none of the sources": ("None of the documents mentions it.", A),
    "no information": ("There is no information about it in the documents.", A),
    "no information was found": ("No information was found.", A),
    "no evidence in the sources": ("There is no evidence of it in the sources.", A),
    "not specified": ("The limit is not specified in the provided context.", A),
    "could not find": ("I could not find the limit.", A),
    "we have no duty, which is a claim": ("We don't have to pay for it.", None),
    "silence in a side clause is a claim": (
        "While the documents do not say when, they say how.",
        None,
    ),
    "silence behind a claim is a claim": (
        "It is paid, but the day is not specified in the documents.",
        None,
    ),
    "unclear": ("It is unclear from the text whether it is paid.", A),
    "the answer is not known": ("The answer could not be determined.", A),
    "a policy may be silent, which is a claim": ("The policy does not cover dental care.", None),
    "information can be a subject": ("The information is not confidential.", None),
    "a label": ("Annual leave:", N),
    "as follows": ("The rules are as follows:", N),
    "the following": ("Staff get the following benefits:", N),
    "a colon behind a claim is a claim": ("Leave is paid:", None),
    "too short": ("Ok.", S),
    "no letters": ("...", S),
}


@pytest.mark.parametrize(("sentence", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_exemption(sentence: str, wanted: Exemption | None) -> None:
    assert find_exemption(sentence) is wanted


LEAD_INS = {
    "none": ("Leave is paid.", ""),
    "the documents": ("Based on the documents, leave is paid.", "Based on the documents, "),
    "documents you gave": (
        "According to the HR documents you have provided, leave is paid.",
        "According to the HR documents you have provided, ",
    ),
    "a named source is part of the claim": ("According to the HR policy, leave is paid.", ""),
    "a word that continues is no lead-in": ("In the information age, data is money.", ""),
    "an answer": ("Yes, leave is paid.", "Yes, "),
    "a note": ("Please note that leave is paid.", "Please note that "),
    "a curly apostrophe": (
        "It\u2019s worth noting that leave is paid.",
        "It\u2019s worth noting that ",
    ),
    "two of them": ("However, note that leave is paid.", "However, note that "),
    "nothing would be left": ("However, no.", ""),
}


@pytest.mark.parametrize(("sentence", "wanted"), LEAD_INS.values(), ids=LEAD_INS.keys())
def test_lead_in(sentence: str, wanted: str) -> None:
    assert sentence[: lead_in_length(sentence)] == wanted
