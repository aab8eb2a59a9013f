"""Explanations of the closure score, completeness, and single rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import bundles as faults
from affidavit.base.text import excerpt
from affidavit.base.validation import nearest_name
from affidavit.packs.closure import METHOD, score_gain
from affidavit.packs.lint import LintResult, RuleOutcome
from affidavit.packs.model import (
    AuthorizationContext,
    Check,
    Conditional,
    EventCount,
    EventPairs,
    FieldPresent,
    ManifestField,
    Pack,
    PathExists,
    Rule,
    TypeExists,
    Unsupported,
)
from affidavit.packs.sensitive_rules import SENSITIVE_RULES, SensitiveRule
from affidavit.packs.signal_detection import SignalState
from affidavit.packs.signals import REGISTRY, REPLAY_CRITICAL, TOTAL_WEIGHT

# What a rule checks, in words.


def describe_check(rule: Rule) -> str:
    """Return what has to hold, as the end of a sentence that begins "It checks that"."""
    scope = ""
    if rule.event_types is not None:
        scope = f", among events of type {' or '.join(rule.event_types)}"
    return f"{_describe(rule.check)}{scope}"


def _describe(check: Check) -> str:
    match check:
        case EventCount(minimum):
            return f"there are at least {minimum} events"
        case EventPairs(start, finish):
            return (
                f"every event of a type {start.text} is followed, in the same run, by its"
                f" {finish.text}"
            )
        case FieldPresent(pointers) | PathExists(pointers, None):
            return f"some event has {' or '.join(pointer.text for pointer in pointers)}"
        case PathExists(pointers, wanted):
            value = jcs(wanted.value).decode() if wanted is not None else ""
            return f"some event has {pointers[0].text} equal to {value}"
        case TypeExists(pattern):
            return f"some event has a type {pattern.text}"
        case _:
            return _describe_rarer(check)


def _describe_rarer(
    check: ManifestField | Conditional | AuthorizationContext | Unsupported,
) -> str:
    match check:
        case ManifestField(pointer):
            return f"the manifest has {pointer.text}"
        case Conditional(clauses, then):
            conditions = (
                f"{clause.pointer.text} is {jcs(clause.equals).decode()}" for clause in clauses
            )
            return f"every event in which {' and '.join(conditions)} has {then.text}"
        case AuthorizationContext():
            return "some tool decision says on whose authority it was made"
    return f"something holds that this engine does not know ({check.type})"


# Explanations: the closure score as a sum, completeness by pack, and a rule with its reasons.
#
# Origin: ADR-025, UX requirements. An explanation is a value: a title, paragraphs and a table.

CLOSURE: Final = "closure.score"
COMPLETENESS: Final = "completeness"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is said about one thing."""

    title: str
    paragraphs: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    ending: tuple[str, ...] = ()


def explain(name: str, packs: Sequence[Pack], result: LintResult | None) -> Explanation:
    """Explain closure.score, completeness, or a rule; of a bundle, if one was linted."""
    if name in (CLOSURE, "closure"):
        return _method() if result is None else _score(result)
    if name == COMPLETENESS:
        return _required(packs) if result is None else _complete(result)
    for always in SENSITIVE_RULES:
        if always.id == name:
            return _sensitive(always, result)
    pack, rule = _rule_named(name, packs)
    outcomes = () if result is None else result.outcomes
    outcome = next((each for each in outcomes if (each.pack, each.rule) == (pack, rule)), None)
    return _rule(pack, rule, outcome, result)


def _method() -> Explanation:
    return Explanation(
        f"{CLOSURE} ({METHOD})",
        (
            "How much of a run could be run again from its bundle alone: the weights of the"
            " captured signals over the weights of all signals below.",
        ),
        ("Signal", "Weight", "Adds", "Says", "Record"),
        tuple(
            (each.name, str(each.weight), f"+{score_gain(each.name)}", each.says, each.advice)
            for each in REPLAY_CRITICAL
        ),
        (f"Sum of the weights: {TOTAL_WEIGHT}. Name a bundle to see its score.",),
    )


def _score(result: LintResult) -> Explanation:
    closure = result.closure
    rows = []
    for seen in closure.sightings:
        signal = REGISTRY[seen.signal]
        held = seen.state is SignalState.CAPTURED
        gain = "" if held else f"+{score_gain(signal.name)}: {_advice(seen.state, signal.advice)}"
        where = ", ".join(seen.paths) if held else seen.reason
        weight = f"{signal.weight if held else 0} of {signal.weight}"
        rows.append((signal.name, seen.state.value, weight, where, gain))
    dependencies = tuple(f"Not held still: {each}" for each in closure.uncontrolled)
    whole = "every run that started has finished" if closure.is_whole else "no run is whole"
    unknown = sum(seen.state is SignalState.UNKNOWN for seen in closure.sightings)
    return Explanation(
        f"{CLOSURE} = {closure.score} ({METHOD})",
        (f"{closure.weight} of {TOTAL_WEIGHT} weights are captured.",),
        ("Signal", "State", "Weight", "Where, or why not", "To gain"),
        tuple(rows),
        (
            f"Sum: {closure.weight} / {TOTAL_WEIGHT} = {closure.score}",
            f"Confidence {closure.confidence.value}: {whole}, {unknown} signals are unknown.",
            *dependencies,
        ),
    )


