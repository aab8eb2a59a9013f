"""What contradicts the contract, or another part of the bundle, is refused with its own code."""

import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import asdict
from tests.seal.bundle_making import (
    AT,
    DRAFTS,
    RUN,
    archived,
    changed,
    fault_name,
    members_of,
    packed,
    parts,
    respoken,
    sealed,
    tarred,
    verified,
    without_ours,
)

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import CATALOG
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits, limits_from_wire
from affidavit.seal.bundle.events import content_hash
from affidavit.seal.bundle.reader import ASSAY_CODES, WITHOUT_ASSAY_CODE, read_bundle
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity
from affidavit.seal.verification import StepStatus

Parts = tuple[dict[str, Any], list[dict[str, Any]]]


def test_every_step_of_a_good_bundle() -> None:
    steps = verified(sealed()).steps
    assert [(step.number, step.name) for step in steps] == [
        (1, "container"),
        (2, "manifest"),
        (3, "events"),
        (4, "totals"),
        (5, "merkle"),
        (6, "end"),
        (7, "statements"),
        (8, "packs"),
    ]
    assert {step.status for step in steps[:7]} == {StepStatus.PASSED}
    assert steps[7].status is StepStatus.SKIPPED


def test_a_bundle_without_our_block_skips_the_merkle_step() -> None:
    manifest, events = parts()
    bundle = respoken(without_ours(manifest), events)
    assert verified(bundle).exit is Exit.YES
    assert verified(bundle).steps[4].status is StepStatus.SKIPPED


def rehashed(event: dict[str, Any], **members: Any) -> None:
    """Change members of an event and make its content hash right."""
    event.update(members)
    event["assaycontenthash"] = content_hash(event)


MANIFEST_CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another schema version": (lambda m: m.update(schema_version=2), "bundle.version"),
    "a schema version that is no number": (
        lambda m: m.update(schema_version="1"),
        "bundle.manifest",
    ),
    "no run id": (lambda m: m.pop("run_id"), "bundle.manifest"),
    "a run id of another kind": (lambda m: m.update(run_id=1), "bundle.manifest"),
    "no producer": (lambda m: m.pop("producer"), "bundle.manifest"),
    "another canonical form": (
        lambda m: m["algorithms"].update(canon="sorted"),
        "bundle.version",
    ),
    "another hash": (lambda m: m["algorithms"].update(hash="md5"), "bundle.version"),
    "no root algorithm": (lambda m: m["algorithms"].pop("root"), "bundle.version"),
    "events not listed": (lambda m: m["files"].clear(), "archive.missing"),
    "another size": (lambda m: m["files"]["events.ndjson"].update(bytes=1), "bundle.size"),
    "another digest": (
        lambda m: m["files"]["events.ndjson"].update(sha256="sha256:" + "0" * 64),
        "digest.mismatch",
    ),
    "another count": (lambda m: m.update(event_count=4), "bundle.count"),
    "another run root": (lambda m: m.update(run_root="sha256:0"), "bundle.run_root"),
    "another bundle id": (lambda m: m.update(bundle_id="sha256:0"), "bundle.id"),
    "another run id": (lambda m: m.update(run_id="run-2"), "bundle.run_id"),
    "another Merkle root": (
        lambda m: m["x-affidavit"].update(merkle_root="sha256:0"),
        "bundle.merkle_root",
    ),
    "another tree size": (lambda m: m["x-affidavit"].update(tree_size=4), "bundle.merkle_root"),
    "a run root of another algorithm": (
        lambda m: m.update(run_root="sha512:" + "0" * 128),
        "bundle.version",
    ),
    "a bundle id of another algorithm": (
        lambda m: m.update(bundle_id="blake3:" + "0" * 64),
        "bundle.version",
    ),
    "a Merkle root of another algorithm": (
        lambda m: m["x-affidavit"].update(merkle_root="sha3-256:" + "0" * 64),
        "bundle.version",
    ),
    "another kind of tree": (lambda m: m["x-affidavit"].update(merkle="x"), "bundle.version"),
    "a block of ours that is cut": (
        lambda m: m["x-affidavit"].pop("tree_size"),
        "bundle.manifest",
    ),
    "a pack without a digest": (
        lambda m: m["x-assay"].update(packs_applied=[{"name": "p", "version": "1", "kind": "x"}]),
        "bundle.manifest",
    ),
}


