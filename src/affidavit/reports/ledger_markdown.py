"""The ledger as Markdown: the shape of evidence-ledger.md, section 9.1. Rules M1 to M3."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from affidavit.decision.decision import status_words
from affidavit.ledger.labels import VERDICT_NAMES, long_place, percent_rounded_down, verdict_label
from affidavit.ledger.model import Verdict
from affidavit.ledger.record import ClaimOrder, Ledger, LedgerEntry
from affidavit.ledger.review import HumanDecision
from affidavit.reports.ledger_wording import decision_words

_SPECIAL: Final = re.compile(r"[\\`*<>\[\]|]|(?<!\w)[_~]|_(?!\w)")
_NOT_MEASURED: Final = "not measured"


def ledger_to_markdown(
    ledger: Ledger, order: ClaimOrder = "review", review: Sequence[HumanDecision] = ()
) -> str:
    """Return the Markdown export. A claim keeps its number in the answer in every order."""
    return "\n".join(
        [
            *_head(ledger),
            *_summary(ledger),
            *_claims(ledger, order),
            *_risks(ledger),
            *_actions(ledger),
            *_decision(ledger),
            *_review(ledger, review),
            *_findings(ledger),
            *_foot(ledger),
        ]
    )


def _escaped(text: str) -> str:
    """Return text of others so that none of it acts as Markdown; it stays on one line."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def _head(ledger: Ledger) -> Iterator[str]:
    at = ledger.generated_at
    coverage = ledger.summary.evidence_coverage
    yield "## Evidence Ledger"
    yield ""
    yield f"**Session:** {_escaped(ledger.title)}"
    yield f"**Generated:** {at[:10]} {at[11:16]} UTC"
    shown = _NOT_MEASURED if coverage is None else percent_rounded_down(coverage)
    yield f"**Evidence Coverage:** {shown}"
    if not ledger.judge.rederivable:
        yield f"**Judge:** {_escaped(str(ledger.judge))}"
    yield ""


def _summary(ledger: Ledger) -> Iterator[str]:
    """The counts; as in the seed's example, a verdict that no claim got has no row."""
    yield from ("### Summary", "", "| Verdict | Count |", "|---------|-------|")
    for verdict in Verdict:
        count = sum(entry.verdict is verdict for entry in ledger.entries)
        if count or not ledger.entries:
            yield f"| {VERDICT_NAMES[verdict]} | {count} |"
    yield ""


def _claims(ledger: Ledger, order: ClaimOrder) -> Iterator[str]:
    yield from ("### Claims Detail", "")
    claims = ledger.claims_in(order)
    if claims != ledger.claims_in("answer"):
        yield from ("_Claims to review come first, with their numbers in the answer._", "")
    for place, (number, entry) in enumerate(claims):
        if place:
            yield from ("---", "")
        yield from _claim(number, entry)
    if not ledger.entries:
        yield from ("The answer makes no claim that needs evidence.", "")


def _claim(number: int, entry: LedgerEntry) -> Iterator[str]:
    found = entry.deciding_readings
    confidence = percent_rounded_down(entry.confidence_score)
    verdict = f"{verdict_label(entry.verdict)} (Confidence: {confidence})"
    yield f"#### {number}. {_escaped(entry.shown_text)}"
    yield ""
    yield f"- **Type:** {entry.claim_type.capitalize()}"
    yield f"- **Importance:** {entry.importance.capitalize()}"
    yield f"- **Verdict:** {verdict}"
    yield f"- **Source:** {_escaped(long_place(found[0])) if found else '-'}"
    if found:
        yield f'- **Evidence:** "{_escaped(found[0].snippet)}"'
    if entry.verdict is not Verdict.SUPPORTED:
        yield f"- **Notes:** {_escaped(entry.notes)}"
    yield ""


def _risks(ledger: Ledger) -> Iterator[str]:
    yield from ("### Risk Flags", "")
    for flag in ledger.risk_flags:
        name = f"{flag.type.replace('_', ' ').title()} ({flag.severity.capitalize()})"
        yield f"\u26a0\ufe0f **{name}:** {_escaped(flag.description)}."
        yield ""
    if not ledger.risk_flags:
        yield from ("None.", "")


def _actions(ledger: Ledger) -> Iterator[str]:
    yield from ("### Recommended Actions", "")
    for number, action in enumerate(ledger.recommended_actions, 1):
        yield f"{number}. {_escaped(action)}"
    if not ledger.recommended_actions:
        yield "None."
    yield ""


def _decision(ledger: Ledger) -> Iterator[str]:
    decision = ledger.gates.decision.replace("_", "-")
    yield from ("### Decision", "", f"**{decision.capitalize()}**", "")
    for result in ledger.gates.results:
        yield f"- {status_words(result.status, result.value)}: {_escaped(result.reason)}"
    if not ledger.gates.results:
        yield "No gate was set, so nothing was decided."
    yield ""


def _review(ledger: Ledger, review: Sequence[HumanDecision]) -> Iterator[str]:
    """What people decided, the first decision first; a ledger without it has no such section."""
    if review:
        numbers = {entry.claim_id: number for number, entry in enumerate(ledger.entries, 1)}
        yield from ("### Review", "")
        for decision in review:
            said = f"{decision.decided_by} {decision_words(decision, numbers)}: {decision.reason}"
            yield f"- {decision.decided_at[:10]} {decision.decided_at[11:16]} UTC: {_escaped(said)}"
        yield ""


def _findings(ledger: Ledger) -> Iterator[str]:
    """What was noticed beside the verdicts; a ledger without it has no such section."""
    if ledger.findings:
        yield from ("### Findings", "")
        yield from (f"- {_escaped(finding.message)}" for finding in ledger.findings)
        yield ""


def _foot(ledger: Ledger) -> Iterator[str]:
    """What a machine needs to find the same ledger again; a reader does not see it."""
    yield f"<!-- {ledger.schema_version} {ledger.ledger_id} rules {ledger.rules_digest} -->"
    yield ""
