"""Every report is what docs/schemas/gate-report.schema.json says, and what is none is refused."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.reports import gate_samples
from tests.repository import ROOT

from affidavit.app.gate_all import AllGatesReport, GateOutcome
from affidavit.base.exits import Exit
from affidavit.gates.report import parse_report

SCHEMA = json.loads((ROOT / "docs/schemas/gate-report.schema.json").read_text("utf-8"))
PUBLISHED = Draft202012Validator(SCHEMA)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_every_kind_follows_it(kind: str) -> None:
    PUBLISHED.validate(gate_samples.KINDS[kind]())


def test_one_report_over_all_gates_follows_it() -> None:
    made = (
        GateOutcome(kind, parse_report(make()), Exit.UNKNOWN)
        for kind, make in gate_samples.KINDS.items()
    )
    PUBLISHED.validate(AllGatesReport(tuple(made)).report.to_builtins())


NONE = {
    "another version is another schema": ("schema_version", "affidavit-gate/2"),
    "a decision that there is not": ("decision", "maybe"),
    "a figure without its numbers": ("metrics", {"precision": {"value": 1.0}}),
    "a file without its digest": ("inputs", {"gold": {"path": "gold.jsonl", "rows": 1}}),
    "a gate that neither passes nor fails": (
        "gates",
        [{"metric": "chr", "op": ">=", "threshold": 1, "value": 1, "status": "ok"}],
    ),
    "an offender without a name": ("offenders", [{"why": "wrong_answer"}]),
    "a part that is no report": ("parts", {"rag": {}}),
}


@pytest.mark.parametrize(("field", "value"), NONE.values(), ids=NONE.keys())
def test_what_is_no_report(field: str, value: Any) -> None:
    assert not PUBLISHED.is_valid({**gate_samples.rag(), field: value})


@pytest.mark.parametrize("field", SCHEMA["$defs"]["Report"]["required"])
def test_what_is_always_there(field: str) -> None:
    wire = gate_samples.rag()
    del wire[field]
    assert not PUBLISHED.is_valid(wire)
