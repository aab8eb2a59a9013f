"""Finds numbers with their units, bounds and rates in a row of tokens."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from affidavit.judge.lexical.amounts import Amount, Bound
from affidavit.judge.lexical.bounds import BoundFound, bound_of
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.numerals import Numeral, find_numeral
from affidavit.judge.lexical.surroundings import counts_one, label_of, rate_of, role_of
from affidavit.judge.lexical.tokens import Token, norm_at
from affidavit.judge.lexical.units import UnitFound, find_unit, money_named


class Quantity(NamedTuple):
    """A number in a row of tokens, from token `first` up to before token `end`.

    `amount` counts in the base unit of `dimension`; `written` is the bare number, before units.
    `label` is the name that a numbered thing carries ("section" in "Section 4.2"); `exact_text` the
    spelling of a version. `is_weak` marks "one" and "first", often mere figures of speech.
    """

    amount: Amount
    dimension: str
    written: Fraction
    first: int
    end: int
    per: str = ""
    day_kind: str = ""
    system: str = ""
    label: str = ""
    exact_text: str = ""
    role: str = ""
    is_weak: bool = False
    said_first: int = -1
    """Where its bound begins, if that is further left: "at least" in "at least 14 days"."""


_TO: Final = frozenset({"-", "\u2013", "\u2014", "to"})
_ZERO: Final = Fraction(0)
_COMPOUND: Final = frozenset({"days", "months", "length", "mass"})
_LONGEST_TEXT: Final = 40


def find_quantities(
    tokens: Sequence[Token], taken: frozenset[int] = frozenset()
) -> tuple[Quantity, ...]:
    """Return the quantities among the tokens, in order; `taken` are places that dates hold."""
    found: list[Quantity] = []
    for quantity in _quantities(tokens, taken):
        joined = _joined(tokens, found[-1], quantity) if found else None
        if joined:
            found[-1] = joined
        else:
            found.append(quantity)
    return tuple(found)


def _joined(tokens: Sequence[Token], left: Quantity, right: Quantity) -> Quantity | None:
    """Join "8 minutes and 20 seconds", "5 feet 10 inches" to one measure."""
    between = [token.word.norm for token in tokens[left.end : right.first]]
    same = left.dimension == right.dimension and left.dimension in _COMPOUND
    if not same or between not in ([], ["and"], [","]) or right.amount.low >= left.amount.low:
        return None
    if not left.written or not right.written:
        return None
    if left.amount.low / left.written <= right.amount.low / right.written:
        return None
    low, high = left.amount.low + right.amount.low, left.amount.high + right.amount.high
    return left._replace(amount=left.amount._replace(low=low, high=high), end=right.end)


def _quantities(tokens: Sequence[Token], taken: frozenset[int]) -> Iterator[Quantity]:
    at = 0
    while at < len(tokens):
        found = None if at in taken else _quantity_at(tokens, at)
        if found is None:
            at += 1
            continue
        yield found
        at = found.end


def _quantity_at(tokens: Sequence[Token], at: int) -> Quantity | None:
    money = money_named(tokens[at])
    if money and at + 1 < len(tokens) and tokens[at + 1].word.kind is Kind.NUMBER:
        numeral = find_numeral(tokens, at + 1, is_money=True)
        return _measured(tokens, at, numeral, UnitFound(money, numeral.end)) if numeral else None
    if _is_citation(tokens, at):
        return None
    numeral = find_numeral(tokens, at)
    if numeral is None:
        return _one_unit(tokens, at) or _version(tokens, at)
    if numeral.shape == "ordinal":
        return _ordinal(tokens, at, numeral)
    return _ratio_in_words(tokens, at, numeral) or _with_unit(tokens, at, numeral)


def _one_unit(tokens: Sequence[Token], at: int) -> Quantity | None:
    """Read "an hour" and "a year" as one of them; often it is a mere figure of speech."""
    if norm_at(tokens, at) not in ("a", "an") or at + 1 >= len(tokens):
        return None
    unit = find_unit(tokens, at + 1)
    if unit is None or unit.end != at + 2 or unit.unit.dimension not in ("days", "months"):
        return None
    one = Fraction(1)
    amount = Amount(Bound.EXACT, one, one).scaled(unit.unit.factor)
    return Quantity(amount, unit.unit.dimension, one, at, unit.end, is_weak=True)


def _is_citation(tokens: Sequence[Token], at: int) -> bool:
    """Say whether the number is a reference mark: "[2]", "[2, 3]"."""
    before = norm_at(tokens, at - 1)
    after = norm_at(tokens, at + 1)
    return (before == "[" and after in ("]", ",")) or (before == "," and after == "]")


def _version(tokens: Sequence[Token], at: int) -> Quantity | None:
    """Read what looks like a number and has no value: 3.11.2, or "6,5000" with a slip in it."""
    text = tokens[at].text
    if tokens[at].word.kind is not Kind.NUMBER or len(text) > _LONGEST_TEXT:
        return None
    point = Amount(Bound.EXACT, _ZERO, _ZERO)
    return Quantity(point, "version", _ZERO, at, at + 1, exact_text=text)


def _ordinal(tokens: Sequence[Token], at: int, numeral: Numeral) -> Quantity | None:
    if norm_at(tokens, at) == "second" and norm_at(tokens, at - 1) in ("per", "a", "/"):
        return None
    point = Amount(Bound.EXACT, numeral.value, numeral.value)
    return Quantity(point, "ordinal", numeral.value, at, numeral.end, is_weak=numeral.value <= 2)


def _ratio_in_words(tokens: Sequence[Token], at: int, numeral: Numeral) -> Quantity | None:
    """Read "one in five" and "4 out of 5"."""
    behind = numeral.end
    if norm_at(tokens, behind) == "out" and norm_at(tokens, behind + 1) == "of":
        behind += 1
    elif norm_at(tokens, behind) != "in":
        return None
    below = find_numeral(tokens, behind + 1) if behind + 1 < len(tokens) else None
    if below is None or below.shape != "cardinal" or not 0 < numeral.value < below.value <= 100:
        return None
    share = numeral.value / below.value
    bound = bound_of(tokens, at, below.end)
    amount = Amount(bound.bound, share, share)
    return Quantity(amount, "ratio", share, at, below.end, said_first=bound.first)


def _with_unit(tokens: Sequence[Token], at: int, numeral: Numeral) -> Quantity | None:
    behind = numeral.end
    if numeral.shape == "ratio" and norm_at(tokens, behind) in ("a", "an"):
        behind += 1
    return _measured(tokens, at, numeral._replace(end=behind), find_unit(tokens, behind))


def _measured(
    tokens: Sequence[Token], at: int, numeral: Numeral, unit: UnitFound | None
) -> Quantity | None:
    other, unit = _range_end(tokens, at, numeral, unit)
    end = max(unit.end if unit else 0, numeral.end, other.end if other else 0)
    low, high = numeral.value, other.value if other else numeral.value
    bound = BoundFound(Bound.RANGE, at, end) if other else bound_of(tokens, at, end)
    amount = Amount(bound.bound, low, high, numeral.step)
    if unit is None:
        found = _bare(tokens, at, end, numeral, amount)
        return found and found._replace(said_first=bound.first)
    per, end = rate_of(tokens, at, end)
    return Quantity(
        amount.scaled(unit.unit.factor), unit.unit.dimension, numeral.value, at, end, per,
        unit.day_kind, unit.unit.system, role=role_of(tokens, at), said_first=bound.first,
    )  # fmt: skip


def _range_end(
    tokens: Sequence[Token], at: int, numeral: Numeral, unit: UnitFound | None
) -> tuple[Numeral | None, UnitFound | None]:
    """Return the upper end of "10-15 days", "between 10 and 15", and the unit of both."""
    behind = max(numeral.end, unit.end if unit else 0)
    joint, before = norm_at(tokens, behind), norm_at(tokens, at - 1)
    is_range = (joint in _TO and before != "from") or (joint == "and" and before == "between")
    if not is_range or behind + 1 >= len(tokens):
        return None, unit
    mark = 1 if money_named(tokens[behind + 1]) else 0
    if behind + 1 + mark >= len(tokens):
        return None, unit
    other = find_numeral(tokens, behind + 1 + mark, is_money=bool(mark))
    if other is None or other.shape != "cardinal" or other.value <= numeral.value:
        return None, unit
    later = find_unit(tokens, other.end)
    if unit and later and unit.unit.dimension != later.unit.dimension:
        return None, unit
    return other, later or (unit._replace(end=other.end) if unit else None)


def _bare(
    tokens: Sequence[Token], at: int, end: int, numeral: Numeral, amount: Amount
) -> Quantity | None:
    if numeral.shape == "ratio":
        return Quantity(amount, "ratio", numeral.value, at, end)
    if norm_at(tokens, at) == "one" and not counts_one(tokens, at):
        return None
    label = label_of(tokens, at)
    exact = tokens[at].text if label else ""
    per, stop = rate_of(tokens, at, end)
    return Quantity(
        amount, "label" if label else "count", numeral.value, at, stop, per, label=label,
        exact_text=exact, role=role_of(tokens, at), is_weak=norm_at(tokens, at) == "one",
    )  # fmt: skip
