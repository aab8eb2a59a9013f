"""Versions as tuples of numbers: `semver_eq`, `semver_gte`, `semver_lt`, `semver_prefix`.

Origin: answer-eval.md, section 2: dotted numeric tuple compare. Not covered: pre-release marks and
a leading v; a part that is not all digits is `not_evaluable`. The O rules of docs/checks.md.
"""

import operator
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from affidavit.base.json_limits import JsonValue
from affidavit.checks.outcomes import Outcome, not_evaluable, outcome_of
from affidavit.checks.values import MAX_NUMERAL, kind_of, shown

Version: TypeAlias = tuple[int, ...]
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_TRAILING: Final = "they differ in zeros at the end only, and every part counts"


def find_version(value: JsonValue) -> Version | None:
    """Return the parts of a version, or None. A whole number is a version of one part."""
    if type(value) is int and value >= 0:
        return (value,)
    if isinstance(value, str) and len(value) <= MAX_NUMERAL and _VERSION.fullmatch(value):
        return tuple(map(int, value.split(".")))
    return None


def _compared(
    holds: Callable[[Version, Version], bool],
) -> Callable[[JsonValue, JsonValue], Outcome]:
    def compare(seen: JsonValue, wanted: JsonValue) -> Outcome:
        left, right = find_version(seen), find_version(wanted)
        if left is None:
            return _no_version("the evidence", seen)
        if right is None:
            return _no_version("what is expected", wanted)
        return outcome_of(holds(left, right), _TRAILING if _are_padded(left, right) else "")

    return compare


def _starts(seen: Version, wanted: Version) -> bool:
    return seen[: len(wanted)] == wanted


same_version: Final = _compared(operator.eq)
version_or_later: Final = _compared(operator.ge)
earlier_version: Final = _compared(operator.lt)
version_starts: Final = _compared(_starts)


def _are_padded(one: Version, other: Version) -> bool:
    """Say whether two versions differ in zeros at the end only."""
    shared = min(len(one), len(other))
    return (
        len(one) != len(other)
        and one[:shared] == other[:shared]
        and not any(one[shared:] + other[shared:])
    )


def _no_version(whose: str, value: JsonValue) -> Outcome:
    if isinstance(value, float):
        return not_evaluable(
            f"{whose} is the number {shown(value)}, and as a number 3.10 is 3.1; "
            "a version is written as a text"
        )
    return not_evaluable(
        f"{whose} is {kind_of(value)} ({shown(value)}), not digits with dots between them"
    )
