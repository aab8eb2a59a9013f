"""What the judge reads of a claim: rules S, C and P of docs/ledger.md."""

import pytest
from tests.ledger.examples import ledger_of

from affidavit.ledger.claims import split_answer
from affidavit.ledger.grammar import find_main_verb, words_of
from affidavit.ledger.languages import language_of
from affidavit.ledger.model import Exemption, LeftOutKind

STATEMENTS = {
    "marks of several kinds": (
        "Leave is paid [1][2] (passage 3)\u30104:0\u2020source\u3011.",
        ["Leave is paid"],
    ),
    "a page in brackets": ("Leave is paid (HR Policy.pdf, p. 7).", ["Leave is paid"]),
    "a section in brackets": ("Leave is paid (policy \u00a72.5).", ["Leave is paid"]),
    "brackets that say something": (
        "Leave (as defined in section 4) is paid (up to 5 days).",
        ["Leave (as defined in section 4) is paid (up to 5 days)"],
    ),
    "an empty attribution": ("According to [1] and [2], leave is paid.", ["leave is paid"]),
    "a bold number": ("**1.** Leave is paid", ["Leave is paid"]),
    "a capital letter": ("A) Leave is paid\nB) Pay is good", ["Leave is paid", "Pay is good"]),
    "an initial is no label": ("J. Smith is paid.", ["J. Smith is paid"]),
    "a symbol": ("\u2705 Leave is paid", ["Leave is paid"]),
    "a label before a value": ("**Price:** 20 EUR", ["Price: 20 EUR"]),
    "a label before a clause": ("**Pay:** Leave is paid.", ["Leave is paid"]),
    "a label that names its subject": (
        "**Basic plan:** It includes support and costs 5 EUR.",
        ["Basic plan includes support", "Basic plan costs 5 EUR"],
    ),
    "a heading that names its subject": (
        "## Acme Corp\n\nIt was founded in 1998.",
        ["Acme Corp was founded in 1998"],
    ),
    "a heading that names nothing": (
        "Leave is paid.\n\n## Company Overview\n\nIt is long.",
        ["Leave is paid", "Leave is long"],
    ),
    "numbers within a sentence": (
        "It has two steps: (1) a call, and (2) a letter.",
        ["It has two steps: a call, and a letter"],
    ),
    "because of is no clause": (
        "The fair was closed because of rain.",
        ["The fair was closed because of rain"],
    ),
    "so that is a purpose": (
        "The door is open, so that visitors can enter.",
        ["The door is open, so that visitors can enter"],
    ),
    "a clause without a comma": (
        "The deposit is kept and the landlord must send a notice.",
        ["The deposit is kept", "the landlord must send a notice"],
    ),
    "what somebody believes": (
        "The firm says the price is fair and the plan is good.",
        ["The firm says the price is fair and the plan is good"],
    ),
    "a counter without a noun": (
        "Guides are paid, and most are old.",
        ["Guides are paid, and most are old"],
    ),
    "an aside that is a list": (
        "Anna Berg, the mayor, and the police met in Bonn.",
        ["Anna Berg, the mayor, and the police met in Bonn"],
    ),
    "an aside with a verb that is not known": (
        "The tool, which frobs, is new.",
        ["The tool, which frobs, is new"],
    ),
    "an aside with a clause": (
        "Acme Corp, the bank is old, has 5 rooms.",
        ["Acme Corp, the bank is old, has 5 rooms"],
    ),
    "an aside about no name": (
        "The old house, a villa, has 5 rooms.",
        ["The old house, a villa, has 5 rooms"],
    ),
    "an aside without a predicate": (
        "Acme Corp, a bank, in Graz since 1998.",
        ["Acme Corp, a bank, in Graz since 1998"],
    ),
    "a relative clause about no name": (
        "The fair moved to a park, which is a large one.",
        ["The fair moved to a park", "The fair moved to a park, which is a large one"],
    ),
    "a negated modal is not shared": (
        "Staff must not open the box and repair it.",
        ["Staff must not open the box and repair it"],
    ),
    "a negated modal and another one": (
        "Staff must not open the box and must call the guard.",
        ["Staff must not open the box", "Staff must call the guard"],
    ),
    "another number of the verb": (
        "The list of offers is long and include it all.",
        ["The list of offers is long and include it all"],
    ),
    "a noun behind and": (
        "Employees report sales and plan of the year.",
        ["Employees report sales and plan of the year"],
    ),
    "plural verbs": (
        "Employees receive 15 days and accrue more.",
        ["Employees receive 15 days", "Employees accrue more"],
    ),
    "were and are": (
        "The rooms were old and are closed.",
        ["The rooms were old", "The rooms are closed"],
    ),
    "nothing behind the second verb": (
        "The shop sells and repairs.",
        ["The shop sells and repairs"],
    ),
    "only adverbs behind and": (
        "The shop sells bikes and also.",
        ["The shop sells bikes and also"],
    ),
    "both reaches over and": (
        "The plan includes both support and is free of cost.",
        ["The plan includes both support and is free of cost"],
    ),
    "a participle behind an adverb": (
        "The hall was also built in 1910 and restored in 1999.",
        ["The hall was also built in 1910", "The hall was restored in 1999"],
    ),
    "a perfect": (
        "The hall has been sold in May and closed in June.",
        ["The hall has been sold in May", "The hall has been closed in June"],
    ),
    "the second pronoun of a row": (
        "Acme is a bank. It is old. It has 5 rooms.",
        ["Acme is a bank", "Acme is old", "Acme has 5 rooms"],
    ),
    "a plural for it": ("Banks are old. It is new.", ["Banks are old", "It is new"]),
    "a singular for they": ("The bank is old. They are new.", ["The bank is old", "They are new"]),
    "nothing before": ("It is new.", ["It is new"]),
    "a clause whose subject is not known": (
        "Acme is a bank. There is a hall. It is new.",
        ["Acme is a bank", "There is a hall", "It is new"],
    ),
    "the same name adds nothing": (
        "The plan is new. The plan is good.",
        ["The plan is new", "The plan is good"],
    ),
    "a plural is no company": (
        "The Two Brothers are rich. The company is old.",
        ["The Two Brothers are rich", "The company is old"],
    ),
    "a possessive of a plural": (
        "Old banks are rich. Their halls are big.",
        ["Old banks are rich", "Old banks' halls are big"],
    ),
    "a subject with a preposition": (
        "The head of sales is new. It is so.",
        ["The head of sales is new", "The head of sales is so"],
    ),
    "an adverb before the verb": (
        "The bank currently holds 5 EUR. It is rich.",
        ["The bank currently holds 5 EUR", "The bank is rich"],
    ),
    "a subject that is too long": (
        "The very old and big and rich bank of Graz is new. It is so.",
        ["The very old and big and rich bank of Graz is new", "It is so"],
    ),
    "a claim without a subject": (
        "Must be signed. It is new.",
        ["Must be signed", "It is new"],
    ),
    "a pronoun that may mean the object": (
        "Acme built a plant, and it is big.",
        ["Acme built a plant, and it is big"],
    ),
    "plural verbs of a purpose": (
        "Teams meet monthly to review and approve it.",
        ["Teams meet monthly to review and approve it"],
    ),
    "one word behind the joint": ("Guides are paid, and most.", ["Guides are paid, and most"]),
    "an aside behind no word": ("++, a bank, is old.", ["++, a bank, is old"]),
    "an aside without a word": ("Acme, which ++++, is old.", ["Acme, which ++++, is old"]),
    "a verb with nothing behind it": (
        "The bank fell. It is so.",
        ["The bank fell", "The bank is so"],
    ),
}


