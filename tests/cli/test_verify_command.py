"""`affidavit verify` and `affidavit replay`, through the real command line."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.app.test_verifying import RECEIPT, fresh, resealed
from tests.checks.builders import ROUTES
from tests.cli.running import REAL, run, run_on_terminal, run_process
from tests.golden_files import Golden
from tests.seal.samples import FLAT, KEY, MADE, OTHER_KEY

from affidavit.app.answer import with_self_anchor
from affidavit.cli.program import cli
from affidavit.seal.keys import KeyRegistry, registry_document
from affidavit.seal.receipts import canonical_forms, seal_receipt

LATER = ("--at", "2026-02-01")
COMPACT = json.dumps(RECEIPT).encode()
NOT_FOLLOWING = resealed(lambda body: body.update(verdict="contradicted", confidence=0.1))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the keys of the issuer and one receipt."""
    (tmp_path / "keys.json").write_text(json.dumps(FLAT))
    (tmp_path / "receipt.json").write_text(json.dumps(RECEIPT, indent=2))
    return tmp_path


def test_one_receipt(place: Path, golden: Golden) -> None:
    result = run("verify", str(place / "receipt.json"), "-k", str(place / "keys.json"), *LATER)
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check("verify.txt", result.stdout.replace(str(place), "PLACE"))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    receipt = json.loads(COMPACT)
    change(receipt)
    return json.dumps(receipt).encode()


COMPROMISED = registry_document(
    KeyRegistry().with_new(KEY.public, MADE).with_compromised(KEY.public.id, MADE, "lost", MADE)
)
STEPS: dict[str, tuple[bytes, object, int, set[str]]] = {
    "as it was signed": (COMPACT, FLAT, 0, set()),
    "1: an anchor of something else": (
        changed(lambda receipt: receipt["anchor"].update(digest_sha256="0" * 64)),
        FLAT,
        4,
        {"AF324"},
    ),
    "2: another id": (
        changed(lambda receipt: receipt.update(receipt_id="ans_0000000000000000")),
        FLAT,
        4,
        {"AF322", "AF323", "AF324"},
    ),
    "3: a key that is not trusted": (
        COMPACT,
        {OTHER_KEY.public.id: OTHER_KEY.public.text},
        3,
        {"AF334"},
    ),
    "3: a valid signature by an untrusted key": (
        COMPACT,
        COMPROMISED,
        1,
        {"AF335"},
    ),
    "3: a signature of another algorithm": (
        changed(lambda receipt: receipt["signature"].update(alg="ES256")),
        FLAT,
        4,
        {"AF324", "AF378"},
    ),
    "5: another engine": (
        resealed(lambda body: body["reproduce"]["evaluator"].update(engine_version="1.0.1")),
        FLAT,
        3,
        {"AF377"},
    ),
    "5: another rule": (
        resealed(lambda body: body["reproduce"]["evaluator"]["rules"].append("answer-eval/9")),
        FLAT,
        3,
        {"AF377"},
    ),
    "5: a verdict that is not known": (
        resealed(lambda body: body.update(verdict="certified")),
        FLAT,
        3,
        {"AF377"},
    ),
    "4: a citation of nothing": (
        resealed(lambda body: body["checks"][0].update(evidence=["sha256:" + "0" * 64])),
        FLAT,
        4,
        {"AF326", "AF328"},
    ),
    "5: figures that do not follow": (NOT_FOLLOWING, FLAT, 4, {"AF328"}),
}


@pytest.mark.parametrize(("raw", "keys", "end", "codes"), STEPS.values(), ids=STEPS.keys())
def test_every_step_has_its_line_and_its_code(
    tmp_path: Path, raw: bytes, keys: object, end: int, codes: set[str]
) -> None:
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    (tmp_path / "r.json").write_bytes(raw)
    arguments = (str(tmp_path / "r.json"), "-k", str(tmp_path / "keys.json"), *LATER)
    shown = run("verify", *arguments)
    assert shown.exit_code == end
    assert ("Verified:" in shown.stdout) is (end == 0)
    assert ("Next:" in shown.stdout) is (end != 0)
    wire = json.loads(run("verify", *arguments, "--json").stdout)
    assert (wire["exit"], wire["valid"]) == (end, end == 0)
    (receipt,) = wire["receipts"]
    assert [step["number"] for step in receipt["steps"]] == [1, 2, 3, 3, 4, 5]
    assert {step["code"] for step in receipt["steps"]} - {None} == codes
    assert all(code in shown.stdout for code in codes)


