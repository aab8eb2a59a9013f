"""Numbers, units, bounds and dates: what is read, and how one bears on another."""

from fractions import Fraction

import pytest

from affidavit.judge.lexical.amounts import Bound, Relation
from affidavit.judge.lexical.facts import Fact, compare_facts, facts_of
from affidavit.judge.lexical.moments import Moment
from affidavit.judge.lexical.numerals import find_numeral, value_of_digits
from affidavit.judge.lexical.passages import passage_of
from affidavit.judge.lexical.quantities import Quantity
from affidavit.judge.lexical.tokens import tokens_of

SAME, LOOSE, UNKNOWN, CONFLICT = (
    Relation.SAME,
    Relation.LOOSE,
    Relation.UNKNOWN,
    Relation.CONFLICT,
)


def facts(text: str) -> tuple[Fact, ...]:
    """Return the facts of a text of one sentence."""
    (sentence,) = passage_of(text).sentences
    return facts_of(sentence)


DIGITS = {
    "plain": ("15", Fraction(15)),
    "decimals": ("0.05", Fraction(1, 20)),
    "grouped": ("1,200,300", Fraction(1200300)),
    "grouped with decimals": ("1,200.50", Fraction(2401, 2)),
    "continental": ("1.200,50", Fraction(2401, 2)),
    "continental millions": ("1.200.000", Fraction(1200000)),
    "decimal comma": ("1,5", Fraction(3, 2)),
    "lakhs": ("1,00,000", Fraction(100000)),
    "a version": ("3.11.2", None),
    "a slip": ("6,5000", None),
    "an identifier": ("9" * 30, None),
}


@pytest.mark.parametrize(("text", "value"), DIGITS.values(), ids=DIGITS.keys())
def test_digits(text: str, value: Fraction | None) -> None:
    assert value_of_digits(text) == value


WORDS = {
    "units": ("seven", 7, "cardinal"),
    "tens and units": ("twenty-one", 21, "cardinal"),
    "ten is not twenty": ("ten", 10, "cardinal"),
    "hundreds": ("two hundred and fifty", 250, "cardinal"),
    "thousands": ("two hundred and fifty thousand", 250_000, "cardinal"),
    "a hundred": ("a hundred", 100, "cardinal"),
    "a dozen": ("a dozen", 12, "cardinal"),
    "half a million": ("half a million", 500_000, "cardinal"),
    "magnitude": ("1.2 million", 1_200_000, "cardinal"),
    "letter": ("5k", 5_000, "cardinal"),
    "two magnitudes": ("2 hundred thousand", 200_000, "cardinal"),
    "a torn number": ("56, 000", 56_000, "cardinal"),
    "a mixed number": ("2 1/2", Fraction(5, 2), "cardinal"),
    "suffix": ("3rd", 3, "ordinal"),
    "ordinal": ("third", 3, "ordinal"),
    "ordinal of two words": ("twenty-first", 21, "ordinal"),
    "half": ("half", Fraction(1, 2), "ratio"),
    "two thirds": ("two-thirds", Fraction(2, 3), "ratio"),
    "a third of": ("a third of", Fraction(1, 3), "ratio"),
    "simple fraction": ("1/2", Fraction(1, 2), "ratio"),
}


@pytest.mark.parametrize(("text", "value", "shape"), WORDS.values(), ids=WORDS.keys())
def test_number_words(text: str, value: int | Fraction, shape: str) -> None:
    found = find_numeral(tokens_of(text), 0)
    assert found is not None
    assert (found.value, found.shape) == (value, shape)


@pytest.mark.parametrize("text", ["a", "an apple", "hundreds of", "employees"])
def test_no_number(text: str) -> None:
    assert find_numeral(tokens_of(text), 0) is None


