"""Stems, words, names, negation, modality, windows: what each step sees."""

import pytest

from affidavit.judge.lexical.acronyms import find_acronyms
from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.conditions import conditions_of
from affidavit.judge.lexical.features import FEATURE_NAMES, features
from affidavit.judge.lexical.lexicon import IDF, are_opposites, lexeme
from affidavit.judge.lexical.modality import modals_of
from affidavit.judge.lexical.names import names_of
from affidavit.judge.lexical.passages import Sentence, passage_of
from affidavit.judge.lexical.polarity import denied_places
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import lines_of
from affidavit.judge.lexical.tokens import tokens_of
from affidavit.judge.lexical.windows import Window, select_window


def sentence(text: str) -> Sentence:
    """Return a text of one sentence, made ready."""
    (only,) = passage_of(text).sentences
    return only


# Words of Porter's own sample vocabulary, and irregular forms of ours.
STEMS = {
    "consignment": "consign", "consolatory": "consolatori", "knightly": "knight",
    "kneeling": "kneel", "caresses": "caress", "ponies": "poni", "ties": "tie", "cries": "cri",
    "gaps": "gap", "gas": "gas", "agreed": "agre", "hopping": "hop", "hoping": "hope",
    "falling": "fall", "luxuriate": "luxuri", "generously": "generous", "relational": "relat",
    "conditional": "condit", "rational": "ration", "hopefulness": "hope", "formality": "formal",
    "adjustment": "adjust", "adoption": "adopt", "irritable": "irrit", "rate": "rate",
    "controlling": "control", "happily": "happili", "skies": "sky", "dying": "die",
    "bought": "buy", "children": "child", "a": "a",
    "été": "été", "yield": "yield", "succeeded": "succeed",
}  # fmt: skip


@pytest.mark.parametrize(("word", "wanted"), STEMS.items())
def test_stem(word: str, wanted: str) -> None:
    assert stem(word) == wanted


TOKENS = {
    "codes are one word": ("ISO27001 COVID-19 v2 A4", ["ISO27001", "COVID-19", "v2", "A4"]),
    "hyphens part words": ("two-week", ["two", "-", "week"]),
    "non- is part of its word": ("non-refundable", ["non-refundable"]),
    "contractions": ("don't Acme's O'Brien", ["don't", "Acme's", "O'Brien"]),
    "dates and clocks": ("2024-03-12 14:30", ["2024-03-12", "14:30"]),
    "unspaced scripts": ("年假", ["年", "假"]),
    "emoji are no words": ("go 🎉 now", ["go", "now"]),
}


@pytest.mark.parametrize(("text", "wanted"), TOKENS.values(), ids=TOKENS.keys())
def test_tokens(text: str, wanted: list[str]) -> None:
    found = tokens_of(text)
    assert [token.text for token in found] == wanted
    assert all(text[token.start : token.end] == token.text for token in found)


def test_both_spellings_are_one_family() -> None:
    assert lexeme("organise").families & lexeme("organization").families


def test_words_weigh_what_they_tell() -> None:
    assert lexeme("the").weight == 0
    assert lexeme("don't").weight == 0
    assert 0 < lexeme("employee").weight < lexeme("turbine").weight
    assert lexeme("Café").norm == "cafe"
    assert lexeme("US").norm != "us"


def test_the_tables_are_as_large_as_promised() -> None:
    assert sum(1 for _ in lines_of("antonyms.txt")) >= 250
    assert sum(1 for _ in lines_of("synonyms.txt")) >= 250
    assert len(IDF) >= 20_000


OPPOSITES = {
    ("increase", "decline"): True,
    ("eligible", "ineligible"): True,
    ("paid", "unpaid"): True,
    ("form", "inform"): False,
    ("pay", "salary"): False,
}


@pytest.mark.parametrize(("pair", "wanted"), OPPOSITES.items())
def test_opposites(pair: tuple[str, str], wanted: bool) -> None:
    one, other = (stem(word) for word in pair)
    assert are_opposites(one, other) is wanted
    assert are_opposites(other, one) is wanted


def denied(text: str) -> list[str]:
    """Return the content words that are denied."""
    found = sentence(text)
    return [
        found.tokens[at].text for at in sorted(denied_places(found)) if found.words[at].weight > 0
    ]


DENIALS = {
    "not": ("Cards are not refundable.", ["refundable"]),
    "the clause before is spared": ("Cards are sold, but not refunded.", ["refunded"]),
    "the clause behind is spared": ("It was not sold because prices fell.", ["sold"]),
    "lists go on": ("It does not cover theft, loss or fire.", ["cover", "theft", "loss", "fire"]),
    "no, inside a clause": ("Delivery comes at no cost to buyers.", ["cost"]),
    "no, at the head": ("No employee may enter.", ["employee", "enter"]),
    "failed to": ("They failed to deliver.", ["deliver"]),
    "a ban looks back": ("Smoking is prohibited.", ["Smoking"]),
    "not permitted looks back": ("Smoking is not permitted.", ["Smoking", "permitted"]),
    "two negations": ("It is not without merit.", []),
    "not only": ("It covers not only meals.", []),
    "no later than": ("Pay no later than Friday.", []),
    "number sign": ("See No. 5 below.", []),
    "if not": ("Most, if not all, agreed.", []),
}


