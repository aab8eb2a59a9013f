"""The seed's own example, evidence-ledger.md sections 8.1 and 9.1, as values."""

from msgspec import structs
from msgspec.structs import replace

from affidavit.base.digest import chunk_hash
from affidavit.ledger.adjudication import CheckRequest, adjudicate
from affidavit.ledger.claims import SplitAnswer, split_answer
from affidavit.ledger.model import (
    Chunk,
    Document,
    JudgeIdentity,
    Reading,
    Span,
    SupportLevel,
)
from affidavit.ledger.record import Ledger, LocatedReading
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
    id="doc_hr001",
    filename="HR_Policy.pdf",
    digest="sha256:" + "1" * 64,
    media_type="application/pdf",
    title="HR Policy",
    date="2025-06-01",
    page_count=40,
)
GUIDE = Document(
    id="doc_lg001",
    filename="Leave_Guidelines.pdf",
    digest="sha256:" + "2" * 64,
    media_type="application/pdf",
    title="Leave",
    date=None,
    page_count=None,
)
JUDGE = JudgeIdentity("table", "1", "sha256:" + "0" * 64, True)
REQUEST = CheckRequest(
    answer=ANSWER,
    query=QUERY,
    title="Leave Policy Q&A",
    answer_date="2026-01-03",
    generated_at="2026-01-03T14:30:00Z",
)


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
    return Chunk(
        id=name,
        hash=chunk_hash(text),
        document_id=document.id,
        index=index,
        text=text,
        span=span,
        page_number=page,
        heading_path=headings,
    )


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
        chunk_id=chunk_id,
        support_level=level,
        contradicts=against is not None,
        similarity=similarity,
        contradiction=against or 0.0,
        directness=directness,
        snippet=snippet,
        snippet_span=Span(0, len(snippet)),
        notes=notes,
        scores=(("recall", similarity),),
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
    return ledger_with(rules=rules)


def located_reading(
    document: str = "doc_a",
    level: SupportLevel = SupportLevel.NONE,
    similarity: float = 0.2,
    against: float | None = None,
    number: int = 0,
) -> LocatedReading:
    """A reading of a chunk that stands in no document in particular."""
    made = reading(f"{document}_{number}", level, similarity, against=against)
    fields = {**structs.asdict(made), "scores": {}, "page_number": 1}
    return LocatedReading(
        chunk_hash=f"{number:08x}",
        document_id=document,
        filename=f"{document}.pdf",
        chunk_span=Span(number * 100, number * 100 + 50),
        heading_path=(),
        passage=None,
        **fields,
    )


def ledger_of(answer: str, readings: dict[str, tuple[Reading, ...]]) -> Ledger:
    """The ledger of another answer over the seed's documents."""
    return ledger_with(split_answer(answer, QUERY), readings, replace(REQUEST, answer=answer))


def ledger_with(
    split: SplitAnswer | None = None,
    readings: dict[str, tuple[Reading, ...]] = READINGS,
    request: CheckRequest = REQUEST,
    *,
    chunks: tuple[Chunk, ...] = CHUNKS,
    documents: tuple[Document, ...] = (HR, GUIDE),
    rules: LedgerRules = DEFAULT_RULES,
) -> Ledger:
    """The seed's ledger with some of its inputs replaced."""
    return adjudicate(
        split or seed_split(),
        readings,
        chunks=chunks,
        documents=documents,
        request=request,
        judge=JUDGE,
        rules=rules,
    )
