"""Equality and membership: `eq`, `ne`, `in`, `contains`, `starts_with`, `ends_with`.

String-first and never coercing (answer-eval.md, section 2): two JSON numbers are compared by value,
anything else by its text, trimmed. The O rules of docs/checks.md.
"""

import re
from collections.abc import Callable
from typing import Final

from affidavit.base.json_limits import JsonValue
from affidavit.checks.outcomes import Outcome, not_evaluable, outcome_of
from affidavit.checks.values import find_exact, is_number, is_single, kind_of, text_of

_VERSION_LIKE: Final = re.compile(r"v?[0-9]+(?:\.[0-9]+)+")
_VERSIONS: Final = "texts are compared letter by letter; semver_eq compares versions part by part"
_MIXED: Final = "a number and a text are compared as texts"
_NULL: Final = "the evidence has null here, which is no value"


def find_equal(seen: JsonValue, wanted: JsonValue) -> bool | None:
    """Say whether two values are equal, or None if the evidence cannot tell.

    A null of the evidence equals null, and says nothing about any other value.
    """
    if not is_single(seen) or not is_single(wanted):
        return None
    if seen is None:
        return True if wanted is None else None
    if wanted is None:
        return False
    if is_number(seen) and is_number(wanted):
        return find_exact(seen) == find_exact(wanted)
    return text_of(seen).strip() == text_of(wanted).strip()


def equals(seen: JsonValue, wanted: JsonValue) -> Outcome:
    """`eq`: the values are equal."""
    same = find_equal(seen, wanted)
    return _incomparable(seen, wanted) if same is None else outcome_of(same, _note(seen, wanted))


def differs(seen: JsonValue, wanted: JsonValue) -> Outcome:
    """`ne`: the values are not equal."""
    same = find_equal(seen, wanted)
    if same is None:
        return _incomparable(seen, wanted)
    return outcome_of(not same, _note(seen, wanted))


def is_member(seen: JsonValue, wanted: list[JsonValue]) -> Outcome:
    """`in`: the value equals one of a list, which holds single values (checked when it is read)."""
    answers = [find_equal(seen, member) for member in wanted]
    if True in answers:
        return outcome_of(True)
    return _incomparable(seen, None) if None in answers else outcome_of(False)


def contains(seen: JsonValue, wanted: JsonValue) -> Outcome:
    """`contains`: a list has an equal element, or a text has this part, letter for letter."""
    if isinstance(seen, list):
        if not is_single(wanted):
            return not_evaluable(f"what is looked for is {kind_of(wanted)}, not a single value")
        return outcome_of(any(find_equal(member, wanted) for member in seen))
    return _part(seen, wanted, str.__contains__)


def starts_with(seen: JsonValue, wanted: JsonValue) -> Outcome:
    """`starts_with`: a text starts with this part, letter for letter."""
    return _part(seen, wanted, str.startswith)


def ends_with(seen: JsonValue, wanted: JsonValue) -> Outcome:
    """`ends_with`: a text ends with this part, letter for letter."""
    return _part(seen, wanted, str.endswith)


def _part(seen: JsonValue, wanted: JsonValue, has: Callable[[str, str], bool]) -> Outcome:
    if seen is None:
        return not_evaluable(_NULL)
    if not is_single(seen):
        return not_evaluable(f"the evidence has {kind_of(seen)} here, not a text")
    if wanted is None or not is_single(wanted):
        return not_evaluable(f"what is looked for is {kind_of(wanted)}, not a text")
    if wanted == "":
        return not_evaluable("every text has the empty text in it, so this asserts nothing")
    return outcome_of(has(text_of(seen), text_of(wanted)))


def _incomparable(seen: JsonValue, wanted: JsonValue) -> Outcome:
    if seen is None and is_single(wanted):
        return not_evaluable(_NULL)
    if not is_single(seen):
        return not_evaluable(f"the evidence has {kind_of(seen)} here, not a single value")
    return not_evaluable(f"what is expected is {kind_of(wanted)}, not a single value")


def _note(seen: JsonValue, wanted: JsonValue) -> str:
    if is_number(seen) is not is_number(wanted) and _is_text_or_number(seen, wanted):
        return _MIXED
    for value in (seen, wanted):
        if isinstance(value, str) and _VERSION_LIKE.fullmatch(value.strip()):
            return _VERSIONS
    return ""


def _is_text_or_number(*values: JsonValue) -> bool:
    return all(isinstance(value, str) or is_number(value) for value in values)
