"""A lint as SARIF 2.1.0 (OASIS), for code scanning: one run for each bundle.

Findings in events point at the line of `events.ndjson` inside the bundle
(`bundle.tar.gz/events.ndjson`). Findings about the whole bundle point at the first line, because
viewers do not show a result without a location. Rules that hold are listed, too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

import affidavit
from affidavit.packs.model import Pack, Severity, disclaimer_of
from affidavit.packs.report import LintFinding
from affidavit.packs.sensitive import SENSITIVE_RULES
from affidavit.reports.lint_text import LintOutcome, LintOutput
from affidavit.seal.verification import UnreadableInput

LINT_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
DRIVER: Final = "affidavit-evidence-lint"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def lint_sarif(lint: LintOutput) -> str:
    """Return the log, with one run for each bundle."""
    rules, cap = list(_rules(lint.packs)), lint.report.max_results
    runs = [_run(outcome, rules, lint.packs, cap) for outcome in lint.outcomes]
    log = {"$schema": LINT_SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rules(packs: Sequence[Pack]) -> Iterator[dict[str, Any]]:
    for pack in packs:
        for rule in pack.rules:
            described = _rule(pack.canonical_id(rule), rule.description, rule.severity)
            if rule.help_markdown:
                text = rule.help_markdown.strip()
                described["help"] = {"text": text, "markdown": text}
            tags = list(dict.fromkeys((pack.kind.value, *rule.requires_signals)))
            described["properties"] = {"tags": tags, "reference": rule.article_ref}
            yield described
    for always in SENSITIVE_RULES:
        described = _rule(always.id, always.description, always.severity)
        described["help"] = {"text": always.help_markdown, "markdown": always.help_markdown}
        described["properties"] = {"tags": ["security"], "reference": None}
        yield described


def _rule(name: str, description: str, severity: Severity) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": description},
        "defaultConfiguration": {"level": _LEVELS[severity]},
    }


def _run(
    outcome: LintOutcome, rules: list[dict[str, Any]], packs: Sequence[Pack], max_results: int
) -> dict[str, Any]:
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    linted = None if isinstance(outcome, UnreadableInput) else outcome
    findings = () if linted is None else linted.result.findings
    run_id = "unknown" if linted is None else linted.run_id or "unknown"
    return {
        "tool": {
            "driver": {
                "name": DRIVER,
                "semanticVersion": affidavit.__version__,
                "rules": rules,
                "properties": {"assayPacks": [_pack(pack) for pack in packs]},
            }
        },
        "automationDetails": {"id": f"affidavit-evidence/lint/{quote(run_id)}/"},
        "invocations": [
            {
                "executionSuccessful": linted is not None,
                "toolExecutionNotifications": list(_notifications(outcome)),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, outcome.name, index) for finding in findings],
        "properties": {
            "appliedCap": max_results,
            "disclaimer": disclaimer_of(packs),
            "truncatedCount": 0 if linted is None else linted.result.truncated,
        },
    }


def _pack(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "source_url": pack.source_url,
    }


def _notifications(outcome: LintOutcome) -> Iterator[dict[str, Any]]:
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


def _result(finding: LintFinding, path: str, index: Mapping[str, int]) -> dict[str, Any]:
    place = finding.location
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": f"{_uri(path)}/events.ndjson"},
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


def _uri(path: str) -> str:
    plain = path.replace("\\", "/")
    text = quote(plain.encode("utf-8", "surrogateescape"))
    return f"file://{text}" if PurePath(path).is_absolute() else text.removeprefix("./")
