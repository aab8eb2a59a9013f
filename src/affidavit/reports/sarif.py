"""Gate reports and lints as SARIF 2.1.0 (OASIS), for code scanning.

Of a gate, the offenders become results at the lines of their rows; the gates themselves are in
JUnit and JSON. Items without a line are counted in a notification. Of a lint, findings in events
point at the line of `events.ndjson` inside the bundle (`bundle.tar.gz/events.ndjson`). Findings
about the whole bundle point at the first line, because viewers do not show a result without a
location. Rules that hold are listed, too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from affidavit import __version__
from affidavit.base.digest import digest_of
from affidavit.decision.report import Report, RowLocation
from affidavit.gates.report import Disagreement, Offender, RagOffender
from affidavit.packs.attribution import ALWAYS_ON_RULES
from affidavit.packs.lint import LintResult
from affidavit.packs.model import Pack, Severity, disclaimer_of
from affidavit.packs.report import LintFinding
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_tables import offender_table
from affidavit.reports.lint_text import LintOutcome, LintOutput
from affidavit.seal.verification import UnreadableInput

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_STANDARD_INPUT: Final = frozenset({"", "-", "standard input"})
"""Names that are not files."""
_RULES: Final[Mapping[str, str]] = {
    "rag/wrong_answer": "An answer that fails C, H or K",
    "rag/refused_answerable": "A question that has an answer was refused",
    "rag/answered_unanswerable": "A question that has no answer was answered",
    "agreement/disagreement": "Two agents label the same question differently",
    "stability/unstable": "A question is not answered alike in every run",
}


def _log(runs: list[dict[str, Any]]) -> str:
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run_of(
    driver: dict[str, Any],
    run_id: str,
    notifications: Iterable[dict[str, Any]],
    results: list[dict[str, Any]],
    *,
    successful: bool,
) -> dict[str, Any]:
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": run_id},
        "invocations": [
            {
                "executionSuccessful": successful,
                "toolExecutionNotifications": list(notifications),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }


def gate_sarif(report: Report) -> str:
    """Return the log: one run of the tool for each kind of gate."""
    runs = [_run(part) for part in report.each_part]
    return _log(runs)


def _run(report: Report) -> dict[str, Any]:
    offenders: tuple[Offender, ...] = report.offenders
    table = offender_table(report)
    said = [] if table is None else [" – ".join(row.cells) for row in table.rows]
    results = [
        _result(report, offender, text, place)
        for offender, text in zip(offenders[: len(said)], said, strict=True)
        if (place := report.location_of(offender.qid)) is not None
        and place.file not in _STANDARD_INPUT
    ]
    without_place = len(offenders) - len(results)
    rules = [
        {
            "id": rule,
            "name": "".join(word.capitalize() for word in rule.replace("/", "_").split("_")),
            "shortDescription": {"text": _RULES.get(rule, wording.describe_reason(rule))},
        }
        for rule in sorted({str(result["ruleId"]) for result in results})
    ]
    return _run_of(
        {"name": "Affidavit", "semanticVersion": __version__, "rules": rules},
        f"affidavit/{_rule_word(report.kind)}/",
        _notifications(report, without_place),
        results,
        successful=report.stop_reason is None,
    )


def _result(
    report: Report,
    offender: Offender,
    text: str,
    place: RowLocation,
) -> dict[str, Any]:
    rule = f"{_rule_word(report.kind)}/{_cause(offender)}"
    # The line is not part of the fingerprint, so that it survives changes in earlier rows.
    identity = digest_of(json.dumps([rule, offender.qid]).encode()).removeprefix("sha256:")
    return {
        "ruleId": rule,
        "level": "error" if report.decision == "no_ship" else "warning",
        "message": {"text": wording.escape_controls(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri_of(place.file)},
                    "region": {"startLine": place.line},
                }
            }
        ],
        "partialFingerprints": {"affidavitQuestion/v1": identity},
    }


def _cause(offender: Offender) -> str:
    if isinstance(offender, RagOffender):
        return _rule_word(offender.why)
    return "disagreement" if isinstance(offender, Disagreement) else "unstable"


def _rule_word(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text)[:60]


def uri_of(path: str) -> str:
    """Return the URI of a path; a relative one stays relative to the repository."""
    plain = path.replace("\\", "/")
    if PurePath(path).is_absolute() or plain.startswith("/"):
        return f"file://{quote(plain)}"
    return quote(plain.removeprefix("./"))


def _notifications(report: Report, without_place: int) -> Iterator[dict[str, Any]]:
    level = {"ship": "note", "no_ship": "error", "inconclusive": "warning"}[report.decision]
    reasons = "; ".join(report.reasons)
    said = f"{wording.headline(report)}. {reasons}" if reasons else wording.headline(report)
    yield {"level": level, "message": {"text": wording.escape_controls(said)}}
    if without_place:
        text = f"{without_place} offenders have no line in a file and are not among the results"
        yield {"level": "note", "message": {"text": text}}


DRIVER: Final = "affidavit-evidence-lint"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def lint_sarif(lint: LintOutput) -> str:
    """Return the log, with one run for each bundle."""
    rules, cap = list(_lint_rules(lint.packs)), lint.report.max_results
    runs = [_lint_run(outcome, rules, lint.packs, cap) for outcome in lint.outcomes]
    return _log(runs)


def _lint_rules(packs: Sequence[Pack]) -> Iterator[dict[str, Any]]:
    for pack in packs:
        for rule in pack.rules:
            described = _lint_rule(pack.canonical_id(rule), rule.description, rule.severity)
            if rule.help_markdown:
                text = rule.help_markdown.strip()
                described["help"] = {"text": text, "markdown": text}
            tags = list(dict.fromkeys((pack.kind.value, *rule.requires_signals)))
            described["properties"] = {"tags": tags, "reference": rule.article_ref}
            yield described
    for always in ALWAYS_ON_RULES:
        described = _lint_rule(always.id, always.description, always.severity)
        described["help"] = {"text": always.help_markdown, "markdown": always.help_markdown}
        described["properties"] = {"tags": ["security"], "reference": None}
        yield described


def _lint_rule(name: str, description: str, severity: Severity) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": description},
        "defaultConfiguration": {"level": _LEVELS[severity]},
    }


def _lint_run(
    outcome: LintOutcome, rules: list[dict[str, Any]], packs: Sequence[Pack], max_results: int
) -> dict[str, Any]:
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    linted = None if isinstance(outcome, UnreadableInput) else outcome
    findings = () if linted is None else linted.result.findings
    run_id = "unknown" if linted is None else linted.run_id or "unknown"
    run = _run_of(
        {
            "name": DRIVER,
            "semanticVersion": __version__,
            "rules": rules,
            "properties": {"assayPacks": [_lint_pack(pack) for pack in packs]},
        },
        f"affidavit-evidence/lint/{quote(run_id)}/",
        _lint_notifications(outcome),
        [_lint_result(finding, outcome.name, index) for finding in findings],
        successful=linted is not None,
    )
    properties = {
        "appliedCap": max_results,
        "disclaimer": disclaimer_of(packs),
        "truncatedCount": 0 if linted is None else linted.result.truncated,
        "notExercised": [] if linted is None else _not_exercised(linted.result),
    }
    return {**run, "properties": properties}


def _not_exercised(result: LintResult) -> list[str]:
    return [
        each.pack.canonical_id(each.rule)
        for each in result.rules
        if each.outcome == "not_exercised"
    ]


def _lint_pack(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "source_url": pack.source_url,
    }


def _lint_notifications(outcome: LintOutcome) -> Iterator[dict[str, Any]]:
    if isinstance(outcome, UnreadableInput):
        yield {
            "level": "error",
            "descriptor": {"id": outcome.error.fault.code},
            "message": {"text": str(outcome.error)},
        }
    elif outcome.result.truncated:
        text = f"{outcome.result.truncated} findings are counted and not listed"
        yield {
            "level": "warning",
            "descriptor": {"id": "AFFIDAVIT-LINT-TRUNCATED"},
            "message": {"text": text},
        }


def _lint_result(finding: LintFinding, path: str, index: Mapping[str, int]) -> dict[str, Any]:
    place = finding.location
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": f"{_bundle_uri(path)}/events.ndjson"},
            "region": {"startLine": 1 if place is None else place.line},
        }
    }
    if place is not None:
        name = f"{place.event_type} {place.pointer or ''}".strip()
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    digest = finding.fingerprint.removeprefix("sha256:")
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": index[finding.rule_id],
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"affidavitLintFingerprint/v1": digest},
    }


def _bundle_uri(path: str) -> str:
    plain = path.replace("\\", "/")
    text = quote(plain.encode("utf-8", "surrogateescape"))
    return f"file://{text}" if PurePath(path).is_absolute() else text.removeprefix("./")
