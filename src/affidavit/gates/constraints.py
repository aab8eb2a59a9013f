"""Locked constraints (SCU): whether an answer echoes the lock, and whether its claim contradicts
it.

A rule has two patterns: one for the constraint (`lock`) and one for the claim. `{name}` in the
pattern of the claim stands for the text of that named group of the lock. Origin: the table of
the constraint-unlock pattern, with three corrections: a claim that repeats the constraint does not
contradict it, a negated match ("does not allow null keys") does not count, and `rejects` applies to
any object. Users can extend the table in a file. Where the rules are silent, a judge may be asked.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.validation import problem_and_field


@dataclass(frozen=True, slots=True)
class ScuRule:
    """A claim that matches `claim` contradicts a constraint that matches `lock`.

    If there are `words`, every match contains one of them, so other claims are skipped.
    """

    id: str
    lock: str
    claim: str
    words: tuple[str, ...] = ()


DEFAULT_SCU_RULES: Final = (
    ScuRule(
        "rejected-is-allowed",
        r"\b(?:rejects?|refuses?|forbids?|prohibits?|disallows?)\s+(?P<what>\w+(?:\s+\w+){0,3})",
        r"\b(?:allow|accept|support|permit)(?:s|ed)?\s+{what}",
        ("allow", "accept", "support", "permit"),
    ),
    ScuRule(
        "other-domain",
        r"\bonly\b.*?\bdomain\s+(?P<domain>[\w-]+(?:\.[\w-]+)+)",
        r"@(?!{domain}\b)[\w-]+(?:\.[\w-]+)+|\b(?:gmail|yahoo|outlook)\.com\b"
        r"|\ballow\w*\b.*\bany\s+domain\b",
        ("@", ".com", "allow"),
    ),
    ScuRule(
        "must-is-optional",
        r"\bmust\b",
        r"\bmay\b|\boptional\b|\bnot\s+required\b",
        ("may", "optional", "required"),
    ),
    ScuRule(
        "never-is-allowed",
        r"\bnever\b",
        r"\ballow(?:ed)?\b|\bcan\b|\bmay\b",
        ("allow", "can", "may"),
    ),
)


@dataclass(frozen=True, slots=True)
class ConstraintJudge:
    """What is asked where the rules are silent: does the claim contradict the constraint?"""

    name: str
    contradicts: Callable[[str, str], bool]
    """Gets a constraint and a claim. It can be pickled, for other processes."""


_NEGATED_BEFORE: Final = re.compile(
    r"(?:\b(?:not|never|no|without|cannot|nor|neither)|n['\u2019]t)(?:\s+\w+)?\s+$", re.IGNORECASE
)
_NEGATED_AFTER: Final = re.compile(r"\s+(?:not|never|no)\b", re.IGNORECASE)
_PLACE: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_LONGEST_PATTERN: Final = 500


class ScuRuleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of a rules file."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    lock: Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_PATTERN)]
    claim: Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_PATTERN)]


class ScuRuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML file of rules: one table `[[rule]]` for each."""

    rule: tuple[ScuRuleConfig, ...]


def add_scu_rules(values: object, file: str | None = None) -> tuple[ScuRule, ...]:
    """Return the built-in rules and those of the user; a rule with the same id replaces ours."""
    try:
        given = msgspec.convert(values, tuple[ScuRuleConfig, ...])
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(
            faults.SCU_RULE, Where(file=file, field=field), problem=problem
        ) from None
    rules = {rule.id: rule for rule in DEFAULT_SCU_RULES}
    for index, wire in enumerate(given):
        rule = ScuRule(wire.id, wire.lock, wire.claim)
        _validate_patterns(rule, Where(file=file, field=f"[{index}]"))
        rules[rule.id] = rule
    return tuple(rules.values())


def _validate_patterns(rule: ScuRule, where: Where) -> None:
    try:
        groups = re.compile(rule.lock).groupindex
        re.compile(_PLACE.sub(lambda place: "x" if place[1] in groups else place[0], rule.claim))
    except re.error as error:
        problem = f"the rule {rule.id!r} has a pattern that cannot be read ({error})"
        raise AffidavitError(faults.SCU_RULE, where, problem=problem) from None


class Locks:
    """The rules with their patterns compiled for each constraint, and cached."""

    def __init__(self, rules: Iterable[ScuRule] = DEFAULT_SCU_RULES) -> None:
        self._rules = tuple(rules)
        # Most claims contain no word of any rule; then no constraint has to be examined.
        self._words = tuple({word for rule in self._rules for word in rule.words})
        self._can_tell_by_words = all(rule.words for rule in self._rules)
        self._refutations = lru_cache(maxsize=4096)(self._refutations_of)
        self._compiled = lru_cache(maxsize=4096)(_compiled)

    def contradiction(
        self, constraints: Iterable[str], claim: str, folded: str | None = None
    ) -> str | None:
        """Return the id of a rule by which the claim contradicts a constraint.

        `folded` is the claim's case folding, if the caller has it.
        """
        said = claim.casefold() if folded is None else folded
        if self._can_tell_by_words and _word_in(self._words, said) is None:
            return None
        for constraint in constraints:
            repeated, refutations = self._refutations(constraint)
            if refutations and repeated not in said:
                for rule, pattern in refutations:
                    if self._refutes(rule, pattern, claim, said):
                        return rule.id
        return None

    def _refutes(self, rule: ScuRule, pattern: str, claim: str, folded: str) -> bool:
        if rule.words and _word_in(rule.words, folded) is None:
            return False
        return _matches(self._compiled(pattern), claim)

    def _refutations_of(self, constraint: str) -> tuple[str, tuple[tuple[ScuRule, str], ...]]:
        """Return the patterns of a claim that repeats the constraint, and of one that contradicts
        it."""
        made = []
        for rule in self._rules:
            found = self._compiled(rule.lock).search(constraint)
            if found is not None:
                made.append((rule, _filled(rule.claim, found.groupdict(default=""))))
        return constraint.casefold().rstrip(" .!"), tuple(made)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _word_in(words: tuple[str, ...], folded: str) -> str | None:
    """Return the first word that the claim contains; usually there is none."""
    for word in words:
        if word in folded:
            return word
    return None


def _filled(pattern: str, groups: dict[str, str]) -> str:
    return _PLACE.sub(
        lambda place: re.escape(groups[place[1]]) if place[1] in groups else place[0], pattern
    )


def _matches(pattern: re.Pattern[str], claim: str) -> bool:
    return any(not _is_negated(claim, match) for match in pattern.finditer(claim))


def _is_negated(claim: str, match: re.Match[str]) -> bool:
    before = _NEGATED_BEFORE.search(claim[max(0, match.start() - 40) : match.start()])
    return before is not None or _NEGATED_AFTER.match(claim, match.end()) is not None


def locked_set(constraints: Iterable[str]) -> frozenset[str]:
    """Return the constraints as a set, without surrounding white space."""
    return frozenset(filter(None, map(str.strip, constraints)))
