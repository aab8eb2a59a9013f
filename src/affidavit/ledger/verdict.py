"""The rule from readings to a verdict, and the confidence of that verdict.

Both are rules over stored scores, so that anyone can replay them. Scores are rounded to four
decimals before they are compared: a difference in the last bits between two machines decides
nothing. Origin of the verdict: evidence-ledger.md, section 4.2, in its order, with the correction
of decisions.md: a passage that neither supports nor contradicts is not_found, whatever its
similarity (rules V1 to V6 of docs/ledger.md). Origin of the confidence: sections 6.1 and 6.2;
decisions.md, "confidence_score" (rules F1 to F5).
"""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Document, SupportLevel, Verdict
from affidavit.ledger.record import ConfidenceComponents, LocatedReading
from affidavit.ledger.rules import VerdictThresholds

DECIMALS: Final = 4
_SIMILARITY_WEIGHT: Final = 0.6
_SOURCE_BONUS: Final = 0.05
_MOST_EXTRA_SOURCES: Final = 3
_DIRECTNESS_WEIGHT: Final = 0.15
_QUALITY_WEIGHT: Final = 0.1

QUALITY_CURRENT: Final = 1.0
QUALITY_UNDATED: Final = 0.5
QUALITY_OUTDATED: Final = 0.25


def round_score(score: float) -> float:
    """Return a score as it is stored and compared."""
    # Adding zero turns -0.0 into 0.0, which would be written differently.
    return round(score, DECIMALS) + 0.0


def confidence_components(
    matches: Sequence[LocatedReading], quality: float
) -> ConfidenceComponents:
    """Return the components for readings that support a claim, the strongest first.

    Sources are counted by document: five passages of one file are one source.
    """
    best = matches[0]
    sources = len({reading.document_id for reading in matches})
    return ConfidenceComponents(best.similarity, sources, best.directness, quality)


def confidence(components: ConfidenceComponents) -> float:
    """Return the score of section 6.1. Without evidence the multi-source term is 0."""
    extra_sources = min(max(components.evidence_count - 1, 0), _MOST_EXTRA_SOURCES)
    score = (
        components.semantic_similarity * _SIMILARITY_WEIGHT
        + extra_sources * _SOURCE_BONUS
        + components.directness * _DIRECTNESS_WEIGHT
        + components.source_quality * _QUALITY_WEIGHT
    )
    return round_score(min(max(score, 0.0), 1.0))


def source_quality(document: Document, answer_date: str, outdated_after_days: int) -> float:
    """Return the quality of a source, from the date that the document states."""
    if document.date is None:
        return QUALITY_UNDATED
    outdated = is_outdated(document, answer_date, outdated_after_days)
    return QUALITY_OUTDATED if outdated else QUALITY_CURRENT


def is_outdated(document: Document, answer_date: str, outdated_after_days: int) -> bool:
    """Tell whether a document's date is more than so many days before the answer's."""
    if document.date is None:
        return False
    return (parse_day(answer_date) - parse_day(document.date)).days > outdated_after_days


def parse_day(text: str) -> date:
    """Return the day that `text` (YYYY-MM-DD) names."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise AffidavitError(faults.DATE_MALFORMED, text=text) from None


NOTHING_READ: Final = "No matching evidence found in provided documents"
NOTHING_MATCHES: Final = "Evidence does not adequately support claim"


class AssignedVerdict(NamedTuple):
    """A verdict, the readings that it rests on (the strongest first), and why."""

    verdict: Verdict
    rests_on: tuple[LocatedReading, ...]
    notes: str


def supporting_readings(
    readings: Iterable[LocatedReading], thresholds: VerdictThresholds
) -> tuple[LocatedReading, ...]:
    """Return the readings that support the claim, the highest similarity first."""
    matches = (
        reading
        for reading in readings
        if reading.supports and reading.similarity >= thresholds.match_from
    )
    return tuple(sorted(matches, key=_by_similarity))


def contradicting_readings(
    readings: Iterable[LocatedReading], thresholds: VerdictThresholds
) -> tuple[LocatedReading, ...]:
    """Return the readings that contradict the claim, the highest contradiction first."""
    matches = (
        reading
        for reading in readings
        if reading.contradicts and reading.contradiction >= thresholds.contradicted_from
    )
    return tuple(sorted(matches, key=_by_contradiction))


def _by_similarity(reading: LocatedReading) -> tuple[float, bool, str, int, str]:
    partial = reading.support_level is not SupportLevel.FULL
    return (-reading.similarity, partial, *_place(reading))


def _by_contradiction(reading: LocatedReading) -> tuple[float, float, str, int, str]:
    return (-reading.contradiction, -reading.similarity, *_place(reading))


def _place(reading: LocatedReading) -> tuple[str, int, str]:
    return reading.document_id, reading.chunk_span.start, reading.chunk_id


def assign_verdict(
    readings: tuple[LocatedReading, ...], thresholds: VerdictThresholds
) -> AssignedVerdict:
    """Return the verdict on a claim. The order of the readings does not matter."""
    if not readings:
        return AssignedVerdict(Verdict.NOT_FOUND, (), NOTHING_READ)
    against = contradicting_readings(readings, thresholds)
    if against:
        return _assigned(Verdict.CONTRADICTED, against, "Evidence contradicts claim")
    matches = supporting_readings(readings, thresholds)
    if not matches:
        return AssignedVerdict(Verdict.NOT_FOUND, (), NOTHING_MATCHES)
    best = matches[0]
    if best.support_level is SupportLevel.FULL and best.similarity > thresholds.supported_above:
        return _assigned(Verdict.SUPPORTED, matches, "Directly supported by")
    return _assigned(Verdict.WEAK, matches, "Partially supported")


def _assigned(
    verdict: Verdict, readings: tuple[LocatedReading, ...], reason: str
) -> AssignedVerdict:
    best = readings[0]
    notes = f'{reason}: "{" ".join(best.snippet.split())}" {best.notes}'
    return AssignedVerdict(verdict, readings, notes.strip())
