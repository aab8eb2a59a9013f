"""SARIF 2.1.0: the offenders at their lines."""

import json
from typing import Any

import jsonschema
import pytest
from tests.reports import gate_samples

from affidavit.reports.sarif import uri_of

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def exactly(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


# What the standard asks of the members that we write (sections 3.13 to 3.58); no other is allowed.
REGION = exactly(["startLine"], startLine={"type": "integer", "minimum": 1})
ARTIFACT = exactly(["uri"], uri={"type": "string", "format": "uri-reference"})
PHYSICAL = exactly(["artifactLocation"], artifactLocation=ARTIFACT, region=REGION)
RESULT = exactly(
    ["message", "ruleId", "locations"],
    ruleId={"type": "string"},
    level=LEVEL,
    message=TEXT,
    locations=several(exactly([], physicalLocation=PHYSICAL)),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
RULE = exactly(["id"], id={"type": "string"}, name={"type": "string"}, shortDescription=TEXT)
DRIVER = exactly(
    ["name"], name={"type": "string"}, semanticVersion={"type": "string"}, rules=several(RULE)
)
NOTIFICATION = exactly(["message"], message=TEXT, level=LEVEL)
INVOCATION = exactly(
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=several(NOTIFICATION),
)
RUN = exactly(
    ["tool"],
    tool=exactly(["driver"], driver=DRIVER),
    automationDetails=exactly([], id={"type": "string"}),
    invocations=several(INVOCATION),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=several(RESULT),
)
LOG = exactly(
    ["version", "runs"],
    **{"$schema": {"type": "string"}, "version": {"const": "2.1.0"}, "runs": several(RUN)},
)


def log_of(wire: gate_samples.Wire) -> Any:
    log = json.loads(gate_samples.sarif_of(wire))
    jsonschema.validate(log, LOG)
    return log


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_every_kind_makes_a_valid_log(kind: str) -> None:
    (run,) = log_of(gate_samples.KINDS[kind]())["runs"]
    assert run["automationDetails"]["id"].startswith("affidavit/")
    ids = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert ids == {result["ruleId"] for result in run["results"]}


def test_an_offender_stands_at_its_line() -> None:
    (run,) = log_of(gate_samples.rag(5, 2))["runs"]
    first = run["results"][0]
    where = first["locations"][0]["physicalLocation"]
    assert where == {
        "artifactLocation": {"uri": "runs/trace%20one.jsonl"},
        "region": {"startLine": 6},
    }
    assert first["ruleId"] == "rag/wrong_answer"
    assert first["level"] == "error"


def test_what_has_no_line_is_counted_and_not_listed() -> None:
    (run,) = log_of(gate_samples.agreement())["runs"]
    assert run["results"] == []
    said = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert said[1] == "4 offenders have no line in a file and are not among the results"


def test_every_offender_with_a_line_has_a_rule() -> None:
    for make, rule in (
        (gate_samples.agreement, "agreement/disagreement"),
        (gate_samples.stability, "stability/unstable"),
    ):
        wire = make()
        place = {"file": "rows.jsonl", "line": 7}
        first = next(iter(wire["inputs"].values()))
        first["places"] = {offender["qid"]: place for offender in wire["offenders"]}
        (run,) = log_of(wire)["runs"]
        assert {result["ruleId"] for result in run["results"]} == {rule}


@pytest.mark.parametrize("name", ["-", "standard input", ""])
def test_standard_input_is_no_place(name: str) -> None:
    wire = gate_samples.rag(5, 2)
    for place in wire["inputs"]["trace"]["places"].values():
        place["file"] = name
    assert log_of(wire)["runs"][0]["results"] == []


def test_fingerprints_do_not_move_with_the_lines() -> None:
    wire, moved = gate_samples.rag(5, 2), gate_samples.rag(5, 2)
    for place in moved["inputs"]["trace"]["places"].values():
        place["line"] += 100

    def prints(given: gate_samples.Wire) -> list[Any]:
        return [each["partialFingerprints"] for each in log_of(given)["runs"][0]["results"]]

    assert prints(wire) == prints(moved)
    assert len({json.dumps(each) for each in prints(wire)}) == 2


def test_an_evaluation_that_stopped_was_not_successful() -> None:
    (run,) = log_of(gate_samples.stopped())["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False


PLACES = {
    "a relative path stays relative": ("a/b c.jsonl", "a/b%20c.jsonl"),
    "the folder itself is left out": ("./a.jsonl", "a.jsonl"),
    "an absolute one has a scheme": ("/a/ü.jsonl", "file:///a/%C3%BC.jsonl"),
    "a percent sign": ("100%.jsonl", "100%25.jsonl"),
    "as Windows writes it": ("a\\b.jsonl", "a/b.jsonl"),
}


@pytest.mark.parametrize(("path", "wanted"), PLACES.values(), ids=PLACES.keys())
def test_uri(path: str, wanted: str) -> None:
    assert uri_of(path) == wanted
