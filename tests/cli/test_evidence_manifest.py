"""The manifest of a bundle: bound by its digest, recomputed where possible, packs run again."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_evidence_recording import record_everything, recorder
from tests.cli.running import run
from tests.seal.bundle_making import AT, archive_of, members_of, parts, sealed

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.exits import Exit
from affidavit.seal.bundle.manifest import ManifestDetails, manifest_bytes
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity

PACK = """\
name: ours
version: "1"
kind: quality
description: d
author: a
license: l
requires: {assay_min_version: ">=1.0.0"}
rules:
  - {id: R-1, severity: error, description: d, article_ref: "1",
     check: {type: event_type_exists, pattern: affidavit.verdict}}
  - {id: R-2, severity: warning, description: d,
     check: {type: json_path_exists, paths: [/data/verdict], value_equals: ship}}
  - {id: R-3, severity: warning, description: d,
     check: {type: manifest_field, path: /x-affidavit/pack_results, required: true}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle that was sealed with one built-in pack and one of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with recorder(tmp_path, input="How many?") as recording:
        record_everything(recording)
    Path("ours.yaml").write_text(PACK)
    done = sealing("--pack", "cicd-starter,ours.yaml")
    assert done.exit_code == 0
    return tmp_path


def sealing(*options: str) -> Any:
    return run("evidence", "seal", "run.jsonl", "-o", "run.tar.gz", *options)


def verifying(*options: str, bundle: str = "run.tar.gz") -> dict[str, Any]:
    done = run("evidence", "verify", bundle, "--json", *options)
    wire: dict[str, Any] = json.loads(done.stdout)["bundles"][0]
    assert wire["exit"] == done.exit_code
    return wire


def rewrite(change: Callable[[dict[str, Any]], object], name: str = "run.tar.gz") -> None:
    """Write another manifest for the same events, as anybody can: same id, same Merkle root."""
    raw, events = members_of(Path(name).read_bytes())
    manifest = json.loads(raw)
    change(manifest)
    Path(name).write_bytes(archive_of(jcs(manifest), events))


def ours(**members: Any) -> Callable[[dict[str, Any]], object]:
    return lambda manifest: manifest["x-affidavit"].update(members)


def add_pack(manifest: dict[str, Any]) -> None:
    manifest["x-assay"]["packs_applied"].append(
        {"name": "soc2", "version": "1", "digest": "sha256:" + "0" * 64, "kind": "compliance"}
    )


def result_of(index: int, **members: Any) -> Callable[[dict[str, Any]], object]:
    return lambda manifest: manifest["x-affidavit"]["pack_results"][index].update(members)


LIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another producer": (lambda m: m["producer"].update(name="somebody"), "AF686"),
    "another version of the producer": (lambda m: m["producer"].update(version="9"), "AF686"),
    "a commit": (lambda m: m["producer"].update(git="abc"), "AF686"),
    "a run that has not finished": (ours(finished=False), "AF686"),
    "nothing about the end": (lambda m: m["x-affidavit"].pop("finished"), "AF686"),
    "redacted values": (ours(redacted_values=2), "AF686"),
    "an origin without redacted values": (ours(origin="sha256:" + "0" * 64), "AF686"),
    "another name for the events": (
        lambda m: m["files"]["events.ndjson"].update(path="other"),
        "AF686",
    ),
    "a pack more": (add_pack, "AF686"),
    "a pack less": (lambda m: m["x-assay"]["packs_applied"].pop(), "AF686"),
    "no results": (lambda m: m["x-affidavit"].pop("pack_results"), "AF686"),
    "a rule that is said to fail": (result_of(0, failed=["CICD-002"]), "AF687"),
    "another number of rules": (result_of(0, rules=99), "AF687"),
    "another name of the pack": (
        lambda m: m["x-assay"]["packs_applied"][0].update(kind="compliance"),
        "AF687",
    ),
    "a mapping that the pack does not have": (
        lambda m: m["x-assay"]["mappings"].append(
            {"rule": "ours@1:R-2", "framework": "ours", "ref": "9"}
        ),
        "AF687",
    ),
    "a failed rule of the user's pack that is left out": (result_of(1, failed=[]), "AF687"),
}


