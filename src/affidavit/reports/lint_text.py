"""Lint results, explanations and packs as text for people, and packs as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.decision.decision import status_words
from affidavit.decision.gate import Gate
from affidavit.packs.explanations import Explanation, describe_check
from affidavit.packs.lint import BundleLint, decide_lint
from affidavit.packs.model import Pack, Severity, disclaimer_of
from affidavit.packs.report import AppliedPack, LintFinding, LintReport, pack_as
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import Cell, Note, TextPart, Tone, text_table
from affidavit.seal.verification import UnreadableInput

LintOutcome: TypeAlias = BundleLint | UnreadableInput

_SEVERITY_TONES: Final = {
    Severity.ERROR: Tone.BAD,
    Severity.WARNING: Tone.UNSURE,
    Severity.INFO: Tone.PLAIN,
}


@dataclass(frozen=True, slots=True)
class LintOutput:
    """Everything that a rendering of a lint can show."""

    report: LintReport
    outcomes: Sequence[LintOutcome]
    packs: Sequence[Pack]
    gates: Sequence[Gate] = ()


def lint_json(lint: LintOutput) -> bytes:
    """Return the report of a lint as JSON."""
    return json_bytes(lint.report)


def lint_text(lint: LintOutput) -> Iterator[TextPart]:
    """Yield the findings, figures and gates of each bundle, then the disclaimers of the packs."""
    packs = lint.packs
    for outcome in lint.outcomes:
        if isinstance(outcome, UnreadableInput):
            yield f"{outcome.name}: not linted"
            yield str(outcome.error)
        else:
            yield from _bundle_text(outcome)
            for result in decide_lint(lint.gates, outcome.result).results:
                yield f"Gate: {status_words(result.status, result.value)}: {result.reason}"
    yield Note(f"packs: {', '.join(f'{pack.label} ({pack.digest[:19]})' for pack in packs)}")
    disclaimer = disclaimer_of(packs)
    if disclaimer is not None:
        yield f"Disclaimer: {disclaimer}"


def _bundle_text(linted: BundleLint) -> Iterator[TextPart]:
    result = linted.result
    yield from findings_text(result.findings)
    if result.truncated:
        yield f"{result.truncated} more findings are not listed; see --max-results"
    counts = ", ".join(
        f"{count} {severity.value}{'s' * (count != 1)}"
        for severity in Severity
        for count in (result.summary.count(severity),)
    )
    complete, closure = result.completeness, result.closure
    idle = [each.rule.id for each in result.rules if each.outcome == "not_exercised"]
    counts += f", {len(idle)} not exercised" if idle else ""
    yield f"{linted.name}: {result.events} events, {len(result.rules)} rules: {counts}"
    if idle:
        yield Note(f"not exercised, because no event met their condition: {', '.join(idle)}")
    yield (
        f"Completeness {complete.held} of {len(complete.required)} signals, closure"
        f" {closure.score} (confidence {closure.confidence.value})"
    )
    yield Note("see --explain closure.score, --explain completeness, --explain RULE")


def findings_text(findings: Sequence[LintFinding]) -> Iterator[TextPart]:
    """Yield a table of findings, if there are any."""
    if findings:
        yield text_table(("Severity", "Rule", "Line", "Finding"), map(_row, findings))


def _row(finding: LintFinding) -> tuple[Cell | str, ...]:
    place = finding.location
    pointer = "" if place is None or place.pointer is None else f" at {place.pointer}"
    return (
        Cell(finding.severity.value, _SEVERITY_TONES[finding.severity]),
        finding.rule_id,
        "" if place is None else str(place.line),
        f"{finding.message}{pointer}",
    )


def explanation_text(explanation: Explanation) -> Iterator[TextPart]:
    """Yield an explanation."""
    yield explanation.title
    for paragraph in explanation.paragraphs:
        yield f"\n{paragraph}"
    if explanation.columns:
        yield ""
        yield text_table(explanation.columns, explanation.rows)
    yield from explanation.ending


def pack_list_text(packs: Sequence[Pack]) -> Iterator[TextPart]:
    """Yield a table of packs."""
    yield text_table(
        ("Pack", "Version", "Kind", "Rules", "From", "Says"),
        (
            (
                pack.name,
                pack.version,
                pack.kind.value,
                str(len(pack.rules)),
                pack.source,
                pack.description,
            )
            for pack in packs
        ),
    )


def pack_list_as_json(packs: Sequence[Pack]) -> list[AppliedPack]:
    """Return what identifies each pack."""
    return [pack_as(AppliedPack, pack) for pack in packs]


def pack_text(pack: Pack) -> Iterator[TextPart]:
    """Yield the rules of a pack, its digest, remarks and disclaimer."""
    yield f"{pack.label} ({pack.kind.value}): {pack.description}"
    yield text_table(
        ("Rule", "Severity", "Reference", "Requires", "It checks that"),
        (
            (
                rule.id,
                rule.severity.value,
                rule.article_ref or "",
                ", ".join(rule.requires_signals),
                describe_check(rule),
            )
            for rule in pack.rules
        ),
    )
    yield f"Digest {pack.digest}"
    yield from _remarks(pack)
    if pack.disclaimer:
        yield f"Disclaimer: {pack.disclaimer.strip()}"


def validated_packs_text(packs: Sequence[Pack]) -> Iterator[TextPart]:
    """Yield a line for each valid pack, with its remarks."""
    for pack in packs:
        yield f"{pack.label}: valid, {len(pack.rules)} rules, {pack.digest}"
        yield from _remarks(pack)


def _remarks(pack: Pack) -> Iterator[str]:
    return (f"Remark: {remark}" for remark in pack.remarks)


def pack_as_json(pack: Pack) -> dict[str, Any]:
    """Return everything about a pack, with its rules."""
    return {
        **msgspec.to_builtins(pack_as(AppliedPack, pack)),
        "description": pack.description,
        "author": pack.author,
        "license": pack.license,
        "disclaimer": pack.disclaimer,
        "requires_signals": pack.signals,
        "remarks": pack.remarks,
        "rules": [
            {
                "id": rule.id,
                "canonical_id": pack.canonical_id(rule),
                "severity": rule.severity.value,
                "description": rule.description,
                "article_ref": rule.article_ref,
                "requires_signals": rule.requires_signals,
                "checks": describe_check(rule),
            }
            for rule in pack.rules
        ],
    }
