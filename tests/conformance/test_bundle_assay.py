"""Assay's own bundles, and ours under a verifier that knows nothing of our code."""

import gzip
import hashlib
import io
import json
import tarfile
from typing import Any

import rfc8785
from tests.seal.bundle_making import fault_name, sealed, verified
from tests.vectors import vector_path

from affidavit.base.exits import Exit


def independently_verified(bundle: bytes) -> dict[str, Any]:
    """Verify a bundle as Evidence Contract v1 says, with nothing but public libraries.

    Written from the contract's text alone; returns the manifest, or fails.
    """
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(bundle))) as archive:
        names = [member.name for member in archive]
        assert names == ["manifest.json", "events.ndjson"]
        files = [archive.extractfile(name) for name in names]
        raw_manifest, raw_events = (file.read() for file in files if file is not None)
    manifest: dict[str, Any] = json.loads(raw_manifest)
    assert manifest["schema_version"] == 1
    listed = manifest["files"]["events.ndjson"]
    assert listed["bytes"] == len(raw_events)
    assert listed["sha256"] == "sha256:" + hashlib.sha256(raw_events).hexdigest()
    root = hashlib.sha256()
    events = [json.loads(line) for line in raw_events.splitlines()]
    for number, event in enumerate(events):
        keys = ("specversion", "type", "datacontenttype", "subject", "data")
        hashed = rfc8785.dumps({key: event[key] for key in keys if key in event})
        content = "sha256:" + hashlib.sha256(hashed).hexdigest()
        assert event["specversion"] == "1.0"
        assert event["assaycontenthash"] == content
        assert event["assayseq"] == number
        assert event["assayrunid"] == manifest["run_id"]
        assert event["id"] == f"{manifest['run_id']}:{number}"
        assert event["source"] == events[0]["source"]
        assert event["source"].find(":") > 0
        assert event["source"][0] != ":"
        assert {"assaygit", "assaypii", "assayproducer", "assayproducerversion"} <= set(event)
        root.update(f"{content}\n".encode())
    assert len(events) == manifest["event_count"] > 0
    assert manifest["run_root"] == manifest["bundle_id"] == "sha256:" + root.hexdigest()
    return manifest


def test_the_vector_verifies() -> None:
    bundle = vector_path("assay", "test-bundle.tar.gz").read_bytes()
    assert verified(bundle).exit is Exit.YES
    assert independently_verified(bundle)["event_count"] == 5


def test_the_tampered_vector_is_refused_for_its_event_hash() -> None:
    bundle = vector_path("assay", "tampered-bundle.tar.gz").read_bytes()
    assert fault_name(bundle) == "bundle.event_hash"
    assert verified(bundle).exit is Exit.TAMPERED


def test_our_bundles_verify_by_the_contract_alone() -> None:
    assert independently_verified(sealed())["x-assay"] == {"mappings": [], "packs_applied": []}
