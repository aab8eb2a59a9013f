"""The ledger as one HTML file that works offline, and as a PDF set by typst."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from affidavit import __version__
from affidavit.ledger.labels import VERDICT_NAMES, VERDICT_SYMBOLS, short_place
from affidavit.ledger.model import Importance, Verdict
from affidavit.ledger.record import ClaimOrder, Ledger, LedgerEntry, LocatedReading
from affidavit.ledger.review import HumanDecision
from affidavit.ledger.verdict import confidence
from affidavit.reports import ledger_wording as words
from affidavit.reports.answer_view import answer_blocks
from affidavit.reports.pages import page_templates

View = dict[str, Any]

_CONTEXT_CHARACTERS: Final = 600
"""Shown before and after a quote: enough to judge it, short enough to read."""
_ROUNDING: Final = 1e-3
_MOST_FURTHER_SOURCES: Final = 3
_VERDICTS: Final = tuple(Verdict)
_IMPORTANCES: Final = tuple(Importance)


def ledger_view(
    ledger: Ledger,
    version: str = __version__,
    order: ClaimOrder = "review",
    review: Sequence[HumanDecision] = (),
    *,
    with_details: bool = True,
) -> View:
    """Return the values that the templates show, in their order.

    A page that asks for the details of a claim when somebody expands it does without them.
    """
    show = claim_view if with_details else _row
    counts = _counts(ledger)
    numbers = {entry.claim_id: number for number, entry in enumerate(ledger.entries, 1)}
    ranks = {claim[0]: rank for rank, claim in enumerate(ledger.claims_in("review"), 1)}
    return {
        "title": ledger.title,
        "query": ledger.query,
        "ledger_id": ledger.ledger_id,
        "generated_at": ledger.generated_at,
        "version": version,
        "decision": ledger.gates.decision.value,
        "decision_words": words.LEDGER_DECISION_NAMES[ledger.gates.decision],
        "tiles": _tiles(ledger),
        **_bar(counts),
        "legend": [_legend(verdict, counts[verdict]) for verdict in _VERDICTS],
        "gates": _gates(ledger),
        "answer": _answer(ledger, numbers),
        "answer_blocks": answer_blocks(ledger),
        "order": order,
        "entries": [
            {**show(number, entry), "review_rank": ranks[number]}
            for number, entry in ledger.claims_in(order)
        ],
        "risk_flags": _risk_flags(ledger),
        "questions": list(ledger.recommended_actions),
        "follow_up_questions": list(ledger.follow_up_questions),
        "charts": _charts(ledger),
        "set_aside": [
            {"text": remark.claim_text, "why": words.title_case(remark.exemption).lower()}
            for remark in ledger.remarks
        ],
        "findings": [finding.message for finding in ledger.findings],
        "documents": [
            {
                "filename": document.filename,
                "title": document.title,
                "date": document.date,
                "page_count": document.page_count,
                "digest": document.digest,
            }
            for document in ledger.documents
        ],
        "review": [review_view(decision, numbers) for decision in review],
        "provenance": _provenance(ledger),
        "cover": _cover(ledger),
    }


def _counts(ledger: Ledger) -> Mapping[Verdict, int]:
    by_verdict = ledger.summary.by_verdict
    return {
        Verdict.SUPPORTED: by_verdict.supported,
        Verdict.WEAK: by_verdict.weak,
        Verdict.CONTRADICTED: by_verdict.contradicted,
        Verdict.NOT_FOUND: by_verdict.not_found,
    }


def _tiles(ledger: Ledger) -> list[View]:
    summary = ledger.summary
    unsupported = words.unsupported_shares(ledger)
    minor = {"value": unsupported.minor, "label": "unsupported, minor claims"}
    scores = [entry.confidence_score for entry in ledger.entries]
    return [
        {"value": words.format_percent(summary.evidence_coverage), "label": "evidence coverage"},
        {"value": unsupported.material, "label": "unsupported"},
        *([minor] if summary.by_importance.minor else []),
        {"value": str(summary.total_claims), "label": "claims adjudicated"},
        {
            "value": words.format_percent(sum(scores) / len(scores) if scores else None),
            "label": "average confidence",
        },
    ]


def _bar(counts: Mapping[Verdict, int]) -> View:
    pieces: list[View] = []
    at = 0
    for verdict in _VERDICTS:
        if counts[verdict]:
            pieces.append({**_legend(verdict, counts[verdict]), "x": at, "width": counts[verdict]})
            at += counts[verdict]
    label = ", ".join(f"{counts[verdict]} {VERDICT_NAMES[verdict]}" for verdict in _VERDICTS)
    return {"bar": pieces, "bar_width": at, "bar_label": label}


def _charts(ledger: Ledger) -> View:
    """Return the claims by importance and verdict, and by confidence."""
    by_importance: list[View] = []
    for importance in _IMPORTANCES:
        own = Counter(e.verdict for e in ledger.entries if e.importance is importance)
        by_importance.append(
            {"words": words.title_case(importance), "total": own.total(), **_bar(own)}
        )
    badges = Counter(words.confidence_badge(e.confidence_score) for e in ledger.entries)
    return {
        "by_importance": by_importance,
        "widest": max((row["total"] for row in by_importance), default=0),
        "confidence": [
            {**badge._asdict(), "count": badges[badge]} for badge in words.CONFIDENCE_BADGES
        ],
        "tallest": max(badges.values(), default=0),
    }


def _legend(verdict: Verdict, count: int) -> View:
    return {
        "verdict": verdict.value,
        "symbol": VERDICT_SYMBOLS[verdict],
        "words": VERDICT_NAMES[verdict],
        "count": count,
    }


def _gates(ledger: Ledger) -> list[View]:
    return [
        {
            "words": row.description,
            "wanted": row.wanted,
            "measured": row.measured,
            "status": row.status.value,
            "status_words": row.result,
        }
        for row in words.gate_rows(ledger)
    ]


def _answer(ledger: Ledger, numbers: Mapping[str, int]) -> list[View]:
    """Split the answer into claims and the text between them; joined, it is the answer."""
    text = ledger.answer
    pieces: list[View] = []
    at = 0
    for entry in sorted(ledger.entries, key=lambda entry: entry.claim_span.start):
        span = entry.claim_span
        if span.start < at:
            # Two claims may share words (a table's row with its header); the first one shows them.
            continue
        pieces.append({"text": text[at : span.start], "claim_id": None})
        pieces.append(
            {
                "text": text[span.start : span.end],
                "claim_id": entry.claim_id,
                "number": numbers[entry.claim_id],
                "verdict": entry.verdict.value,
                "words": VERDICT_NAMES[entry.verdict],
            }
        )
        at = span.end
    pieces.append({"text": text[at:], "claim_id": None})
    return [piece for piece in pieces if piece["text"]]


def _row(number: int, entry: LedgerEntry) -> View:
    """Return what the table says of a claim."""
    best = entry.deciding_readings[0] if entry.rests_on else None
    return {
        "number": number,
        "claim_id": entry.claim_id,
        "claim_text": entry.shown_text,
        "type": entry.claim_type.value,
        "type_words": words.title_case(entry.claim_type),
        "importance": entry.importance.value,
        "importance_words": words.title_case(entry.importance),
        "importance_rank": _IMPORTANCES.index(entry.importance),
        "verdict": entry.verdict.value,
        "verdict_words": VERDICT_NAMES[entry.verdict],
        "verdict_rank": _VERDICTS.index(entry.verdict),
        "symbol": VERDICT_SYMBOLS[entry.verdict],
        "confidence": entry.confidence_score,
        "confidence_words": words.format_percent(entry.confidence_score),
        "badge": words.confidence_badge(entry.confidence_score)._asdict(),
        "source": short_place(best) if best else "",
        "snippet": best.snippet if best else "",
        "notes": entry.notes,
    }


def claim_view(number: int, entry: LedgerEntry) -> View:
    """Return everything that is shown of a claim."""
    best = entry.deciding_readings[0] if entry.rests_on else None
    return {
        **_row(number, entry),
        "components": list(_components(entry)),
        "formula": _formula(entry),
        "citation": words.format_citation(best) if best else "",
        "copy_text": words.format_quotation(best) if best else "",
        "context": _context(best) if best else None,
        "readings": [_reading(reading, entry.rests_on) for reading in entry.readings],
    }


def _formula(entry: LedgerEntry) -> str:
    parts = entry.confidence_components
    # Most judges state a probability that was measured; the components only stand beside it.
    if parts is None or abs(confidence(parts) - entry.confidence_score) > _ROUNDING:
        return ""
    return (
        f"0.6 × {parts.semantic_similarity:g} similarity"
        f" + 0.05 × {min(max(parts.evidence_count - 1, 0), 3)} further sources"
        f" + 0.15 × {parts.directness:g} directness + 0.1 × {parts.source_quality:g} source quality"
    )


def _components(entry: LedgerEntry) -> Iterator[View]:
    """Yield the parts of the confidence formula, each as a share of the most that it can give."""
    parts = entry.confidence_components
    if parts is None:
        return
    sources = min(max(parts.evidence_count - 1, 0), _MOST_FURTHER_SOURCES)
    rows = (
        ("Similarity", f"{parts.semantic_similarity:.2f}", parts.semantic_similarity, 0.6),
        ("Further sources", str(sources), sources / _MOST_FURTHER_SOURCES, 0.15),
        ("Directness", f"{parts.directness:.2f}", parts.directness, 0.15),
        ("Source quality", f"{parts.source_quality:.2f}", parts.source_quality, 0.1),
    )
    for name, value, share, weight in rows:
        yield {
            "words": name,
            "value": value,
            "percent": round(share * 100),
            "points": f"{share * weight * 100:.0f} of {weight * 100:.0f}",
        }


def _context(reading: LocatedReading) -> View:
    passage = reading.passage or reading.snippet
    span = reading.snippet_span
    if reading.passage is None or passage[span.start : span.end] != reading.snippet:
        return {"before": "", "quote": reading.snippet, "after": ""}
    before, after = passage[: span.start], passage[span.end :]
    return {
        "before": before
        if len(before) <= _CONTEXT_CHARACTERS
        else f"…{before[-_CONTEXT_CHARACTERS:]}",
        "quote": reading.snippet,
        "after": after if len(after) <= _CONTEXT_CHARACTERS else f"{after[:_CONTEXT_CHARACTERS]}…",
    }


def _reading(reading: LocatedReading, decisive: Sequence[str]) -> View:
    return {
        "source": short_place(reading),
        "support": "contradicts" if reading.contradicts else reading.support_level.value,
        "similarity": f"{reading.similarity:.2f}",
        "contradiction": f"{reading.contradiction:.2f}",
        "notes": reading.notes,
        "decides": reading.chunk_id in decisive,
        "context": _context(reading),
        "citation": words.format_citation(reading),
        "copy_text": words.format_quotation(reading),
        "document_id": reading.document_id,
        "start": reading.chunk_span.start + reading.snippet_span.start,
        "end": reading.chunk_span.start + reading.snippet_span.end,
    }


def _risk_flags(ledger: Ledger) -> list[View]:
    return [
        {
            "words": words.title_case(flag.type),
            "severity": flag.severity.value,
            "description": flag.description.rstrip("."),
            "claims": list(flag.affected_claims),
            "mitigation": flag.mitigation,
        }
        for flag in ledger.risk_flags
    ]


def _provenance(ledger: Ledger) -> list[View]:
    judge = ledger.judge
    facts = {
        "Ledger": ledger.ledger_id,
        "Schema": ledger.schema_version,
        "Session": ledger.session_id,
        "Answer": ledger.answer_digest,
        "Rules": ledger.rules_digest,
        "Judge": str(judge),
        "Judge digest": judge.digest,
    }
    return [{"label": label, "value": value} for label, value in facts.items()]


def _cover(ledger: Ledger) -> list[View]:
    facts = (
        ("Generated", ledger.generated_at, False),
        ("Answer as of", ledger.answer_date, False),
        ("Claims", str(ledger.summary.total_claims), False),
        ("Evidence coverage", words.format_percent(ledger.summary.evidence_coverage), False),
        ("Sources", str(len(ledger.documents)), False),
        ("Ledger", ledger.ledger_id, True),
        ("Answer digest", ledger.answer_digest, True),
    )
    return [{"label": label, "value": value, "mono": mono} for label, value, mono in facts]


def review_view(decision: HumanDecision, numbers: Mapping[str, int]) -> View:
    """Return what a person decided, with the claim that it is about."""
    return {
        "claim_id": decision.claim_id,
        "value": decision.to_value,
        "words": words.decision_words(decision, numbers),
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "decided_at": decision.decided_at,
        "moment": f"{decision.decided_at[:10]} {decision.decided_at[11:16]} UTC",
    }


def ledger_html(
    ledger: Ledger,
    version: str = __version__,
    *,
    order: ClaimOrder = "review",
    review: Sequence[HumanDecision] = (),
) -> str:
    """Return the report as one file. All text from outside is escaped."""
    template = page_templates().get_template("ledger.html.j2")
    return template.render(report=ledger_view(ledger, version, order, review))


def ledger_pdf(
    ledger: Ledger,
    version: str = __version__,
    *,
    order: ClaimOrder = "review",
    review: Sequence[HumanDecision] = (),
) -> bytes:
    """Return the report as a PDF. The same ledger gives the same bytes: typst reads no clock."""
    import typst

    template = resources.files("affidavit.reports") / "templates" / "ledger.typ"
    report = json.dumps(ledger_view(ledger, version, order, review), ensure_ascii=False)
    pdf = typst.compile(
        template.read_bytes(), sys_inputs={"report": report}, ignore_system_fonts=True
    )
    if not isinstance(pdf, bytes):
        raise TypeError("typst returned pages where one document was asked for")
    return pdf
