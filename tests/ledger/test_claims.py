"""Splitting an answer: the cases behind rules S, C and A of docs/ledger.md."""

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.ledger.claims import ClaimOverride, parse_override, split_answer
from affidavit.ledger.importance import ImportanceThresholds
from affidavit.ledger.model import ClaimType, Exemption, FindingKind, Importance, LeftOutKind

SPLIT = {
    "nothing": ("", []),
    "white space": (" \n\t\n", []),
    "marks without a word": ("---\n\n***\n\n\u2026", []),
    "a wrapped number is no list": (
        "They may take\n15. days of it.",
        ["They may take 15. days of it"],
    ),
    "a list may follow its paragraph": (
        "Leave is paid\n1. Notice is short\n2. Pay is good",
        ["Leave is paid", "Notice is short", "Pay is good"],
    ),
    "an underlined title is a heading": ("Leave\n=====\nLeave is paid.", ["Leave is paid"]),
    "a sentence above a ruler is no heading": (
        "Leave is paid.\n---\nNotice is short.",
        ["Leave is paid", "Notice is short"],
    ),
    "a long line above a ruler is no heading": (
        "Leave is paid " * 8 + "\n---\n",
        [("Leave is paid " * 8).strip()],
    ),
    "a paragraph of two lines above a ruler is no heading": (
        "Leave\nis paid\n---",
        ["Leave is paid"],
    ),
    "indented text is code": ("Leave is paid.\n\n    x = 1\n    y = 2\n", ["Leave is paid"]),
    "indented code may begin": ("    x = 1\nLeave is paid.", ["Leave is paid"]),
    "an indented list is no code": ("\n    - Leave is paid.", ["Leave is paid"]),
    "indented text below an item belongs to it": (
        "- Leave is paid.\n\n    It is long.",
        ["Leave is paid", "It is long"],
    ),
    "a fence that is never closed": ("Leave is paid.\n```\nx = 1", ["Leave is paid"]),
    "a comment": ("<!-- no\nclaim -->\nLeave is paid.", ["Leave is paid"]),
    "a comment that is never closed": ("Leave is paid.\n\n<!-- no claim", ["Leave is paid"]),
    "a task box": ("- [x] Leave is paid", ["Leave is paid"]),
    "items in items": ("- - Leave is paid", ["Leave is paid"]),
    "lettered items": (
        "a) Leave is paid\nb) Notice is short",
        ["Leave is paid", "Notice is short"],
    ),
    "a row without a header": ("| Annual | 15 |", ["Annual; 15"]),
    "a table without outer bars": (
        "Leave | Days\n--- | ---\nAnnual | 15",
        ["Leave: Annual; Days: 15"],
    ),
    "a cell that holds a bar": (
        "| Leave | Days |\n|---|---|\n| Annual \\| paid | 15 \\|",
        ["Leave: Annual | paid; Days: 15 |"],
    ),
    "an empty cell is left out": ("| Leave | Days |\n|---|---|\n| Annual | |", ["Leave: Annual"]),
    "an empty header names nothing": (
        "| | Days |\n|---|---|\n| Annual | 15 |",
        ["Annual; Days: 15"],
    ),
    "more cells than headers": ("| Leave |\n|---|\n| Annual | 15 |", ["Leave: Annual; 15"]),
    "a row of dashes alone is nothing": ("| Leave |\n|---|\n| - | - |", []),
    "a bar in prose is no table": ("Leave | notice is paid.", ["Leave | notice is paid"]),
    "a bar above a ruler is no table": (
        "Leave | notice is paid.\n---\n",
        ["Leave | notice is paid"],
    ),
    "a bar in the last line": (
        "Leave is paid.\nThis | that is short.",
        ["Leave is paid", "This | that is short"],
    ),
    "a quotation ends where its marks end": (
        "> Leave is paid\nNotice is short",
        ["Leave is paid", "Notice is short"],
    ),
    "a quoted list": (
        "> - Leave is paid\n> - Notice is short",
        ["Leave is paid", "Notice is short"],
    ),
    "bold inside a sentence is no heading": ("**Leave** is paid.", ["Leave is paid"]),
    "a bold sentence is no heading": (
        "**Leave is paid.**\n\nMore is said.",
        ["Leave is paid", "More is said"],
    ),
    "a bold line at the end is no heading": (
        "More is said.\n\n**Leave is paid**",
        ["More is said", "Leave is paid"],
    ),
    "a bold line within a paragraph is no heading": ("**Leave**\nis paid.", ["Leave is paid"]),
    "a bold heading above a list": ("**Leave**\n- Leave is paid", ["Leave is paid"]),
    "underscores are bold too": ("__Leave__\n\nLeave is paid.", ["Leave is paid"]),
    "a nested list leans on its parent": (
        "- Annual leave\n  - 15 days\n  - fully paid\n- Sick leave is paid",
        ["Annual leave: 15 days", "Annual leave: fully paid", "Sick leave is paid"],
    ),
    "a label needs no introduction": (
        "It is so:\n- Annual leave: 15 days",
        ["It is so", "Annual leave: 15 days"],
    ),
    "a pointing introduction loses its pointer": (
        "Staff get the following:\n- free lunch",
        ["Staff get: free lunch"],
    ),
    "an item of its own keeps its own": (
        "Rules of the house:\n- Managers approve it.",
        ["Managers approve it"],
    ),
    "a command needs no introduction": ("The rules:\n- Submit the form", ["Submit the form"]),
    "a command behind must": ("You must:\n- submit the form", ["You must: submit the form"]),
    "an empty label introduces nothing": ("Key points:\n- 15 days of leave", ["15 days of leave"]),
    "only pointing words introduce nothing": (
        "The following:\n- 15 days of leave",
        ["15 days of leave"],
    ),
    "talk introduces nothing": ("Here is what I found:\n- 15 days of leave", ["15 days of leave"]),
    "an introduction too long to carry": (
        "Staff " + "really " * 70 + "get:\n- " + "free " * 10 + "lunch",
        ["Staff " + "really " * 70 + "get", "free " * 10 + "lunch"],
    ),
    "a heading ends what an introduction reaches": (
        "Staff get:\n\n# Food\n- free lunch",
        ["Staff get", "free lunch"],
    ),
    "a table ends what an introduction reaches": (
        "Staff get:\n\n| Food |\n|---|\n| Lunch |\n- free lunch",
        ["Staff get", "Food: Lunch", "free lunch"],
    ),
    "a new paragraph ends what an introduction reaches": (
        "Staff get:\n\nLeave is paid.\n- free lunch",
        ["Staff get", "Leave is paid", "free lunch"],
    ),
    "windows line ends": (
        "Leave is paid.\r\n\r\n- Notice is short\r\n",
        ["Leave is paid", "Notice is short"],
    ),
    "tabs indent": ("- Leave\n\t- 15 days", ["Leave: 15 days"]),
    "a range is not cut": ("Leave is between 5 and 10 days.", ["Leave is between 5 and 10 days"]),
    "names are not cut": (
        "Smith, Jones, and Brown are partners.",
        ["Smith, Jones, and Brown are partners"],
    ),
    "between reaches over the joint": (
        "Leave is between 5 days, and notice is 10.",
        ["Leave is between 5 days, and notice is 10"],
    ),
    "a quotation is not cut": (
        'He said "leave is paid, and notice is short" to us.',
        ['He said "leave is paid, and notice is short" to us'],
    ),
    "brackets are not cut": (
        "Leave (it is paid, and notice is short) is good.",
        ["Leave (it is paid, and notice is short) is good"],
    ),
    "a shared subject": ("Leave is paid, and is long.", ["Leave is paid", "is long"]),
    "no subject, no cut": ("Leave is paid, and very long.", ["Leave is paid, and very long"]),
    "nothing behind the joint": ("Leave is paid, and \u2026", ["Leave is paid, and"]),
    "a relative clause on the left": (
        "Staff who have left, and managers are paid.",
        ["Staff who have left, and managers are paid"],
    ),
    "past tense with an object": (
        "Acme opened a plant in Ohio, but the city denied a permit.",
        ["Acme opened a plant in Ohio", "the city denied a permit"],
    ),
    "three parts": (
        "Leave is paid; notice is short, and pay is good.",
        ["Leave is paid", "notice is short", "pay is good"],
    ),
    "verbs that may share an object": (
        "They may leave, and encourage others to do it.",
        ["They may leave, and encourage others to do it"],
    ),
    "the last comma of a list": (
        "It is used for tar, pitch, and turpentine is one of them.",
        ["It is used for tar, pitch, and turpentine is one of them"],
    ),
    "a relative clause reaches over the joint": (
        "It is a place, where leave is paid, and notice is short.",
        ["It is a place, where leave is paid, and notice is short"],
    ),
    "what is reported reaches over the joint": (
        "The minister says that leave is paid, and notice is short.",
        ["The minister says that leave is paid, and notice is short"],
    ),
    "a comma before the verb": (
        "Leave is paid, and notice, if any, is short.",
        ["Leave is paid, and notice, if any, is short"],
    ),
    "an adverb before the second verb": (
        "Leave is paid, and usually has been so.",
        ["Leave is paid", "usually has been so"],
    ),
    "a comma before nothing": (
        "Leave is paid, \u2026, and notice is short.",
        ["Leave is paid", "notice is short"],
    ),
    "each part of a sentence that begins with silence": (
        "The documents do not mention notice, but leave is paid.",
        ["leave is paid"],
    ),
    "a part that needs no evidence": (
        "Leave is paid, but the documents do not say when.",
        ["Leave is paid"],
    ),
    "several lead-ins": ("However, based on the documents, leave is paid.", ["leave is paid"]),
    "a lead-in alone stays": ("However, yes.", ["However, yes"]),
    "an attribution to all sources is a lead-in": (
        "The documents state that leave is paid.",
        ["leave is paid"],
    ),
    "an attribution to a named source stays": (
        "According to the HR policy, leave is paid.",
        ["According to the HR policy, leave is paid"],
    ),
    "a company's stop": ("Pay is due to Acme Inc.", ["Pay is due to Acme Inc."]),
    "an image is left out": ("![Leave](leave.png) Leave is paid.", ["Leave is paid"]),
    "tags are left out": ("Leave is <b>paid</b>.", ["Leave is paid"]),
    "an address keeps its text": (
        "See <https://example.org> for pay.",
        ["See https://example.org for pay"],
    ),
    "a less-than sign is no tag": ("If a < b then c > d holds.", ["If a < b then c > d holds"]),
    "escapes": ("Leave is \\*paid\\*.", ["Leave is *paid*"]),
    "products are no emphasis": ("It is 5*3 and 2*4.", ["It is 5*3 and 2*4"]),
    "file names are no emphasis": ("HR_Policy_2024 is _new_.", ["HR_Policy_2024 is new"]),
    "emphasis in emphasis": ("***Leave** is* ~~not~~ paid.", ["Leave is not paid"]),
    "a star without a partner": ("Leave* is paid.", ["Leave* is paid"]),
    "an answer of labelled lines alone is no reference list": (
        "\n[1] Leave is paid.\n[2] Notice is short.",
        ["Leave is paid", "Notice is short"],
    ),
    "code marks": ("Leave is ``paid``.", ["Leave is paid"]),
    "code is letter for letter": ("Use `*x*` for pay.", ["Use *x* for pay"]),
}