@pytest.mark.parametrize(("change", "code"), LIES.values(), ids=LIES.keys())
def test_a_manifest_that_lies_about_its_events_is_tampered(
    place: Path, change: Callable[[dict[str, Any]], object], code: str
) -> None:
    before = verifying("--pack", "ours.yaml")
    assert (before["exit"], before["not_covered"]) == (Exit.YES, [])
    rewrite(change)
    after = verifying("--pack", "ours.yaml")
    assert (after["exit"], after["error"]["code"]) == (Exit.TAMPERED, code)
    assert (after["bundle_id"], after["merkle_root"]) == (
        before["bundle_id"],
        before["merkle_root"],
    )
    assert after["manifest_digest"] != before["manifest_digest"]
    if code == "AF686":
        assert run("evidence", "show", "run.tar.gz").exit_code == Exit.TAMPERED


def test_what_the_events_do_not_prove_is_not_covered_and_the_digest_binds_it(place: Path) -> None:
    digest = json.loads(sealing("--pack", "cicd-starter,ours.yaml", "--json").stdout)[
        "manifest_digest"
    ]
    raw, _ = members_of(Path("run.tar.gz").read_bytes())
    assert digest == digest_of(raw)
    assert f"Manifest digest: {digest}" in run("evidence", "verify", "run.tar.gz").stdout
    assert digest in run("evidence", "show", "run.tar.gz").stdout
    assert verifying("--manifest-digest", digest)["valid"] is True

    def add(manifest: dict[str, Any]) -> None:
        manifest["x-else"] = {"approved_by": "somebody"}
        manifest["x-affidavit"]["torn_bytes"] = 7

    rewrite(add)
    wire = verifying("--pack", "ours.yaml")
    assert (wire["exit"], wire["not_covered"]) == (
        Exit.YES,
        ["/x-affidavit/torn_bytes", "/x-else"],
    )
    shown = run("evidence", "verify", "run.tar.gz").stdout
    assert "Not covered, except by that digest: /x-else" in shown
    other = verifying("--manifest-digest", digest)
    assert (other["exit"], other["error"]["code"]) == (Exit.TAMPERED, "AF688")
    assert [step["status"] for step in other["steps"]][:3] == ["passed", "failed", "not_checked"]


def test_a_trusted_digest_is_one_digest_of_one_bundle(place: Path) -> None:
    digest = "sha256:" + "0" * 64
    words = ("evidence", "verify", "run.tar.gz")
    assert run(*words, "--manifest-digest", "x").exit_code == Exit.INPUT
    assert run(*words, "run.tar.gz", "--manifest-digest", digest).exit_code == Exit.INPUT


def test_a_pack_that_is_not_at_hand_is_not_covered(place: Path) -> None:
    wire = verifying()
    assert wire["exit"] == Exit.YES
    assert [each.startswith("/x-assay/packs_applied: ours@1") for each in wire["not_covered"]] == [
        True
    ]
    assert wire["steps"][7]["status"] == "skipped"
    # The folder of the user's packs is at hand; a pack there that cannot be read is not.
    folder = place / "config" / "affidavit" / "packs"
    folder.mkdir(parents=True)
    (folder / "ours.yaml").write_text(PACK)
    assert verifying()["not_covered"] == []
    (folder / "ours.yaml").write_text("{")
    assert len(verifying()["not_covered"]) == 1
    rewrite(result_of(0, engine="0.1"))
    assert "pack engine 0.1" in verifying()["not_covered"][0]


def test_a_bundle_that_an_earlier_engine_sealed_is_not_called_tampered(place: Path) -> None:
    # Engine 1.2 had other rules, so what it found need not be what this engine finds.
    rewrite(result_of(0, engine="1.2", failed=["CICD-002"], rules=3))
    wire = verifying("--pack", "ours.yaml")
    assert (wire["exit"], wire["valid"]) == (Exit.YES, True)
    assert "it was run by pack engine 1.2" in wire["not_covered"][0]
    replayed = run("evidence", "replay", "run.tar.gz", "--json")
    assert replayed.exit_code in (Exit.YES, Exit.UNKNOWN)
    assert "differs" not in {row["outcome"] for row in json.loads(replayed.stdout)["replayed"]}


def test_sealing_runs_the_packs_and_a_failed_one_is_no(place: Path) -> None:
    manifest = json.loads(members_of(Path("run.tar.gz").read_bytes())[0])
    _, own = manifest["x-affidavit"]["pack_results"]
    assert (own["pack"], own["rules"], own["failed"]) == ("ours@1", 3, ["R-3"])
    Path("event.json").write_text('{"type":"x","data":1}')
    done = run("evidence", "import", "event.json", "-o", "in.tar.gz", "--pack", "ours.yaml")
    assert (done.exit_code, "ours@1: 3 of 3 rules failed" in done.stdout) == (Exit.NO, True)
    assert "No event found matching type pattern" in done.stdout
    assert verifying("--pack", "ours.yaml", bundle="in.tar.gz")["steps"][7]["status"] == "passed"


