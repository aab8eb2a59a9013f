"""A lint as SARIF 2.1.0, for code scanning: a run for each bundle.

Origin: OASIS SARIF 2.1.0. Findings of events point at the line of events.ndjson inside the bundle
(`bundle.tar.gz/events.ndjson`); findings of the whole bundle point at its first line, for a result
without a place is not shown. Every rule of every pack is listed, also those that hold.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

import affidavit
from affidavit.base.errors import AffidavitError
from affidavit.packs.findings import LintFinding
from affidavit.packs.lint import LintResult
from affidavit.packs.model import Pack, Severity
from affidavit.packs.sensitive_rules import SENSITIVE_RULES

LINT_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
DRIVER: Final = "affidavit-evidence-lint"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


@dataclass(frozen=True, slots=True)
class SarifBundle:
    """A bundle with its result, or with the error that kept it from being linted."""

    path: str
    run_id: str | None
    result: LintResult | None
    error: AffidavitError | None = None


def lint_sarif(
    bundles: Iterable[SarifBundle],
    packs: Sequence[Pack],
    disclaimer: str | None,
    max_results: int,
) -> str:
    """Return the log."""
    rules = list(_rules(packs))
    runs = [_run(bundle, rules, packs, disclaimer, max_results) for bundle in bundles]
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
    bundle: SarifBundle,
    rules: list[dict[str, Any]],
    packs: Sequence[Pack],
    disclaimer: str | None,
    max_results: int,
) -> dict[str, Any]:
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    findings = () if bundle.result is None else bundle.result.findings
    return {
        "tool": {
            "driver": {
                "name": DRIVER,
                "semanticVersion": affidavit.__version__,
                "rules": rules,
                "properties": {"assayPacks": [_pack(pack) for pack in packs]},
            }
        },
        "automationDetails": {
            "id": f"affidavit-evidence/lint/{quote(bundle.run_id or 'unknown')}/"
        },
        "invocations": [
            {
                "executionSuccessful": bundle.error is None,
                "toolExecutionNotifications": list(_notifications(bundle)),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, bundle, index) for finding in findings],
        "properties": {
            "appliedCap": max_results,
            "disclaimer": disclaimer,
            "truncatedCount": 0 if bundle.result is None else bundle.result.truncated,
        },
    }


def _pack(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "source_url": pack.source_url,
    }


def _notifications(bundle: SarifBundle) -> Iterator[dict[str, Any]]:
    if bundle.error is not None:
        yield {
            "level": "error",
            "descriptor": {"id": bundle.error.fault.code},
            "message": {"text": str(bundle.error)},
        }
    if bundle.result is not None and bundle.result.truncated:
        text = f"{bundle.result.truncated} findings are counted and not listed"
        yield {
            "level": "warning",
            "descriptor": {"id": "AFFIDAVIT-LINT-TRUNCATED"},
            "message": {"text": text},
        }


def _result(finding: LintFinding, bundle: SarifBundle, index: Mapping[str, int]) -> dict[str, Any]:
    place = finding.location
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": f"{_uri(bundle.path)}/events.ndjson"},
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
