"""The schemas that we publish hold for what we write, and for the packs that we read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from tests.app.test_linting import PACK, drafts_of
from tests.packs.making import event
from tests.packs.test_builtin_packs import GOOD, PACKS
from tests.packs.test_sensitive import DRAWN
from tests.repository import ROOT
from tests.seal.bundle_making import sealed

from affidavit.app.lint import closure_report, lint_bundles, lint_report
from affidavit.app.pack_files import built_in_text
from affidavit.base.config import decode_yaml
from affidavit.packs.lint import BundleLint
from affidavit.packs.model import Severity
from affidavit.packs.report import LintReport
from affidavit.reports.json_text import json_bytes
from affidavit.seal.bundle.container import DEFAULT_LIMITS


def schema(name: str) -> Draft202012Validator:
    text = (ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text("utf-8")
    value = json.loads(text)
    Draft202012Validator.check_schema(value)
    return Draft202012Validator(value)


def test_a_lint_report_is_what_its_schema_says(tmp_path: Path) -> None:
    leak = event("note", {"a": "sk-" + DRAWN})
    for name, events in (("a", GOOD), ("b", [leak])):
        (tmp_path / f"{name}.tar.gz").write_bytes(sealed(drafts_of(events)))
    paths = [tmp_path / name for name in ("a.tar.gz", "b.tar.gz", "missing.tar.gz")]
    packs = tuple(PACKS.values())
    outcomes = list(lint_bundles(paths, packs, DEFAULT_LIMITS, 500))
    wire: Any = json.loads(json_bytes(lint_report(outcomes, packs, Severity.ERROR, 500)))
    msgspec.convert(wire, LintReport)
    schema("lint-report").validate(wire)
    schema("closure-report").validate(wire["bundles"][0]["closure_report"])
    first = outcomes[0]
    assert isinstance(first, BundleLint)
    closure = json.loads(json_bytes(closure_report(first)))
    assert wire["bundles"][0]["closure_report"] == closure


@pytest.mark.parametrize("name", PACKS)
def test_a_built_in_pack_is_what_the_schema_says(name: str) -> None:
    schema("pack").validate(decode_yaml(built_in_text(name)))


WRONG_PACKS = {
    "a key that nobody knows": PACK.replace("author", "auther"),
    "a severity that is none": PACK.replace("info", "fatal"),
    "a check with a wrong field": PACK.replace("min: 1", "max: 1"),
    "no rules": PACK[: PACK.index("- {")] + "  []\n",
    "a signal that nobody knows": PACK + "x-assay: {requires_signals: [nothing]}\n",
}


@pytest.mark.parametrize("text", WRONG_PACKS.values(), ids=WRONG_PACKS.keys())
def test_the_schema_of_packs_refuses(text: str) -> None:
    validator = schema("pack")
    assert validator.is_valid(decode_yaml(PACK.encode()))
    assert not validator.is_valid(decode_yaml(text.encode()))


def test_a_check_of_a_new_type_is_let_through() -> None:
    text = PACK.replace("{type: event_count, min: 1}", "{type: reference_exists, to: x}")
    assert schema("pack").is_valid(decode_yaml(text.encode()))
