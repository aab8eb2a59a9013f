"""The report of a lint for machines, and how a command that made it ends.

`affidavit-lint/1`: a change of its form is a new version. The same bundles and packs give the same
bytes: no clock, no machine.
"""

from collections.abc import Sequence
from typing import Final

import affidavit
from affidavit.app.linting.linting import Linted, LintedOrRefused, Refused
from affidavit.base.exits import Exit
from affidavit.packs.model import Pack, Severity

SCHEMA_VERSION: Final = "affidavit-lint/1"
CLOSURE_VERSION: Final = "closure-v1"
NO_THRESHOLD: Final = "none"
_GRAVEST_FIRST: Final = (Exit.TAMPERED, Exit.INPUT, Exit.UNKNOWN, Exit.NO)


def exit_for(outcomes: Sequence[LintedOrRefused], fail_on: Severity | None) -> Exit:
    """Return the gravest end: what could not be linted first, then findings, then yes."""
    ends = {_exit_of(each, fail_on) for each in outcomes}
    if not ends:
        return Exit.UNKNOWN
    return next((end for end in _GRAVEST_FIRST if end in ends), Exit.YES)


def _exit_of(outcome: LintedOrRefused, fail_on: Severity | None) -> Exit:
    if isinstance(outcome, Refused):
        return outcome.error.fault.exit
    fails = fail_on is not None and outcome.result.has_at_least(fail_on)
    return Exit.NO if fails else Exit.YES


def disclaimer_of(packs: Sequence[Pack]) -> str | None:
    """Return what the packs do not promise; every report shows it."""
    said = [pack.disclaimer.strip() for pack in packs if pack.disclaimer]
    return "\n\n---\n\n".join(dict.fromkeys(said)) or None


def report_as_wire(
    outcomes: Sequence[LintedOrRefused],
    packs: Sequence[Pack],
    fail_on: Severity | None,
    max_results: int,
) -> dict[str, object]:
    """Return the whole report."""
    linted = [each for each in outcomes if isinstance(each, Linted)]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": affidavit.__version__,
        "exit": int(exit_for(outcomes, fail_on)),
        "fail_on": NO_THRESHOLD if fail_on is None else fail_on.value,
        "packs": [pack_as_wire(pack) for pack in packs],
        "disclaimer": disclaimer_of(packs),
        "summary": _summary(linted),
        "max_results": max_results,
        "bundles": [bundle_as_wire(each) for each in outcomes],
    }


def pack_as_wire(pack: Pack) -> dict[str, object]:
    """Return which pack was run, exactly."""
    return {
        "name": pack.name,
        "version": pack.version,
        "kind": pack.kind.value,
        "digest": pack.digest,
        "registry_digest": pack.registry_digest,
        "source": pack.source,
        "source_url": pack.source_url,
    }


def _summary(linted: Sequence[Linted]) -> dict[str, int]:
    counts = {
        severity: sum(each.result.counts[severity] for each in linted) for severity in Severity
    }
    return {
        "total": sum(counts.values()),
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "infos": counts[Severity.INFO],
    }


def bundle_as_wire(outcome: LintedOrRefused) -> dict[str, object]:
    """Return what is said of one bundle."""
    if isinstance(outcome, Refused):
        return {"path": outcome.path, "verified": False, "error": outcome.error.as_wire()}
    known, result = outcome.manifest.known, outcome.result
    return {
        "path": outcome.path,
        "verified": True,
        "bundle_id": known.bundle_id,
        "bundle_digest": outcome.digest,
        "run_id": known.run_id,
        "event_count": result.events,
        "summary": _summary([outcome]),
        "truncated": result.truncated,
        "findings": [finding.as_wire() for finding in result.findings],
        "rules": [
            {
                "rule_id": each.pack.canonical_id(each.rule),
                "outcome": "pass" if each.finding is None else "fail",
                "requires_signals": list(each.rule.requires_signals),
            }
            for each in result.outcomes
        ],
        "closure_report": closure_report(outcome),
    }


def closure_report(linted: Linted) -> dict[str, object]:
    """Return completeness and closure in the form of the ADR's closure-v1 schema."""
    result = linted.result
    return {
        "schema_version": CLOSURE_VERSION,
        "bundle_digest": linted.digest,
        "pack_context": [
            {
                "name": pack.name,
                "version": pack.version,
                "kind": pack.kind.value,
                "digest": pack.digest,
            }
            for pack in result.packs
        ],
        "completeness": result.completeness.as_wire(),
        "closure": result.closure.as_wire(),
    }
