"""Assay's own packs over its own bundle, and our report under the ADR's own schema."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from tests.app.test_linting import drafts_of
from tests.cli.running import run
from tests.packs.test_builtin_packs import GOOD
from tests.packs.test_signals import COMMITMENT
from tests.seal.bundle_making import sealed
from tests.vectors import vector_path

import affidavit
from affidavit.app.bundle_packs import packs_block
from affidavit.app.bundles import open_bundle
from affidavit.app.lint import closure_report, lint_bundle
from affidavit.app.pack_files import built_in_pack, built_in_packs, load_pack, load_packs
from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.exits import Exit
from affidavit.packs.lint import BundleLint
from affidavit.packs.model import Pack
from affidavit.packs.reader import registry_digest
from affidavit.seal.bundle.container import DEFAULT_LIMITS

NAMES = ("cicd-starter", "eu-ai-act-baseline", "mandate-baseline", "soc2-baseline")
# The rules that do not hold in Assay's bundle: it has no tool decision and no mandate.
FIRED = {
    "cicd-starter": set(),
    "eu-ai-act-baseline": {"EU12-004"},
    "mandate-baseline": {"MANDATE-002", "MANDATE-003", "MANDATE-004", "MANDATE-005"},
    "soc2-baseline": {"invariant.decision_record"},
}
# The first digits of Assay's own digests of these files, as its source computes them.
DIGESTS = {
    "cicd-starter": "sha256:11a648da",
    "eu-ai-act-baseline": "sha256:97f10c43",
    "soc2-baseline": "sha256:e3de126d",
}


def assays(name: str) -> Pack:
    return load_pack(str(vector_path("assay", "packs", f"{name}.yaml")), None)


def report_of(linted: BundleLint) -> Any:
    return json.loads(msgspec.json.encode(closure_report(linted)))


def linted(packs: tuple[Pack, ...]) -> BundleLint:
    return lint_bundle(vector_path("assay", "test-bundle.tar.gz"), packs, DEFAULT_LIMITS, 500)


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_of_assay_runs_over_its_bundle(name: str) -> None:
    result = linted((assays(name),)).result
    fired = {each.rule.id for each in result.rules if each.finding is not None}
    assert fired == FIRED[name]


@pytest.mark.parametrize(("name", "digest"), DIGESTS.items())
def test_the_digest_is_assays(name: str, digest: str) -> None:
    assert assays(name).digest.startswith(digest)


def test_the_digest_of_the_registry_is_of_canonical_json() -> None:
    assert registry_digest({"b": [1.0], "a": None}) == digest_of(b'{"a":null,"b":[1]}')
    assert registry_digest({"b": 1, "a": 2}) == registry_digest({"a": 2, "b": 1})


def test_packs_of_both_with_one_name_run_side_by_side() -> None:
    packs = load_packs(
        ["cicd-starter", str(vector_path("assay", "packs", "cicd-starter.yaml"))], None
    )
    assert [pack.version for pack in packs] == ["3.0.0", "1.0.0"]
    assert len(linted(packs).result.rules) == 11


def test_a_tampered_bundle_is_refused_with_the_event_hash() -> None:
    result = run("evidence", "lint", str(vector_path("assay", "tampered-bundle.tar.gz")))
    assert (result.exit_code, "the event claims the content hash" in result.stderr) == (
        Exit.TAMPERED,
        True,
    )


def adr_schema() -> dict[str, Any]:
    """Return the schema closure-v1 as it stands in the ADR's own text."""
    text = vector_path("..", "seeds", "adr-025-evidence-as-a-product.md").read_text("utf-8")
    start = text.index("```json", text.index("Completeness + Closure v1 (Normative)")) + 7
    # The block is not closed in the text; the object ends where its braces do.
    value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip())
    assert isinstance(value, dict)
    return value


def all_packs() -> tuple[Pack, ...]:
    return tuple(map(built_in_pack, built_in_packs()))


def test_the_closure_report_is_valid_under_the_adrs_schema(tmp_path: Path) -> None:
    validator = Draft202012Validator(adr_schema())
    validator.validate(report_of(linted(all_packs())))
    redacted = [
        {**each, "data": {**each["data"], "output": COMMITMENT}}
        if each["type"] == "affidavit.model.call"
        else each
        for each in GOOD
    ]
    for events in (GOOD, redacted):
        path = tmp_path / "b.tar.gz"
        path.write_bytes(sealed(drafts_of(events)))
        report = report_of(lint_bundle(path, all_packs(), DEFAULT_LIMITS, 500))
        validator.validate(report)
    completeness: Any = report["completeness"]
    assert completeness["redacted"] == ["model_outputs"]
    assert completeness["by_signal"]["model_outputs"]["commitment"]["size_bytes"] == 4


def test_the_closure_report_is_the_same_to_the_byte() -> None:
    first, second = (jcs(report_of(linted(all_packs()))) for _ in range(2))
    assert first == second


def test_gate_i1_the_manifest_names_packs_and_mappings() -> None:
    """ADR-025, I1: manifest `x-assay` fields, and packs with signals of the registry."""
    text = vector_path("..", "seeds", "adr-025-evidence-as-a-product.md").read_text("utf-8")
    contract = text[text.index("### 3) Manifest additions") :]
    fields = [re.findall(r"(\w+)\??[,}]", line) for line in contract.splitlines()[2:4]]
    packs = all_packs()
    block = packs_block(packs)
    for written, named in zip((block.packs_applied, block.mappings), fields, strict=True):
        assert written
        assert all(set(each.__struct_fields__) <= set(named) for each in written)
    assert all(rule.requires_signals for pack in packs for rule in pack.rules)


def test_gate_i1_a_sealed_run_names_the_packs_it_is_held_to(tmp_path: Path) -> None:
    """ADR-025, I1: manifest `x-assay` fields populated correctly, also after lint with them."""
    log, bundle = tmp_path / "run.jsonl", tmp_path / "run.tar.gz"
    with affidavit.record(log, input="q") as recorded:
        recorded.model_call("m", input="q", output="a")
    packs = ("--pack", "eu-ai-act-baseline,cicd-starter")
    assert run("evidence", "seal", str(log), "-o", str(bundle), *packs).exit_code == 0
    chosen = load_packs(["eu-ai-act-baseline", "cicd-starter"], None)
    lint_bundle(bundle, chosen, DEFAULT_LIMITS, 500)
    with open_bundle(bundle) as reader:
        said: Any = reader.manifest.value["x-assay"]
    assert [each["digest"] for each in said["packs_applied"]] == [pack.digest for pack in chosen]
    rules = {pack.canonical_id(rule) for pack in chosen for rule in pack.rules}
    assert {each["rule"] for each in said["mappings"]} == rules


def test_gate_i2_explain_renders_the_gaps_of_closure() -> None:
    """ADR-025, I2: `--explain` renders closure gaps."""
    bundle = str(vector_path("assay", "test-bundle.tar.gz"))
    shown = run("evidence", "lint", bundle, "--explain", "closure.score").stdout
    assert "+0.15: record the output of every model call" in shown
    assert "Sum: 1 / 20 = 0.05" in shown
