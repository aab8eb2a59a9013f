"""The rule from readings to a verdict, and the confidence of that verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Document, SupportLevel, Verdict
from affidavit.ledger.record import ConfidenceComponents, Exhibit
from affidavit.ledger.rules import LedgerRules

# The confidence of a verdict, from components that are stored with it.
#
# Origin: evidence-ledger.md, sections 6.1 and 6.2; decisions.md, "confidence_score". Rules F1 to F5
# of docs/ledger.md. Scores are rounded to four decimals before anything is compared with them, so a
# difference in the last bits between two machines decides nothing.

DECIMALS: Final = 4
_SIMILARITY_WEIGHT: Final = 0.6
_SOURCE_BONUS: Final = 0.05
_MOST_EXTRA_SOURCES: Final = 3
_DIRECTNESS_WEIGHT: Final = 0.15
_QUALITY_WEIGHT: Final = 0.1

QUALITY_CURRENT: Final = 1.0
QUALITY_UNDATED: Final = 0.5
QUALITY_OUTDATED: Final = 0.25


@dataclass(frozen=True, slots=True)
class Interpretation:
    """How a confidence score is read aloud and shown: section 6.2."""

    at_least: float
    name: str
    badge: str


INTERPRETATIONS: Final = (
    Interpretation(0.85, "High confidence", "Solid green badge"),
    Interpretation(0.7, "Good confidence", "Light green badge"),
    Interpretation(0.5, "Moderate confidence", "Amber badge"),
    Interpretation(0.3, "Low confidence", "Light amber badge"),
    Interpretation(0.0, "Very low confidence", "Gray badge"),
)


def round_score(score: float) -> float:
    """Return a score as it is stored and compared."""
    # Adding zero turns -0.0 into 0.0, which would be written differently.
    return round(score, DECIMALS) + 0.0


def interpretation(score: float) -> Interpretation:
    """Return how a score from 0 to 1 is read."""
    return next(each for each in INTERPRETATIONS if score >= each.at_least)


def confidence_components(matches: Sequence[Exhibit], quality: float) -> ConfidenceComponents:
    """Return the components for exhibits that support a claim, the strongest first.

    Sources are counted by document: five passages of one file are one source.
    """
    best = matches[0].reading
    sources = len({exhibit.document_id for exhibit in matches})
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
    """Return what a document's own date says of it as a source of this answer."""
    if document.date is None:
        return QUALITY_UNDATED
    outdated = is_outdated(document, answer_date, outdated_after_days)
    return QUALITY_OUTDATED if outdated else QUALITY_CURRENT


def is_outdated(document: Document, answer_date: str, outdated_after_days: int) -> bool:
    """Tell whether a document states a date more than so many days before the answer's."""
    if document.date is None:
        return False
    return (parse_day(answer_date) - parse_day(document.date)).days > outdated_after_days


def parse_day(text: str) -> date:
    """Return the day that `text` (YYYY-MM-DD) names."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise AffidavitError(faults.DATE_MALFORMED, text=text) from None


# From readings to a verdict: a rule over stored scores, so anyone can replay it.
#
# Origin: evidence-ledger.md, section 4.2, in its order, with the repair of decisions.md: a match
# that neither supports nor contradicts is not_found, whatever its similarity. Rules V1 to V6 of
# docs/ledger.md.

NOTHING_READ: Final = "No matching evidence found in provided documents"
NOTHING_MATCHES: Final = "Evidence does not adequately support claim"


@dataclass(frozen=True, slots=True)
class AssignedVerdict:
    """A verdict, the exhibits that it rests on (the strongest first), and why."""

    verdict: Verdict
    rests_on: tuple[Exhibit, ...]
    notes: str


def supporting_exhibits(exhibits: Iterable[Exhibit], rules: LedgerRules) -> tuple[Exhibit, ...]:
    """Return the exhibits that carry the claim, the highest similarity first."""
    matches = (
        exhibit
        for exhibit in exhibits
        if exhibit.supports and exhibit.reading.similarity >= rules.match_from
    )
    return tuple(sorted(matches, key=_by_similarity))


def contradicting_exhibits(exhibits: Iterable[Exhibit], rules: LedgerRules) -> tuple[Exhibit, ...]:
    """Return the exhibits that conflict with the claim, the highest contradiction first."""
    matches = (
        exhibit
        for exhibit in exhibits
        if exhibit.contradicts and exhibit.reading.contradiction >= rules.contradicted_from
    )
    return tuple(sorted(matches, key=_by_contradiction))


def _by_similarity(exhibit: Exhibit) -> tuple[float, bool, str, int, str]:
    partial = exhibit.reading.support_level is not SupportLevel.FULL
    return (-exhibit.reading.similarity, partial, *_place(exhibit))


def _by_contradiction(exhibit: Exhibit) -> tuple[float, float, str, int, str]:
    reading = exhibit.reading
    return (-reading.contradiction, -reading.similarity, *_place(exhibit))


def _place(exhibit: Exhibit) -> tuple[str, int, str]:
    return exhibit.document_id, exhibit.chunk_span.start, exhibit.reading.chunk_id


def assign_verdict(exhibits: tuple[Exhibit, ...], rules: LedgerRules) -> AssignedVerdict:
    """Return the verdict on a claim. The order of the exhibits does not matter."""
    if not exhibits:
        return AssignedVerdict(Verdict.NOT_FOUND, (), NOTHING_READ)
    against = contradicting_exhibits(exhibits, rules)
    if against:
        return _assigned(Verdict.CONTRADICTED, against, "Evidence contradicts claim")
    matches = supporting_exhibits(exhibits, rules)
    if not matches:
        return AssignedVerdict(Verdict.NOT_FOUND, (), NOTHING_MATCHES)
    best = matches[0].reading
    if best.support_level is SupportLevel.FULL and best.similarity > rules.supported_above:
        return _assigned(Verdict.SUPPORTED, matches, "Directly supported by")
    return _assigned(Verdict.WEAK, matches, "Partially supported")


def _assigned(verdict: Verdict, exhibits: tuple[Exhibit, ...], said: str) -> AssignedVerdict:
    reading = exhibits[0].reading
    notes = f'{said}: "{" ".join(reading.snippet.split())}"'
    return AssignedVerdict(verdict, exhibits, f"{notes} {reading.notes}".strip())
