"""Proofs and redaction disclose no more than they say: salts, sizes, leftovers, the subject."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_evidence_recording import ticking
from tests.cli.running import run
from tests.conformance.test_bundle_assay import independently_verified
from tests.seal.bundle_making import AT, archive_of, fault_name, members_of, parts, sealed

import affidavit
from affidavit.app.recording import Recorder
from affidavit.base.canonical import jcs
from affidavit.base.exits import Exit
from affidavit.seal.bundle.commitments import commitment, size_class
from affidavit.seal.bundle.manifest import ManifestDetails, manifest_bytes
from affidavit.seal.bundle.merkle import leaf_of
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity

SALT = bytes(range(32))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(name: str, decide: Callable[[Recorder], object], **options: Any) -> None:
    """Record and seal a run."""
    with affidavit.record(f"{name}.jsonl", **options) as recording:
        decide(recording)
    done = run("evidence", "seal", f"{name}.jsonl", "-o", f"{name}.tar.gz")
    assert done.exit_code == 0


def policy(decision: str) -> Callable[[Recorder], object]:
    return lambda recording: recording.policy_decision("p-1", decision)


def redact(name: str, *options: str, exit: int = 0) -> Any:
    Path("salts.json").unlink(missing_ok=True)
    words = ("-o", f"{name}-public.tar.gz", "--salts", "salts.json")
    done = run("evidence", "redact", f"{name}.tar.gz", *options, *words)
    assert (done.exit_code, "Traceback" in done.output) == (exit, False)
    return done


def events_of(name: str) -> list[dict[str, Any]]:
    return parts(Path(f"{name}.tar.gz").read_bytes())[1]


def proof_of(name: str, event: int) -> tuple[dict[str, Any], str]:
    done = run("evidence", "prove", f"{name}.tar.gz", "--event", str(event))
    assert done.exit_code == 0
    return json.loads(done.stdout), done.stderr


def test_a_neighbour_cannot_be_guessed_from_a_proof(place: Path) -> None:
    record("run", policy("deny"), clock=ticking(), salt=SALT)
    proof, warned = proof_of("run", 0)
    assert warned == ""
    # All that can be known of the neighbour, with each decision; only the salt is missing.
    neighbour = {key: value for key, value in events_of("run")[1].items() if "salt" not in key}
    guesses = {f"sha256:{leaf_of(jcs(neighbour)).hex()}"}
    assert guesses.isdisjoint(proof["path"])
    assert neighbour["assaycontenthash"] not in json.dumps(proof)
    record("plain", policy("deny"), clock=ticking())
    proof, warned = proof_of("plain", 0)
    assert "no salts" in warned
    assert f"sha256:{leaf_of(jcs(events_of('plain')[1])).hex()}" in proof["path"]


def test_a_recorded_run_has_a_secret_and_the_same_log_makes_the_same_bundle(place: Path) -> None:
    record("run", policy("deny"))
    again = run("evidence", "seal", "run.jsonl", "-o", "again.tar.gz")
    assert again.exit_code == 0
    assert Path("again.tar.gz").read_bytes() == Path("run.tar.gz").read_bytes()
    salts = [event["affidavitsalt"] for event in events_of("run")]
    assert len(set(salts)) == len(salts) == 3
    assert {len(salt) for salt in salts} == {32}
    secret = json.loads(Path("run.jsonl").read_text().splitlines()[0])["salt"]
    assert secret.encode() not in b"".join(members_of(Path("run.tar.gz").read_bytes()))
    independently_verified(Path("run.tar.gz").read_bytes())
    assert run("evidence", "verify", "run.tar.gz").exit_code == 0
    for number in range(3):
        made = ("-o", "proof.json", "--event-out", "event.json")
        run("evidence", "prove", "run.tar.gz", "--event", str(number), *made)
        root = json.loads(Path("proof.json").read_text())["merkle_root"]
        checked = ("--check", "proof.json", "--root", root, "--event-file", "event.json")
        assert run("evidence", "prove", *checked).exit_code == 0


def test_salts_change_neither_the_content_nor_the_id_of_a_bundle(place: Path) -> None:
    record("run", policy("deny"), clock=ticking(), salt=SALT, run_id="run")
    record("plain", policy("deny"), clock=ticking(), run_id="run")
    assert run("evidence", "diff", "run.tar.gz", "plain.tar.gz").exit_code == 0
    ids = [parts(Path(f"{name}.tar.gz").read_bytes())[0]["bundle_id"] for name in ("run", "plain")]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("salt", [b"x", bytes(33)], ids=["short", "long"])
def test_a_secret_of_another_size_is_refused(place: Path, salt: bytes) -> None:
    with pytest.raises(affidavit.AffidavitError, match="AF646"):
        affidavit.record("run.jsonl", salt=salt)


def test_an_import_is_salted_from_a_file(place: Path) -> None:
    Path("events.jsonl").write_text('{"type":"x","data":1}\n{"type":"x","data":1}\n')
    Path("salt.bin").write_bytes(SALT)

    def imported(*options: str) -> Any:
        words = ("evidence", "import", "events.jsonl", "-o", "in.tar.gz", "--at", "2026-01-31")
        return run(*words, *options)

    assert imported("--salt", "salt.bin").exit_code == 0
    first, second = (event["affidavitsalt"] for event in events_of("in"))
    assert first != second
    before = Path("in.tar.gz").read_bytes()
    assert imported("--salt", "salt.bin").exit_code == 0
    assert Path("in.tar.gz").read_bytes() == before
    Path("salt.bin").write_bytes(SALT[:31])
    short = imported("--salt", "salt.bin")
    assert (short.exit_code, "AF689" in short.stderr) == (Exit.INPUT, True)


def test_many_salted_events_are_verified_in_batches_and_one_by_one() -> None:
    salted = RunIdentity("run-1", "urn:example:run", "affidavit", "0.1.0", salt=SALT.hex())
    drafts = [EventDraft("t", AT, {"n": number}) for number in range(600)]
    assert fault_name(sealed(drafts, salted)) is None
    # A line without a salt, or with another kind of salt, among those that have one.
    for salt in (None, "é"):
        writer = EventWriter(salted)
        events = [json.loads(writer.append(draft)) for draft in drafts[:9]]
        del events[5]["affidavitsalt"]
        events[5] |= {} if salt is None else {"affidavitsalt": salt}
        again = EventWriter(salted)
        lines = [again.rewrite(event) for event in events]
        contents = again.finish().contents("run-1")
        details = ManifestDetails(producer=salted.producer_as_wire())
        bundle = archive_of(manifest_bytes(contents, details), b"".join(lines))
        assert fault_name(bundle) is None
        wrong = b"".join(lines).replace(b'"affidavitsalt":"', b'"affidavitsalt":"0', 1)
        assert fault_name(archive_of(manifest_bytes(contents, details), wrong)) is not None


def test_the_root_of_the_original_does_not_give_a_redacted_value_away(place: Path) -> None:
    record("run", policy("deny"), clock=ticking(), salt=SALT)
    original = events_of("run")[1]
    redact("run", "--path", "/data/decision")
    public = events_of("run-public")
    assert public[1]["affidavitsalt"] != original["affidavitsalt"]
    assert public[0] == events_of("run")[0]
    # What the reader of the redacted bundle can put together is not the line of the original.
    guess = {**original, "affidavitsalt": public[1]["affidavitsalt"]}
    proof, _ = proof_of("run", 0)
    assert f"sha256:{leaf_of(jcs(guess)).hex()}" not in proof["path"]


def test_the_size_does_not_tell_what_was_redacted(place: Path) -> None:
    lines = []
    for decision in ("deny", "allow"):
        record(decision, policy(decision), clock=ticking(), run_id="run")
        redact(decision, "--path", "/data/decision")
        lines.append(members_of(Path(f"{decision}-public.tar.gz").read_bytes())[1])
        said = events_of(f"{decision}-public")[1]["data"]["decision"]["$redacted"]
        assert (said["alg"], said["size_bytes"]) == ("sha256-salted-padded", 64)
    assert len(lines[0]) == len(lines[1])
    classes = {0: 64, 64: 64, 65: 256, 256: 256, 257: 1024, 5000: 16384}
    assert {size: size_class(size) for size in classes} == classes


def reveal(name: str, *, exit: int, **members: Any) -> None:
    Path("revealed.json").write_text(json.dumps(members))
    done = run("evidence", "redact", f"{name}.tar.gz", "--reveal", "revealed.json")
    assert (done.exit_code, "Traceback" in done.output) == (exit, False)


def test_commitments_of_earlier_versions_are_still_revealed(place: Path) -> None:
    old = commitment("deny", SALT, "sha256-salted")
    assert old["$redacted"] == {
        "alg": "sha256-salted",
        "digest": "sha256:" + hashlib.sha256(SALT + b'"deny"').hexdigest(),
        "size_bytes": 6,
    }
    Path("old.tar.gz").write_bytes(sealed([EventDraft("t", AT, {"decision": old})]))
    shown = {"event": 0, "path": "/data/decision", "salt": SALT.hex()}
    reveal("old", **shown, value="deny", exit=0)
    reveal("old", **shown, value="allow", exit=4)


def test_the_subject_can_be_redacted_and_revealed(place: Path) -> None:
    record("run", lambda recording: recording.event("x", {}, subject="ann@example.org"), salt=SALT)
    redact("run", "--path", "/subject")
    (event,) = (each for each in events_of("run-public") if "subject" in each)
    assert event["subject"].startswith("urn:affidavit:redacted:sha256:")
    assert b"ann@" not in b"".join(members_of(Path("run-public.tar.gz").read_bytes()))
    wire = json.loads(run("evidence", "verify", "run-public.tar.gz", "--json").stdout)
    assert wire["exit"] == 0
    manifest = parts(Path("run-public.tar.gz").read_bytes())[0]
    assert manifest["x-affidavit"]["redacted_values"] == 1
    independently_verified(Path("run-public.tar.gz").read_bytes())
    (entry,) = json.loads(Path("salts.json").read_text())["salts"]
    reveal("run-public", **entry, value="ann@example.org", exit=0)
    reveal("run-public", **entry, value="bob@example.org", exit=4)
    reveal("run-public", **{**entry, "event": 0}, value="ann@example.org", exit=4)
    Path("run-public.tar.gz").rename("twice.tar.gz")
    assert "AF643" in redact("twice", "--path", "/subject", exit=2).stderr


def test_a_value_that_still_stands_elsewhere_is_reported(place: Path) -> None:
    def several(recording: Recorder) -> None:
        recording.approval("Ann Smith", "approve", what="a transfer of 4711")
        recording.prompt("Did ANN, smith agree?", variables={"Ann Smith": True, "n": 5})
        recording.tool_call("pay", input={"sum": 4711}, output=[5, None, "annsmith"])
        recording.event("x", {"ok": True}, subject="Ann Smith")

    record("run", several, clock=ticking())
    done = redact("run", "--path", "/data/approver", "--type", "affidavit.human.approval")
    assert [line.partition("still stands in ")[2] for line in done.stderr.splitlines()[:-1]] == [
        "event 2 at /data/text",
        "event 2 at /data/variables/Ann Smith",
        "event 4 at /subject",
    ]
    assert "warning: the value of event 1 at /data/approver" in done.stderr
    assert "Ann" not in done.stderr.replace("/Ann Smith", "")
    done = redact("run", "--path", "/data/input/sum", "--json")
    wire = json.loads(done.stdout)
    assert wire["leftovers"] == [
        {
            "value_of": {"event": 3, "path": "/data/input/sum"},
            "place": {"event": 1, "path": "/data/what"},
        }
    ]
    # Single digits, true and null are everywhere; a whole value is searched for by its parts.
    done = redact("run", "--path", "/data/variables", "--path", "/data/output")
    assert "warning" not in done.stderr
    done = redact("run", "--path", "/data", "--type", "affidavit.tool.call")
    assert "value of event 3 at /data still stands in event 1 at /data/what" in done.stderr


def test_a_value_in_the_manifest_is_reported(place: Path) -> None:
    manifest, _ = parts(sealed([EventDraft("t", AT, {"x": "Ann Smith"})]))
    _, events = members_of(sealed([EventDraft("t", AT, {"x": "Ann Smith"})]))
    manifest["x-else"] = {"approved": ["by ann smith"]}
    Path("run.tar.gz").write_bytes(archive_of(jcs(manifest), events))
    done = redact("run", "--path", "/data/x")
    assert "still stands in the manifest at /x-else/approved/0" in done.stderr


def test_very_many_leftovers_are_counted(place: Path) -> None:
    drafts = [EventDraft("a", AT, {"x": "***"}), *(EventDraft("t", AT, "***") for _ in range(30))]
    Path("run.tar.gz").write_bytes(sealed(drafts))
    done = redact("run", "--path", "/data/x")
    assert done.stderr.count("still stands in event") == 20
    assert "redacted values still stand in 10 more places" in done.stderr
