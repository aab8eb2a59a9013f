"""The ledger in numbers, and what its gates measure. Rules U1 to U3 and G3 of docs/ledger.md."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from affidavit.ledger.confidence import rounded
from affidavit.ledger.findings import Finding, FindingKind
from affidavit.ledger.gates import Measure, Metric
from affidavit.ledger.model import BACKED, Importance, Verdict
from affidavit.ledger.record import ImportanceCounts, LedgerEntry, Summary, VerdictCounts

_DANGLING: Final = frozenset({FindingKind.UNRESOLVED_CITATION, FindingKind.MALFORMED_CITATION})


def summarise(entries: Sequence[LedgerEntry]) -> Summary:
    """Return the counts and rates of section 3.2; the rates follow decisions.md."""
    verdicts = Counter(entry.verdict for entry in entries)
    ranks = Counter(entry.claim.importance for entry in entries)
    material = [entry for entry in entries if entry.claim.is_material]
    return Summary(
        len(entries),
        VerdictCounts(*(verdicts[verdict] for verdict in Verdict)),
        ImportanceCounts(*(ranks[rank] for rank in Importance)),
        _share(material, lambda entry: entry.verdict in BACKED),
        _share(material, lambda entry: entry.verdict is Verdict.NOT_FOUND),
    )


def _share(entries: Sequence[LedgerEntry], counts: Callable[[LedgerEntry], bool]) -> float | None:
    return rounded(_exact_share(entries, counts)) if entries else None


def _exact_share(entries: Sequence[LedgerEntry], counts: Callable[[LedgerEntry], bool]) -> float:
    return sum(map(counts, entries)) / len(entries)


def measures(
    entries: Sequence[LedgerEntry], findings: Iterable[Finding]
) -> Mapping[Metric, Measure]:
    """Return what the gates compare with their thresholds: exact values, not rounded ones.

    A contradicted claim counts as unsupported here, though the summary's rate names not_found
    alone: else one more contradiction could turn a failing gate into a passing one.
    """
    material = [entry for entry in entries if entry.claim.is_material]
    unbacked = [entry for entry in material if entry.verdict not in BACKED]
    critical = [entry for entry in unbacked if entry.claim.importance is Importance.CRITICAL]
    contradicted = [entry for entry in entries if entry.verdict is Verdict.CONTRADICTED]
    firm = [entry for entry in material if entry.verdict is not Verdict.SUPPORTED]
    dangling = [finding for finding in findings if finding.kind in _DANGLING]
    return {
        Metric.COVERAGE: _rate(len(material) - len(unbacked), material, unbacked),
        Metric.UNSUPPORTED: _rate(len(unbacked), material, unbacked),
        Metric.CRITICAL_UNSUPPORTED: _count(critical, entries),
        Metric.CONTRADICTIONS: _count(contradicted, entries),
        Metric.SUPPORTED: _rate(len(material) - len(firm), material, firm),
        Metric.UNRESOLVED_CITATIONS: Measure(
            len(dangling) if entries else None,
            tuple(dict.fromkeys(each.claim_id for each in dangling if each.claim_id is not None)),
        ),
    }


def _rate(count: int, among: Sequence[LedgerEntry], offenders: Iterable[LedgerEntry]) -> Measure:
    return Measure(count / len(among) if among else None, _ids(offenders))


def _count(offenders: Sequence[LedgerEntry], entries: Sequence[LedgerEntry]) -> Measure:
    # With no claim at all nothing was looked at, and none found says nothing.
    return Measure(len(offenders) if entries else None, _ids(offenders))


def _ids(entries: Iterable[LedgerEntry]) -> tuple[str, ...]:
    return tuple(entry.claim.id for entry in entries)
