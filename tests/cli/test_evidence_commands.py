"""`affidavit evidence`: sealing, verifying, showing, comparing, proving, redacting, importing."""

import errno
import gzip
import io
import json
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.app.test_evidence_recording import record_everything, recorder
from tests.cli.running import REAL, run, run_process, start
from tests.golden_files import Golden
from tests.rights import as_nobody
from tests.seal.bundle_making import (
    AT,
    archive_of,
    changed,
    members_of,
    parts,
    respoken,
    sealed,
    verified,
    without_ours,
)

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.exits import Exit
from affidavit.base.json_values import JsonValue
from affidavit.cli.program import cli
from affidavit.seal.bundle.container import BundleLimits
from affidavit.seal.bundle.writer import EventDraft, RunIdentity


def documents(result: Any) -> Any:
    return json.loads(result.stdout)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recorded run and its bundle."""
    monkeypatch.chdir(tmp_path)
    with recorder(tmp_path, input="How many?") as recording:
        record_everything(recording)
    assert run("evidence", "seal", "run.jsonl", "-o", "run.tar.gz").exit_code == 0
    return tmp_path


def test_seal_reports_the_bundle(place: Path) -> None:
    result = run("evidence", "seal", "run.jsonl", "-o", "two.tar.gz", "--json")
    wire = documents(result)
    assert (wire["event_count"], wire["finished"], wire["torn_bytes"]) == (19, True, 0)
    assert (place / "two.tar.gz").read_bytes() == (place / "run.tar.gz").read_bytes()


def test_seal_prints_the_limits_that_readers_of_a_large_bundle_need(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "limits" not in run("evidence", "seal", "run.jsonl", "-o", "two.tar.gz").stderr
    monkeypatch.setattr("affidavit.app.bundles.DEFAULT_LIMITS", BundleLimits(max_events=16))
    result = run("evidence", "seal", "run.jsonl", "-o", "two.tar.gz")
    assert "--limits '{\"max_events\": 19}'" in result.stderr


def test_seal_reports_a_torn_line_and_an_unfinished_run(place: Path) -> None:
    log = (place / "run.jsonl").read_bytes()
    (place / "cut.jsonl").write_bytes(log[:-20])
    result = run("evidence", "seal", "cut.jsonl", "-o", "cut.tar.gz")
    assert result.exit_code == 0
    assert "torn" in result.stderr
    assert "unfinished" in result.stderr
    assert "unfinished" in run("evidence", "show", "cut.tar.gz").stdout
    assert "unfinished" in run("evidence", "verify", "cut.tar.gz").stdout
    both = run("evidence", "verify", "cut.tar.gz", "run.tar.gz")
    assert (both.exit_code, both.stdout.count("unfinished")) == (0, 1)
    wire = documents(run("evidence", "verify", "cut.tar.gz", "--json"))["bundles"][0]
    assert (wire["valid"], wire["finished"]) == (True, False)


def test_verify_shows_the_steps(place: Path, golden: Golden) -> None:
    result = run("evidence", "verify", "run.tar.gz")
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check("evidence_verify.txt", result.stdout)


def piped(raw: bytes, *words: str) -> Any:
    return CliRunner().invoke(cli, ["evidence", "verify", "-", *words], input=raw)


def test_a_bundle_of_assay_has_no_merkle_root(place: Path) -> None:
    manifest, events = parts()
    (place / "theirs.tar.gz").write_bytes(respoken(without_ours(manifest), events))
    shown = run("evidence", "verify", "theirs.tar.gz")
    assert (shown.exit_code, "skipped" in shown.stdout) == (0, True)
    assert "Merkle root: " not in shown.stdout


def test_a_bundle_from_a_pipe(place: Path) -> None:
    raw = (place / "run.tar.gz").read_bytes()
    whole = piped(raw, "--json")
    wire = documents(whole)["bundles"][0]
    assert (whole.exit_code, wire["bundle"], wire["valid"]) == (0, "standard input", True)
    cut = piped(raw[:-9])
    assert (cut.exit_code, "AF601" in cut.stdout, cut.stderr) == (4, True, "")
    nothing = piped(b"", "run.tar.gz")
    assert (nothing.exit_code, "AF600" in nothing.stdout) == (2, True)


def test_a_pipe_is_one_bundle_and_an_empty_pipe_is_none(place: Path) -> None:
    twice = run("evidence", "verify", "-", "-")
    assert (twice.exit_code, "AF001" in twice.stderr) == (2, True)
    # An empty path would mean the current folder, whose bundles verify.
    empty = run("evidence", "verify", "")
    assert (empty.exit_code, "AF001" in empty.stderr) == (2, True)


def test_a_name_in_a_bundle_adds_no_lines(place: Path) -> None:
    named = RunIdentity("a\nVerified all", "urn:x:y", "p\n\x1b[2J", "1\n2")
    (place / "odd.tar.gz").write_bytes(sealed(run=named))
    for command in ("verify", "show"):
        shown = run("evidence", command, "odd.tar.gz").stdout
        assert "a Verified all" in shown
        assert "\nVerified all" not in shown
        assert "\x1b" not in shown


def test_a_link_cycle_is_refused_as_an_output(place: Path) -> None:
    (place / "loop").symlink_to("loop")
    result = run("evidence", "seal", "run.jsonl", "-o", "loop")
    assert (result.exit_code, "AF014" in result.stderr) == (2, True)


def test_an_unreadable_folder_is_not_skipped() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "closed").mkdir()
        for folder in (place, place / "closed"):
            (folder / "run.tar.gz").write_bytes(sealed())
        run("evidence", "verify", name)  # Whatever is imported is imported before the door closes.
        (place / "closed").chmod(0)
        with as_nobody():
            result = run("evidence", "verify", name)
        (place / "closed").chmod(0o755)
    assert result.exit_code == Exit.INPUT
    assert "AF011" in result.stdout
    assert "2 bundles: 1 verified, 1 not readable" in result.stdout


def test_show_counts_and_lists(place: Path, golden: Golden) -> None:
    result = run("evidence", "show", "run.tar.gz", "--type", "affidavit.tool.call")
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check("evidence_show.txt", result.stdout)
    assert (
        len(documents(run("evidence", "show", "run.tar.gz", "--json", "--events"))["events"]) == 19
    )
    assert "events" not in documents(run("evidence", "show", "run.tar.gz", "--json"))


@pytest.mark.parametrize("command", ["seal", "import"])
def test_the_manifest_names_the_packs_and_what_they_map_to(place: Path, command: str) -> None:
    (place / "event.json").write_text('{"type":"x","data":1}')
    file = "run.jsonl" if command == "seal" else "event.json"
    done = run(
        *("evidence", command, file, "-o", "packed.tar.gz"),
        *("--pack", "eu-ai-act-baseline", "--pack", "cicd-starter"),
    )
    # One event of no run does not satisfy the packs; it is sealed all the same.
    assert done.exit_code == (Exit.YES if command == "seal" else Exit.NO)
    raw = (place / "packed.tar.gz").read_bytes()
    assert verified(raw).exit is Exit.YES
    block = json.loads(members_of(raw)[0])["x-assay"]
    first, second = block["packs_applied"]
    assert (first["name"], first["kind"]) == ("eu-ai-act-baseline", "compliance")
    assert (second["name"], second["kind"]) == ("cicd-starter", "quality")
    assert first["digest"].startswith("sha256:")
    assert {"name", "version", "digest", "kind"} <= set(first)
    article = next(each for each in block["mappings"] if each["ref"] == "12(1)")
    assert article["rule"].startswith("eu-ai-act-baseline@")
    assert set(article) == {"rule", "framework", "ref"}
    unknown = run("evidence", command, file, "-o", "no.tar.gz", "--pack", "nothing")
    assert unknown.exit_code == Exit.INPUT
    assert not (place / "no.tar.gz").exists()


TAMPERED = changed(lambda _, events: events[1].update(data={}))


def test_verify_of_a_tampered_bundle(place: Path) -> None:
    (place / "bad.tar.gz").write_bytes(TAMPERED)
    result = run("evidence", "verify", "bad.tar.gz")
    assert result.exit_code == Exit.TAMPERED
    assert "AF624" in result.stdout
    assert "events.ndjson, line 2" in result.stdout
    assert "Next:" in result.stdout
    wire = documents(run("evidence", "verify", "bad.tar.gz", "--json"))
    assert wire["bundles"][0]["error"]["assay_code"] == "IntegrityEventHash"
    assert (wire["valid"], wire["exit"]) == (False, 4)
    for command in (["show"], ["diff", "run.tar.gz"], ["prove", "--event", "0"]):
        refused = run("evidence", command[0], *command[1:], "bad.tar.gz")
        assert refused.exit_code == Exit.TAMPERED
        assert refused.stdout == ""
        assert "bad.tar.gz: events.ndjson, line 2" in refused.stderr


def test_verify_of_many_and_of_a_folder(place: Path) -> None:
    (place / "sub").mkdir()
    (place / "sub" / "bad.tar.gz").write_bytes(TAMPERED)
    (place / "sub" / ".hidden.tar.gz").write_bytes(b"")
    (place / "sub" / "notes.txt").write_text("x")
    result = run("evidence", "verify", ".", "missing.tar.gz")
    assert result.exit_code == Exit.TAMPERED
    assert "3 bundles: 1 verified, 1 not readable, 1 tampered" in result.stdout
    wire = documents(run("evidence", "verify", ".", "missing.tar.gz", "--json"))
    assert [each["exit"] for each in wire["bundles"]] == [0, 4, 2]


def test_no_bundle_is_never_exit_0(place: Path) -> None:
    (place / "empty").mkdir()
    result = run("evidence", "verify", "empty")
    assert result.exit_code == Exit.UNKNOWN
    assert "AF632" in result.stderr


@pytest.mark.parametrize("as_file", [False, True], ids=["on the line", "in a file"])
def test_limits_are_overridden(place: Path, as_file: bool) -> None:
    limits = '{"max_events": 3}'
    (place / "limits.json").write_text(limits)
    result = run(
        "evidence", "verify", "run.tar.gz", "--limits", "@limits.json" if as_file else limits
    )
    assert result.exit_code == Exit.INPUT
    assert "AF615" in result.stdout
    (place / "limits.json").write_text('{"max_event": 3}')
    wrong = run("evidence", "verify", "run.tar.gz", "--limits", "@limits.json")
    assert (wrong.exit_code, "AF618" in wrong.stderr) == (2, True)
    assert "limits.json" in wrong.stderr


def test_diff_lists_differences(place: Path, golden: Golden) -> None:
    with recorder(place, "other.jsonl", input="How many?") as other:
        other.model_call("m-2", provider="acme", input="q", output="13")
        other.policy_decision("p-1", "deny")
        other.verdict("no-ship")
    run("evidence", "seal", "other.jsonl", "-o", "other.tar.gz")
    result = run("evidence", "diff", "run.tar.gz", "other.tar.gz")
    assert result.exit_code == Exit.NO
    golden.check("evidence_diff.txt", result.stdout)
    same = run("evidence", "diff", "run.tar.gz", "run.tar.gz")
    assert (same.exit_code, same.stdout) == (0, "Nothing differs but times and runs\n")
    wire = documents(run("evidence", "diff", "run.tar.gz", "other.tar.gz", "--json"))
    sections = {each["section"] for each in wire["differences"]}
    assert {"types", "models", "tools", "verdicts", "policies", "events"} <= sections
    assert wire["same"] is False


def test_the_same_events_in_another_order_differ(place: Path) -> None:
    drafts = [EventDraft("a", AT, 1), EventDraft("b", AT, 2)]
    (place / "a.tar.gz").write_bytes(sealed(drafts))
    (place / "b.tar.gz").write_bytes(sealed(drafts[::-1]))
    result = run("evidence", "diff", "a.tar.gz", "b.tar.gz")
    assert (result.exit_code, "order" in result.stdout) == (1, True)


PLACES: dict[str, tuple[Any, Any, list[str]]] = {
    "a value": ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["/data/b"]),
    "a key that one side has": ({"a/b~": 1}, {}, ["/data/a~1b~0"]),
    "a place in a list": ([1, {"x": [2]}], [1, {"x": [3]}], ["/data/1/x/0"]),
    "lists of two lengths": ([1], [1, 2], ["/data"]),
    "true is not one": ({"a": True}, {"a": 1}, ["/data/a"]),
    "another kind of value": ({"a": []}, {"a": {}}, ["/data/a"]),
    "more places than are listed": (
        {str(n): 0 for n in range(99)},
        {str(n): 1 for n in range(99)},
        [f"/data/{n}" for n in sorted(map(str, range(99)))[:20]],
    ),
}


@pytest.mark.parametrize(("left", "right", "paths"), PLACES.values(), ids=PLACES.keys())
def test_diff_shows_where_events_differ(
    place: Path, left: Any, right: Any, paths: list[str]
) -> None:
    for name, data in (("a", left), ("b", right)):
        (place / f"{name}.tar.gz").write_bytes(
            sealed([EventDraft("s", AT, 0), EventDraft("t", AT, data)])
        )
    wire = documents(run("evidence", "diff", "a.tar.gz", "b.tar.gz", "--json"))
    assert wire["changed_events"] == [{"type": "t", "left": 1, "right": 1, "paths": paths}]


def test_events_that_one_bundle_has_alone_are_listed_up_to_a_limit(place: Path) -> None:
    more = [EventDraft("t", AT, number) for number in range(300)]
    for name, drafts in (
        ("a", [EventDraft("s", AT, 0)]),
        ("b", [EventDraft("s", AT, 0, "s"), *more]),
    ):
        (place / f"{name}.tar.gz").write_bytes(sealed(drafts))
    result = run("evidence", "diff", "a.tar.gz", "b.tar.gz")
    assert "/subject" in result.stdout
    assert "in one bundle only" in result.stdout
    assert "100 of 301 events that differ are listed" in result.stderr


def test_times_and_run_ids_are_not_differences(place: Path) -> None:
    first = [EventDraft("a", AT, 1)]
    (place / "a.tar.gz").write_bytes(sealed(first))
    manifest, events = parts(sealed([EventDraft("a", "2027-01-31T14:30:00Z", 1)]))
    (place / "b.tar.gz").write_bytes(respoken(manifest, events))
    assert run("evidence", "diff", "a.tar.gz", "b.tar.gz").exit_code == 0


def proof_files(place: Path, event: int = 6) -> tuple[str, str]:
    made = run(
        *("evidence", "prove", "run.tar.gz", "--event", str(event)),
        *("-o", "proof.json", "--event-out", "event.json"),
    )
    assert made.exit_code == 0
    proof = json.loads((place / "proof.json").read_text())
    return "proof.json", proof["merkle_root"]


def checked(*options: str) -> int:
    result = run("evidence", "prove", *options)
    assert "Traceback" not in result.output
    return result.exit_code


def test_a_proof_is_checked_without_the_bundle(place: Path) -> None:
    proof, root = proof_files(place)
    manifest = json.loads(members_of((place / "run.tar.gz").read_bytes())[0])
    assert root == manifest["x-affidavit"]["merkle_root"]
    (place / "run.tar.gz").unlink()
    good = ("--check", proof, "--root", root, "--event-file", "event.json")
    assert checked(*good) == 0
    assert documents(run("evidence", "prove", *good, "--json"))["valid"] is True
    event = json.loads((place / "event.json").read_text())
    (place / "pretty.json").write_text(json.dumps(event, indent=2))
    assert checked("--check", proof, "--root", root, "--event-file", "pretty.json") == 0


def change_proof(place: Path, **members: object) -> None:
    proof = json.loads((place / "proof.json").read_text())
    (place / "proof.json").write_text(json.dumps({**proof, **members}))


WRONG_PROOFS: dict[str, tuple[Callable[[Path], object], int]] = {
    "another time in the event": (
        lambda place: (place / "event.json").write_text(
            (place / "event.json").read_text().replace("14:30", "14:31")
        ),
        4,
    ),
    "another number": (lambda place: change_proof(place, event=5), 4),
    "a number beyond the tree": (lambda place: change_proof(place, event=50), 4),
    "another size": (lambda place: change_proof(place, tree_size=3), 4),
    "a shorter path": (lambda place: change_proof(place, path=[]), 4),
    "another root": (lambda place: change_proof(place, merkle_root="sha256:" + "0" * 64), 4),
    "a node that is not a digest": (lambda place: change_proof(place, path=["x"]), 2),
    "another kind of tree": (lambda place: change_proof(place, merkle="x"), 2),
    "a member more": (lambda place: change_proof(place, more=1), 2),
    "an event that is a list": (lambda place: (place / "event.json").write_text("[]"), 2),
    "a proof that is not JSON": (lambda place: (place / "proof.json").write_text("x"), 2),
}


@pytest.mark.parametrize(("spoil", "wanted"), WRONG_PROOFS.values(), ids=WRONG_PROOFS.keys())
def test_a_wrong_proof_is_refused(
    place: Path, spoil: Callable[[Path], object], wanted: int
) -> None:
    proof, root = proof_files(place)
    spoil(place)
    assert checked("--check", proof, "--root", root, "--event-file", "event.json") == wanted


def test_a_proof_of_every_event(place: Path) -> None:
    for event in range(19):
        proof, root = proof_files(place, event)
        assert checked("--check", proof, "--root", root, "--event-file", "event.json") == 0
    other = "sha256:" + "1" * 64
    assert checked("--check", proof, "--root", other, "--event-file", "event.json") == 4
    assert checked("--check", proof, "--root", "x", "--event-file", "event.json") == 2
    assert checked("--check", proof) == 2
    assert checked("run.tar.gz") == 2
    assert checked("run.tar.gz", "--event", "19") == 2
    assert json.loads(run("evidence", "prove", "run.tar.gz", "--event", "0").stdout)["event"] == 0


def redacted(*options: str) -> Any:
    Path("salts.json").unlink(missing_ok=True)
    return run(
        *("evidence", "redact", "run.tar.gz", *options, "-o", "public.tar.gz"),
        *("--salts", "salts.json"),
    )


def test_redacted_values_are_commitments_that_can_be_revealed(place: Path) -> None:
    result = redacted("--path", "/data/output", "--path", "/data/results/*/text")
    assert result.exit_code == 0
    mode = stat.S_IMODE((place / "salts.json").stat().st_mode)
    assert mode == 0o600
    raw = (place / "public.tar.gz").read_bytes()
    assert verified(raw).exit is Exit.YES
    assert b"twelve" not in members_of(raw)[1]
    manifest = json.loads(members_of(raw)[0])
    assert manifest["x-affidavit"]["redacted_values"] == 3
    assert manifest["x-affidavit"]["origin"] in run("evidence", "show", "public.tar.gz").stdout
    salts = json.loads((place / "salts.json").read_text())
    values = {"/data/output": [12], "/data/results/0/text": "twelve"}
    for each in salts["salts"]:
        value = "12" if each["event"] == 6 else values[each["path"]]
        for revealed, wanted in ((value, 0), ("other", 4)):
            (place / "revealed.json").write_text(json.dumps({**each, "value": revealed}))
            done = run("evidence", "redact", "public.tar.gz", "--reveal", "revealed.json")
            assert done.exit_code == wanted


def test_the_origin_cannot_be_guessed_and_can_be_revealed(place: Path) -> None:
    assert redacted("--path", "/data/verdict").exit_code == 0
    before = digest_of((place / "run.tar.gz").read_bytes())
    public = (place / "public.tar.gz").read_bytes()
    # Bundles are reproducible: with the plain digest anybody could try "ship" and "hold".
    assert before.encode() not in b"".join(members_of(public))
    assert stat.S_IMODE((place / "salts.json").stat().st_mode) == 0o600
    origin = json.loads((place / "salts.json").read_text())["origin"]
    assert origin["origin"] == before
    (place / "revealed.json").write_text(json.dumps(origin))
    told = run("evidence", "redact", "public.tar.gz", "--reveal", "revealed.json")
    assert (told.exit_code, before in told.stdout) == (0, True)
    wire = documents(
        run("evidence", "redact", "public.tar.gz", "--reveal", "revealed.json", "--json")
    )
    assert wire == {"valid": True, "origin": before}
    unredacted = run("evidence", "redact", "run.tar.gz", "--reveal", "revealed.json")
    assert (unredacted.exit_code, "AF645" in unredacted.stderr) == (4, True)


LOOKALIKES: dict[str, object] = {
    "a text": {"$redacted": "swordfish"},
    "another algorithm": {"$redacted": {"alg": "rot13", "digest": "fjbeqsvfu", "size_bytes": 9}},
    "a digest that is none": {
        "$redacted": {"alg": "sha256-salted", "digest": "swordfish", "size_bytes": 9}
    },
    "a member more": {
        "$redacted": {
            "alg": "sha256-salted",
            "digest": "sha256:" + "0" * 64,
            "size_bytes": 9,
            "was": "swordfish",
        }
    },
    "a key beside it": {"$redacted": {"alg": "sha256-salted"}, "was": "swordfish"},
}


@pytest.mark.parametrize("value", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_a_value_that_only_looks_redacted_is_redacted(place: Path, value: Any) -> None:
    (place / "run.tar.gz").write_bytes(sealed([EventDraft("t", AT, {"x": value})]))
    assert redacted("--path", "/data/x").exit_code == 0
    events = members_of((place / "public.tar.gz").read_bytes())[1]
    assert b"swordfish" not in events
    assert b"fjbeqsvfu" not in events


def test_the_semantic_digest_of_a_redacted_event_is_removed(place: Path) -> None:
    manifest, events = parts(sealed([EventDraft("t", AT, {"x": 1}), EventDraft("u", AT, {"y": 1})]))
    for event in events:
        event.update(assaysemanticdigest="sha256:" + "1" * 64, assaydigestprofile="p")
    (place / "run.tar.gz").write_bytes(respoken(without_ours(manifest), events))
    assert redacted("--path", "/data/x").exit_code == 0
    first, second = parts((place / "public.tar.gz").read_bytes())[1]
    assert "assaysemanticdigest" not in first
    assert "assaydigestprofile" not in first
    assert second["assaysemanticdigest"] == "sha256:" + "1" * 64


def test_salts_are_not_overwritten(place: Path) -> None:
    (place / "salts.json").write_text("of another bundle")
    words = ("--path", "/data/output", "-o", "public.tar.gz", "--salts", "salts.json")
    result = run("evidence", "redact", "run.tar.gz", *words)
    assert (result.exit_code, "AF647" in result.stderr) == (2, True)
    assert (place / "salts.json").read_text() == "of another bundle"
    assert not (place / "public.tar.gz").exists()


def test_a_failed_redaction_leaves_no_salts(place: Path) -> None:
    words = ("--path", "/data/output", "-o", "no/public.tar.gz", "--salts", "salts.json")
    result = run("evidence", "redact", "run.tar.gz", *words)
    assert (result.exit_code, "AF01" in result.stderr) == (2, True)
    assert not (place / "salts.json").exists()


def test_a_commitment_too_deep_for_a_bundle_is_refused(place: Path) -> None:
    value: Any = "secret"
    for _ in range(63):
        value = [value]
    (place / "run.tar.gz").write_bytes(sealed([EventDraft("t", AT, value)]))
    result = redacted("--path", "/data" + "/0" * 63)
    assert (result.exit_code, "AF026" in result.stderr, "line 1" in result.stderr) == (
        2,
        True,
        True,
    )
    assert sorted(path.name for path in place.iterdir()) == ["run.jsonl", "run.tar.gz"]


def test_a_commitment_says_digest_and_size_and_hides_short_values(place: Path) -> None:
    redacted("--type", "affidavit.verdict")
    first = members_of((place / "public.tar.gz").read_bytes())[1]
    redacted("--type", "affidavit.verdict")
    second = members_of((place / "public.tar.gz").read_bytes())[1]
    assert first != second
    event = json.loads(second.splitlines()[-2])
    said = event["data"]["$redacted"]
    assert said["alg"] == "sha256-salted-padded"
    assert said["size_bytes"] == 64 > len(jcs({"score": 0.9, "verdict": "ship"}))
    assert set(said) == {"alg", "digest", "size_bytes"}


def test_redaction_for_machines(place: Path) -> None:
    wire = documents(redacted("--path", "/data/*", "--type", "affidavit.tool.call", "--json"))
    assert (wire["redacted_values"], wire["salts"]) == (3, "salts.json")
    salt = json.loads((place / "salts.json").read_text())["salts"][0]
    assert salt["path"] == "/data/input"
    (place / "revealed.json").write_text(json.dumps({**salt, "value": {"q": "days"}}))
    command = ("evidence", "redact", "public.tar.gz", "--reveal", "revealed.json", "--json")
    assert documents(run(*command)) == {"valid": True, "event": 7, "path": "/data/input"}
    shown = documents(run("evidence", "show", "public.tar.gz", "--json"))
    assert shown["tools"] == {"(redacted)": 1}


def test_values_in_lists_and_under_unusual_keys_are_redacted(place: Path) -> None:
    odd: JsonValue = {"a/b": {"~": [1, 2]}, "list": [{"x": 1}, "text"]}
    (place / "run.tar.gz").write_bytes(sealed([EventDraft("t", AT, odd)]))
    assert redacted("--path", "/data/a~1b/~0/1", "--path", "/data/list/*/x").exit_code == 0
    event = json.loads(members_of((place / "public.tar.gz").read_bytes())[1])
    assert event["data"]["a/b"]["~"][0] == 1
    assert "$redacted" in event["data"]["a/b"]["~"][1]
    assert "$redacted" in event["data"]["list"][0]["x"]
    paths = [each["path"] for each in json.loads((place / "salts.json").read_text())["salts"]]
    assert paths == ["/data/a~1b/~0/1", "/data/list/0/x"]


def test_events_with_unexpected_data_are_shown(place: Path) -> None:
    drafts = [
        EventDraft("affidavit.answer.receipt", AT, {"receipt": "kept elsewhere"}),
        EventDraft("affidavit.gate.report", AT, {}),
        EventDraft("affidavit.verdict", AT, {"verdict": 1}),
        EventDraft("affidavit.tool.call", AT, [1]),
        EventDraft("affidavit.policy.decision", AT, {}),
    ]
    manifest, events = parts(sealed(drafts))
    (place / "odd.tar.gz").write_bytes(respoken(without_ours(manifest), events))
    shown = documents(run("evidence", "show", "odd.tar.gz", "--json"))
    assert shown["verdicts"] == {"(not a text)": 1, "kept elsewhere": 1}
    assert shown["tools"] == shown["policies"] == {}
    assert "unfinished" not in run("evidence", "show", "odd.tar.gz").stdout


def test_redacted_values_stay_redacted(place: Path) -> None:
    redacted("--path", "/data/output")
    Path("public.tar.gz").rename("run.tar.gz")
    again = redacted("--path", "/data/output")
    assert (again.exit_code, "AF643" in again.stderr) == (2, True)
    assert redacted("--path", "/data/tool").exit_code == 0
    manifest = json.loads(members_of((place / "public.tar.gz").read_bytes())[0])
    assert manifest["x-affidavit"]["redacted_values"] == 3


REPLACING = {
    "seal": ("seal", "run.jsonl", "-o", "run.jsonl"),
    "import": ("import", "run.jsonl", "-o", "./run.jsonl"),
    "redact": ("redact", "run.tar.gz", "--path", "/data", "-o", "run.tar.gz", "--salts", "s.json"),
    "redact, both": ("redact", "run.tar.gz", "--path", "/data", "-o", "a", "--salts", "a"),
    "prove": ("prove", "run.tar.gz", "--event", "1", "-o", "run.tar.gz"),
}


@pytest.mark.parametrize("words", REPLACING.values(), ids=REPLACING.keys())
def test_a_file_that_is_read_is_never_overwritten(place: Path, words: tuple[str, ...]) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    result = run("evidence", *words)
    assert (result.exit_code, "AF281" in result.stderr) == (2, True)
    assert {path: path.read_bytes() for path in place.iterdir()} == before


HALVES = {
    "a proof to check, and a bundle": (
        *("prove", "run.tar.gz", "--check", "a", "--root", "b", "--event-file", "c"),
    ),
    "a proof to check, without its root": ("prove", "--check", "a", "--event-file", "c"),
    "a proof to make, and a root": ("prove", "run.tar.gz", "--event", "1", "--root", "b"),
    "no event": ("prove", "run.tar.gz"),
    "a redaction and a revelation": (
        *("redact", "run.tar.gz", "--path", "/data", "-o", "a", "--salts", "b", "--reveal", "c"),
    ),
    "a revelation with a path": ("redact", "run.tar.gz", "--reveal", "c", "--path", "/data"),
}


@pytest.mark.parametrize("words", HALVES.values(), ids=HALVES.keys())
def test_no_option_is_passed_over_in_silence(place: Path, words: tuple[str, ...]) -> None:
    result = run("evidence", *words)
    assert (result.exit_code, "AF001" in result.stderr) == (2, True)


def test_a_full_disk_for_temporary_files_is_reported(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("affidavit.app.bundles.TemporaryFile", no_room)
    result = run("evidence", "seal", "run.jsonl", "-o", "new.tar.gz")
    assert (result.exit_code, "AF014: a temporary file" in result.stderr) == (2, True)
    assert not (place / "new.tar.gz").exists()


def test_a_failing_output_is_named(place: Path) -> None:
    words = ("--path", "/data/output", "-o", "no/public.tar.gz", "--salts", "salts.json")
    result = run("evidence", "redact", "run.tar.gz", *words)
    assert result.stderr.startswith("AF014: no/public.tar.gz: ")


REFUSED_REDACTIONS = {
    "a place that no list can have": (("--path", "/data/results/" + "9" * 5000), "AF643"),
    "a path outside the data": (("--path", "/time"), "AF642"),
    "a path that only begins like it": (("--path", "/database"), "AF642"),
    "a path that no event has": (("--path", "/data/nothing/0"), "AF643"),
    "a place in a list that is not there": (("--path", "/data/results/9"), "AF643"),
    "no path": ((), "AF001"),
}


@pytest.mark.parametrize(
    ("options", "code"), REFUSED_REDACTIONS.values(), ids=REFUSED_REDACTIONS.keys()
)
def test_paths_that_cannot_be_redacted(place: Path, options: tuple[str, ...], code: str) -> None:
    result = redacted(*options)
    assert (result.exit_code, code in result.stderr) == (2, True)
    assert not (place / "public.tar.gz").exists()
    assert not (place / "salts.json").exists()


WRONG_REVELATIONS = {
    "not an object": ([], 2),
    "no salt": ({"event": 6, "path": "/data/output", "value": 1}, 2),
    "a salt that is not hexadecimal": (
        {"event": 6, "path": "/data/output", "value": 1, "salt": "x"},
        2,
    ),
    "an event that is not there": (
        {"event": 99, "path": "/data/output", "value": 1, "salt": "0" * 64},
        4,
    ),
    "a value that is not redacted": (
        {"event": 6, "path": "/data/model", "value": 1, "salt": "0" * 64},
        4,
    ),
    "several values": ({"event": 5, "path": "/data/*", "value": 1, "salt": "0" * 64}, 4),
    "a salt that is too short": (
        {"event": 6, "path": "/data/output", "value": "12", "salt": "00"},
        2,
    ),
    "an origin without its salt": ({"origin": "sha256:" + "0" * 64}, 2),
    "another origin": ({"origin": "sha256:" + "0" * 64, "salt": "0" * 64}, 4),
}


@pytest.mark.parametrize(
    ("value", "wanted"), WRONG_REVELATIONS.values(), ids=WRONG_REVELATIONS.keys()
)
def test_a_wrong_revealed_value_is_refused(place: Path, value: object, wanted: int) -> None:
    redacted("--path", "/data/output")
    (place / "revealed.json").write_text(json.dumps(value))
    result = run("evidence", "redact", "public.tar.gz", "--reveal", "revealed.json")
    assert (result.exit_code, "Traceback" in result.output) == (wanted, False)


def imported(*files: str, **options: str) -> Any:
    more = [word for name, value in options.items() for word in (f"--{name}", value)]
    return run(
        *("evidence", "import", *files, "-o", "in.tar.gz"),
        *("--at", "2026-01-31", "--json", *more),
    )


DOCUMENTS: dict[str, tuple[str, object, list[str]]] = {
    "a receipt": (
        "a.json",
        {"schema": "answer/v1", "generated_at": AT, "verdict": "supported"},
        ["affidavit.answer.receipt"],
    ),
    "a ledger": ("a.json", {"schema_version": "affidavit.ledger/1"}, ["affidavit.ledger"]),
    "a gate report": (
        "a.json",
        {"schema_version": "affidavit-gate/1", "decision": "ship"},
        ["affidavit.gate.report"],
    ),
    "promptfoo's results": (
        "a.json",
        {"results": {"version": 3, "results": [{"success": True}, {"success": False}]}},
        ["promptfoo.result", "promptfoo.result"],
    ),
    "an event": ("a.json", {"type": "x", "data": 1, "subject": "s"}, ["x"]),
}


@pytest.mark.parametrize(("name", "value", "types"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_documents_become_events(place: Path, name: str, value: object, types: list[str]) -> None:
    (place / name).write_text(json.dumps(value))
    result = imported(name)
    assert result.exit_code == 0
    assert documents(result)["event_count"] == len(types)
    raw = (place / "in.tar.gz").read_bytes()
    assert verified(raw).exit is Exit.YES
    assert [json.loads(line)["type"] for line in members_of(raw)[1].splitlines()] == types


def test_lines_of_events_are_imported_with_their_times(place: Path) -> None:
    lines = [{"type": "a", "data": 1, "time": AT}, {"type": "b", "data": {}, "assaypii": True}]
    (place / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert imported("events.jsonl", **{"run-id": "nightly"}).exit_code == 0
    first, second = members_of((place / "in.tar.gz").read_bytes())[1].splitlines()
    assert json.loads(first)["time"] == AT
    assert json.loads(second)["time"] == "2026-01-31T00:00:00Z"
    assert json.loads(second)["assaypii"] is True
    assert json.loads(second)["assayrunid"] == "nightly"
    plain = run("evidence", "import", "events.jsonl", "-o", "in.tar.gz")
    assert "2 events of in" in plain.stdout


def test_an_import_says_what_it_changes(place: Path) -> None:
    lines = [
        {"type": "a", "data": 1, "time": AT, "id": "x:1", "source": "urn:x", "traceparent": "00"},
        {"type": "b", "data": 2, "traceparent": "00", "comexampleowner": "ann"},
    ]
    (place / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    wire = documents(imported("events.jsonl"))
    assert wire["dropped"] == {"comexampleowner": 1, "traceparent": 2}
    assert wire["replaced"] == {"id": 1, "source": 1}
    assert wire["stamped"] == 1
    plain = run("evidence", "import", "events.jsonl", "-o", "in.tar.gz").stdout
    assert "dropped: comexampleowner (1), traceparent (2)" in plain
    assert "replaced: id (1), source (1)" in plain
    assert "stamped with the time of the import: 1" in plain
    (place / "results.json").write_text(json.dumps({"results": [{"a": 1}], "config": {}}))
    wire = documents(imported("results.json"))
    assert (wire["dropped"], wire["stamped"]) == ({"config": 1}, 1)


def test_results_state_their_schema(place: Path) -> None:
    found = {
        name: documents(run("evidence", name, *["run.tar.gz"] * count, "--json"))["schema_version"]
        for name, count in (("verify", 1), ("show", 1), ("diff", 2), ("replay", 1))
    }
    assert found == {name: f"affidavit-evidence-{name}/1" for name in found}


def test_a_bundle_that_gzip_named_is_read(place: Path) -> None:
    manifest, lines = members_of((place / "run.tar.gz").read_bytes())
    # Ours has the digest of its compressed bytes in the header, so it cannot be packed again.
    tar = gzip.decompress(archive_of(jcs(without_ours(json.loads(manifest))), lines))
    target = io.BytesIO()
    with gzip.GzipFile("run.tar", "wb", fileobj=target) as packed:
        packed.write(tar)
    named = target.getvalue()
    assert b"run.tar\0" in named[:30]
    (place / "named.tar.gz").write_bytes(named)
    assert run("evidence", "verify", "named.tar.gz").exit_code == Exit.YES
    at = named.index(b"run.tar\0")
    for name, code in ((b"x" * 300 + b"\0", "AF600"), (b"x" * 10**6, "AF600"), (b"", "AF60")):
        (place / "named.tar.gz").write_bytes(named[:at] + name + named[at + 8 :])
        assert code in run("evidence", "verify", "named.tar.gz").output
    (place / "named.tar.gz").write_bytes(named[: at + 3])
    assert "AF601" in run("evidence", "verify", "named.tar.gz").output


SHAPES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a number for a type": (lambda event: event.update(type=1), "ContractInvalidJson"),
    "no time": (lambda event: event.pop("time"), "ContractInvalidJson"),
    "no hash": (lambda event: event.pop("assaycontenthash"), "ContractSchemaVersion"),
    "a wrong first number": (lambda event: event.update(assayseq=1), "ContractSequenceStart"),
    "a run id with a colon": (lambda event: event.update(id="x"), "ContractInvalidEvent"),
}


@pytest.mark.parametrize(("change", "wanted"), SHAPES.values(), ids=SHAPES.keys())
def test_a_wrong_shape_has_assays_own_code(
    place: Path, change: Callable[[dict[str, Any]], Any], wanted: str
) -> None:
    manifest, lines = members_of((place / "run.tar.gz").read_bytes())
    first, _, rest = lines.partition(b"\n")
    event = json.loads(first)
    change(event)
    spoilt = jcs(event) + b"\n" + rest
    value = json.loads(manifest)
    value["files"]["events.ndjson"]["bytes"] = len(spoilt)
    (place / "bad.tar.gz").write_bytes(archive_of(jcs(value), spoilt))
    wire = documents(run("evidence", "verify", "bad.tar.gz", "--json"))
    assert wire["bundles"][0]["error"]["assay_code"] == wanted


def test_a_block_of_assay_with_another_shape_is_kept(place: Path) -> None:
    manifest, lines = members_of((place / "run.tar.gz").read_bytes())
    value = json.loads(manifest)
    del value["x-affidavit"]
    value["x-assay"] = {"packs_applied": ["cicd-starter@1.0.0"], "mappings_applied": ["x"]}
    (place / "theirs.tar.gz").write_bytes(archive_of(jcs(value), lines))
    assert run("evidence", "verify", "theirs.tar.gz").exit_code == Exit.YES
    shown = documents(run("evidence", "show", "theirs.tar.gz", "--json"))
    assert shown["manifest"]["x-assay"] == value["x-assay"]


STARTED, STEP, FINISHED = (
    {"type": kind, "data": {"status": "ok"}}
    for kind in ("affidavit.run.started", "x", "affidavit.run.finished")
)
ENDINGS: dict[str, tuple[list[dict[str, Any]], bool | None, str]] = {
    "events of no run": ([STEP, STEP], None, "no event says that a run began"),
    "a run that was cut off": ([STARTED, STEP], False, "unfinished"),
    "a run that ended": ([STARTED, STEP, FINISHED], True, "had finished"),
    "a run that went on": ([STARTED, FINISHED, STEP], False, "unfinished"),
}


@pytest.mark.parametrize(("events", "wanted", "said"), ENDINGS.values(), ids=ENDINGS.keys())
def test_the_events_decide_whether_a_run_finished(
    place: Path, events: list[dict[str, Any]], wanted: bool | None, said: str
) -> None:
    (place / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    assert imported("events.jsonl").exit_code == 0
    wire = documents(run("evidence", "verify", "in.tar.gz", "--json"))["bundles"][0]
    assert (wire["valid"], wire["finished"]) == (True, wanted)
    assert said in run("evidence", "show", "in.tar.gz").stdout
    assert run("evidence", "diff", "in.tar.gz", "in.tar.gz").exit_code == 0


BAD_IMPORTS: dict[str, tuple[str, bytes, str]] = {
    "the log of a run": ("a.json", b'{"affidavit_run":1}', "affidavit evidence seal"),
    "an unknown document": ("a.json", b'{"hello":1}', "AF641"),
    "a document without members": ("a.json", b"{}", "AF641"),
    "a list": ("a.json", b"[]", "AF641"),
    "an empty file": ("a.json", b"", "AF020"),
    "no lines": ("a.jsonl", b"", "AF631"),
    "binary": ("a.json", bytes(range(256)), "AF0"),
    "broken UTF-8": ("a.json", b'"\xff"', "AF022"),
    "a time that is a number": ("a.json", b'{"type":"a","data":1,"time":1}', "AF641"),
    "a time that is none": ("a.json", b'{"type":"a","data":1,"time":"x"}', "AF646"),
    "a document deeper than a bundle goes": (
        "a.json",
        b'{"schema_version":"affidavit-gate/1","x":' + b"[" * 62 + b"]" * 62 + b"}",
        "a.json, field data.report.x",
    ),
    "a document larger than an event": (
        "a.json",
        b'{"type":"a","data":["' + b'","'.join([b"a" * 1000] * 1100) + b'"]}',
        "AF640",
    ),
    "a subject that is a number": ("a.json", b'{"type":"a","data":1,"subject":1}', "AF641"),
    "a misspelt member": (
        "a.json",
        b'{"type":"a","data":1,"tme":"2026-01-31T00:00:00Z"}',
        "an event has no member 'tme'. Next: did you mean time?",
    ),
    "a flag that is a text": ("a.json", b'{"type":"a","data":1,"assaypii":"yes"}', "AF641"),
    "a bad second line": ("a.jsonl", b'{"type":"a","data":1}\n{"x":1}\n', "line 2"),
    "a very long line": ("a.jsonl", b'{"type":"a","data":"' + b"a" * 2_000_000, "AF030"),
}


@pytest.mark.parametrize(("name", "raw", "said"), BAD_IMPORTS.values(), ids=BAD_IMPORTS.keys())
def test_documents_that_cannot_be_imported(place: Path, name: str, raw: bytes, said: str) -> None:
    (place / name).write_bytes(raw)
    result = run("evidence", "import", name, "-o", "in.tar.gz")
    assert result.exit_code == Exit.INPUT
    assert said in result.stderr
    assert not (place / "in.tar.gz").exists()


COMMANDS = {
    "verify": ["verify", "FILE"],
    "show": ["show", "FILE"],
    "diff": ["diff", "FILE", "FILE"],
    "prove": ["prove", "FILE", "--event", "0"],
    "redact": ["redact", "FILE", "--path", "/data/x", "-o", "out.tar.gz", "--salts", "s.json"],
    "seal": ["seal", "FILE", "-o", "out.tar.gz"],
    "import": ["import", "FILE", "-o", "out.tar.gz"],
}
HOSTILE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 50),
    "text": lambda path: path.write_text("hello\n" * 9),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_bad_input_is_one_coded_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    make: Callable[[Path], object],
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "file.tar.gz")
    result = run("evidence", *(word.replace("FILE", "file.tar.gz") for word in words))
    assert result.exit_code in (Exit.INPUT, Exit.UNKNOWN)
    assert "AF" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out.tar.gz").exists()
    assert not (tmp_path / "s.json").exists()


def test_the_program_itself_prints_json_and_nothing_else(place: Path) -> None:
    done = run_process(REAL, "evidence", "verify", str(place / "run.tar.gz"), "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["valid"] is True


def test_a_reader_that_has_closed_the_pipe_is_not_an_error(place: Path) -> None:
    with start(REAL, "evidence", "show", str(place / "run.tar.gz"), "--events") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
    assert b"Traceback" not in said