@pytest.mark.parametrize(("answer", "wanted"), SPLIT.values(), ids=SPLIT.keys())
def test_split(answer: str, wanted: list[str]) -> None:
    assert [claim.text for claim in split_answer(answer).claims] == wanted


def test_the_seeds_example_types_and_importance() -> None:
    from tests.ledger.examples import seed_split

    split = seed_split()
    assert [claim.type.value for claim in split.claims] == ["policy", "policy", "policy", "numeric"]
    ranks = [claim.importance for claim in split.claims]
    assert ranks[:2] == [Importance.CRITICAL, Importance.MATERIAL]
    assert Importance.MINOR not in ranks


def test_ids_count_claims_and_remarks_apart() -> None:
    split = split_answer("Hello! Leave is paid. Is it long? Notice is short.")
    assert [claim.id for claim in split.claims] == ["clm_001", "clm_002"]
    assert [(claim.id, claim.exemption) for claim in split.remarks] == [
        ("clm_r001", Exemption.GREETING),
        ("clm_r002", Exemption.QUESTION),
    ]
    assert not any(claim.requires_citation for claim in split.remarks)


def test_a_sentence_over_the_limit_is_cut_and_said() -> None:
    long = "Leave is " + "very " * 60 + "long, " + "so " * 80 + "good"
    split = split_answer(f"{long}.")
    texts = [claim.text for claim in split.claims]
    assert all(5 <= len(text) <= 500 for text in texts)
    assert " ".join(texts).replace(",", "") == long.replace(",", "")
    assert [finding.kind for finding in split.findings] == [FindingKind.LONG_SENTENCE]
    assert split.findings[0].claim_id == "clm_001"