@pytest.mark.parametrize(
    ("change", "wanted"), MANIFEST_CHANGES.values(), ids=MANIFEST_CHANGES.keys()
)
def test_a_changed_manifest(change: Callable[[dict[str, Any]], object], wanted: str) -> None:
    assert fault_name(changed(lambda manifest, _: change(manifest), summed=False)) == wanted


def second(**members: Any) -> Callable[[dict[str, Any], list[dict[str, Any]]], object]:
    """Return a change of the second event's members."""
    return lambda _, events: rehashed(events[1], **members)


EVENT_CHANGES: dict[str, tuple[Callable[..., object], str]] = {
    "other data": (lambda _, e: e[1].update(data={}), "bundle.event_hash"),
    "another type": (lambda _, e: e[1].update(type="x"), "bundle.event_hash"),
    "another subject": (lambda _, e: e[1].update(subject="x"), "bundle.event_hash"),
    "no subject": (lambda _, e: e[1].pop("subject"), "bundle.event_hash"),
    "a content hash of another algorithm": (
        lambda _, e: e[1].update(assaycontenthash="sha512:" + "0" * 128),
        "bundle.version",
    ),
    "a content hash without an algorithm": (
        lambda _, e: e[1].update(assaycontenthash="0" * 64),
        "bundle.event_hash",
    ),
    "no content hash": (lambda _, e: e[1].pop("assaycontenthash"), "bundle.event"),
    "another spec version": (second(specversion="2.0"), "bundle.version"),
    "a number left out": (second(assayseq=2), "bundle.sequence"),
    "a number that is negative": (second(assayseq=-1), "bundle.event"),
    "another run": (second(assayrunid="run-2"), "bundle.run_id"),
    "another source": (second(source="urn:other:run"), "bundle.event"),
    "another id": (second(id="run-1:7"), "bundle.event"),
    "a time that is none": (second(time="yesterday"), "bundle.event"),
    "a time without a zone": (second(time="2026-01-31T14:30:00"), "bundle.event"),
    "a flag that is a text": (second(assaypii="no"), "bundle.event"),
    "an event less": (lambda _, e: e.pop(), "bundle.count"),
    "the first event less": (lambda _, e: e.pop(0), "bundle.sequence"),
    "an event twice": (lambda _, e: e.append(e[-1]), "bundle.sequence"),
    "two events in the other order": (lambda _, e: e.reverse(), "bundle.sequence"),
    "no event": (lambda _, e: e.clear(), "bundle.empty"),
    "an event that is new": (second(data={"new": True}), "bundle.run_root"),
    "another time": (second(time="2026-02-01T00:00:00Z"), "bundle.merkle_root"),
    "another producer": (second(assayproducer="x"), "bundle.merkle_root"),
    "a member more": (second(extra=1), "bundle.merkle_root"),
    "a trace id": (second(traceparent="00-0-0-00"), "bundle.merkle_root"),
}


@pytest.mark.parametrize(("change", "wanted"), EVENT_CHANGES.values(), ids=EVENT_CHANGES.keys())
def test_a_changed_event(change: Callable[..., object], wanted: str) -> None:
    assert fault_name(changed(change)) == wanted


FIRST_CHANGES: dict[str, dict[str, Any]] = {
    "a source without a colon": {"source": "example"},
    "a source that begins with one": {"source": ":example"},
}


@pytest.mark.parametrize("members", FIRST_CHANGES.values(), ids=FIRST_CHANGES.keys())
def test_a_source_is_an_address(members: dict[str, Any]) -> None:
    assert fault_name(changed(lambda _, events: rehashed(events[0], **members))) == "bundle.event"


def test_a_run_id_holds_no_colon() -> None:
    def change(manifest: dict[str, Any], events: list[dict[str, Any]]) -> None:
        manifest["run_id"] = "a:b"
        for number, event in enumerate(events):
            event.update(assayrunid="a:b", id=f"a:b:{number}")

    assert fault_name(changed(change)) == "bundle.event"


LINES: dict[str, tuple[bytes, str]] = {
    "a blank line": (b"\n", "bundle.event"),
    "a carriage return": (members_of(sealed())[1].splitlines()[0] + b"\r\n", "canon.noncanonical"),
    "a list": (b"[]\n", "bundle.event"),
    "a list as the manifest's neighbour": (b"1\n", "bundle.event"),
}