def redact(*options: str) -> None:
    words = ("-o", "public.tar.gz", "--salts", "salts.json")
    assert run("evidence", "redact", "run.tar.gz", *options, *words).exit_code == 0


def test_a_redacted_bundle_keeps_what_the_packs_found(place: Path) -> None:
    redact("--path", "/data/commit")
    wire = verifying("--pack", "ours.yaml", bundle="public.tar.gz")
    assert wire["not_covered"] == ["/producer", "/x-affidavit/origin"]
    Path("salts.json").unlink()
    redact("--path", "/data/verdict")
    wire = verifying("--pack", "ours.yaml", bundle="public.tar.gz")
    assert (wire["exit"], "values that are redacted" in wire["not_covered"][-1]) == (0, True)


def test_values_that_are_redacted_twice_are_counted_once(place: Path) -> None:
    redact("--path", "/data/input/q")
    Path("public.tar.gz").rename("run.tar.gz")
    Path("salts.json").unlink()
    redact("--path", "/data/input", "--type", "affidavit.tool.call")
    manifest, events = parts(Path("public.tar.gz").read_bytes())
    assert manifest["x-affidavit"]["redacted_values"] == 1
    assert verifying(bundle="public.tar.gz")["exit"] == Exit.YES
    assert json.dumps(events).count("$redacted") == 1


# As earlier versions wrote them. What they say about the events was not always so.
EARLIER: dict[str, dict[str, Any]] = {
    "an import that is said to have finished": {"finished": True},
    "values that were redacted twice": {"redacted_values": 2, "origin": "sha256:" + "0" * 64},
    "a run of which nothing is said": {},
}


@pytest.mark.parametrize("members", EARLIER.values(), ids=EARLIER.keys())
def test_a_bundle_of_an_earlier_version_is_never_called_tampered(
    place: Path, members: dict[str, Any]
) -> None:
    Path("old.tar.gz").write_bytes(sealed([EventDraft("x", AT, {"a": 1})]))
    rewrite(ours(version=1, **members), "old.tar.gz")
    rewrite(add_pack, "old.tar.gz")
    wire = verifying(bundle="old.tar.gz")
    assert (wire["exit"], wire["finished"]) == (Exit.YES, None)
    assert {"/producer", "/x-assay/packs_applied"} <= set(wire["not_covered"])
    assert {f"/x-affidavit/{name}" for name in members} <= set(wire["not_covered"])
    assert [step["status"] for step in wire["steps"][6:]] == ["skipped", "skipped"]
    redacted = run(
        *("evidence", "redact", "old.tar.gz", "--path", "/data/a"),
        *("-o", "public.tar.gz", "--salts", "salts.json"),
    )
    assert redacted.exit_code == 0
    wire = verifying(bundle="public.tar.gz")
    assert (wire["exit"], "was not recorded" in str(wire["not_covered"])) == (Exit.YES, True)


def test_a_bundle_that_was_compressed_again_is_not_called_tampered(place: Path) -> None:
    Path("new.tar.gz").write_bytes(sealed([EventDraft("x", AT, {"a": 1})]))
    tar = gzip.decompress(Path("new.tar.gz").read_bytes())
    # As `gunzip` and `gzip` do it.
    Path("again.tar.gz").write_bytes(gzip.compress(tar))
    wire = verifying(bundle="again.tar.gz")
    assert (wire["exit"], wire["error"]["code"]) == (Exit.UNKNOWN, "AF530")
    assert [step["status"] for step in wire["steps"][:5]] == ["passed"] * 5
    # What is wrong with its content is still found.
    Path("again.tar.gz").write_bytes(gzip.compress(tar.replace(b'"a":1', b'"a":2')))
    assert verifying(bundle="again.tar.gz")["exit"] == Exit.TAMPERED


def test_a_bundle_of_an_unknown_version_is_not_called_wrong(place: Path) -> None:
    Path("new.tar.gz").write_bytes(sealed([EventDraft("x", AT, {"a": 1})]))
    rewrite(lambda manifest: manifest.update(schema_version=2), "new.tar.gz")
    wire = verifying(bundle="new.tar.gz")
    assert (wire["exit"], wire["error"]["code"]) == (Exit.UNKNOWN, "AF621")
    Path("new.tar.gz").write_bytes(sealed([EventDraft("x", AT, {"a": 1})]))
    rewrite(lambda manifest: manifest.update(run_root="sha512:" + "0" * 128), "new.tar.gz")
    wire = verifying(bundle="new.tar.gz")
    assert (wire["exit"], wire["error"]["code"]) == (Exit.UNKNOWN, "AF621")
    assert "the algorithm of run_root is sha512" in wire["error"]["message"]


