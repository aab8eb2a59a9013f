"""The six risk flags, the follow-up questions and the recommended actions.

Origin of the flags: evidence-ledger.md, sections 7.1 and 7.2; decisions.md, "low_confidence" and
"outdated_source" (rules K1 to K7 of docs/ledger.md). Origin of the questions and actions: sections
3.1 and 9.1 (rules Q1 to Q6).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id
from affidavit.ledger.grammar import find_main_verb, words_of
from affidavit.ledger.labels import count_with_noun, long_place
from affidavit.ledger.model import Document, Importance, SupportLevel, Verdict
from affidavit.ledger.record import (
    EDITIONS,
    SCHEMA,
    LedgerEdition,
    LedgerEntry,
    LocatedReading,
    RiskFlag,
    RiskSeverity,
    RiskType,
)
from affidavit.ledger.rules import LedgerRules
from affidavit.ledger.verdict import contradicting_readings, is_outdated, supporting_readings


class RiskDefinition(NamedTuple):
    """The meaning, severity and recommended action of a risk: section 7.1."""

    meaning: str
    severity: RiskSeverity
    action: str


RISKS: Final[Mapping[RiskType, RiskDefinition]] = MappingProxyType(
    {
        RiskType.MISSING_EVIDENCE: RiskDefinition(
            "Critical claim has no supporting evidence",
            RiskSeverity.HIGH,
            "Upload relevant documents or remove claim",
        ),
        RiskType.CONTRADICTION: RiskDefinition(
            "Evidence directly contradicts the claim",
            RiskSeverity.HIGH,
            "Review conflicting sources and correct claim",
        ),
        RiskType.OUTDATED_SOURCE: RiskDefinition(
            "Source document may be outdated",
            RiskSeverity.MEDIUM,
            "Verify with current documentation",
        ),
        RiskType.AMBIGUOUS_EVIDENCE: RiskDefinition(
            "Evidence is open to interpretation",
            RiskSeverity.MEDIUM,
            "Seek clarification or additional sources",
        ),
        RiskType.CONFLICTING_SOURCES: RiskDefinition(
            "Multiple sources provide different information",
            RiskSeverity.HIGH,
            "Determine authoritative source",
        ),
        # The seed's table says low and its code medium; decisions.md settles on medium.
        RiskType.LOW_CONFIDENCE: RiskDefinition(
            "Claim support is weak across all evidence",
            RiskSeverity.MEDIUM,
            "Consider qualifying or removing claim",
        ),
    }
)


def risk_flags(
    entries: Sequence[LedgerEntry],
    documents: Iterable[Document],
    answer_date: str,
    rules: LedgerRules,
    *,
    edition: LedgerEdition = EDITIONS[SCHEMA],
) -> tuple[RiskFlag, ...]:
    """Return the flags of a ledger, in the order of section 7.1."""
    return (
        *_missing([entry for entry in entries if entry.importance in edition.flagged]),
        *_contradictions(entries),
        *_outdated(entries, documents, answer_date, rules),
        *_among(entries, RiskType.AMBIGUOUS_EVIDENCE, rules),
        *_among(entries, RiskType.CONFLICTING_SOURCES, rules),
        *_low_confidence(entries, rules),
    )


def _flag(
    kind: RiskType,
    description: str,
    affected: Iterable[LedgerEntry],
    severity: RiskSeverity | None = None,
) -> RiskFlag:
    claims = tuple(entry.claim_id for entry in affected)
    name = content_id("rsk", jcs([kind.value, description, list(claims)]))
    definition = RISKS[kind]
    return RiskFlag(
        id=name,
        type=kind,
        severity=severity or definition.severity,
        description=description,
        affected_claims=claims,
        mitigation=definition.action,
    )


def _missing(entries: Sequence[LedgerEntry]) -> Iterator[RiskFlag]:
    """Yield the flag for claims of every importance; only minor ones make it a low risk."""
    missing = [entry for entry in entries if entry.verdict is Verdict.NOT_FOUND]
    if missing:
        counts = Counter(entry.importance for entry in missing)
        only_minor = len(missing) == counts[Importance.MINOR]
        rank = "minor " if only_minor else ""
        critical = counts[Importance.CRITICAL]
        if critical == len(missing):
            rank = "critical "
        number = count_with_noun(len(missing), f"{rank}claim")
        text = f"{number} could not be verified from provided documents"
        if 0 < critical < len(missing):
            text += f", {critical} of them critical"
        severity = RiskSeverity.LOW if only_minor else None
        yield _flag(RiskType.MISSING_EVIDENCE, text, missing, severity)


def _contradictions(entries: Sequence[LedgerEntry]) -> Iterator[RiskFlag]:
    against = [entry for entry in entries if entry.verdict is Verdict.CONTRADICTED]
    if against:
        verb = "contradicts" if len(against) == 1 else "contradict"
        text = f"{count_with_noun(len(against))} {verb} the source documents"
        yield _flag(RiskType.CONTRADICTION, text, against)


def _outdated(
    entries: Sequence[LedgerEntry],
    documents: Iterable[Document],
    answer_date: str,
    rules: LedgerRules,
) -> Iterator[RiskFlag]:
    """Yield a flag for each outdated document that a verdict rests on."""
    for document in documents:
        affected = [
            entry
            for entry in entries
            if any(each.document_id == document.id for each in entry.deciding_readings)
        ]
        if affected and is_outdated(document, answer_date, rules.risk.outdated_after_days):
            text = (
                f"{document.filename} is dated {document.date}, more than "
                f"{rules.risk.outdated_after_days} days before the answer ({answer_date})"
            )
            yield _flag(RiskType.OUTDATED_SOURCE, text, affected)


def _among(
    entries: Sequence[LedgerEntry], kind: RiskType, rules: LedgerRules
) -> Iterator[RiskFlag]:
    applies, text = _DISAGREEMENTS[kind]
    affected = [entry for entry in entries if applies(entry, rules)]
    if affected:
        yield _flag(kind, f"{text} {count_with_noun(len(affected))}", affected)


def is_ambiguous(entry: LedgerEntry, rules: LedgerRules) -> bool:
    """Tell whether the judge's top readings of a claim disagree.

    They do if one document both supports and contradicts the claim, if the readings near the best
    one of a weak claim differ between full and partial support, or if one reading is torn.
    """
    matches = supporting_readings(entry.readings, rules.verdict)
    against = contradicting_readings(entry.readings, rules.verdict)
    both = {each.document_id for each in matches} & {each.document_id for each in against}
    torn = any(
        min(each.similarity, each.contradiction) >= rules.risk.torn_from
        for each in (*matches, *against)
    )
    if both or torn or entry.verdict is not Verdict.WEAK:
        return bool(both) or torn
    floor = matches[0].similarity - rules.risk.ambiguous_margin
    near = [each for each in matches if each.similarity >= floor]
    return {reading.support_level for reading in near} == {SupportLevel.FULL, SupportLevel.PARTIAL}


def find_conflict(
    entry: LedgerEntry, rules: LedgerRules
) -> tuple[LocatedReading, LocatedReading] | None:
    """Return the strongest contradiction and support of a claim in two different documents."""
    matches = supporting_readings(entry.readings, rules.verdict)
    pairs = (
        (against, match)
        for against in contradicting_readings(entry.readings, rules.verdict)
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
    if average < rules.risk.low_confidence_below:
        low = [e for e in entries if e.confidence_score < rules.risk.low_confidence_below]
        yield _flag(RiskType.LOW_CONFIDENCE, f"Overall confidence is low ({average:.0%})", low)


_MAX_TOPIC_WORDS: Final = 8


def follow_up_questions(entries: Sequence[LedgerEntry], rules: LedgerRules) -> tuple[str, ...]:
    """Return one question for each claim that is not supported, in the order of the answer."""
    return tuple(
        _question(number, entry, rules)
        for number, entry in enumerate(entries, 1)
        if entry.verdict is not Verdict.SUPPORTED
    )


def _question(number: int, entry: LedgerEntry, rules: LedgerRules) -> str:
    claim = f"claim #{number} (\u201c{entry.statement}\u201d)"
    if entry.verdict is Verdict.NOT_FOUND:
        return f"Which document covers {claim}?"
    place = long_place(entry.deciding_readings[0])
    if entry.verdict is Verdict.WEAK:
        return f"Does {place} say all of {claim}, or only a part of it?"
    conflict = find_conflict(entry, rules)
    if conflict is not None:
        against, match = map(long_place, conflict)
        return f"Which source is authoritative for {claim}: {against} or {match}?"
    return f"Should {claim} be corrected to what {place} says?"


def topic_of(text: str) -> str:
    """Return the topic of a claim: the words before its verb, or the claim if they are many."""
    words = words_of(text)
    verb = find_main_verb(words)
    if not verb or verb > _MAX_TOPIC_WORDS:
        return text
    return text[: words[verb].start].strip(" ,;:")


def recommended_actions(
    entries: Sequence[LedgerEntry], flags: Sequence[RiskFlag]
) -> tuple[str, ...]:
    """Return what to do, the most urgent first, with the numbers of the claims."""
    numbers = {entry.claim_id: number for number, entry in enumerate(entries, 1)}
    return (
        *_about_missing(entries),
        *_about_contradicted(entries),
        *_about_weak(entries),
        *_about_flags(flags, numbers),
    )


def _about_missing(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    missing = _numbered(entries, Verdict.NOT_FOUND)
    if missing:
        topics = dict.fromkeys(f"\u201c{topic_of(entry.statement)}\u201d" for _, entry in missing)
        yield f"Upload additional documents covering {_listed(tuple(topics))}"
        yield f"Review {_claims(missing)} and consider removing or qualifying"


def _about_contradicted(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    for number, entry in _numbered(entries, Verdict.CONTRADICTED):
        yield f"Correct claim #{number}, which {long_place(entry.deciding_readings[0])} contradicts"


def _about_weak(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    for number, entry in _numbered(entries, Verdict.WEAK):
        place = long_place(entry.deciding_readings[0])
        yield f"Qualify claim #{number} to say no more than {place}"


def _about_flags(flags: Sequence[RiskFlag], numbers: Mapping[str, int]) -> Iterator[str]:
    for flag in flags:
        if flag.type is RiskType.OUTDATED_SOURCE:
            yield f"{flag.mitigation}: {flag.description}"
        elif flag.type in _BY_CLAIM:
            affected = [numbers[claim] for claim in flag.affected_claims]
            yield f"{RISKS[flag.type].action} for {_claim_numbers(affected)}"


_BY_CLAIM: Final = frozenset({RiskType.AMBIGUOUS_EVIDENCE, RiskType.CONFLICTING_SOURCES})


def _numbered(entries: Sequence[LedgerEntry], verdict: Verdict) -> list[tuple[int, LedgerEntry]]:
    return [each for each in enumerate(entries, 1) if each[1].verdict is verdict]


def _claims(numbered: Sequence[tuple[int, LedgerEntry]]) -> str:
    return _claim_numbers([number for number, _ in numbered])


def _claim_numbers(numbers: Sequence[int]) -> str:
    noun = "claim" if len(numbers) == 1 else "claims"
    return f"{noun} {_listed([f'#{number}' for number in numbers])}"


def _listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
