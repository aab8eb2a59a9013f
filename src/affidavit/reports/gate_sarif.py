"""The offenders of a gate as SARIF 2.1.0, which code scanning shows at the lines of their rows.

Only items with a location become results; the gates themselves are in JUnit and JSON. Items without
a line are counted in a notification.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from affidavit import __version__
from affidavit.base.digest import digest_of
from affidavit.decision.report import Report, RowLocation
from affidavit.gates.report import Disagreement, Offender, RagOffender
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_tables import offender_table

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


def gate_sarif(report: Report) -> str:
    """Return the log: one run of the tool for each kind of gate."""
    runs = [_run(part) for part in report.each_part]
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


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
    return {
        "tool": {
            "driver": {
                "name": "Affidavit",
                "semanticVersion": __version__,
                "rules": rules,
            }
        },
        "automationDetails": {"id": f"affidavit/{_rule_word(report.kind)}/"},
        "invocations": [
            {
                "executionSuccessful": report.stop_reason is None,
                "toolExecutionNotifications": [*_notifications(report, without_place)],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }


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