def test_an_endless_word_is_cut_hard() -> None:
    split = split_answer("x" * 1200)
    assert [len(claim.text) for claim in split.claims] == [500, 500, 200]


def test_a_piece_of_nothing_but_stops_is_no_claim() -> None:
    split = split_answer("Leave is paid" + "," * 600)
    assert [claim.text for claim in split.claims] == ["Leave is paid"]


def test_a_long_row_is_cut_and_said() -> None:
    split = split_answer(f"| {'leave ' * 100}|{'pay ' * 10}|")
    assert all(len(claim.text) <= 500 for claim in split.claims)
    assert len(split.claims) == 2
    assert split.findings[0].kind is FindingKind.LONG_SENTENCE


LEFT_OUT = {
    "a heading": ("# Leave\nLeave is paid.", [(LeftOutKind.HEADING, "# Leave")]),
    "code": ("```\nx = 1\n```", [(LeftOutKind.CODE, "```\nx = 1\n```")]),
    "a table's header": (
        "| Leave |x|\n|---|---|\n| Annual |y|",
        [(LeftOutKind.TABLE_HEADER, "| Leave |x|\n|---|---|")],
    ),
    "a lead-in": ("However, leave is paid.", [(LeftOutKind.CONNECTIVE, "However, ")]),
    "a joint": (
        "Leave is paid, and notice is short.",
        [(LeftOutKind.CONNECTIVE, ", and ")],
    ),
    "a citation": ("Leave is paid [1].", [(LeftOutKind.CITATION, "[1]")]),
    "a reference and its label": (
        "Leave is paid.\n\n[1] HR.pdf",
        [(LeftOutKind.MARKUP, "[1]"), (LeftOutKind.REFERENCE, "HR.pdf")],
    ),
    "an item's number": ("1. Leave is paid", [(LeftOutKind.MARKUP, "1.")]),
    "a comment": ("<!-- x -->", [(LeftOutKind.MARKUP, "<!-- x -->")]),
    "a semicolon is no word": ("Leave is paid; notice is short.", []),
}