def _advice(state: SignalState, advice: str) -> str:
    return "reveal what was redacted" if state is SignalState.REDACTED else advice


def _required(packs: Sequence[Pack]) -> Explanation:
    rows = tuple(
        (name, ", ".join(_packs_requiring(name, packs)), REGISTRY[name].says, REGISTRY[name].advice)
        for name in sorted({name for pack in packs for name in pack.signals})
    )
    return Explanation(
        COMPLETENESS,
        ("What the packs need to be recorded. Name a bundle to see what it has.",),
        ("Signal", "Required by", "Says", "Record"),
        rows,
    )


def _complete(result: LintResult) -> Explanation:
    seen = result.completeness.sightings
    rows = tuple(
        (
            each.signal,
            each.state.value,
            ", ".join(_packs_requiring(each.signal, result.packs)),
            each.reason,
            ", ".join(each.paths),
        )
        for each in seen
    )
    held = len(result.completeness.names(SignalState.CAPTURED, SignalState.REDACTED))
    names = ", ".join(pack.label for pack in result.packs)
    return Explanation(
        f"{COMPLETENESS}: {held} of {len(seen)} required signals",
        (f"Required by {names}. Redacted signals are there, as commitments.",),
        ("Signal", "State", "Required by", "Why", "Where"),
        rows,
    )


def _packs_requiring(signal: str, packs: Sequence[Pack]) -> list[str]:
    """Return the rules, or whole packs, that require a signal."""
    rules = [
        f"{pack.name}:{rule.id}"
        for pack in packs
        for rule in pack.rules
        if signal in rule.requires_signals
    ]
    return rules + [pack.name for pack in packs if signal in pack.requires_signals]


def _sensitive(rule: SensitiveRule, result: LintResult | None) -> Explanation:
    found = [] if result is None else [f for f in result.findings if f.rule_id == rule.id]
    rows = tuple(
        (str(each.location.line), each.location.pointer or "", each.message)
        for each in found
        if each.location is not None
    )
    told = () if result is None else (_fired_text(len(rows)),)
    return Explanation(
        f"{rule.id} ({rule.severity.value}, always on)",
        (f"{rule.description}.", rule.help_markdown, *told),
        ("Line", "Field", "Finding") if rows else (),
        rows,
    )


def _fired_text(count: int) -> str:
    return f"It fired {count} times." if count else "It did not fire."


def _rule(
    pack: Pack, rule: Rule, outcome: RuleOutcome | None, result: LintResult | None
) -> Explanation:
    reference = f" Reference: {rule.article_ref}." if rule.article_ref else ""
    paragraphs = [f"{rule.description}.{reference}", f"It checks that {describe_check(rule)}."]
    if outcome is not None:
        finding = outcome.finding
        line = (
            ""
            if finding is None or finding.location is None
            else (f" (line {finding.location.line})")
        )
        paragraphs.append(
            "It passes." if finding is None else f"It fires: {finding.message}{line}."
        )
    if rule.help_markdown:
        paragraphs.append(rule.help_markdown.strip())
    if pack.disclaimer:
        paragraphs.append(f"Disclaimer: {pack.disclaimer.strip()}")
    title = f"{pack.canonical_id(rule)} ({rule.severity.value})"
    return Explanation(title, tuple(paragraphs), *_signals_of(rule, result))


def _signals_of(
    rule: Rule, result: LintResult | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    if not rule.requires_signals:
        return (), ()
    if result is None:
        columns: tuple[str, ...] = ("Required signal", "Says", "Record")
        names = map(REGISTRY.__getitem__, rule.requires_signals)
        return columns, tuple((each.name, each.says, each.advice) for each in names)
    rows = []
    for name in rule.requires_signals:
        seen = result.sightings[name]
        has_it = seen.state in (SignalState.CAPTURED, SignalState.REDACTED)
        rows.append((name, seen.state.value, seen.reason, "" if has_it else REGISTRY[name].advice))
    return ("Required signal", "State", "Why", "To capture it"), tuple(rows)


def _rule_named(name: str, packs: Sequence[Pack]) -> tuple[Pack, Rule]:
    """Find a rule by `pack@version:rule`, `pack:rule`, or its id alone."""
    named = [
        (pack, rule)
        for pack in packs
        for rule in pack.rules
        if name in (rule.id, f"{pack.name}:{rule.id}", pack.canonical_id(rule))
    ]
    if len(named) == 1:
        return named[0]
    if named:
        choices = ", ".join(pack.canonical_id(rule) for pack, rule in named)
        raise AffidavitError(faults.EXPLAIN_AMBIGUOUS, name=excerpt(name), choices=choices)
    ids = [f"{pack.name}:{rule.id}" for pack in packs for rule in pack.rules]
    known = [CLOSURE, COMPLETENESS, *(rule.id for rule in SENSITIVE_RULES), *ids]
    nearest = nearest_name(name, known)
    listed = f"write one of: {', '.join(known)}; --pack names more packs"
    advice = listed if nearest is None else f"did you mean {nearest}? If not, {listed}"
    raise AffidavitError(faults.EXPLAIN_UNKNOWN, name=excerpt(name), advice=advice)
