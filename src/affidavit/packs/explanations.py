"""Explanations of the closure score, completeness, and single rules (ADR-025, UX requirements)."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import bundles as faults
from affidavit.base.text import excerpt
from affidavit.base.validation import nearest_name
from affidavit.packs.attribution import ALWAYS_ON_RULES
from affidavit.packs.closure import score_gain
from affidavit.packs.lint import LintResult, RuleResult
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
from affidavit.packs.relations import Relation, describe_relation
from affidavit.packs.report import METHOD, SignalState
from affidavit.packs.sensitive import SensitiveRule
from affidavit.packs.signals import REGISTRY, REPLAY_CRITICAL, TOTAL_WEIGHT


def describe_check(rule: Rule) -> str:
    """Return what must hold, as the end of a sentence that begins "It checks that"."""
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
    check: ManifestField | Conditional | AuthorizationContext | Relation | Unsupported,
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
        case Unsupported(name):
            return f"something holds that this engine does not know ({name})"
    return describe_relation(check)


CLOSURE: Final = "closure.score"
_NOT_EXERCISED: Final = "It was not exercised: no event of the bundle met its condition."
COMPLETENESS: Final = "completeness"


class Explanation(Struct, frozen=True):
    """The explanation of one figure or rule: a title, paragraphs and a table."""

    title: str
    paragraphs: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    ending: tuple[str, ...] = ()


def explain(
    name: str, packs: Sequence[Pack], result: LintResult | None, replayed: Sequence[str] = ()
) -> Explanation:
    """Explain closure.score, completeness, or a rule; for a bundle, if one was linted.

    `replayed` says what a replay of the bundle really runs again.
    """
    if name in (CLOSURE, "closure"):
        return _method() if result is None else _score(result, replayed)
    if name == COMPLETENESS:
        return _required(packs) if result is None else _complete(result)
    for always_on in ALWAYS_ON_RULES:
        if always_on.id == name:
            return _sensitive(always_on, result)
    pack, rule = _rule_named(name, packs)
    results = () if result is None else result.rules
    found = next((each for each in results if (each.pack, each.rule) == (pack, rule)), None)
    return _rule(pack, rule, found, result)


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


def _score(result: LintResult, replayed: Sequence[str]) -> Explanation:
    closure = result.closure
    rows = []
    for signal in REPLAY_CRITICAL:
        found = result.signals[signal.name]
        held = found.status is SignalState.CAPTURED
        advice = _advice(found.status, signal.advice)
        rows.append(
            (
                signal.name,
                found.status.value,
                f"{signal.weight if held else 0} of {signal.weight}",
                ", ".join(found.evidence_paths) if held else found.reason,
                "" if held else f"+{score_gain(signal.name)}: {advice}",
            )
        )
    weight = sum(REGISTRY[name].weight for name in closure.captured)
    finished = "every run that started has finished" if result.all_finished else "no run is whole"
    unknown = sum(row[1] == SignalState.UNKNOWN for row in rows)
    declared = len(result.declared.intersection(closure.captured))
    return Explanation(
        f"{CLOSURE} = {closure.score} ({METHOD})",
        (f"{weight} of {TOTAL_WEIGHT} weights are captured.",),
        ("Signal", "State", "Weight", "Where, or why not", "To gain"),
        tuple(rows),
        (
            f"Sum: {weight} / {TOTAL_WEIGHT} = {closure.score}",
            f"Confidence {closure.confidence.value}: {finished}, {unknown} signals are unknown,"
            f" {declared} are declared absent.",
            *(f"Not held still: {each}" for each in closure.uncontrolled_dependencies),
            *replayed,
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
    complete = result.completeness
    rows = tuple(
        (
            name,
            signal.status.value,
            ", ".join(_packs_requiring(name, result.packs)),
            signal.reason,
            ", ".join(signal.evidence_paths),
        )
        for name, signal in complete.by_signal.items()
    )
    names = ", ".join(pack.label for pack in result.packs)
    return Explanation(
        f"{COMPLETENESS}: {complete.held} of {len(complete.required)} required signals",
        (f"Required by {names}. Redacted signals are there, as commitments.",),
        ("Signal", "State", "Required by", "Why", "Where"),
        rows,
    )


def _packs_requiring(signal: str, packs: Sequence[Pack]) -> list[str]:
    """Return the rules and packs that require a signal."""
    rules = [
        f"{pack.name}:{rule.id}"
        for pack in packs
        for rule in pack.rules
        if signal in rule.requires_signals
    ]
    return rules + [pack.name for pack in packs if signal in pack.requires_signals]


def _sensitive(rule: SensitiveRule, result: LintResult | None) -> Explanation:
    found = () if result is None else result.findings
    rows = tuple(
        (str(each.location.line), each.location.pointer or "", each.message)
        for each in found
        if each.rule_id == rule.id and each.location is not None
    )
    fired = f"It fired {len(rows)} times." if rows else "It did not fire."
    return Explanation(
        f"{rule.id} ({rule.severity.value}, always on)",
        (f"{rule.description}.", rule.help_markdown, *(() if result is None else (fired,))),
        ("Line", "Field", "Finding") if rows else (),
        rows,
    )


def _rule(
    pack: Pack, rule: Rule, found: RuleResult | None, result: LintResult | None
) -> Explanation:
    reference = f" Reference: {rule.article_ref}." if rule.article_ref else ""
    paragraphs = [f"{rule.description}.{reference}", f"It checks that {describe_check(rule)}."]
    if found is not None and found.finding is not None:
        location = found.finding.location
        line = "" if location is None else f" (line {location.line})"
        paragraphs.append(f"It fires: {found.finding.message}{line}.")
    elif found is not None:
        passed = "It passes." if found.is_exercised else _NOT_EXERCISED
        paragraphs.append(passed)
    if rule.help_markdown:
        paragraphs.append(rule.help_markdown.strip())
    if pack.disclaimer:
        paragraphs.append(f"Disclaimer: {pack.disclaimer.strip()}")
    title = f"{pack.canonical_id(rule)} ({rule.severity.value})"
    return Explanation(title, tuple(paragraphs), *_signals_of(rule, result))


def _signals_of(
    rule: Rule, result: LintResult | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    signals = [REGISTRY[name] for name in rule.requires_signals]
    if not signals:
        return (), ()
    if result is None:
        rows = [(each.name, each.says, each.advice) for each in signals]
        return ("Required signal", "Says", "Record"), tuple(rows)
    found = []
    for signal in signals:
        detail = result.signals[signal.name]
        has_it = detail.status in (SignalState.CAPTURED, SignalState.REDACTED)
        advice = "" if has_it else signal.advice
        found.append((signal.name, detail.status.value, detail.reason, advice))
    return ("Required signal", "State", "Why", "To capture it"), tuple(found)


def _rule_named(name: str, packs: Sequence[Pack]) -> tuple[Pack, Rule]:
    """Return the rule with the name `pack@version:rule`, `pack:rule` or `rule`."""
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
    known = [CLOSURE, COMPLETENESS, *(rule.id for rule in ALWAYS_ON_RULES), *ids]
    nearest = nearest_name(name, known)
    listed = f"write one of: {', '.join(known)}; --pack names more packs"
    advice = listed if nearest is None else f"did you mean {nearest}? If not, {listed}"
    raise AffidavitError(faults.EXPLAIN_UNKNOWN, name=excerpt(name), advice=advice)
