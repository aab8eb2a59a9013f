"""ASSAY-W004: a refusal that was observed needs the decision that it rests on."""

import json
from typing import Any

import pytest
from tests.packs.making import event, lint

from affidavit.packs.lint import LintResult

OLDER = {"error": {"code": -32000, "data": {"assay_proxy": "deny"}}}
NEWER = {"error": {"code": -31999, "data": {"origin": "assay-proxy"}}}
UNSUPPORTED = {"error": {"code": -31997, "data": {"origin": "assay-proxy"}}}


def observed(response: Any = OLDER, **call: Any) -> dict[str, Any]:
    text = response if isinstance(response, str) else json.dumps(response)
    data = {"tool_name": "fs_write", "target_digest": "sha256:1", **call}
    return event("observation", {"observed_response": text, "call": data})


def decided(decision: Any, digest: str = "sha256:1", **others: Any) -> dict[str, Any]:
    data = {
        "schema": "assay.enforcement_decision.v0",
        "tool": {"name": "fs_write"},
        "action": {"target_digest": digest},
        "decision": decision,
        **others,
    }
    return event("assay.enforcement_decision.v0", data)


def found(result: LintResult) -> list[tuple[str, int | None]]:
    return [
        (each.message, None if each.location is None else each.location.line)
        for each in result.findings
        if each.rule_id == "ASSAY-W004"
    ]


UNBACKED = "An observed refusal has no decision of the same tool and target"
CONTRADICTED = (
    "An observed refusal is contradicted by an allowing decision of the same tool and target"
)
SPEC: dict[str, tuple[list[dict[str, Any]], list[tuple[str, int | None]]]] = {
    "no decision": ([observed()], [(UNBACKED, 1)]),
    "no decision, in the newer form": ([observed(NEWER)], [(UNBACKED, 1)]),
    "a decision before": ([decided("deny"), observed()], []),
    "a decision after": ([observed(), decided("deny")], []),
    "an allowing decision": ([observed(), decided("allow")], [(CONTRADICTED, 1)]),
    "both decisions": ([decided("allow"), decided("deny"), observed()], []),
    "a decision on another target": ([decided("deny", "sha256:2"), observed()], [(UNBACKED, 2)]),
    "a decision of another schema": ([decided("deny", schema="x"), observed()], [(UNBACKED, 2)]),
    "a decision that decides nothing": ([decided("maybe"), observed()], [(UNBACKED, 2)]),
    "no target": ([observed(target_digest="")], []),
    "another error of the proxy": ([observed(UNSUPPORTED)], []),
    "a response that is no JSON": ([observed("{")], []),
    "a response that is no text": ([event("o", {"observed_response": 1})], []),
    "data that is a list": ([event("o", [{"observed_response": "x"}])], []),
}


@pytest.mark.parametrize(("events", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_an_observed_refusal(
    events: list[dict[str, Any]], wanted: list[tuple[str, int | None]]
) -> None:
    assert found(lint([], events)) == wanted


def test_it_is_a_warning_with_a_fingerprint() -> None:
    (finding,) = lint([], [observed()]).findings
    assert (finding.severity, finding.pack) == ("warning", None)
    assert finding.fingerprint.startswith("sha256:")


def test_more_than_can_be_remembered_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.packs.attribution.MAX_REMEMBERED", 1)
    assert found(lint([], [observed(), observed()])) == [
        ("More than 1 refusals or decisions: not checked", None)
    ]
