"""Events and packs for tests, made in code: a few words each."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from affidavit.packs.lint import LintPass, LintResult
from affidavit.packs.model import Pack
from affidavit.packs.reader import pack_from_yaml

MANIFEST: Mapping[str, Any] = {
    "schema_version": 1,
    "run_id": "run-1",
    "files": {"events.ndjson": {"path": "events.ndjson", "sha256": "sha256:00", "bytes": 1}},
    "x-affidavit": {"merkle_root": "sha256:00"},
}


def event(
    kind: str, data: Any = None, *, run: str = "run-1", seq: int = 0, **others: Any
) -> dict[str, Any]:
    """Return an event as a bundle has it, but for its hash."""
    return {
        "specversion": "1.0",
        "type": kind,
        "source": "urn:test:run",
        "id": f"{run}:{seq}",
        "time": "2026-01-31T14:30:00Z",
        "datacontenttype": "application/json",
        "assayrunid": run,
        "assayseq": seq,
        "assayproducer": "test",
        "assayproducerversion": "1",
        "assaygit": "unknown",
        "assaypii": False,
        "assaysecrets": False,
        "data": {} if data is None else data,
        **others,
    }


def line_of(value: Mapping[str, Any]) -> bytes:
    """Return the event as canonical JSON, as far as tests need it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def lint(
    packs: Sequence[Pack],
    events: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any] = MANIFEST,
    max_results: int = 500,
) -> LintResult:
    """Lint some events, numbered in the order in which they stand."""
    done = LintPass(packs, manifest, max_results)
    for number, each in enumerate(events):
        done.feed(number + 1, line_of({**each, "assayseq": number}))
    return done.finish()


def pack_with(*rules: Mapping[str, Any], **others: Any) -> Pack:
    """Return a pack with these rules; what a rule does not say is filled in."""
    filled = [
        {"id": f"R-{at}", "severity": "error", "description": "a rule", **rule}
        for at, rule in enumerate(rules, 1)
    ]
    return read_pack({"rules": filled, **others})


def read_pack(value: Mapping[str, Any]) -> Pack:
    """Return the pack of a value, by way of YAML, of which JSON is a part."""
    whole = {
        "name": "p",
        "version": "1",
        "kind": "quality",
        "description": "d",
        "author": "a",
        "license": "l",
        "requires": {"assay_min_version": ">=1.0.0"},
        **value,
    }
    kept = {key: member for key, member in whole.items() if member is not ...}
    return pack_from_yaml(json.dumps(kept, indent=1).encode(), "p.yaml", "p.yaml")


def messages(result: LintResult) -> list[str]:
    """Return what was found, in the order of the report."""
    return [finding.message for finding in result.findings]
