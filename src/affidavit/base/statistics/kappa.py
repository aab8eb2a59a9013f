"""How far a kappa can be trusted."""

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt

from affidavit.base.statistics.agreement import agreement_from_counts
from affidavit.base.statistics.intervals import Interval
from affidavit.base.statistics.normal import z_value


def kappa_interval(
    counts: Mapping[tuple[str, str], int], confidence: float = 0.95
) -> Interval | None:
    """Return the interval of Cohen's kappa for large samples; None where kappa is not measured.

    Origin: Fleiss, Cohen and Everitt (1969), the variance of kappa when it is not zero. The sums
    are exact fractions and are rounded once.
    """
    found = agreement_from_counts(counts)
    if found.kappa is None:
        return None
    items = found.observed.denominator
    first = {use.label: Fraction(use.first.numerator, items) for use in found.labels}
    second = {use.label: Fraction(use.second.numerator, items) for use in found.labels}
    observed = Fraction(found.observed.numerator, items)
    expected = sum((first[label] * second[label] for label in first), Fraction(0))
    kappa = (observed - expected) / (1 - expected)
    off = 1 - kappa
    total = -((kappa - expected * off) ** 2)
    for (one, other), count in counts.items():
        share = Fraction(count, items)
        if one == other:
            total += share * (1 - (first[one] + second[one]) * off) ** 2
        else:
            total += share * ((second[one] + first[other]) * off) ** 2
    spread = z_value(confidence) * sqrt(total / items) / float(1 - expected)
    return Interval(max(-1.0, float(kappa) - spread), min(1.0, float(kappa) + spread))
