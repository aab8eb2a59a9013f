"""A gate report as JUnit XML: each gate is a test, and so is the decision.

A gate that was not measured is skipped, which readers do not count as a failure. Therefore the
decision is a test of its own, with an error if it is inconclusive.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from affidavit.decision.decision import GateStatus
from affidavit.decision.evaluation import GateResult
from affidavit.decision.report import Report
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_tables import offender_table


def gate_junit(report: Report) -> str:
    """Return the report as XML, without times: a report does not depend on the clock."""
    suites = [_suite(part) for part in report.each_part]
    totals = {name: sum(counts[name] for counts, _ in suites) for name in _COUNTED}
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites {_attributes(name='affidavit', **totals)}>",
            *(line for _, lines in suites for line in lines),
            "</testsuites>\n",
        ]
    )


_COUNTED = ("tests", "failures", "errors", "skipped")


def _suite(report: Report) -> tuple[dict[str, int], list[str]]:
    name = f"affidavit.{report.kind}"
    statuses = [gate.status for gate in report.gates]
    counts = {
        "tests": len(statuses) + 1,
        "failures": statuses.count(GateStatus.FAILED) + (report.decision == "no_ship"),
        "errors": int(report.decision == "inconclusive"),
        "skipped": statuses.count(GateStatus.OPEN),
    }
    lines = [f"  <testsuite {_attributes(name=name, **counts)}>"]
    if report.inputs:
        lines.append("    <properties>")
        for role, given in report.inputs.items():
            lines.append(f"      <property {_attributes(name=f'{role}.path', value=given.path)}/>")
            if given.digest is not None:
                shown = _attributes(name=f"{role}.digest", value=given.digest)
                lines.append(f"      <property {shown}/>")
        lines.append("    </properties>")
    for gate in report.gates:
        lines += _gate_case(gate, name)
    lines += _decision_case(report, name)
    return counts, [*lines, "  </testsuite>"]


def _gate_case(gate: GateResult, suite: str) -> Iterator[str]:
    opening = f"    <testcase {_attributes(classname=suite, name=gate.gate)}"
    if gate.status == "pass":
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    if gate.status == "fail":
        yield _outcome("failure", gate.reason, "gate")
    else:
        yield f"      <skipped {_attributes(message=gate.reason)}/>"
    yield "    </testcase>"


def _decision_case(report: Report, suite: str) -> Iterator[str]:
    yield f"    <testcase {_attributes(classname=suite, name='decision')}>"
    reasons = "; ".join(report.reasons)
    if report.decision == "no_ship":
        yield _outcome("failure", reasons, "no_ship")
    elif report.decision == "inconclusive":
        yield _outcome("error", reasons, report.stop_reason or "inconclusive")
    said = "\n".join(_output_lines(report))
    yield f"      <system-out>{_text(said)}</system-out>"
    yield "    </testcase>"


def _outcome(element: str, reason: str, kind: str) -> str:
    return f"      <{element} {_attributes(message=reason, type=kind)}>{_text(reason)}</{element}>"


def _output_lines(report: Report) -> Iterator[str]:
    yield wording.headline(report)
    yield from (f"note: {text}" for text in report.warnings)
    offenders = offender_table(report)
    if offenders is not None:
        yield offenders.title
        yield from (" | ".join(row.cells) for row in offenders.rows)
    yield from (f"next: {', '.join(step.metrics)}: {step.do}" for step in report.next_steps)


def _attributes(**values: str | int) -> str:
    return " ".join(
        f"{name}={quoteattr(wording.escape_controls(str(value)))}" for name, value in values.items()
    )


def _text(text: str) -> str:
    return escape(wording.escape_controls(text))
