"""Ledgers from one line: "critical: A full 0.9, B against 0.7 ‖ minor:" is two claims.

Each claim has its importance and its readings: the document (A and B are current, U states no date,
O is years old), the support level or `against`, the score, and "sure 0.9" where the judge states
its own confidence.
"""

from affidavit.ledger.adjudication import CheckRequest, adjudicate
from affidavit.ledger.claims import SplitAnswer
from affidavit.ledger.model import (
    Chunk,
    Claim,
    ClaimType,
    Document,
    Importance,
    JudgeIdentity,
    Reading,
    Span,
    SupportLevel,
)
from affidavit.ledger.record import Ledger
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, with_gates

DATES = {"A": "2025-06-01", "B": "2025-07-01", "U": None, "O": "2020-01-01"}
DOCUMENTS = tuple(
    Document(
        id=name,
        filename=f"{name}.pdf",
        digest=f"sha256:{name.lower() * 64}",
        media_type="application/pdf",
        title=name,
        date=date,
        page_count=9,
    )
    for name, date in DATES.items()
)
JUDGE = JudgeIdentity("table", "1", "sha256:" + "0" * 64, True)
REQUEST = CheckRequest(
    answer="Claim 1 is so.",
    query=None,
    title="Small",
    answer_date="2026-01-03",
    generated_at="2026-01-03T14:30:00Z",
)


def ledger(line: str, gates: tuple[str, ...] = (), rules: LedgerRules = DEFAULT_RULES) -> Ledger:
    claims, readings, chunks = [], {}, []
    for number, part in enumerate(line.split("\u2016") if line.strip() else [], 1):
        rank, _, listed = part.partition(":")
        name = f"clm_{number:03}"
        span = Span(number * 10, number * 10 + 5)
        claims.append(
            Claim(
                id=name,
                text=f"Claim {number} is so",
                span=span,
                type=ClaimType.FACT,
                importance=Importance(rank.strip()),
            )
        )
        pairs = [
            _reading(name, at, said) for at, said in enumerate(listed.split(",")) if said.strip()
        ]
        readings[name] = tuple(reading for reading, _ in pairs)
        chunks += [chunk for _, chunk in pairs]
    split = SplitAnswer(tuple(claims), (), (), ())
    return adjudicate(
        split,
        readings,
        chunks=chunks,
        documents=DOCUMENTS,
        request=REQUEST,
        judge=JUDGE,
        rules=with_gates(rules, gates),
    )


def _reading(claim: str, at: int, said: str) -> tuple[Reading, Chunk]:
    said, _, measured = said.partition(" sure ")
    document, level, score = said.split()
    against = level == "against"
    name = f"{claim}_{at}"
    text = f"Passage {at} on {claim}."
    place = Span(at * 100, at * 100 + len(text))
    chunk = Chunk(
        id=name,
        hash=f"{at:08x}",
        document_id=document,
        index=at,
        text=text,
        span=place,
        page_number=1,
        heading_path=(),
    )
    reading = Reading(
        chunk_id=name,
        support_level=SupportLevel.NONE if against else SupportLevel(level),
        contradicts=against,
        similarity=0.0 if against else float(score),
        contradiction=float(score) if against else 0.0,
        directness=1.0,
        snippet=text,
        snippet_span=Span(0, len(text)),
        notes="",
        scores=(("confidence", float(measured)),) if measured else (),
    )
    return reading, chunk
