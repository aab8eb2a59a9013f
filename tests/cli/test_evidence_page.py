"""docs/bundles.md has every event type, every code with Assay's, and every limit."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import asdict
from tests.repository import ROOT
from tests.seal.bundle_making import parts, sealed

from affidavit.app.bundle_disclosure import prove_event
from affidavit.app.recording import Recorder
from affidavit.base.faults import CATALOG
from affidavit.packs.event_types import EVENT_TYPES, RECORDER_PREFIX
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.reader import ASSAY_CODES, WITHOUT_ASSAY_CODE


def follows(name: str, value: Any) -> bool:
    text = (ROOT / "docs" / "schemas" / f"bundle-{name}.schema.json").read_text("utf-8")
    Draft202012Validator.check_schema(json.loads(text))
    return bool(Draft202012Validator(json.loads(text)).is_valid(value))


def test_bundles_and_proofs_are_what_their_schemas_say(tmp_path: Path) -> None:
    path = tmp_path / "run.tar.gz"
    path.write_bytes(sealed(torn_bytes=1))
    manifest, events = parts(path.read_bytes())
    assert follows("manifest", manifest)
    assert all(follows("event", event) for event in events)
    assert follows("proof", msgspec.to_builtins(prove_event(path, 2)[0]))
    assert follows("revealed", {"event": 1, "path": "/data/x", "salt": "0" * 64, "value": None})


@pytest.mark.parametrize("name", ["manifest", "event", "proof", "revealed"])
def test_the_schemas_refuse_invalid_documents(name: str) -> None:
    assert not follows(name, {"event": 1})


def test_the_page_has_every_event_type() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text("utf-8")
    for each in EVENT_TYPES:
        fields = ", ".join(
            [f"`{name}`" for name in each.required] + [f"`{name}`?" for name in each.optional]
        )
        assert f"| `{each.name}` | {each.says} | {fields} |" in page
        assert each.name.startswith(RECORDER_PREFIX)


def test_the_page_names_every_call_of_a_recorder() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text("utf-8")
    calls = [name for name in vars(Recorder) if not name.startswith("_")]
    assert [name for name in calls if f"`{name}`" not in page and f"`{name}(" not in page] == []


def test_the_page_has_every_code_beside_assays() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text("utf-8")
    by_name = {fault.name: fault for fault in CATALOG.values()}
    for name in (*ASSAY_CODES, *WITHOUT_ASSAY_CODE):
        fault, theirs = by_name[name], ASSAY_CODES.get(name, "(accepted)")
        assert f"| {fault.code} `{name}` | {theirs} | {int(fault.exit)} |" in page
    for name, default in asdict(DEFAULT_LIMITS).items():
        assert f"| `{name}` | {default} |" in page