def public_refusal() -> bytes:
    """A refusal with the members and the words that the public issuer uses."""
    body: dict[str, Any] = {
        "schema": "answer/v1",
        "generated_at": "2026-01-31T14:30:00Z",
        "issuer": "feed.example",
        "verdict": "outside_evidence_coverage",
        "confidence": 0.0,
        "confidence_rule": "answer-conf/1: the lowest confidence of the required checks",
        "unrouted": ["How high is the tower?"],
        "coverage": {"schema": "answer-coverage/v1", "families": [{"route_id": "a", "ask": ["b"]}]},
        "note": "There is no route to a source for this text.",
        "principle": "A signature proves integrity.",
        "advisory": True,
        "disclaimer": "Advisory evidence only.",
        "served_by": {"provider": "feed.example", "url": "https://feed.example"},
    }
    receipt: dict[str, Any] = with_self_anchor(seal_receipt(body, KEY))
    receipt["anchor"]["how"] = "have the digest stamped"
    receipt["signature"]["ephemeral_key"] = False
    return json.dumps(receipt).encode()


def test_a_genuine_receipt_with_members_that_are_not_known(place: Path) -> None:
    raw = json.loads(public_refusal())
    # The remark in the signature block is covered by the anchor.
    raw["anchor"]["digest_sha256"] = canonical_forms(raw).anchor_digest
    (place / "r.json").write_text(json.dumps(raw))
    arguments = ("verify", str(place / "r.json"), "-k", str(place / "keys.json"), *LATER)
    shown = run(*arguments)
    assert shown.exit_code == 0, shown.stdout
    assert "Signed, not interpreted: disclaimer, principle\n" in shown.stdout
    (receipt,) = json.loads(run(*arguments, "--json").stdout)["receipts"]
    assert receipt["not_interpreted"] == ["disclaimer", "principle"]
    replayed = run("replay", str(place / "r.json"))
    assert (replayed.exit_code, "not interpreted" in replayed.stdout) == (0, True)


def test_a_replay_by_rules_that_are_not_known(place: Path) -> None:
    (place / "r.json").write_bytes(
        resealed(lambda body: body["reproduce"]["evaluator"].update(engine_version="1.0.1"))
    )
    result = run("replay", str(place / "r.json"))
    assert result.exit_code == 3
    assert "AF377 cannot replay answer-eval/1.0.1" in result.stdout
    assert "does not follow" not in result.stdout
    shown = run("verify", str(place / "r.json"), "-k", str(place / "keys.json"), *LATER)
    assert "Tampered" not in shown.stdout


def test_an_unverified_verdict_is_not_shown(place: Path) -> None:
    (place / "receipt.json").write_bytes(NOT_FOLLOWING)
    result = run("verify", str(place / "receipt.json"), "-k", str(place / "keys.json"), *LATER)
    assert "believe nothing" in result.stdout
    assert "answered at" not in result.stdout


def test_the_project_keys_are_trusted_by_default_with_a_note(
    tmp_path: Path,
) -> None:
    project = ("--project", str(tmp_path))
    assert run("verify", "-", *project).stderr.startswith("AF373")
    assert run("verify", str(tmp_path / "no.json"), *project).stderr.startswith("AF010")
    run("keys", "new", *project)
    result = CliRunner().invoke(cli, ["verify", "-", *project, *LATER], input=COMPACT)
    assert result.exit_code == 3
    assert "own keys" in result.stderr