@pytest.mark.parametrize(("line", "wanted"), LINES.values(), ids=LINES.keys())
def test_a_line_that_is_no_event(line: bytes, wanted: str) -> None:
    manifest, events = parts()
    assert fault_name(respoken(manifest, [line, *events[1:]])) == wanted


def test_a_manifest_that_is_no_object() -> None:
    assert fault_name(archived(("manifest.json", b"[]"))) == "bundle.manifest"


def test_a_bare_digest_is_read_as_assay_reads_it() -> None:
    manifest, events = parts()
    plain = without_ours(manifest)
    digest = plain["files"]["events.ndjson"]["sha256"].removeprefix("sha256:")
    plain["files"]["events.ndjson"]["sha256"] = digest
    assert fault_name(respoken(plain, events, summed=False)) is None


def test_a_subject_that_is_null_is_none_and_data_that_are_null_are_data() -> None:
    def change(_: dict[str, Any], events: list[dict[str, Any]]) -> None:
        events[0]["subject"] = None

    assert fault_name(changed(change)) == "bundle.merkle_root"  # The hash holds; the line is new.
    assert fault_name(sealed([EventDraft("x", AT, None)])) is None


def test_unknown_manifest_keys_are_kept() -> None:
    manifest, events = parts()
    bundle = respoken({**manifest, "x-else": {"a": 1}}, events)
    assert read_bundle(io.BytesIO(bundle)).manifest.value["x-else"] == {"a": 1}


LIMITS: dict[str, tuple[dict[str, int], str]] = {
    "the file": ({"max_bundle_bytes": 100}, "limit.bundle_bytes"),
    "what it unpacks to": ({"max_decode_bytes": 4000}, "limit.decode_bytes"),
    "the manifest": ({"max_manifest_bytes": 100}, "limit.manifest_bytes"),
    "the events": ({"max_events_bytes": 100}, "limit.events_bytes"),
    "how many events": ({"max_events": 4}, "limit.events"),
    "a line": ({"max_line_bytes": 430}, "limit.line_bytes"),
    "a name": ({"max_path_len": 5}, "limit.path"),
    "the depth": ({"max_json_depth": 2}, "json.depth"),
}


@pytest.mark.parametrize(("override", "wanted"), LIMITS.values(), ids=LIMITS.keys())
def test_every_limit_holds(override: dict[str, int], wanted: str) -> None:
    assert fault_name(sealed(), limits_from_wire(override)) == wanted


def test_a_limit_is_the_largest_that_is_accepted() -> None:
    manifest, events = members_of(sealed())
    bundle = sealed()
    exact = BundleLimits(
        max_bundle_bytes=len(bundle),
        max_decode_bytes=8192,
        max_manifest_bytes=len(manifest),
        max_events_bytes=len(events),
        max_events=len(DRAFTS),
        max_line_bytes=max(map(len, events.splitlines())),
        max_path_len=len("manifest.json"),
        max_json_depth=3,
    )
    assert fault_name(bundle, exact) is None


WRONG_LIMITS = {
    "a name that is not known": {"max_event": 1},
    "a text": {"max_events": "1"},
    "zero": {"max_events": 0},
    "a truth value": {"max_events": True},
    "deeper than can be read": {"max_json_depth": 255},
    "a list": [],
}


@pytest.mark.parametrize("override", WRONG_LIMITS.values(), ids=WRONG_LIMITS.keys())
def test_wrong_limits_are_refused(override: object) -> None:
    with pytest.raises(AffidavitError) as caught:
        limits_from_wire(override)
    assert caught.value.fault.name == "bundle.limits"


def test_the_limits_have_the_eight_names_of_the_adr() -> None:
    assert len(asdict(DEFAULT_LIMITS)) == 8
    assert limits_from_wire(asdict(DEFAULT_LIMITS)) == DEFAULT_LIMITS


def test_events_come_with_the_number_of_their_line() -> None:
    events = list(read_bundle(io.BytesIO(sealed())).events())
    assert [number for number, _ in events] == [1, 2, 3, 4, 5]
    assert [event["type"] for _, event in events] == [draft.type for draft in DRAFTS]


