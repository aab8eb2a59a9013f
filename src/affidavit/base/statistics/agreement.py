"""Agreement of two raters beyond chance: Cohen's kappa and its interval."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from affidavit.base.statistics.rates import Interval, Rate, z_value


@dataclass(frozen=True, slots=True)
class LabelUse:
    """How often each of the two raters gave one label."""

    label: str
    first: Rate
    second: Rate


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters over the same items.

    `observed` is the share of items with equal labels (po). `expected` is the share that two
    independent raters with the same label frequencies would reach (pe). `kappa` is
    (po - pe) / (1 - pe). `labels` is sorted.
    """

    observed: Rate
    expected: float | None
    kappa: float | None
    labels: tuple[LabelUse, ...]

    @property
    def base_rate(self) -> Rate:
        """The share of the first rater's most frequent label.

        A second rater who always gives that label agrees this often, with a kappa of 0.
        """
        shares = (use.first for use in self.labels)
        return max(shares, key=lambda share: share.numerator, default=Rate(0, 0))


def agreement(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """Return Cohen's kappa and its parts, from each item's two labels.

    Origin: Cohen (1960). Kappa is None if there are no items or if both raters used only one label,
    because then agreement cannot be distinguished from chance.
    """
    return agreement_from_counts(Counter(pairs))


def agreement_from_counts(counts: Mapping[tuple[str, str], int]) -> Agreement:
    """Return the same from the number of items per pair of labels; such counts can be merged."""
    items = sum(counts.values())
    agreeing = sum(count for (first, second), count in counts.items() if first == second)
    firsts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for (first, second), count in counts.items():
        firsts[first] += count
        seconds[second] += count
    labels = tuple(
        LabelUse(label, Rate(firsts[label], items), Rate(seconds[label], items))
        for label in sorted(firsts | seconds)
    )
    # Multiplied by items squared, po and pe are integers; each figure is rounded once, at the end.
    by_chance = sum(use.first.numerator * use.second.numerator for use in labels)
    square = items * items
    beyond_chance = items * agreeing - by_chance
    return Agreement(
        observed=Rate(agreeing, items),
        expected=by_chance / square if items else None,
        kappa=beyond_chance / (square - by_chance) if square > by_chance else None,
        labels=labels,
    )


def kappa_interval(
    counts: Mapping[tuple[str, str], int], confidence: float = 0.95
) -> Interval | None:
    """Return the large-sample interval of Cohen's kappa; None if kappa is not measured.

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