MEASURES = {
    "days": ("at least 14 calendar days", "days", 14, Bound.AT_LEAST),
    "weeks are days": ("within 2 weeks", "days", 14, Bound.WITHIN),
    "years are months": ("for two years", "months", 24, Bound.EXACT),
    "hyphen": ("a 30-day trial", "days", 30, Bound.EXACT),
    "touching": ("lasts 24h", "days", 1, Bound.EXACT),
    "compound": ("in 8 minutes and 20 seconds", "days", Fraction(500, 86400), Bound.EXACT),
    "money": ("worth $2.5m in all", "money-dollar", 2_500_000, Bound.EXACT),
    "money behind": ("pays 500 EUR", "money-eur", 500, Bound.EXACT),
    "money that touches": ("of EUR20.5 billion", "money-eur", 20_500_000_000, Bound.EXACT),
    "percent": ("up to 30%", "ratio", Fraction(3, 10), Bound.AT_MOST),
    "per thousand": ("of 4 per thousand", "ratio", Fraction(1, 250), Bound.EXACT),
    "points": ("by 2 percentage points", "points", Fraction(1, 50), Bound.EXACT),
    "one in five": ("for one in five people", "ratio", Fraction(1, 5), Bound.EXACT),
    "degrees": ("at 20 °C", "celsius", 20, Bound.EXACT),
    "area": ("of 10 square kilometres", "area", 10_000_000, Bound.EXACT),
    "negated bound": ("must not exceed 10 MB", "data", 10_000_000, Bound.AT_MOST),
    "bound behind": ("aged 18 or older", "count", 18, Bound.AT_LEAST),
    "bound far before": ("Maximum upload size: 5 files", "count", 5, Bound.AT_MOST),
    "about": ("some 500 people", "count", 500, Bound.ABOUT),
    "exactly": ("exactly 500 people", "count", 500, Bound.EXACTLY),
    "a number that looks like a year": ("more than 2000 workers", "count", 2000, Bound.MORE),
    "one unit": ("for an hour", "days", Fraction(1, 24), Bound.EXACT),
}


@pytest.mark.parametrize(
    ("text", "dimension", "low", "bound"), MEASURES.values(), ids=MEASURES.keys()
)
def test_measure(text: str, dimension: str, low: int | Fraction, bound: Bound) -> None:
    (found,) = facts(text)
    assert isinstance(found, Quantity)
    assert (found.dimension, found.amount.low, found.amount.bound) == (dimension, low, bound)


NO_FACTS = ["See [2] and [3].", "the one that matters", "no one came", "COVID-19 spread"]


@pytest.mark.parametrize("text", NO_FACTS)
def test_no_facts(text: str) -> None:
    assert facts(text) == ()


