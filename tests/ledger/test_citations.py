"""Where citations lead: rules A6 to A9 of docs/ledger.md."""

import pytest
from msgspec.structs import replace
from tests.ledger.examples import (
    CARRYOVER,
    CHUNKS,
    GUIDE,
    HR,
    REQUEST,
    chunk,
    ledger_of,
    ledger_with,
    reading,
)

from affidavit.ledger.citations import (
    Reference,
    citation_index,
    parse_reference,
    resolve_reference,
)
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import FindingKind, Reading, SupportLevel
from affidavit.ledger.record import CitationStatus

FULL, PARTIAL = SupportLevel.FULL, SupportLevel.PARTIAL
YES, NO, TWO = CitationStatus.RESOLVED, CitationStatus.UNRESOLVED, CitationStatus.AMBIGUOUS
P1 = replace(HR, id="p1", filename="folder/Notes 2024.md", title="Notes")
SHELF = citation_index(
    (HR, GUIDE, P1), (*CHUNKS, *CHUNKS, chunk(P1, 0, "One."), chunk(P1, 1, "Two."))
)

SPEC = {
    "a hash": ("00f66349", YES, ("doc_hr001",)),
    "a hash of nothing": ("ffffffff", NO, ()),
    "a file name": ("HR_Policy.pdf", YES, ("doc_hr001",)),
    "a file name in a sentence": ("see HR_Policy.pdf, page 12", YES, ("doc_hr001",)),
    "a file name without its ending": ("hr policy", YES, ("doc_hr001",)),
    "a path": ("docs/HR_Policy.pdf", YES, ("doc_hr001",)),
    "a longer name wins over a shorter": ("Leave_Guidelines.pdf", YES, ("doc_lg001",)),
    "a title": ("our Leave rules", YES, ("doc_lg001",)),
    "a name within a word is none": ("HR_Policy2", NO, ()),
    "a name in a folder": ("Notes 2024", YES, ("p1",)),
    "an id": ("doc_lg001", YES, ("doc_lg001",)),
    "a short id only if it is all": ("p1", YES, ("p1",)),
    "a short id inside is none": ("p1 and p2", NO, ()),
    "a passage by document and number": ("p1#2", YES, ("p1",)),
    "a passage beyond the last": ("p1#3", NO, ()),
    "a passage of nothing": ("p9#1", NO, ()),
    "a label that no list explains": ("[7]", NO, ()),
}


@pytest.mark.parametrize(("reference", "status", "documents"), SPEC.values(), ids=SPEC.keys())
def test_resolve(reference: str, status: CitationStatus, documents: tuple[str, ...]) -> None:
    citation = resolve_reference(reference, SHELF)
    assert (citation.status, citation.document_ids) == (status, documents)


def test_a_passage_by_number_is_that_chunk() -> None:
    second = chunk(P1, 1, "Two.")
    assert resolve_reference("p1#2", SHELF).chunk_hashes == (second.hash,)


def test_the_very_id_of_a_chunk_wins_over_its_number() -> None:
    named = replace(chunk(HR, 7, "Seven."), id="p1#2")
    shelf = citation_index((HR, P1), (chunk(P1, 1, "Two."), named))
    assert resolve_reference("p1#2", shelf).document_ids == ("doc_hr001",)


def test_two_documents_of_one_name_are_ambiguous() -> None:
    other = replace(HR, id="doc_hr002")
    shelf = citation_index((HR, other), ())
    citation = resolve_reference("HR_Policy.pdf", shelf)
    assert (citation.status, citation.document_ids) == (TWO, ("doc_hr001", "doc_hr002"))
    assert resolve_reference("HR_Policy.pdf#1", shelf).status is TWO


def test_one_hash_with_two_texts_is_ambiguous() -> None:
    one, other = chunk(HR, 0, "One."), replace(chunk(GUIDE, 0, "Two."), hash="b" * 12)
    shelf = citation_index((HR, GUIDE), (replace(one, hash="b" * 8), other))
    citation = resolve_reference("b" * 8, shelf)
    assert citation.status is TWO
    assert citation.chunk_hashes == ("b" * 8, "b" * 12)


