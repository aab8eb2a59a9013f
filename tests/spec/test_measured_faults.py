"""Wrong verdicts that were measured once on real documents, each as a small case.

A number is that of the finding. Findings that are not here have their tests elsewhere:

3, 4  tests/judge/test_standard_judge.py, test_standard_windows.py: the encoder is always asked,
      notes are literal, pieces are short
6     tests/documents/test_pdf_layout.py, tests/judge/test_cells.py: tables and neighbouring cells
7     tests/ledger/test_statements.py, tests/spec/test_claim_splitting.py
8     tests/ledger/test_unread_languages.py, test_remarks.py
10    with 2, below
11    tests/ledger/test_loopholes.py
12    tests/judge/test_standard_judge.py: questions, and two passages together
"""

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import affidavit
from affidavit.documents.index import SourceIndex
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings, IngestedDocument
from affidavit.documents.reading import read_chunks
from affidavit.ledger.model import Chunk
from affidavit.ledger.record import Ledger

HERE = Path(__file__).parent


def check(answer: str, source: str, folder: Path, judge: str | None = None) -> Ledger:
    (folder / "source.md").write_text(source, encoding="utf-8")
    return affidavit.check(answer, folder / "source.md", judge=judge, at="2026-11-01")


def verdict(answer: str, source: str, folder: Path) -> str:
    (entry,) = check(answer, source, folder).entries
    return str(entry.verdict)


FULLY_SHARED = {
    "a negation": (
        "Gift cards are refundable.",
        "Gift cards are not refundable.",
        "Whether gift cards of another shop are refundable is decided there.",
    ),
    "an antonym": (
        "Orders are shipped before payment.",
        "Orders are shipped after payment.",
        "Orders that were shipped before are listed with their payment.",
    ),
    "a number": (
        "Employees receive 20 days of paid annual leave.",
        "Employees receive 15 days of paid annual leave.",
        "All 20 employees of the annual fair were paid for days of leave that they receive.",
    ),
}


@pytest.mark.parametrize(
    ("claim", "against", "distant"), FULLY_SHARED.values(), ids=FULLY_SHARED.keys()
)
def test_1_a_distant_passage_of_the_document_erases_no_contradiction(
    claim: str, against: str, distant: str, tmp_path: Path
) -> None:
    source = f"# First\n\n{against}\n\n# Second\n\n{distant}\n"
    assert verdict(claim, source, tmp_path) == "contradicted"


CAPPED_AT = 0.7
"""A rule of the limits leaves less support than this, whatever else speaks for a claim."""
CAPPED = {
    "a negation in place of a condition": (
        "Nobody may enter the laboratory without a badge.",
        "A badge is required of everyone who wants to enter the laboratory.",
    ),
    "all for every": (
        "Every ticket bought online includes the boat trip.",
        "The boat trip is part of all tickets that are purchased on the website.",
    ),
}


@pytest.mark.parametrize(("claim", "source"), CAPPED.values(), ids=CAPPED.keys())
def test_2_a_rule_caps_no_true_claim_in_other_words(
    claim: str, source: str, tmp_path: Path
) -> None:
    found = check(claim, f"{source} The cafeteria is on the second floor.", tmp_path)
    (entry,) = found.entries
    assert str(entry.verdict) == "supported"
    # 10: the confidence of Supported is above the seed's 0.8.
    assert entry.confidence_score > 0.8


def test_2_a_claim_in_the_passive_voice_has_no_exchanged_roles(tmp_path: Path) -> None:
    claim, source = (
        "The grant is paid by the city to the school.",
        "The school receives the grant from the city.",
    )
    (entry,) = check(claim, f"{source} The cafeteria is on the second floor.", tmp_path).entries
    assert max(reading.similarity for reading in entry.readings) > CAPPED_AT


LEAVE = "# 2.5 Leave\n\nStaff receive 15 days of leave. Unused days expire in March."
MARKS = {
    "a passage in words": "Staff receive 15 days of leave (passage 3).",
    "numbers": "Staff receive 15 days of leave [1][2].",
    "a file and a page": "Staff receive 15 days of leave (source.md, p. 7).",
    "a section": "Staff receive 15 days of leave (source §2.5).",
    "lenticular brackets": "Staff receive 15 days of leave【1】.",
    "a lead-in": "According to the guide, staff receive 15 days of leave.",
    "words at the end": "Staff receive 15 days of leave, says the guide.",
}


@pytest.mark.parametrize("answer", MARKS.values(), ids=MARKS.keys())
def test_5_a_citation_changes_no_verdict(answer: str, tmp_path: Path) -> None:
    def read(text: str) -> tuple[str, float]:
        (entry,) = check(text, LEAVE, tmp_path, judge="lexical").entries
        return str(entry.verdict), entry.confidence_score

    assert read(answer) == read("Staff receive 15 days of leave.")


PDF_FILES = ("argon2-specification.pdf", "bzip2-manual.pdf", "fhs-3.0.pdf", "tlsh-paper.pdf")


@cache
def paragraphs(name: str) -> list[str]:
    """The paragraphs of a real PDF file, from its passages as a ledger stores them."""
    data = (HERE / "real_claims" / "documents" / name).read_bytes()
    read = read_chunks(data, name, DocumentSettings(), named=True)
    assert isinstance(read, IngestedDocument)
    found = [part.strip() for chunk in read.chunks for part in re.split(r"\n\s*\n", chunk.text)]
    return [part for at, part in enumerate(found) if part and part != found[at - 1]]


@pytest.mark.parametrize("name", PDF_FILES)
def test_6_paragraphs_of_a_pdf_are_not_cut_within_a_sentence(name: str) -> None:
    found = paragraphs(name)
    prose = [part for part in found if len(part.split()) >= 8 and not part.startswith("|")]
    cut = [
        part
        for part, following in pairwise(found)
        if part in prose and re.search(r"[a-z,-]$", part) and re.match(r"[a-z]", following)
    ]
    assert len(cut) <= 0.04 * len(prose), cut


def questions(words: str) -> list[dict[str, Any]]:
    lines = (HERE / "page_questions" / "questions.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["words"] == words]


def places_of(chunk: Chunk, index: SourceIndex) -> set[object]:
    """The pages of a chunk, or the headings above it in a source without pages."""
    if chunk.page_number is None:
        return set(chunk.heading_path)
    last = index.page_at(chunk, chunk.span.end - chunk.span.start - 1) or chunk.page_number
    return set(range(chunk.page_number, last + 1))


@pytest.mark.parametrize(("words", "least"), [("own", 48), ("other", 17)])
def test_9_the_right_page_is_among_the_first_passages(
    words: str, least: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.getbasetemp() / "page_questions"
    folder = HERE / "page_questions" / "documents"
    right = 0
    with index_sources([folder], place, DocumentSettings(), jobs=0).index as index:
        names = {each.id: each.filename for each in index.documents}
        for row in questions(words):
            pages = {row["page"], *row["also"]}
            chunks = [hit.chunk for hit in index.search(row["question"], 5)]
            right += any(
                names[chunk.document_id].endswith(row["document"])
                and not pages.isdisjoint(places_of(chunk, index))
                for chunk in chunks
            )
    assert right >= least