class Slow(io.BytesIO):
    """A stream that gives one byte at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1)


def test_a_slow_stream_is_read_like_a_fast_one() -> None:
    assert len(list(read_bundle(Slow(sealed())).events())) == len(DRAFTS)


def test_the_same_events_make_the_same_bytes() -> None:
    assert sealed() == sealed()


def test_python_reads_what_we_write() -> None:
    with tarfile.open(fileobj=io.BytesIO(sealed())) as archive:
        manifest, events = archive.getmembers()
    assert (manifest.name, events.name) == ("manifest.json", "events.ndjson")
    assert (manifest.mode, manifest.mtime, manifest.uid) == (0o644, 0, 0)


HEADER_CHANGES: dict[str, tuple[int, bytes, str]] = {
    "a size that is not octal": (124, b"9" * 11, "archive.format"),
    "a size in base 256": (124, b"\x80" + bytes(10), "archive.format"),
    "another magic": (257, b"other", "archive.format"),
    "a prefix": (345, b"folder", "archive.unlisted"),
    "a checksum that is not octal": (148, b"xxxxxx", "archive.format"),
}


@pytest.mark.parametrize(
    ("at", "field", "wanted"), HEADER_CHANGES.values(), ids=HEADER_CHANGES.keys()
)
def test_a_changed_tar_header(at: int, field: bytes, wanted: str) -> None:
    manifest, events = members_of(sealed())
    tar = bytearray(tarred([("manifest.json", manifest), ("events.ndjson", events)]))
    tar[at : at + len(field)] = field
    if at != 148:
        tar[148:156] = b" " * 8
        tar[148:156] = b"%06o\0 " % sum(tar[:512])
    assert fault_name(packed(bytes(tar))) == wanted


def test_what_is_hidden_behind_a_member_is_found() -> None:
    manifest, events = members_of(sealed())
    tar = bytearray(tarred([("manifest.json", manifest), ("events.ndjson", events)]))
    tar[512 + len(manifest)] = 1
    assert fault_name(packed(bytes(tar))) == "archive.trailing"


def test_an_archive_without_its_end() -> None:
    manifest, events = members_of(sealed())
    tar = tarred([("manifest.json", manifest), ("events.ndjson", events)]).rstrip(b"\0")
    whole = tar + bytes(-len(tar) % 512)
    assert fault_name(packed(whole)) == "archive.corrupt"
    assert fault_name(packed(whole + bytes(512))) == "archive.corrupt"
    assert fault_name(packed(whole + bytes(512) + b"x" * 512)) == "archive.corrupt"
    assert fault_name(packed(whole[:600])) == "archive.corrupt"
    assert fault_name(packed(whole[:-900])) == "archive.corrupt"


def test_an_empty_member_more() -> None:
    manifest, events = members_of(sealed())
    files = (("manifest.json", manifest), ("events.ndjson", events))
    assert fault_name(archived(*files, ("empty", b""))) == "archive.unlisted"


WRONG_RUNS: dict[str, Callable[[], RunIdentity]] = {
    "an empty id": lambda: RunIdentity("", "urn:x:y", "p", "1"),
    "an id with a colon": lambda: RunIdentity("a:b", "urn:x:y", "p", "1"),
    "a source that is no address": lambda: RunIdentity("a", "x", "p", "1"),
}


@pytest.mark.parametrize("make", WRONG_RUNS.values(), ids=WRONG_RUNS.keys())
def test_a_run_that_could_not_be_verified_is_not_begun(make: Callable[[], RunIdentity]) -> None:
    with pytest.raises(AffidavitError):
        make()


def test_an_event_with_a_time_that_is_none_is_not_written() -> None:
    with pytest.raises(AffidavitError) as caught:
        EventWriter(RUN).append(EventDraft("x", "noon", {}))
    assert caught.value.where.field == "time"


def test_a_version_control_id_stands_in_the_manifest() -> None:
    run = RunIdentity("run-1", "urn:x:y", "p", "1", "abc")
    assert json.loads(members_of(sealed(run=run))[0])["producer"]["git"] == "abc"


def test_every_code_of_the_table_exists() -> None:
    names = {fault.name for fault in CATALOG.values()}
    assert set(ASSAY_CODES) | set(WITHOUT_ASSAY_CODE) <= names


def test_an_outcome_names_assays_code() -> None:
    verification = verified(changed(lambda _, events: events[1].update(data={})))
    error = verification.error
    assert error is not None
    assert (error.name, error.assay_code) == ("bundle.event_hash", "IntegrityEventHash")
    assert not verification.valid
    assert verified(b"x").bundle_id is None


def test_the_manifest_is_canonical() -> None:
    manifest, _ = members_of(sealed())
    assert jcs(json.loads(manifest)) == manifest