@pytest.mark.parametrize(("answer", "wanted"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_what_is_left_out_is_said(answer: str, wanted: list[tuple[LeftOutKind, str]]) -> None:
    left_out = split_answer(answer).left_out
    assert [(each.kind, answer[each.span.start : each.span.end]) for each in left_out] == wanted


def test_a_place_leads_back_to_the_original() -> None:
    answer = "> **Leave** is\n> `paid` [1], and notice\n> is short."
    first, second = split_answer(answer).claims
    assert answer[first.span.start : first.span.end] == "Leave** is\n> `paid"
    assert answer[second.span.start : second.span.end] == "notice\n> is short"


CITES = {
    "a hash in either case": ("Leave is paid [cite:B8b859AC].", [("b8b859ac",)]),
    "several hashes in one anchor": (
        "Leave is paid [cite:b8b859ac, cite:00f66349].",
        [("b8b859ac", "00f66349")],
    ),
    "behind the stop": ("Leave is paid. [1] Notice is short.", [("[1]",), ()]),
    "stuck to the word": ("Leave is paid[1]. Notice is short.", [("[1]",), ()]),
    "in the middle": ("Leave [1] is paid [2].", [("[1]", "[2]")]),
    "twice is once": ("Leave [1] is paid [1].", [("[1]",)]),
    "a list of numbers": ("Leave is paid [1, 3].", [("[1]", "[3]")]),
    "a range": ("Leave is paid [1-3].", [("[1]", "[2]", "[3]")]),
    "a range the wrong way round": ("Leave is paid [3-1].", [("[3-1]",)]),
    "a label with a letter": ("Leave is paid [S1].", [("[S1]",)]),
    "a passage in square brackets": ("Leave is paid [p1#2, p2#1].", [("p1#2", "p2#1")]),
    "a numbered link": ("Leave is paid [1](docs/HR.pdf) [[2]](b.pdf).", [("docs/HR.pdf", "b.pdf")]),
    "the target of a link": ("Leave is [paid](docs/HR.pdf).", [("docs/HR.pdf",)]),
    "a link to the same page is none": ("Leave is [paid](#leave).", [()]),
    "a row of anchors is as near as its first": (
        "Leave is paid [cite:b8b859ac][cite:00f66349] [cite:11111111], [cite:22222222].",
        [("b8b859ac", "00f66349", "11111111", "22222222")],
    ),
    "a table's cell": ("| Leave | Days |\n|---|---|\n| Annual | 15 [1] |", [("[1]",)]),
    "notes": ("Leave is paid [^a].\n\n[^a]: HR.pdf", [("HR.pdf",)]),
    "a note without its entry": ("Leave is paid [^a].", [("[a]",)]),
    "a list below a heading": (
        "Leave is paid [2].\n\n## References\n1. HR.pdf\n2. *Guide.docx*",
        [("Guide.docx",)],
    ),
    "a list with labels of its own": (
        "Leave is paid [7].\n\n**Sources:**\n- [7] HR.pdf\n\n- Guide.docx",
        [("HR.pdf",)],
    ),
    "a number and a label": ("Leave is paid [7].\n\nSources:\n1. [7] HR.pdf", [("HR.pdf",)]),
    "entries without marks": (
        "Leave is paid [2].\n\nSources:\nHR.pdf\nGuide.docx",
        [("Guide.docx",)],
    ),
    "entries on one line": (
        "Leave is paid [2].\n\nSources: HR.pdf, p. 12; Guide.docx",
        [("Guide.docx",)],
    ),
    "a page stays with its entry": (
        "Leave is paid [1].\n\nSources: HR.pdf, p. 12",
        [("HR.pdf, p. 12",)],
    ),
    "labels on one line": (
        "Leave is paid [9].\n\nSources: [9] HR.pdf, [2] Guide.docx",
        [("HR.pdf",)],
    ),
    "an entry may name a hash": ("Leave is paid [1].\n\n[1] [cite:B8B859AC]", [("b8b859ac",)]),
    "the first entry of a label wins": (
        "Leave is paid [1].\n\n[1] HR.pdf\n[1] Guide.docx",
        [("HR.pdf",)],
    ),
    "anchors in code are code": ("Leave is paid `a[1]`.", [()]),
}


@pytest.mark.parametrize(("answer", "wanted"), CITES.values(), ids=CITES.keys())
def test_cites(answer: str, wanted: list[tuple[str, ...]]) -> None:
    assert [claim.cites for claim in split_answer(answer).claims] == wanted


def test_anchors_leave_the_text_of_a_claim() -> None:
    claims = split_answer(
        "Leave [1] is paid [cite:b8b859ac] now [2](x.pdf)but not [^3], ok."
    ).claims
    assert [claim.text for claim in claims] == ["Leave is paid now but not, ok"]


def test_what_follows_the_reference_list_is_read() -> None:
    split = split_answer("Leave is paid [1].\n\nSources:\n1. HR.pdf\n\nNotice is short.")
    assert [claim.text for claim in split.claims] == ["Leave is paid", "Notice is short"]


def test_a_list_of_sources_in_prose_is_prose() -> None:
    texts = ["Sources: the policy was read to the end by all the people who work here today"]
    texts.append("Sources: they dried up.")
    for text in texts:
        assert len(split_answer(text).claims) == 1


def test_numbers_mean_the_sources_in_order_where_no_list_says_else() -> None:
    answer = "Leave is paid [1]. Notice is short [2].\n\n[1] HR.pdf"
    split = split_answer(answer, numbered_sources=("A.pdf", "B.pdf"))
    assert [claim.cites for claim in split.claims] == [("HR.pdf",), ("B.pdf",)]


def test_a_malformed_hash_is_a_finding() -> None:
    answer = "Leave is paid [cite:xyz]."
    (finding,) = split_answer(answer).findings
    assert finding.kind is FindingKind.MALFORMED_CITATION
    assert finding.claim_id == "clm_001"
    assert "'xyz'" in finding.message
    assert finding.span
    assert answer[finding.span.start : finding.span.end] == "[cite:xyz]"


@pytest.mark.parametrize(
    "answer", ["# Leave [1]\n", "[1] \u2026\n\nLeave is paid.\n\n" + " " * 30 + "\n[2]"]
)
def test_an_anchor_near_no_claim_is_a_finding(answer: str) -> None:
    kinds = {finding.kind for finding in split_answer(answer).findings}
    assert kinds == {FindingKind.STRAY_CITATION}


def test_an_anchor_twenty_characters_behind_still_belongs() -> None:
    near = "Leave is paid." + " " * 18 + "\n[1]"
    far = "Leave is paid." + " " * 19 + "\n[1]"
    assert split_answer(near + "\n\nMore is said.").claims[0].cites == ("[1]",)
    assert split_answer(far + "\n\nMore is said.").claims[0].cites == ()


def test_the_user_overrides_type_and_importance() -> None:
    answer = "Leave is paid. Notice is short."
    overrides = dict(
        [parse_override("clm_002=numeric,critical"), parse_override(" clm_001=minor ")]
    )
    split = split_answer(answer, overrides=overrides)
    first, second = split.claims
    assert (first.type, first.importance) == (ClaimType.FACT, Importance.MINOR)
    assert (second.type, second.importance) == (ClaimType.NUMERIC, Importance.CRITICAL)


def test_an_override_of_no_claim_is_an_error() -> None:
    with pytest.raises(AffidavitError, match=r"AF238: field clm_009: .* \(it has 1 claims\)"):
        split_answer("Leave is paid.", overrides={"clm_009": ClaimOverride()})


@pytest.mark.parametrize(
    "text",
    ["", "clm_1=minor", "clm_001", "clm_001=big", "clm_001=minor,critical", "clm_001=fact,policy"],
)
def test_an_override_that_says_nothing_is_an_error(text: str) -> None:
    with pytest.raises(AffidavitError, match="AF237"):
        parse_override(text)


def test_thresholds_can_make_every_claim_material() -> None:
    answer = "Leave is paid. Paris is large."
    assert [
        c.importance
        for c in split_answer(answer, "Who?", thresholds=ImportanceThresholds(200, 0)).claims
    ] == [
        Importance.MATERIAL,
        Importance.MATERIAL,
    ]