@pytest.mark.parametrize(("text", "wanted"), DENIALS.values(), ids=DENIALS.keys())
def test_denied_words(text: str, wanted: list[str]) -> None:
    assert denied(text) == wanted


NAMES = {
    "inside a sentence": ("The deal with Acme failed.", ["Acme"]),
    "of several words": ("It was Anna Keller again.", ["Anna", "Keller"]),
    "a name that opens": ("Miller left early.", ["Miller"]),
    "a word that opens": ("Employees left early.", []),
    "codes": ("model XR500 and USB", ["XR500", "USB"]),
    "a heading in capitals": ("Annual Leave And Sick Leave Rules", []),
}


@pytest.mark.parametrize(("text", "wanted"), NAMES.values(), ids=NAMES.keys())
def test_names(text: str, wanted: list[str]) -> None:
    found = sentence(text)
    assert [found.tokens[at].text for at in sorted(names_of(found))] == wanted


def test_modals() -> None:
    found = sentence("Staff must sign, may leave in May, and should have to pay.")
    assert [modal.mode for modal in modals_of(found)] == ["must", "may", "should", "must"]


CONDITIONS = {
    "if": ("Pay if asked.", ["if asked"]),
    "discretion": ("Leave at the discretion of the head.", ["at the discretion of the head"]),
    "even if": ("Pay even if asked.", []),
}


@pytest.mark.parametrize(("text", "wanted"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_conditions(text: str, wanted: list[str]) -> None:
    found = sentence(text)
    said = [found.quote(c.cue.start, c.body.stop) for c in conditions_of(found)]
    assert said == wanted


ACRONYMS = {
    "behind": ("The service level agreement (SLA) holds.", ["sla"]),
    "before": ("The API (application programming interface) holds.", ["api"]),
    "with small words": ("The Department of Health (DoH) said so.", ["doh"]),
    "not explained": ("The rule (XYZ) holds.", []),
}


@pytest.mark.parametrize(("text", "wanted"), ACRONYMS.values(), ids=ACRONYMS.keys())
def test_acronyms(text: str, wanted: list[str]) -> None:
    assert list(find_acronyms(text).words) == wanted


LEAD_INS = {
    "According to the policy, leave is paid": "leave is paid",
    "However, based on the provided documents, leave is paid": "leave is paid",
    "The document states that leave is paid": "leave is paid",
    "According to Acme, leave is paid": "According to Acme, leave is paid",
}


@pytest.mark.parametrize(("claim", "wanted"), LEAD_INS.items())
def test_lead_ins_are_set_aside(claim: str, wanted: str) -> None:
    (part,) = claim_of(claim).parts
    assert part.sentence.text == wanted


def test_lines_of_key_and_value_are_sentences() -> None:
    found = passage_of("Price: $50\nNotice: 3 months\nand more\n").sentences
    assert [one.text for one in found] == ["Price: $50", "Notice: 3 months\nand more"]


def test_sentences_without_a_space_between() -> None:
    found = passage_of("It is old.The cost is high.").sentences
    assert [one.text for one in found] == ["It is old.", "The cost is high."]


POLICY = (
    "The canteen opens at noon. Annual leave is granted to all staff. Parking is free. "
    "Unused leave may be carried over. The lift is out of order. Leave is approved by managers."
)


def test_the_window_covers_the_claim_and_nothing_else() -> None:
    window = select_window("Unused annual leave is carried over if managers approve", POLICY)
    assert isinstance(window, Window)
    assert "canteen" not in window.text
    assert "carried over" in window.text
    assert "managers" in window.text
    assert 0.9 < window.recall <= 1
    assert [POLICY[span.start : span.end] for span in window.spans] == [
        passage_of(POLICY).sentences[number].text for number in window.sentences
    ]
    assert list(window.sentences) == sorted(window.sentences)


def test_the_window_is_small() -> None:
    text = " ".join(f"The annual leave of group {n} is granted by manager {n}." for n in range(99))
    window = select_window("Annual leave of group 7 is granted by manager 93", text)
    assert len(window.sentences) <= 6
    assert len(window.text.split()) <= 90


def test_the_window_of_nothing() -> None:
    assert select_window("Annual leave is paid", "") == Window((), (), "", 0.0)


def test_features_are_named_and_bounded() -> None:
    found = features("Employees receive 20 days", "Employees receive 15 days. Visitors sign in.")
    pairs = found.as_pairs()
    assert [name for name, _ in pairs] == list(FEATURE_NAMES) == sorted(FEATURE_NAMES)
    assert all(0 <= value <= 1 for _, value in pairs)
    assert found.facts_conflict > 0.5
    assert not any("count" in name or "length" in name for name in FEATURE_NAMES)


def test_a_heading_helps() -> None:
    text = "Employees receive 15 days. Visitors sign in."
    claim = "Employees receive 15 days of annual leave"
    assert features(claim, text, "Annual leave").rarest_unmet == 0
    assert features(claim, text).rarest_unmet > 0