@pytest.mark.parametrize(("answer", "wanted"), STATEMENTS.values(), ids=STATEMENTS.keys())
def test_statements(answer: str, wanted: list[str]) -> None:
    assert [claim.statement for claim in split_answer(answer).claims] == wanted


CHATTER = [
    "Sources",
    "Short answer",
    "Key takeaways",
    "Great question!",
    "That's a great question.",
    "Let me know if you need more.",
    "Here is what I found:",
    "I hope this helps!",
    "Hope that answers your question.",
    "I looked through the files.",
    "Have a nice day!",
    "Best regards",
]


@pytest.mark.parametrize("answer", CHATTER)
def test_chatter_is_no_claim(answer: str) -> None:
    assert split_answer(answer).claims == ()


OPINIONS = {
    "I believe": "I believe leave is paid.",
    "I think that": "I think that leave is paid.",
    "I hope": "I hope leave is paid.",
    "it seems": "It seems that leave is paid.",
    "it appears": "It appears leave is paid.",
    "in my opinion": "In my opinion, leave is paid.",
    "I can tell you": "I can tell you leave is paid.",
    "I am sure": "I'm quite sure that leave is paid.",
    "as far as I know": "As far as I know, leave is paid.",
}


@pytest.mark.parametrize("answer", OPINIONS.values(), ids=OPINIONS.keys())
def test_an_opinion_is_judged_by_what_it_holds(answer: str) -> None:
    split = split_answer(answer)
    assert [claim.statement for claim in split.claims] == ["leave is paid"]
    assert [each.kind for each in split.left_out] == [LeftOutKind.CONNECTIVE]


