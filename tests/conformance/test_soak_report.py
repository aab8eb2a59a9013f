"""soak-report-v1 against the schema of ADR-025, read from the text of the seed document."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from tests.cli.running import run
from tests.vectors import vector_path

SEED = ("..", "seeds", "adr-025-evidence-as-a-product.md")


def seed_schema() -> Draft202012Validator:
    """Return the schema in the first JSON block after the heading of data contract 1."""
    text = vector_path(*SEED).read_text("utf-8")
    block = text.split("### 1) Soak Report v1")[1].split("```json\n")[1].split("```")[0]
    schema = json.loads(block)
    assert schema["$id"].endswith("soak-report-v1.schema.json")
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=FormatChecker())


TARGETS = {
    "all pass": ("true", ()),
    "all fail": ("false", ()),
    "some are not judged": ("sh -c 'exit $(({trial} % 3))'", ()),
    "a policy": (
        "true",
        ("--max-failures", "2", "--stop-on-first-failure", "--fail-on", "warning"),
    ),
    "a suite and a pack": ("true", ("--suite", "nightly", "--pack", "cicd-starter")),
}


@pytest.mark.parametrize(("target", "others"), TARGETS.values(), ids=TARGETS.keys())
def test_a_report_is_valid(target: str, others: tuple[str, ...], tmp_path: Path) -> None:
    validator = seed_schema()
    report = tmp_path / "out.json"
    run("sim", "soak", "-n", "4", "--target", target, "--report", str(report), *others)
    found: Any = json.loads(report.read_text("utf-8"))
    validator.validate(found)
    assert found["decision_policy"]
    # The schema can fail: it is closed.
    assert not validator.is_valid({**found, "posterior": 1})