def test_events_of_two_producers_contradict_a_manifest_of_one(place: Path) -> None:
    writer, other = (EventWriter(RunIdentity("r", "urn:a:b", name, "1")) for name in "ab")
    events = [json.loads(writer.append(EventDraft("x", AT, number))) for number in range(4)]
    events[2]["assayproducer"] = events[3]["assayproducer"] = "b"
    lines = [other.rewrite(event) for event in events]
    contents = other.finish().contents("r")
    manifest = manifest_bytes(contents, ManifestDetails(producer=writer.run.producer_as_wire()))
    Path("two.tar.gz").write_bytes(archive_of(manifest, b"".join(lines)))
    wire = verifying(bundle="two.tar.gz")
    assert (wire["exit"], wire["error"]["field"]) == (Exit.TAMPERED, "producer")


def proving(*options: str) -> dict[str, Any]:
    words = ("--event", "3", "-o", "proof.json", "--event-out", "event.json")
    assert run("evidence", "prove", "run.tar.gz", *words, *options).exit_code == 0
    proof: dict[str, Any] = json.loads(Path("proof.json").read_text())
    return proof


def checking(*options: str, exit: int = 0) -> Any:
    words = ("--check", "proof.json", "--event-file", "event.json")
    done = run("evidence", "prove", *words, *options)
    assert (done.exit_code, "Traceback" in done.output) == (exit, False)
    return done


def test_a_proof_states_only_what_it_proves(place: Path) -> None:
    proof = proving()
    bound = verifying()
    assert proof["manifest_digest"] == bound["manifest_digest"]
    assert not {"bundle_id", "run_id", "manifest"} & set(proof)
    root = ("--root", proof["merkle_root"])
    shown = checking(*root).stdout
    assert "event 3 of run is under" in shown
    assert "Not covered: how many events there are" in shown
    wire = json.loads(checking(*root, "--json").stdout)
    assert (wire["run_id"], wire["tree_size"], wire["bundle_id"]) == ("run", None, None)
    # A tree of another size has the same path: the root does not tell.
    Path("proof.json").write_text(json.dumps({**proof, "tree_size": 18}))
    assert json.loads(checking(*root, "--json").stdout)["tree_size"] is None
    checking("--manifest-digest", bound["manifest_digest"], exit=2)


def test_a_manifest_in_a_proof_proves_the_rest(place: Path) -> None:
    proof = proving("--manifest")
    bound = verifying()
    trusted = ("--manifest-digest", bound["manifest_digest"])
    wire = json.loads(checking(*trusted, "--json").stdout)
    assert (wire["bundle_id"], wire["tree_size"]) == (bound["bundle_id"], bound["event_count"])
    assert f"one of 19 events of the bundle {bound['bundle_id']}" in checking(*trusted).stdout
    checking(*trusted, "--root", proof["merkle_root"])
    checking(*trusted, "--root", "sha256:" + "0" * 64, exit=4)
    checking("--manifest-digest", "sha256:" + "0" * 64, exit=4)
    checking("--manifest-digest", "x", exit=2)
    Path("proof.json").write_text(json.dumps({**proof, "tree_size": 18}))
    checking(*trusted, exit=4)
    other = {**proof, "manifest_digest": "sha256:" + "0" * 64}
    Path("proof.json").write_text(json.dumps(other))
    assert "it states the digest sha256:0000" in checking(*trusted, exit=4).stderr
    manifest = {key: value for key, value in proof["manifest"].items() if key != "x-affidavit"}
    digest = digest_of(jcs(manifest))
    changed = {**proof, "manifest": manifest, "manifest_digest": digest}
    Path("proof.json").write_text(json.dumps(changed))
    checking("--manifest-digest", digest, exit=4)


def test_a_proof_of_an_earlier_version_still_holds(place: Path) -> None:
    proof = proving()
    proof.pop("manifest_digest")
    old = {**proof, "schema": "affidavit-proof/1", "bundle_id": "of another", "run_id": "other"}
    Path("proof.json").write_text(json.dumps(old))
    shown = checking("--root", proof["merkle_root"]).stdout
    assert "event 3 of run is under" in shown
    assert "other" not in shown
