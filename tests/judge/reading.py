"""One claim, one passage: what the judge reads, and what the ledger's rule makes of it."""

from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.ledger.adjudication import locate_reading
from affidavit.ledger.model import Chunk, Reading, Span
from affidavit.ledger.rules import DEFAULT_RULES
from affidavit.ledger.verdict import assign_verdict


def chunk_of(
    text: str, number: int = 0, document: str = "doc", heading: tuple[str, ...] = ()
) -> Chunk:
    """Return a passage of a document."""
    return Chunk(
        id=f"chunk-{number}",
        hash=f"{number:08x}",
        document_id=document,
        index=number,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=heading,
    )


def read(claim: str, text: str, heading: tuple[str, ...] = ()) -> Reading:
    """Return what the judge reads in one passage."""
    (reading,) = LexicalJudge().read(claim, [chunk_of(text, heading=heading)])
    return reading


def verdict_on(claim: str, text: str) -> tuple[str, Reading]:
    """Return the ledger's verdict over one passage, and the reading it rests on."""
    chunk, reading = chunk_of(text), read(claim, text)
    located = locate_reading(reading, chunk, "doc.txt")
    return str(assign_verdict((located,), DEFAULT_RULES.verdict).verdict), reading