@pytest.mark.parametrize(
    "answer", ["I get 90 days of leave.", "I recommend gold because the fund is safe."]
)
def test_talk_that_states_something_is_a_claim(answer: str) -> None:
    assert split_answer(answer).claims


def test_a_part_of_a_sentence_shows_its_sentence_and_keeps_its_words() -> None:
    answer = "Acme is **old**. It is big and has 5 rooms [1]."
    _, second, third = split_answer(answer).claims
    assert (second.text, second.statement) == ("It is big", "Acme is big")
    assert (third.text, third.statement) == ("has 5 rooms", "Acme has 5 rooms")
    assert third.sentence == second.sentence
    assert third.sentence
    assert answer[third.sentence.start : third.sentence.end] == "It is big and has 5 rooms [1]."
    assert third.cites == ("[1]",)
    assert split_answer("Leave is paid.").claims[0].sentence is None


def test_a_clause_that_no_rule_reads_is_no_remark() -> None:
    (remark,) = split_answer("\u4e3a\u3002").remarks
    assert remark.exemption is Exemption.TOO_SHORT
    assert len(split_answer("\u4ed6\u6b7b\u4e86\u3002").claims) == 1


def test_what_nobody_wrote_as_a_sentence_is_only_cut_to_size() -> None:
    split = split_answer("Leave is paid and is long, and pay is good, " * 60)
    assert all(400 < len(claim.text) <= 500 for claim in split.claims[:-1])
    assert all(claim.sentence and not claim.read_as for claim in split.claims)


def test_a_report_shows_what_was_read() -> None:
    entries = ledger_of("Acme is old. It is big and has 5 rooms.", {}).entries
    assert [entry.shown_text for entry in entries] == [
        "Acme is old",
        "It is big [Acme is big]",
        "has 5 rooms [Acme has 5 rooms]",
    ]
    assert entries[2].statement == "Acme has 5 rooms"
    assert entries[2].sentence_span == entries[1].sentence_span is not None


VERBS = {
    "after a determiner": ("The app tracks expenses", "tracks"),
    "after a pronoun": ("It tracks expenses", "tracks"),
    "after a name of two words": ("Acme Cloud tracks expenses", "tracks"),
    "one capital may begin any sentence": ("Acme tracks expenses", None),
    "a singular noun without a determiner": ("App reports expenses", None),
    "a plural noun shows the verb by itself": ("Users report problems", "report"),
    "a plural noun and a singular verb": ("The apps reports expenses", None),
    "neither noun nor verb is singular": ("Apps tracks expenses", None),
    "a singular name and a plural verb": ("Acme Cloud track expenses", None),
}


