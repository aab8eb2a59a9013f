"""The seed's own example, evidence-ledger.md sections 8.1 and 9.1, as values."""

from dataclasses import replace

from affidavit.base.digest import chunk_hash
from affidavit.ledger.adjudication import adjudicate
from affidavit.ledger.claims import SplitAnswer, split_answer
from affidavit.ledger.model import (
    Chunk,
    Document,
    JudgeIdentity,
    Reading,
    Span,
    SupportLevel,
)
from affidavit.ledger.record import Exhibit, Inquiry, Ledger
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules

QUERY = "What is the leave policy?"
ENTITLED = "All permanent employees shall receive 15 days of paid annual leave per calendar year."
ADVANCE = (
    "Leave applications must be submitted at least 14 calendar days before the intended start date."
)
CARRYOVER = (
    "Unused annual leave may be carried over at the discretion of the department head, "
    "subject to operational requirements."
)
ANSWER = (
    f"Employees are entitled to 15 days of annual leave [cite:{chunk_hash(ENTITLED)}]. "
    "Leave requests must be submitted 2 weeks in advance. "
    "Unused leave can be carried forward to next year. "
    "Maximum carryover is 5 days."
)
HR = Document(
    "doc_hr001",
    "HR_Policy.pdf",
    "sha256:" + "1" * 64,
    "application/pdf",
    "HR Policy",
    "2025-06-01",
    40,
)
GUIDE = Document(
    "doc_lg001",
    "Leave_Guidelines.pdf",
    "sha256:" + "2" * 64,
    "application/pdf",
    "Leave",
    None,
    None,
)
JUDGE = JudgeIdentity("table", "1", "sha256:" + "0" * 64, True)
INQUIRY = Inquiry(ANSWER, QUERY, "Leave Policy Q&A", "2026-01-03", "2026-01-03T14:30:00Z", JUDGE)


def chunk(
    document: Document,
    index: int,
    text: str,
    page: int | None = None,
    headings: tuple[str, ...] = (),
) -> Chunk:
    start = index * 1000
    name = f"{document.id}_{index}"
    span = Span(start, start + len(text))
    return Chunk(name, chunk_hash(text), document.id, index, text, span, page, headings)


CHUNKS = (
    chunk(HR, 0, ENTITLED, 12),
    chunk(HR, 1, CARRYOVER, 15, ("4 Leave", "4.2 Carryover")),
    chunk(GUIDE, 0, ADVANCE, None, ("3 Requests", "3.2 Notice")),
)


def reading(
    chunk_id: str,
    level: SupportLevel = SupportLevel.NONE,
    similarity: float = 0.2,
    *,
    against: float | None = None,
    directness: float = 1.0,
    snippet: str = "a sentence",
    notes: str = "",
) -> Reading:
    return Reading(
        chunk_id,
        level,
        against is not None,
        similarity,
        against or 0.0,
        directness,
        snippet,
        Span(0, len(snippet)),
        notes,
        (("recall", similarity),),
    )


READINGS = {
    "clm_001": (reading("doc_hr001_0", SupportLevel.FULL, 0.97, snippet=ENTITLED),),
    "clm_002": (
        reading("doc_lg001_0", SupportLevel.FULL, 0.91, directness=0.5, snippet=ADVANCE),
        reading("doc_hr001_0", similarity=0.31, snippet=ENTITLED),
    ),
    "clm_003": (
        reading(
            "doc_hr001_1",
            SupportLevel.PARTIAL,
            0.7,
            directness=0.5,
            snippet=CARRYOVER,
            notes="'at the discretion of' limits what the claim says without limit",
        ),
    ),
    "clm_004": (reading("doc_hr001_1", similarity=0.4, snippet=CARRYOVER),),
}


def seed_split() -> SplitAnswer:
    return split_answer(ANSWER, QUERY)


def seed_ledger(rules: LedgerRules = DEFAULT_RULES) -> Ledger:
    return adjudicate(seed_split(), READINGS, CHUNKS, (HR, GUIDE), INQUIRY, rules)


def exhibit(
    document: str = "doc_a",
    level: SupportLevel = SupportLevel.NONE,
    similarity: float = 0.2,
    against: float | None = None,
    number: int = 0,
) -> Exhibit:
    """A reading of a chunk that stands in no document in particular."""
    made = reading(f"{document}_{number}", level, similarity, against=against)
    made = replace(made, page_number=1)
    place = Span(number * 100, number * 100 + 50)
    return Exhibit(made, f"{number:08x}", document, f"{document}.pdf", place, (), None)


def ledger_of(answer: str, readings: dict[str, tuple[Reading, ...]]) -> Ledger:
    """The ledger of another answer over the seed's documents."""
    inquiry = replace(INQUIRY, answer=answer)
    return adjudicate(split_answer(answer, QUERY), readings, CHUNKS, (HR, GUIDE), inquiry)