def test_one_text_in_two_documents_is_not_ambiguous() -> None:
    shelf = citation_index(
        (HR, GUIDE), (chunk(HR, 0, CARRYOVER), chunk(GUIDE, 0, CARRYOVER.upper()))
    )
    citation = resolve_reference(chunk(HR, 0, CARRYOVER).hash, shelf)
    assert (citation.status, citation.document_ids) == (YES, ("doc_hr001", "doc_lg001"))


def kinds(answer: str, *readings: Reading) -> list[FindingKind]:
    made = ledger_of(answer, {"clm_001": readings})
    return [finding.kind for finding in made.findings]


def test_a_cited_passage_that_does_not_support_while_another_does() -> None:
    supported = reading("doc_hr001_0", FULL, 0.9)
    silent = reading("doc_lg001_0")
    assert kinds("Leave is paid [1].\n\n[1] Leave_Guidelines.pdf", supported, silent) == [
        FindingKind.UNSUPPORTIVE_CITATION
    ]
    assert kinds("Leave is paid [1].\n\n[1] HR_Policy.pdf", supported, silent) == []
    assert kinds("Leave is paid [1].\n\n[1] Leave_Guidelines.pdf", silent) == []


def test_a_page_narrows_a_citation() -> None:
    supported = reading("doc_hr001_0", FULL, 0.9)
    assert kinds("Leave is paid [1].\n\n[1] HR_Policy.pdf, p. 12", supported) == []
    assert kinds("Leave is paid [1].\n\n[1] HR_Policy.pdf, p. 15", supported) == [
        FindingKind.UNSUPPORTIVE_CITATION
    ]


def test_a_cited_hash_covers_its_chunk_alone() -> None:
    supported = reading("doc_hr001_0", PARTIAL, 0.9)
    assert kinds(f"Leave is paid [cite:{CHUNKS[0].hash}].", supported) == []
    assert kinds(f"Leave is paid [cite:{CHUNKS[1].hash}].", supported) == [
        FindingKind.UNSUPPORTIVE_CITATION
    ]


def test_an_ambiguous_citation_is_a_finding() -> None:
    answer = "Leave is paid [1].\n\n[1] HR_Policy.pdf"
    documents = (HR, replace(HR, id="doc_hr002"))
    request = replace(REQUEST, answer=answer)
    made = ledger_with(split_answer(answer), {}, request, chunks=(), documents=documents)
    (finding,) = made.findings
    assert finding.kind is FindingKind.AMBIGUOUS_CITATION
    assert finding.claim_id == "clm_001"


PARSED = {
    "a hash": ("00f66349", Reference(text="00f66349", chunk_hash="00f66349")),
    "a label": ("[4:0]", Reference(text="[4:0]", index="4:0")),
    "a file and a page": (
        "HR_Policy.pdf, p. 7",
        Reference(text="HR_Policy.pdf, p. 7", name="HR_Policy.pdf", page=7),
    ),
    "a range of pages": (
        "HR.pdf, pp. 3-4",
        Reference(text="HR.pdf, pp. 3-4", name="HR.pdf", page=3, last_page=4),
    ),
    "a section": (
        "policy \u00a72.5",
        Reference(text="policy \u00a72.5", name="policy", section="2.5"),
    ),
    "a section alone": ("Section 3", Reference(text="Section 3", section="3")),
}


@pytest.mark.parametrize(("reference", "wanted"), PARSED.values(), ids=PARSED.keys())
def test_parts_of_a_reference(reference: str, wanted: Reference) -> None:
    assert parse_reference(reference) == wanted


PLACES = {
    "a part of a name": ("policy \u00a72.5", YES, ("doc_hr001",)),
    "too little of a name": ("HR p. 3", NO, ()),
    "a section that one document has": ("\u00a74.2", YES, ("doc_hr001",)),
    "a section around it": ("section 4", YES, ("doc_hr001",)),
    "a section that no document has": ("\u00a79", TWO, ("doc_hr001", "doc_lg001", "p1")),
    "a page of any document": ("p. 7", TWO, ("doc_hr001", "doc_lg001", "p1")),
}