def test_many_receipts(place: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.chdir(place)
    folder = Path("receipts")
    folder.mkdir()
    (folder / "a.json").write_bytes(COMPACT)
    (folder / "b.json").write_bytes(NOT_FOLLOWING)
    (folder / "c.json").write_text("[]")
    (folder / "lines.jsonl").write_bytes(COMPACT + b"\n" + COMPACT + b"\n{\n")
    arguments = (str(folder), "-k", "keys.json", *LATER)
    result = run("verify", *arguments)
    assert result.exit_code == 4
    golden.check("verify-many.txt", result.stdout)
    wire = json.loads(run("verify", *arguments, "--json", "-j", "2").stdout)
    assert wire["counts"] == {
        "verified": 3,
        "not_believed": 0,
        "not_readable": 2,
        "could_not_tell": 0,
        "tampered": 1,
    }
    assert [Path(each["receipt"]).name for each in wire["receipts"]] == [
        *("a.json", "b.json", "c.json", "lines.jsonl:1", "lines.jsonl:2", "lines.jsonl:3")
    ]


def test_of_many_receipts_only_failures_are_listed(place: Path) -> None:
    (place / "all.jsonl").write_bytes((COMPACT + b"\n") * 30 + NOT_FOLLOWING)
    arguments = ("verify", str(place / "all.jsonl"), "-k", str(place / "keys.json"), *LATER)
    result = run(*arguments)
    assert (result.exit_code, "all.jsonl:31" in result.stdout) == (4, True)
    assert "31 receipts: 30 verified, 1 tampered" in result.stdout
    assert "all.jsonl:7" not in result.stdout
    assert "-v lists them too" in result.stderr
    assert "all.jsonl:7" in run(*arguments, "-v").stdout


def test_lines_from_a_pipe_and_progress_on_a_terminal(place: Path) -> None:
    arguments = ["verify", "-", "-k", str(place / "keys.json"), *LATER]
    result = CliRunner().invoke(cli, arguments, input=COMPACT + b"\n" + COMPACT)
    assert (result.exit_code, "2 receipts: 2 verified" in result.stdout) == (0, True)
    (place / "two.jsonl").write_bytes(COMPACT + b"\n" + COMPACT)
    end, shown = run_on_terminal(REAL, "verify", str(place / "two.jsonl"), *arguments[2:])
    assert (end, "Verifying receipts" in shown) == (0, True)


def test_a_registry_that_contradicts_itself_is_refused(place: Path) -> None:
    document: Any = registry_document(KeyRegistry().with_new(KEY.public, MADE))
    document["lifecycle"][KEY.public.id]["compromised_after"] = "2026-01-03T00:00:00Z"
    (place / "registry.json").write_text(json.dumps(document))
    result = run("verify", str(place / "receipt.json"), "-k", str(place / "registry.json"), *LATER)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("AF383")
    assert "the status is active, with compromised_after" in result.stderr


REFUSED: dict[str, tuple[tuple[str, ...], int, str]] = {
    "nothing in the folder": (("empty",), 3, "AF372"),
    "no such file": (("no.json",), 2, "AF01"),
    "no receipt": (("keys.json",), 2, "AF320"),
    "a receipt of another version": (("next.json",), 3, "AF321"),
    "keys that are none": (("receipt.json", "-k", "receipt.json"), 2, "AF331"),
    "keys that are no JSON": (("receipt.json", "-k", "bad.pem"), 2, "AF0"),
    "roots that are none": (("receipt.json", "--tsa-roots", "bad.pem"), 2, "AF331"),
    "no day": (("receipt.json", "--at", "yesterday"), 2, "AF278"),
}


@pytest.mark.parametrize(("arguments", "end", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], end: int, code: str
) -> None:
    (place / "empty").mkdir()
    (place / "bad.pem").write_text("no certificate")
    (place / "next.json").write_text(json.dumps({**RECEIPT, "schema": "answer/v2"}))
    monkeypatch.chdir(place)
    result = run("verify", *arguments, "-k", "keys.json")
    assert (result.exit_code, result.stdout) == (end, "")
    assert result.stderr.startswith(code)


def test_a_pipe_that_is_too_large(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.cli.verify.MAX_INPUT_BYTES", 3)
    arguments = ["verify", "-", "-k", str(place / "keys.json")]
    result = CliRunner().invoke(cli, arguments, input=COMPACT)
    assert result.exit_code == 2
    assert "standard input" in result.stderr


def test_in_its_own_process_with_several_workers(place: Path) -> None:
    (place / "two.jsonl").write_bytes((COMPACT + b"\n") * 100)
    arguments = ("-k", str(place / "keys.json"), "-j", "2", *LATER)
    done = run_process(REAL, "verify", str(place / "two.jsonl"), *arguments)
    assert done.returncode == 0, done.stderr
    assert b"100 receipts: 100 verified" in done.stdout


# Replay


def test_replay(place: Path, golden: Golden) -> None:
    result = run("replay", str(place / "receipt.json"))
    assert result.exit_code == 0
    golden.check("replay.txt", result.stdout)
    assert "semver_gte" in run("replay", str(place / "receipt.json"), "-v").stdout


def test_a_replay_names_every_difference(golden: Golden) -> None:
    result = CliRunner().invoke(cli, ["replay", "-"], input=NOT_FOLLOWING)
    assert result.exit_code == 4
    golden.check("replay-differs.txt", result.stdout)
    wire = json.loads(
        CliRunner().invoke(cli, ["replay", "-", "--json"], input=NOT_FOLLOWING).stdout
    )
    assert (wire["exit"], wire["holds"]) == (4, False)
    assert [each["path"] for each in wire["replay"]["differences"]] == ["confidence", "verdict"]


def test_a_note_says_that_routes_are_unused_without_a_question(place: Path) -> None:
    (place / "routes.yaml").write_text(json.dumps(ROUTES))
    given = ["replay", str(place / "receipt.json"), "--routes", str(place / "routes.yaml")]
    assert "--routes had nothing to compile again" in run(*given).stderr


def test_a_replay_compiles_the_question_again(tmp_path: Path) -> None:
    routes, other = tmp_path / "routes.yaml", tmp_path / "other.yaml"
    routes.write_text(json.dumps(ROUTES))
    other.write_text(json.dumps({**ROUTES, "not_covered": []}))
    asked = json.dumps(fresh(question="latest version of Python"))
    ends = {
        path.name: CliRunner().invoke(cli, ["replay", "-", "--routes", str(path)], input=asked)
        for path in (routes, other)
    }
    assert {name: result.exit_code for name, result in ends.items()} == {
        "routes.yaml": 0,
        "other.yaml": 3,
    }
    assert not any("nothing to compile" in result.stderr for result in ends.values())


# Routing


def routed(place: Path, question: str, stated: str | None = None) -> tuple[str, ...]:
    """Write the route table, and a receipt for a question that states perhaps another one."""
    body = json.loads(json.dumps(fresh(question=question)))
    for member in ("receipt_id", "signature", "anchor"):
        del body[member]
    body["question"] = stated or question
    (place / "asked.json").write_text(json.dumps(seal_receipt(body, KEY)))
    (place / "routes.yaml").write_text(json.dumps(ROUTES))
    return ("verify", str(place / "asked.json"), "-k", str(place / "keys.json"), *LATER)


def test_a_receipt_says_whether_its_routing_was_replayed(place: Path) -> None:
    verify = routed(place, "The latest version of Python is 3.13.1")
    without = run(*verify)
    assert without.exit_code == 0
    assert "routing        skipped" in without.stdout
    replayed = run(*verify, "--routes", str(place / "routes.yaml"))
    assert replayed.exit_code == 0
    assert "routing        passed" in replayed.stdout
    assert "routing" not in run(*verify[:1], str(place / "receipt.json"), *verify[2:]).stdout


def test_a_check_of_another_question_is_found(place: Path) -> None:
    verify = routed(place, "The latest version of Python is 3.13.1", "Is PyPy 3.13.1?")
    assert run(*verify).exit_code == 0
    result = run(*verify, "--routes", str(place / "routes.yaml"))
    assert (result.exit_code, "AF379" in result.stdout) == (4, True)
    asked = "The latest version of Python is 3.12"
    verify = routed(place, "The latest version of Python is 3.13.1", asked)
    result = run(*verify, "--routes", str(place / "routes.yaml"), "--json")
    (receipt,) = json.loads(result.stdout)["receipts"]
    assert (result.exit_code, receipt["steps"][-1]["code"]) == (4, "AF379")
    assert "checks[0].expect.value" in receipt["steps"][-1]["detail"]


UNKNOWN_ROUTING: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another table": (lambda body: body["route"].update(router_sha256="0" * 64), "AF374"),
    "no table": (lambda body: body.pop("route"), "AF377"),
    "other rules": (
        lambda body: body["reproduce"]["evaluator"].update(engine_version="9.0.0"),
        "AF377",
    ),
}


@pytest.mark.parametrize(("change", "code"), UNKNOWN_ROUTING.values(), ids=UNKNOWN_ROUTING.keys())
def test_routing_that_cannot_be_replayed(
    place: Path, change: Callable[[dict[str, Any]], object], code: str
) -> None:
    verify = routed(place, "latest version of Python")
    body = json.loads((place / "asked.json").read_text())
    for member in ("receipt_id", "signature"):
        del body[member]
    change(body)
    (place / "asked.json").write_text(json.dumps(seal_receipt(body, KEY)))
    result = run(*verify, "--routes", str(place / "routes.yaml"), "--json")
    (receipt,) = json.loads(result.stdout)["receipts"]
    line = receipt["steps"][-1]
    assert (result.exit_code, line["status"], line["code"]) == (3, "not_checked", code)


def test_a_refusal_is_routed_again(place: Path) -> None:
    verify = routed(place, "Who invented Python?")
    body = json.loads((place / "asked.json").read_text())
    del body["question"], body["receipt_id"], body["signature"]
    for question, end in (("Who invented Python?", 0), ("latest version of Python", 3)):
        body["unrouted"] = [question]
        (place / "asked.json").write_text(json.dumps(seal_receipt(body, KEY)))
        assert run(*verify, "--routes", str(place / "routes.yaml")).exit_code == end
        replayed = run("replay", verify[1], "--routes", str(place / "routes.yaml"))
        assert replayed.exit_code == end


def test_the_digest_of_a_route_table(place: Path) -> None:
    (place / "routes.yaml").write_text(json.dumps(ROUTES))
    (place / "affidavit.toml").write_text(
        "[tools.other]\nuse = 'http_json'\nallow_hosts = ['a.b']\n"
    )
    text = json.dumps(ROUTES, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    for options in ((), ("--tools", str(place / "affidavit.toml"))):
        shown = run("coverage", "--routes", str(place / "routes.yaml"), *options)
        assert f"Route table: sha256 {digest}" in shown.stdout
    assert "no route has a declared tool" in shown.stdout
