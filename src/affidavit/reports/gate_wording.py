"""The wording of figures, decisions and reasons, for every rendering of a gate report."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from affidavit.decision.evaluation import GateResult
from affidavit.decision.gate import threshold_text
from affidavit.decision.report import Report

ABSENT: Final = "–"
_NAMES: Final = 10
_LONGEST_NAME: Final = 80
_LONGEST_LINE: Final = 300
"""A skipped line starts with its path, which may be long, before the problem."""
DECISION_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"ship": "Ship", "no_ship": "Do not ship", "inconclusive": "Could not tell"}
)
STATUS_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"pass": "pass", "fail": "fail", "not_measured": "not measured"}
)
KIND_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rag": "RAG answers",
        "latency": "Latency",
        "agreement": "Agreement of two agents",
        "stability": "Stability over runs",
        "research": "Research runs",
        "all": "All gates",
    }
)
METRIC_DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "precision": "right answers of those given",
        "chr": "answers that cite a gold passage",
        "under_refusal": "answered, though there is no answer",
        "over_refusal": "refused, though there is an answer",
        "scu": "answers that keep their constraints",
        "scu_violations": "answers that break a constraint",
        "recall_at_k": "all gold passages among the first k",
        "chr_at_k": "a gold passage among the first k",
        "containment": "answers that hold a gold text",
        "p50_ms": "median, milliseconds",
        "p90_ms": "90th percentile, milliseconds",
        "p95_ms": "95th percentile, milliseconds",
        "p99_ms": "99th percentile, milliseconds",
        "tail_amplification": "P99 over P50",
        "percent_agreement": "questions with the same label",
        "kappa": "agreement beyond chance",
        "abstain_rate": "questions that an agent abstains from",
        "stable": "questions with the same answer in every run",
        "evidence_coverage_rate": "verified claims with evidence",
        "golden_recall": "required evidence that was found",
        "abstention_accuracy": "abstained where there is no evidence",
        "manifest_integrity": "steps with a manifest",
    }
)
_REASON_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "wrong_answer": "wrong answer",
        "refused_answerable": "refused, though there is an answer",
        "answered_unanswerable": "answered, though there is no answer",
        "hard_flag": "a deterministic check flagged it",
        "citation_out_of_scope": "it cites what was not retrieved",
        "shared_refusal": "both refused",
        "auditor_veto": "the auditor did not accept it",
        "auditor_ok": "the auditor accepted it",
        "incoherent_pair": "the labels do not fit together",
    }
)
CHECKS_LEGEND: Final = (
    "C: the claim holds a gold text. H: a gold passage is cited, and nothing that was not"
    " retrieved. K: the constraints are echoed and none is contradicted."
)
# Zero-width joiners are kept: some scripts and emoji need them.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def escape_controls(text: str) -> str:
    """Return a text with control and invisible characters as escapes."""
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def describe_kind(report: Report) -> str:
    """Return the title of a report's kind."""
    return KIND_NAMES.get(report.kind, report.kind)


def describe_metric(key: str) -> str:
    """Return the description of a metric and its part; empty if it is not known."""
    name, _, part = key.partition("/")
    said = METRIC_DESCRIPTIONS.get(name, "")
    return f"{said} at {part}" if said and part else said


def describe_reason(why: str) -> str:
    """Return the description of a reason."""
    return _REASON_NAMES.get(why, why.replace("_", " "))


def format_figure(value: float | None, beside: float | None = None, digits: int = 4) -> str:
    """Return a number with few digits, but enough that it differs from an unequal `beside`.

    A precision of 0.799999 fails a gate of 0.8 and must not be shown as 0.8.
    """
    if value is None:
        return ABSENT
    for places in range(digits, 17):
        short = round(value, places)
        if beside is None or (short == beside) == (value == beside):
            break
    return threshold_text(short)


def format_interval(ci95: Sequence[float] | None) -> str:
    """Return an interval with enough digits to tell its ends apart, or a dash."""
    if ci95 is None:
        return ABSENT
    low, high = ci95
    digits = next((n for n in range(2, 6) if round(high - low, n) >= 10 ** (1 - n)), 6)
    return f"{format_figure(low, digits=digits)} to {format_figure(high, digits=digits)}"


def format_threshold(gate: GateResult) -> str:
    """Return the condition of a gate: `>= 0.8`, `>= 0.8 at 95%`."""
    sure = "" if gate.confidence is None else f" at {format_figure(gate.confidence)}%"
    return f"{gate.op} {threshold_text(gate.threshold)}{sure}"


def shortened(text: str, longest: int) -> str:
    """Return a text on one line, shortened with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def short_name(name: str) -> str:
    """Return a user's name, such as a qid, shortened for the report."""
    return shortened(name, _LONGEST_NAME)


def list_names(
    names: Sequence[str], most: int, total: int | None = None, longest: int = _LONGEST_NAME
) -> str:
    """Return the first names and how many more there are."""
    if not names:
        return ABSENT
    more = (len(names) if total is None else total) - min(len(names), most)
    said = ", ".join(shortened(name, longest) for name in names[:most])
    return f"{said} and {more} more" if more > 0 else said


def listings_beyond_offenders(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the listings that the offenders do not already cover."""
    named = {offender.qid for offender in report.offenders}
    for name, listing in report.listings.items():
        if listing.total and (len(listing.first) < listing.total or not named >= {*listing.first}):
            said = list_names(listing.first, _NAMES, listing.total)
            yield _title_with_total(name.replace("_", " "), listing.total), said
    skipped = [line for given in report.inputs.values() for line in given.skipped_lines or ()]
    if skipped:
        total = sum(given.skipped for given in report.inputs.values())
        yield (
            _title_with_total("skipped lines", total),
            list_names(skipped, _NAMES, total, _LONGEST_LINE),
        )


def _title_with_total(title: str, total: int) -> str:
    return f"{title.capitalize()} ({total})"


def headline(report: Report) -> str:
    """Return the decision and the numbers of gates by status."""
    said = DECISION_NAMES[report.decision]
    failed = sum(gate.status == "fail" for gate in report.gates)
    unsure = sum(gate.status == "not_measured" for gate in report.gates)
    passed = len(report.gates) - failed - unsure
    counted = ((passed, "passed"), (failed, "failed"), (unsure, "not measured"))
    parts = ", ".join(f"{count} {word}" for count, word in counted if count)
    return f"{said}: {parts}" if parts else said
