"""Checks against their evidence: queries, missing evidence, and checks over the cap."""

from typing import Any

import msgspec
import pytest
from tests.checks.builders import AT, PYTHON, RESULT, TOOLS, VERSION, checks, evidence_for, fact

from affidavit.base.errors import AffidavitError
from affidavit.checks.check import CheckVerdict, checks_needing_evidence, compose, evaluate
from affidavit.checks.facts import EvidenceUnavailable, missing_args


def one(wire: dict[str, Any], evidence: Any = None) -> Any:
    asked = checks({**PYTHON, **wire})
    found = evidence_for(asked) if evidence is None else {"py": evidence}
    (result,) = evaluate(asked, TOOLS, found, AT)
    return result


def test_the_check_of_the_specification() -> None:
    result = one({})
    assert result.verdict is CheckVerdict.SUPPORTED
    assert result.explain == 'results.0.latest_version: saw "3.13.1"; semver_gte "3.13" holds'
    assert result.confidence == 0.8
    assert result.required


@pytest.mark.parametrize("args", [{}, {"product": None}, {"product": " "}, {"Product": "python"}])
def test_a_missing_argument_is_named(args: dict[str, Any]) -> None:
    result = one({"args": args})
    assert result.verdict is CheckVerdict.NOT_EVALUABLE
    assert '"product"' in result.explain
    assert result.confidence is None


def test_false_and_zero_are_arguments() -> None:
    assert missing_args(("a", "b", "c"), {"a": False, "b": 0, "c": []}) == ()


def test_unavailable_evidence_has_a_reason() -> None:
    result = one({}, EvidenceUnavailable("mirror: HTTP 500"))
    assert result.verdict is CheckVerdict.EVIDENCE_UNAVAILABLE
    assert result.explain == "no evidence: mirror: HTTP 500"
    assert result.unavailable == "mirror: HTTP 500"


def test_evidence_that_was_not_queried_is_unavailable() -> None:
    asked = checks(PYTHON)
    (result,) = evaluate(asked, TOOLS, {}, AT)
    assert result.verdict is CheckVerdict.EVIDENCE_UNAVAILABLE
    assert result.unavailable == "the tool was not asked"


def test_an_unknown_tool_is_outside_the_coverage() -> None:
    result = one({"tool": "oracle"}, EvidenceUnavailable("x"))
    assert result.verdict is CheckVerdict.OUTSIDE_EVIDENCE_COVERAGE
    assert '"oracle"' in result.explain


def test_observing_records_the_value() -> None:
    asked = checks({**PYTHON, "observe": True}, {"id": "all", "tool": "plain"})
    by_path, whole = evaluate(asked, TOOLS, evidence_for(asked), AT)
    assert (by_path.verdict, by_path.value) == (CheckVerdict.VALUE, "3.13.1")
    # A result is in the evidence, and not once more in each check that observes it.
    assert (whole.verdict, whole.value) == (CheckVerdict.VALUE, msgspec.UNSET)
    assert "the primary value: saw an object" in whole.explain


def test_observing_a_missing_value_lists_the_existing_keys() -> None:
    result = one({"expect": {"op": "exists", "path": "version"}, "observe": True})
    assert result.verdict is CheckVerdict.NOT_EVALUABLE
    assert result.explain.startswith("version: the result has no key")
    assert '"results"' in result.explain
    assert result.value is msgspec.UNSET


def test_a_missing_primary_value_lists_the_existing_keys() -> None:
    found = fact({"results": [{"latest": "3.13"}]}, VERSION, PYTHON["args"])
    result = one({"expect": {"op": "eq", "value": "3.13"}}, found)
    assert result.verdict is CheckVerdict.NOT_EVALUABLE
    assert 'results.0 has no key "latest_version", but the key "latest"' in result.explain


def test_checks_over_the_cap_are_not_made() -> None:
    asked = checks(*({**PYTHON, "id": f"c{number}"} for number in range(22)))
    results = evaluate(asked, TOOLS, evidence_for(asked), AT)
    assert [result.verdict for result in results[19:]] == [
        CheckVerdict.SUPPORTED,
        CheckVerdict.NOT_CHECKED,
        CheckVerdict.NOT_CHECKED,
    ]
    assert compose(results).verdict == "insufficient_evidence"
    assert not compose(results).degraded


def test_only_checks_with_a_declared_tool_are_queried() -> None:
    asked = checks(PYTHON, {**PYTHON, "id": "b", "args": {}}, {"id": "c", "tool": "oracle"})
    assert [check.id for check in checks_needing_evidence(asked, TOOLS)] == ["py"]


def test_evidence_of_another_question_is_refused() -> None:
    with pytest.raises(AffidavitError) as raised:
        one({}, fact(RESULT, VERSION, {"product": "ruby"}))
    assert raised.value.fault.code == "AF309"
    with pytest.raises(AffidavitError) as raised:
        one({}, fact(RESULT, args=PYTHON["args"]))
    assert raised.value.fault.code == "AF309"


def test_arguments_are_compared_exactly() -> None:
    with pytest.raises(AffidavitError) as raised:
        one(
            {"args": {"product": "python", "n": 1}},
            fact(RESULT, VERSION, {"product": "python", "n": True}),
        )
    assert raised.value.fault.code == "AF309"


def test_evidence_of_another_time_is_refused() -> None:
    late = "2026-01-31T14:30:01Z"
    with pytest.raises(AffidavitError) as raised:
        one({}, fact(RESULT, VERSION, {"product": "python"}, at=late))
    assert raised.value.fault.code == "AF308"


def test_the_time_of_the_answer_is_a_time() -> None:
    with pytest.raises(AffidavitError) as raised:
        evaluate(checks(PYTHON), TOOLS, {}, "yesterday")
    assert raised.value.fault.code == "AF278"
