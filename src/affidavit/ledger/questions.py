"""What to ask and what to do next. Rules Q1 to Q6 of docs/ledger.md.

Origin: evidence-ledger.md, section 3.1 (`follow_up_questions`) and section 9.1 ("Recommended
Actions").
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from affidavit.ledger.grammar import find_main_verb, words_of
from affidavit.ledger.model import Verdict
from affidavit.ledger.places import long_place
from affidavit.ledger.record import LedgerEntry, RiskFlag, RiskType
from affidavit.ledger.risk import RISKS, find_conflict
from affidavit.ledger.rules import LedgerRules

_LONGEST_TOPIC: Final = 8


def follow_up_questions(entries: Sequence[LedgerEntry], rules: LedgerRules) -> tuple[str, ...]:
    """Return one question for each claim that is not settled, in the order of the answer."""
    return tuple(
        _question(number, entry, rules)
        for number, entry in enumerate(entries, 1)
        if entry.verdict is not Verdict.SUPPORTED
    )


def _question(number: int, entry: LedgerEntry, rules: LedgerRules) -> str:
    said = f"claim #{number} (\u201c{entry.claim.text}\u201d)"
    if entry.verdict is Verdict.NOT_FOUND:
        return f"Which document covers {said}?"
    place = long_place(entry.evidence[0])
    if entry.verdict is Verdict.WEAK:
        return f"Does {place} say all of {said}, or only a part of it?"
    conflict = find_conflict(entry, rules)
    if conflict is not None:
        against, match = map(long_place, conflict)
        return f"Which source is authoritative for {said}: {against} or {match}?"
    return f"Should {said} be corrected to what {place} says?"


def topic_of(text: str) -> str:
    """Return what a claim is about: the words before its verb, or all of it if they are many."""
    words = words_of(text)
    verb = find_main_verb(words)
    if not verb or verb > _LONGEST_TOPIC:
        return text
    return text[: words[verb].start].strip(" ,;:")


def recommended_actions(
    entries: Sequence[LedgerEntry], flags: Sequence[RiskFlag]
) -> tuple[str, ...]:
    """Return what to do, the most pressing first; each line names the claims by their number."""
    numbers = {entry.claim.id: number for number, entry in enumerate(entries, 1)}
    return (
        *_about_missing(entries),
        *_about_contradicted(entries),
        *_about_weak(entries),
        *_about_flags(flags, numbers),
    )


def _about_missing(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    missing = _numbered(entries, Verdict.NOT_FOUND)
    if missing:
        topics = dict.fromkeys(f"\u201c{topic_of(entry.claim.text)}\u201d" for _, entry in missing)
        yield f"Upload additional documents covering {_listed(tuple(topics))}"
        yield f"Review {_claims(missing)} and consider removing or qualifying"


def _about_contradicted(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    for number, entry in _numbered(entries, Verdict.CONTRADICTED):
        yield f"Correct claim #{number}, which {long_place(entry.evidence[0])} contradicts"


def _about_weak(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    for number, entry in _numbered(entries, Verdict.WEAK):
        yield f"Qualify claim #{number} to say no more than {long_place(entry.evidence[0])}"


def _about_flags(flags: Sequence[RiskFlag], numbers: Mapping[str, int]) -> Iterator[str]:
    for flag in flags:
        if flag.type is RiskType.OUTDATED_SOURCE:
            yield f"{flag.mitigation}: {flag.description}"
        elif flag.type in _BY_CLAIM:
            affected = [numbers[claim] for claim in flag.affected_claims]
            yield f"{RISKS[flag.type].action} for {_claim_numbers(affected)}"


_BY_CLAIM: Final = frozenset({RiskType.AMBIGUOUS_EVIDENCE, RiskType.CONFLICTING_SOURCES})


def _numbered(entries: Sequence[LedgerEntry], verdict: Verdict) -> list[tuple[int, LedgerEntry]]:
    return [each for each in enumerate(entries, 1) if each[1].verdict is verdict]


def _claims(numbered: Sequence[tuple[int, LedgerEntry]]) -> str:
    return _claim_numbers([number for number, _ in numbered])


def _claim_numbers(numbers: Sequence[int]) -> str:
    noun = "claim" if len(numbers) == 1 else "claims"
    return f"{noun} {_listed([f'#{number}' for number in numbers])}"


def _listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
