"""From readings to a verdict: a rule over stored scores, so anyone can replay it.

Origin: evidence-ledger.md, section 4.2, in its order, with the repair of decisions.md: a match
that neither supports nor contradicts is not_found, whatever its similarity. Rules V1 to V6 of
docs/ledger.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from affidavit.ledger.model import SupportLevel, Verdict
from affidavit.ledger.record import Exhibit
from affidavit.ledger.rules import LedgerRules

NOTHING_READ: Final = "No matching evidence found in provided documents"
NOTHING_MATCHES: Final = "Evidence does not adequately support claim"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A verdict, the exhibits that it rests on (the strongest first), and why."""

    verdict: Verdict
    rests_on: tuple[Exhibit, ...]
    notes: str


def supporting(exhibits: Iterable[Exhibit], rules: LedgerRules) -> tuple[Exhibit, ...]:
    """Return the exhibits that carry the claim, the highest similarity first."""
    matches = (
        exhibit
        for exhibit in exhibits
        if exhibit.supports and exhibit.reading.similarity >= rules.match_from
    )
    return tuple(sorted(matches, key=_by_similarity))


def contradicting(exhibits: Iterable[Exhibit], rules: LedgerRules) -> tuple[Exhibit, ...]:
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


def assign_verdict(exhibits: tuple[Exhibit, ...], rules: LedgerRules) -> Assignment:
    """Return the verdict on a claim. The order of the exhibits does not matter."""
    if not exhibits:
        return Assignment(Verdict.NOT_FOUND, (), NOTHING_READ)
    against = contradicting(exhibits, rules)
    if against:
        return _assigned(Verdict.CONTRADICTED, against, "Evidence contradicts claim")
    matches = supporting(exhibits, rules)
    if not matches:
        return Assignment(Verdict.NOT_FOUND, (), NOTHING_MATCHES)
    best = matches[0].reading
    if best.support_level is SupportLevel.FULL and best.similarity > rules.supported_above:
        return _assigned(Verdict.SUPPORTED, matches, "Directly supported by")
    return _assigned(Verdict.WEAK, matches, "Partially supported")


def _assigned(verdict: Verdict, exhibits: tuple[Exhibit, ...], said: str) -> Assignment:
    reading = exhibits[0].reading
    notes = f'{said}: "{" ".join(reading.snippet.split())}"'
    return Assignment(verdict, exhibits, f"{notes} {reading.notes}".strip())
