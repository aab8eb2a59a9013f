"""Small bundles to verify, and to spoil: built member by member, so that anything can be wrong."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits, sealed_header
from affidavit.seal.bundle.manifest import ManifestDetails, manifest_bytes
from affidavit.seal.bundle.reader import BundleVerification, verify_bundle
from affidavit.seal.bundle.writer import BundlePacker, EventDraft, EventWriter, RunIdentity

AT = "2026-01-31T14:30:00Z"
RUN = RunIdentity("run-1", "urn:example:run", "affidavit", "0.1.0")
DRAFTS = (
    EventDraft("affidavit.run.started", AT, {"run_id": "run-1"}),
    EventDraft("affidavit.model.call", AT, {"model": "m-1", "output": "yes", "score": 0.25}, "m-1"),
    EventDraft(
        "affidavit.tool.call", AT, {"tool": "search", "input": {"q": "größe"}, "output": [1]}
    ),
    EventDraft("affidavit.verdict", AT, {"verdict": "ship"}, personal_data=True),
    EventDraft("affidavit.run.finished", AT, {"status": "ok"}),
)

Member = tuple[str, bytes]


def sealed(drafts: Iterable[EventDraft] = DRAFTS, run: RunIdentity = RUN, **about: Any) -> bytes:
    """Return a bundle as the product writes it."""
    writer = EventWriter(run)
    lines = [writer.append(draft) for draft in drafts]
    totals = writer.finish()
    contents = totals.contents(run.id)
    manifest = manifest_bytes(
        contents,
        ManifestDetails(producer=run.producer_as_wire(), **about),
    )
    return archive_of(manifest, b"".join(lines))


def archive_of(manifest: bytes, events: bytes) -> bytes:
    """Return the archive of a manifest and events."""
    packer = BundlePacker()
    body = b"".join(packer.body(manifest, (events,), len(events)))
    return packer.header() + body


def members_of(bundle: bytes) -> tuple[bytes, bytes]:
    """Return manifest and events, by Python's own readers."""
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        manifest, events = (archive.extractfile(member) for member in archive)
        assert manifest is not None
        assert events is not None
        return manifest.read(), events.read()


def tarred(members: Iterable[Member | tarfile.TarInfo]) -> bytes:
    """Return a tar archive as Python writes it."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return target.getvalue()


def packed(tar: bytes) -> bytes:
    """Return gzip with the header that bundles have."""
    body = gzip.compress(tar)[10:]
    return sealed_header(hashlib.sha256(body[:-8]).digest()) + body


def archived(*members: Member | tarfile.TarInfo) -> bytes:
    """Return a bundle of any members."""
    return packed(tarred(members))


def parts(bundle: bytes | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return manifest and events as values."""
    manifest, events = members_of(sealed() if bundle is None else bundle)
    return json.loads(manifest), [json.loads(line) for line in events.splitlines()]


def respoken(
    manifest: Mapping[str, Any],
    events: Iterable[Mapping[str, Any] | bytes],
    *,
    summed: bool = True,
) -> bytes:
    """Return a bundle of changed parts; `summed` makes size and digest right, and nothing else."""
    lines = [each if isinstance(each, bytes) else jcs(dict(each)) + b"\n" for each in events]
    text = b"".join(lines)
    changed = json.loads(json.dumps(manifest))
    if summed:
        changed["files"]["events.ndjson"].update(bytes=len(text), sha256=digest_of(text))
    return archived(("manifest.json", jcs(changed)), ("events.ndjson", text))


def without_ours(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest as Assay writes it."""
    return {key: value for key, value in manifest.items() if not key.startswith("x-")}


def verified(bundle: bytes, limits: BundleLimits = DEFAULT_LIMITS) -> BundleVerification:
    """Verify the bytes of a bundle."""
    return verify_bundle(io.BytesIO(bundle), limits)


def fault_name(bundle: bytes, limits: BundleLimits = DEFAULT_LIMITS) -> str | None:
    """Return the name of what is wrong with a bundle."""
    error = verified(bundle, limits).error
    return None if error is None else error.name


Change = Callable[[dict[str, Any], list[dict[str, Any]]], object]


def changed(change: Change, *, summed: bool = True) -> bytes:
    """Return the sample bundle with its parts changed."""
    manifest, events = parts()
    change(manifest, events)
    return respoken(manifest, events, summed=summed)