@pytest.mark.parametrize(("sentence", "verb"), VERBS.values(), ids=VERBS.keys())
def test_a_word_that_may_be_a_noun_is_a_verb_after_its_subject(
    sentence: str, verb: str | None
) -> None:
    words = words_of(sentence)
    found = find_main_verb(words)
    assert (None if found is None else words[found].text) == verb


LANGUAGES = {
    "English": ("The fee is 5 EUR.", "en"),
    "a value": ("Price: 20 EUR", "und-Latn"),
    "a German sentence": ("Das B\u00fcro ist geschlossen.", "de"),
    "German ASCII": ("Der Plan ist neu.", "de"),
    "Chinese": ("\u5e74\u5047\u4e3a15\u5929\u3002", "zh"),
    "Japanese": ("\u571f\u66dc\u65e5\u306f\u4f11\u696d\u3057\u307e\u3059\u3002", "ja"),
    "Korean": ("\uc218\uc218\ub8cc\ub294 5,000\uc6d0\uc785\ub2c8\ub2e4.", "ko"),
    "Cyrillic": ("\u0411\u0438\u043b\u0435\u0442 \u0441\u0442\u043e\u0438\u0442 500.", "und-Cyrl"),
    "Hindi or Marathi": ("\u0936\u0941\u0932\u094d\u0915 500 \u0939\u0948\u0964", "und-Deva"),
    "an unlisted script": ("\u13a0\u13a1\u13a2\u13a3\u13a4\u13a5", "und-Zzzz"),
    "a foreign name in English": ("The \u6771\u4eac office is open.", "en"),
    "a symbol below the letters": ("\u00aa\u00ba\u00aa\u00ba\u00aa\u00ba", "und-Latn"),
}


@pytest.mark.parametrize(("answer", "wanted"), LANGUAGES.values(), ids=LANGUAGES.keys())
def test_language(answer: str, wanted: str) -> None:
    (claim,) = split_answer(answer).claims
    assert claim.language == wanted
    assert claim.is_in_english is (wanted in ("en", "und-Latn"))


# The first and the last letter of each script that the rule knows, from the charts of Unicode.
LETTERS = {
    "Latin": "\u00c0\u024f und-Latn",
    "Greek": "\u0370\u03ff el",
    "Cyrillic": "\u0400\u052f und-Cyrl",
    "Armenian": "\u0531\u0588 hy",
    "Hebrew": "\u05d0\u05f2 und-Hebr",
    "Arabic": "\u0620\u06ff und-Arab",
    "Devanagari": "\u0904\u097f und-Deva",
    "Bengali": "\u0980\u09fc und-Beng",
    "Tamil": "\u0b83\u0bd0 ta",
    "Thai": "\u0e01\u0e46 th",
    "Lao": "\u0e81\u0edf lo",
    "Tibetan": "\u0f00\u0f8c bo",
    "Burmese": "\u1000\u108e my",
    "Georgian": "\u10a0\u10ff ka",
    "Hangul letters": "\u1100\u11ff ko",
    "Ethiopic": "\u1200\u138f und-Ethi",
    "Khmer": "\u1780\u17dc km",
    "Latin with marks": "\u1e00\u1eff und-Latn",
    "Greek with marks": "\u1f00\u1ffc el",
    "kana": "\u3041\u30ff ja",
    "Chinese": "\u3400\u9fff zh",
    "Hangul syllables": "\uac00\ud7a3 ko",
    "Chinese for compatibility": "\uf900\ufad9 zh",
    "Chinese beyond the basic plane": "\U00020000\U0003134a zh",
}


@pytest.mark.parametrize("script", LETTERS.values(), ids=LETTERS.keys())
def test_the_script_of_a_letter(script: str) -> None:
    letters, tag = script.split()
    assert [language_of(letter) for letter in letters] == [tag, tag]


def test_few_words_in_a_german_answer_are_german() -> None:
    claims = split_answer("Das B\u00fcro ist nicht offen.\n\n- Preis: 20 Euro").claims
    assert [claim.language for claim in claims] == ["de", "de"]
