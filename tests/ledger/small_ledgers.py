"""Ledgers from one line: "critical: A full 0.9, B against 0.7 ‖ minor:" is two claims.

Each claim has its importance and its readings: the document (A and B are current, U states no date,
O is years old), the support level or `against`, and the score.
"""

from affidavit.ledger.adjudication import adjudicate
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
from affidavit.ledger.record import Inquiry, Ledger
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, with_gates

DATES = {"A": "2025-06-01", "B": "2025-07-01", "U": None, "O": "2020-01-01"}
DOCUMENTS = tuple(
    Document(name, f"{name}.pdf", f"sha256:{name.lower() * 64}", "application/pdf", name, date, 9)
    for name, date in DATES.items()
)
INQUIRY = Inquiry(
    "Claim 1 is so.",
    None,
    "Small",
    "2026-01-03",
    "2026-01-03T14:30:00Z",
    JudgeIdentity("table", "1", "sha256:" + "0" * 64, True),
)


def ledger(line: str, gates: tuple[str, ...] = (), rules: LedgerRules = DEFAULT_RULES) -> Ledger:
    claims, readings, chunks = [], {}, []
    for number, part in enumerate(line.split("\u2016") if line.strip() else [], 1):
        rank, _, listed = part.partition(":")
        name = f"clm_{number:03}"
        span = Span(number * 10, number * 10 + 5)
        importance = Importance(rank.strip())
        claims.append(Claim(name, f"Claim {number} is so", span, ClaimType.FACT, importance, True))
        pairs = [
            _reading(name, at, said) for at, said in enumerate(listed.split(",")) if said.strip()
        ]
        readings[name] = tuple(reading for reading, _ in pairs)
        chunks += [chunk for _, chunk in pairs]
    split = SplitAnswer(tuple(claims), (), (), ())
    return adjudicate(split, readings, chunks, DOCUMENTS, INQUIRY, with_gates(rules, gates))


def _reading(claim: str, at: int, said: str) -> tuple[Reading, Chunk]:
    document, level, score = said.split()
    against = level == "against"
    name = f"{claim}_{at}"
    text = f"Passage {at} on {claim}."
    place = Span(at * 100, at * 100 + len(text))
    chunk = Chunk(name, f"{at:08x}", document, at, text, place, 1, ())
    reading = Reading(
        name,
        SupportLevel.NONE if against else SupportLevel(level),
        against,
        0.0 if against else float(score),
        float(score) if against else 0.0,
        1.0,
        text,
        Span(0, len(text)),
        "",
    )
    return reading, chunk