RELATIONS = {
    "equal": ("15 days", "15 days", SAME),
    "no silent rounding": ("123456 users", "123457 users", CONFLICT),
    "percent is a fraction": ("5%", "0.05", SAME),
    "a share and a count": ("5%", "12 users", UNKNOWN),
    "converted": ("2 weeks", "14 calendar days", SAME),
    "cross system": ("5 miles", "8 km", SAME),
    "cross system, too far": ("5 miles", "9 km", CONFLICT),
    "business days": ("15 days", "15 business days", LOOSE),
    "business against calendar days": ("15 calendar days", "15 business days", CONFLICT),
    "days and months, close": ("30 days", "one month", LOOSE),
    "days and months, far": ("10 days", "one month", CONFLICT),
    "another unit, same number": ("5 kg", "5 km", CONFLICT),
    "another unit, another number": ("5 kg", "7 km", UNKNOWN),
    "rates": ("€600 per year", "€50 per month", SAME),
    "rates that differ": ("£60 per month", "£60 per year", CONFLICT),
    "dollars of some country": ("$500", "500 USD", SAME),
    "pounds": ("£5", "5 pounds", SAME),
    "point on a lower bound": ("14 days", "at least 14 days", SAME),
    "point inside a rule": ("20 days", "at least 14 days", CONFLICT),
    "point on an upper bound": ("30%", "up to 30%", LOOSE),
    "point above a strict bound": ("12 users", "more than 10 users", UNKNOWN),
    "strict bound borne out": ("more than 100 users", "150 users", SAME),
    "strict bound not borne out": ("more than 100 users", "100 users", CONFLICT),
    "strict bound near about": ("over 200 users", "about 200 users", LOOSE),
    "rule with another bound": ("at least 8 users", "at least 12 users", CONFLICT),
    "strict bound inside another": ("more than 5 users", "more than 7 users", LOOSE),
    "magnitude slipped": ("over 13.5 thousand users", "over 13.5 billion users", CONFLICT),
    "opposite bounds": ("at least 23 kg", "at most 23 kg", CONFLICT),
    "open overlap": ("under 23 users", "more than 20 users", UNKNOWN),
    "same range": ("3 to 5 days", "between 3 and 5 days", SAME),
    "wider range": ("3 to 10 days", "3 to 5 days", CONFLICT),
    "end of a range": ("5 days", "3 to 5 days", LOOSE),
    "bound over a range": ("more than 2 days", "3 to 5 days", SAME),
    "rounded by its writer": ("1.2 million users", "1,213,450 users", SAME),
    "rounded too far": ("5 million users", "5.4 million users", LOOSE),
    "about, rounder": ("about 500 users", "510 users", SAME),
    "about, not rounder": ("about 78 minutes", "about 80 minutes", LOOSE),
    "exactly against about": ("exactly 50 users", "about 50 users", LOOSE),
    "sides changed": ("from 5%", "to 5%", CONFLICT),
    "versions": ("version 2.4", "version 2.1", CONFLICT),
    "same version": ("release 3.11.2", "release 3.11.2", SAME),
    "date in another spelling": ("on 12 March 2024", "on 2024-03-12", SAME),
    "American date": ("on 12 March 2024", "March 12, 2024", SAME),
    "open spelling": ("on 03/04/2024", "on 4 March 2024", SAME),
    "month of a date": ("in March 2024", "on 12 March 2024", SAME),
    "day not said": ("on 12 March 2024", "in March 2024", LOOSE),
    "another month": ("in March 2024", "in May 2024", CONFLICT),
    "year in a decade": ("in the 1960s", "in 1964", SAME),
    "decade of a year": ("in 1964", "in the 1960s", LOOSE),
    "century": ("in the 19th century", "in 1850", SAME),
    "before": ("before 2000", "in 1987", SAME),
    "not before": ("before 1980", "in 1987", CONFLICT),
    "after, same year": ("after July 2006", "on 5 December 2006", SAME),
    "sides of a date": ("after 1 April", "before 1 April", CONFLICT),
    "quarter": ("in Q2 2023", "in the second quarter of 2023", SAME),
    "quarter of a month": ("in Q1 2023", "in March 2023", SAME),
    "fiscal year": ("in FY2024", "in 2024", SAME),
    "weekday": ("on Monday", "on Tuesday", CONFLICT),
    "clock": ("at 5 pm", "at 17:00", SAME),
    "clock with a point": ("at 9:30 am", "at 9.30am", SAME),
    "a clock and a date": ("at 5 pm", "in 2024", UNKNOWN),
    "noon": ("at 12 pm", "at noon", SAME),
}


@pytest.mark.parametrize(
    ("claim", "evidence", "relation"), RELATIONS.values(), ids=RELATIONS.keys()
)
def test_relation(claim: str, evidence: str, relation: Relation) -> None:
    (ours,), (theirs,) = facts(claim), facts(evidence)
    assert compare_facts(ours, theirs) is relation


@pytest.mark.parametrize("text", ["You may march on.", "She may go.", "the march of time"])
def test_months_are_also_other_words(text: str) -> None:
    assert not any(isinstance(fact, Moment) for fact in facts(text))
