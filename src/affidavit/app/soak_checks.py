"""Judges the evidence of a run by checks, beside packs and gates.

The tool of a check is a type of event, and its arguments are members of that event's data. The last
event that has them is the fact. No tool is asked, so the evidence alone decides.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app.soak_outputs import InvalidOutputError
from affidavit.base.canonical import sorted_compact
from affidavit.base.config import MAX_CONFIG_BYTES
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import soak as faults
from affidavit.base.files import read_bounded
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.checks.check import (
    MAX_CHECKS,
    AnswerVerdict,
    Check,
    CheckResult,
    CheckVerdict,
    compose,
    evaluate,
)
from affidavit.checks.facts import (
    Evidence,
    EvidenceSource,
    EvidenceUnavailable,
    SourceAnswer,
    Tool,
    fact_from_answers,
)
from affidavit.checks.values import exact_json

_SOURCE: Final = EvidenceSource(name="run", origin="run", kind="event")


def load_trial_checks(path: Path) -> tuple[Check, ...]:
    """Read the checks of a file; raise if no run could ever satisfy them."""
    # The use case of answers brings all kinds of tools, which no other soak needs.
    from affidavit.app.answer import request_from_bytes

    request = request_from_bytes(read_bounded(path, MAX_CONFIG_BYTES), str(path))
    problem = None
    if request.question is not None or request.split:
        problem = "it has a question or `split`, and no tool is asked here"
    elif len(request.checks) > MAX_CHECKS:
        problem = f"there are {len(request.checks)}, and at most {MAX_CHECKS} are made"
    elif not any(check.required for check in request.checks):
        problem = "none of them is required"
    if problem is not None:
        raise AffidavitError(faults.SOAK_CHECKS, Where(file=str(path)), problem=problem)
    return request.checks


def check_text(check: Check) -> str:
    """Return a check as the plan of a soak repeats it."""
    return sorted_compact(msgspec.to_builtins(check)).decode()


class _Event(msgspec.Struct):
    type: str
    time: str
    data: Any


class EventFacts:
    """Collects the facts that checks ask for while the events of a bundle are read."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = checks
        self._found: dict[str, _Event] = {}
        self._at = ""

    def feed(self, number: int, line: bytes) -> None:
        """Read one event."""
        event = msgspec.json.decode(line, type=_Event)
        if not self._at or parse_nanoseconds(event.time) > parse_nanoseconds(self._at):
            self._at = event.time
        for check in self._checks:
            if check.tool == event.type and _has_members(event.data, check.args):
                self._found[check.id] = event

    def verdict(self) -> tuple[list[str], bool]:
        """Return the checks that are contradicted, and whether all required ones hold.

        Time-dependent operators read the time of the last event, so that a verdict stays the same.
        """
        tools = {
            check.tool: Tool(name=check.tool, optional_args=tuple(check.args))
            for check in self._checks
        }
        evidence = {check.id: self._evidence(check) for check in self._checks}
        results = evaluate(self._checks, tools, evidence, self._at)
        verdict = compose(results).verdict
        if verdict is AnswerVerdict.INSUFFICIENT_EVIDENCE:
            first = next(result for result in results if _is_open(result))
            raise InvalidOutputError(f"the check {first.id} could not be made: {first.explain}")
        wrong = [
            f"check:{result.id}"
            for result in results
            if result.verdict is CheckVerdict.CONTRADICTED
        ]
        return wrong, verdict is not AnswerVerdict.CONTRADICTED

    def _evidence(self, check: Check) -> Evidence | EvidenceUnavailable:
        event = self._found.get(check.id)
        if event is None:
            return EvidenceUnavailable(f"the run has no such event of the type {check.tool}")
        tool = Tool(name=check.tool, optional_args=tuple(check.args))
        answer = SourceAnswer(_SOURCE, event.data, event.time)
        return fact_from_answers(tool, check.args, [answer], self._at, signed=False)


def _has_members(data: Any, wanted: dict[str, Any]) -> bool:
    return not wanted or (
        isinstance(data, dict)
        and all(
            name in data and exact_json(data[name]) == exact_json(value)
            for name, value in wanted.items()
        )
    )


def _is_open(result: CheckResult) -> bool:
    return result.required and result.verdict not in (CheckVerdict.SUPPORTED, CheckVerdict.VALUE)
