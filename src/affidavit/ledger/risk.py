"""The six risk flags. Rules K1 to K7 of docs/ledger.md.

Origin: evidence-ledger.md, sections 7.1 and 7.2; decisions.md, "low_confidence" and
"outdated_source".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id
from affidavit.ledger.confidence import is_outdated
from affidavit.ledger.model import Document, Importance, SupportLevel, Verdict
from affidavit.ledger.places import counted
from affidavit.ledger.record import Exhibit, LedgerEntry, RiskFlag, RiskType, Severity
from affidavit.ledger.rules import LedgerRules
from affidavit.ledger.verdict import contradicting, supporting


@dataclass(frozen=True, slots=True)
class RiskDefinition:
    """What a kind of risk means, how bad it is, and what to do: section 7.1."""

    meaning: str
    severity: Severity
    action: str


RISKS: Final[Mapping[RiskType, RiskDefinition]] = MappingProxyType(
    {
        RiskType.MISSING_EVIDENCE: RiskDefinition(
            "Critical claim has no supporting evidence",
            Severity.HIGH,
            "Upload relevant documents or remove claim",
        ),
        RiskType.CONTRADICTION: RiskDefinition(
            "Evidence directly contradicts the claim",
            Severity.HIGH,
            "Review conflicting sources and correct claim",
        ),
        RiskType.OUTDATED_SOURCE: RiskDefinition(
            "Source document may be outdated",
            Severity.MEDIUM,
            "Verify with current documentation",
        ),
        RiskType.AMBIGUOUS_EVIDENCE: RiskDefinition(
            "Evidence is open to interpretation",
            Severity.MEDIUM,
            "Seek clarification or additional sources",
        ),
        RiskType.CONFLICTING_SOURCES: RiskDefinition(
            "Multiple sources provide different information",
            Severity.HIGH,
            "Determine authoritative source",
        ),
        # The seed's table says low and its code medium; decisions.md settles on medium.
        RiskType.LOW_CONFIDENCE: RiskDefinition(
            "Claim support is weak across all evidence",
            Severity.MEDIUM,
            "Consider qualifying or removing claim",
        ),
    }
)


def risk_flags(
    entries: Sequence[LedgerEntry],
    documents: Iterable[Document],
    answer_date: str,
    rules: LedgerRules,
) -> tuple[RiskFlag, ...]:
    """Return the flags of a ledger, in the order of section 7.1."""
    return (
        *_missing(entries),
        *_contradictions(entries),
        *_outdated(entries, documents, answer_date, rules),
        *_among(entries, RiskType.AMBIGUOUS_EVIDENCE, rules),
        *_among(entries, RiskType.CONFLICTING_SOURCES, rules),
        *_low_confidence(entries, rules),
    )


def _flag(kind: RiskType, description: str, affected: Iterable[LedgerEntry]) -> RiskFlag:
    claims = tuple(entry.claim.id for entry in affected)
    name = content_id("rsk", jcs([kind.value, description, list(claims)]))
    definition = RISKS[kind]
    return RiskFlag(name, kind, definition.severity, description, claims, definition.action)


def _missing(entries: Sequence[LedgerEntry]) -> Iterator[RiskFlag]:
    missing = [
        entry for entry in entries if entry.verdict is Verdict.NOT_FOUND and entry.claim.is_material
    ]
    if missing:
        critical = sum(entry.claim.importance is Importance.CRITICAL for entry in missing)
        only_critical = critical == len(missing)
        noun = "critical claim" if only_critical else "claim"
        said = f"{counted(len(missing), noun)} could not be verified from provided documents"
        if critical and not only_critical:
            said += f", {critical} of them critical"
        yield _flag(RiskType.MISSING_EVIDENCE, said, missing)


def _contradictions(entries: Sequence[LedgerEntry]) -> Iterator[RiskFlag]:
    against = [entry for entry in entries if entry.verdict is Verdict.CONTRADICTED]
    if against:
        verb = "contradicts" if len(against) == 1 else "contradict"
        said = f"{counted(len(against))} {verb} the source documents"
        yield _flag(RiskType.CONTRADICTION, said, against)


def _outdated(
    entries: Sequence[LedgerEntry],
    documents: Iterable[Document],
    answer_date: str,
    rules: LedgerRules,
) -> Iterator[RiskFlag]:
    """One flag for each outdated document that a verdict rests on."""
    for document in documents:
        resting = [
            entry
            for entry in entries
            if any(exhibit.document_id == document.id for exhibit in entry.evidence)
        ]
        if resting and is_outdated(document, answer_date, rules.outdated_after_days):
            said = (
                f"{document.filename} is dated {document.date}, more than "
                f"{rules.outdated_after_days} days before the answer ({answer_date})"
            )
            yield _flag(RiskType.OUTDATED_SOURCE, said, resting)


def _among(
    entries: Sequence[LedgerEntry], kind: RiskType, rules: LedgerRules
) -> Iterator[RiskFlag]:
    applies, said = _DISAGREEMENTS[kind]
    affected = [entry for entry in entries if applies(entry, rules)]
    if affected:
        yield _flag(kind, f"{said} {counted(len(affected))}", affected)


def is_ambiguous(entry: LedgerEntry, rules: LedgerRules) -> bool:
    """Tell whether the judge's top readings of a claim disagree.

    They do if one document both supports and contradicts it, if the readings near the best of a
    weak claim differ in whether they carry it whole, or if one reading is torn.
    """
    matches = supporting(entry.exhibits, rules)
    against = contradicting(entry.exhibits, rules)
    both = {each.document_id for each in matches} & {each.document_id for each in against}
    torn = any(
        min(each.reading.similarity, each.reading.contradiction) >= rules.torn_from
        for each in (*matches, *against)
    )
    if both or torn or entry.verdict is not Verdict.WEAK:
        return bool(both) or torn
    floor = matches[0].reading.similarity - rules.ambiguous_margin
    near = [each.reading for each in matches if each.reading.similarity >= floor]
    return {reading.support_level for reading in near} == {SupportLevel.FULL, SupportLevel.PARTIAL}


def find_conflict(entry: LedgerEntry, rules: LedgerRules) -> tuple[Exhibit, Exhibit] | None:
    """Return the strongest contradiction and support of a claim from two different documents."""
    matches = supporting(entry.exhibits, rules)
    pairs = (
        (against, match)
        for against in contradicting(entry.exhibits, rules)
        for match in matches
        if against.document_id != match.document_id
    )
    return next(pairs, None)


def has_conflict(entry: LedgerEntry, rules: LedgerRules) -> bool:
    """Tell whether one document supports a claim that another one contradicts."""
    return find_conflict(entry, rules) is not None


_DISAGREEMENTS: Final = MappingProxyType(
    {
        RiskType.AMBIGUOUS_EVIDENCE: (is_ambiguous, "Evidence is open to interpretation for"),
        RiskType.CONFLICTING_SOURCES: (has_conflict, "Sources disagree with one another on"),
    }
)


def _low_confidence(entries: Sequence[LedgerEntry], rules: LedgerRules) -> Iterator[RiskFlag]:
    if not entries:
        return
    average = sum(entry.confidence_score for entry in entries) / len(entries)
    if average < rules.low_confidence_below:
        low = [e for e in entries if e.confidence_score < rules.low_confidence_below]
        yield _flag(RiskType.LOW_CONFIDENCE, f"Overall confidence is low ({average:.0%})", low)