@pytest.mark.parametrize(("reference", "status", "documents"), PLACES.values(), ids=PLACES.keys())
def test_resolve_a_place(
    reference: str, status: CitationStatus, documents: tuple[str, ...]
) -> None:
    citation = resolve_reference(reference, SHELF)
    assert (citation.status, citation.document_ids) == (status, documents)


def test_a_place_of_the_only_document() -> None:
    citation = resolve_reference("(pp. 3-4)", citation_index((HR,), ()))
    assert (citation.status, citation.page_number, citation.last_page) == (YES, 3, 4)


@pytest.mark.parametrize(
    ("cited", "found"),
    [
        ("HR_Policy.pdf, p. 15", []),
        ("HR_Policy.pdf, pp. 14-16", []),
        ("HR_Policy.pdf, pp. 3-4", [FindingKind.UNSUPPORTIVE_CITATION]),
        ("HR_Policy.pdf \u00a74.2", []),
        ("HR_Policy.pdf \u00a74", []),
        ("HR_Policy.pdf \u00a74.1", [FindingKind.UNSUPPORTIVE_CITATION]),
    ],
)
def test_a_place_narrows_a_citation(cited: str, found: list[FindingKind]) -> None:
    supported = reading("doc_hr001_1", FULL, 0.9)
    assert kinds(f"Leave is paid ({cited}).", supported) == found


FORMS = {
    "a file and a page": ("(HR.pdf, p. 7)", ("HR.pdf, p. 7",)),
    "pages": ("(HR.pdf, pp. 3-4)", ("HR.pdf, pp. 3-4",)),
    "a section": ("(\u00a72.5)", ("\u00a72.5",)),
    "a name and a section": ("(policy \u00a72.5)", ("policy \u00a72.5",)),
    "two places": ("(HR.pdf, p. 1; Guide.md \u00a72)", ("HR.pdf, p. 1", "Guide.md \u00a72")),
    "a number": ("[1]", ("[1]",)),
    "numbers": ("[1, 2]", ("[1]", "[2]")),
    "lenticular brackets": ("\u30101\u3011", ("[1]",)),
    "lenticular brackets of a search": ("\u30104:0\u2020source\u3011", ("[4:0]",)),
    "lenticular brackets with a file": ("\u30104:0\u2020HR.pdf\u3011", ("HR.pdf",)),
    "a source in words": ("[Source 1]", ("[1]",)),
    "passages in words": ("(passages 2 and 3)", ("[2]", "[3]")),
    "a source by name": ("(Source: History of Leave)", ("History of Leave",)),
    "a note": ("[^1]", ("[1]",)),
    "a hash": ("[cite:b8b859ac]", ("b8b859ac",)),
    "a link": ("([HR policy](hr.pdf))", ("HR policy (hr.pdf)",)),
    "a link that says nothing": ("([source](hr.pdf))", ("hr.pdf",)),
    "a raised digit": ("\u00b9", ("[1]",)),
    "a raised tag": ("<sup>12</sup>", ("[12]",)),
}


@pytest.mark.parametrize(("mark", "cites"), FORMS.values(), ids=FORMS.keys())
def test_forms_of_citations(mark: str, cites: tuple[str, ...]) -> None:
    space = "" if mark[0] in "\u00b9<" else " "
    (claim,) = split_answer(f"Leave is paid{space}{mark}.").claims
    assert (claim.statement, claim.cites) == ("Leave is paid", cites)


@pytest.mark.parametrize("answer", ["A hall has 300 m\u00b2.", "Leave is paid (5 days)."])
def test_what_is_no_citation(answer: str) -> None:
    (claim,) = split_answer(answer).claims
    assert (f"{claim.statement}.", claim.cites) == (answer, ())


def test_a_lead_in_cites_for_the_next_claim() -> None:
    split = split_answer("Leave is paid. According to HR.pdf, p. 3, notice is short.")
    assert [claim.cites for claim in split.claims] == [(), ("HR.pdf, p. 3",)]
    (finding,) = split_answer("Leave is paid. According to passage 3, \u2026").findings
    assert finding.kind is FindingKind.STRAY_CITATION
