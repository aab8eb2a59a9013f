"""`affidavit attest` and `affidavit verify` of attestations, with real files and real keys."""

import json
import shutil
import subprocess
import sys
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run
from tests.cli.stamp_server import serving
from tests.repository import ROOT
from tests.seal.authority import found_authority

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id
from affidavit.reports.json_text import json_bytes
from affidavit.seal.bundle import reader
from affidavit.seal.crypto import spki_from_raw, to_base64, to_base64url
from affidavit.seal.keys import (
    KeyRecord,
    KeyRegistry,
    KeyStatus,
    key_id_of,
    plain_pem,
    registry_document,
    signing_key_from,
)
from affidavit.seal.receipts import seal_receipt

ALICE, BOB = (signing_key_from(bytes(range(at, at + 32))) for at in (10, 20))
RUN = ROOT / "samples" / "runs" / "support.jsonl"


def public_pem(key: Any) -> str:
    body = to_base64(spki_from_raw(key.public.raw))
    return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle, a gate report and two keys."""
    monkeypatch.chdir(tmp_path)
    for name, key in (("alice", ALICE), ("bob", BOB)):
        path = tmp_path / f"{name}.pem"
        path.write_bytes(plain_pem(key.seed))
        path.chmod(0o600)
        (tmp_path / f"{name}.pub").write_text(public_pem(key))
    run("evidence", "seal", str(RUN), "-o", "run.tar.gz", "--pack", "cicd-starter")
    return tmp_path


def payload(path: str) -> Any:
    return json.loads(b64decode(json.loads(Path(path).read_bytes())["payload"]))


def verified(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the one attestation of a verification."""
    done = run("verify", *arguments, "--json")
    return done.exit_code, json.loads(done.stdout)["attestations"][0]


def code_of(found: dict[str, Any]) -> str:
    error: dict[str, str] = found["error"]
    return error["name"]


ATTESTED = "run.tar.gz.dsse.json"


def test_a_bundle_is_attested_and_verified(place: Path) -> None:
    done = run("attest", "run.tar.gz", "--key", "alice.pem")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{ATTESTED}: run.tar.gz, signed by {ALICE.public.id}\n"
    done = run("verify", ATTESTED, "--keys", "alice.pub")
    assert done.exit_code == 0, done.output
    assert f"Verified: {ALICE.public.id} attested run.tar.gz" in done.stdout
    statement = payload(ATTESTED)
    assert [one["name"] for one in statement["subject"]] == [
        "run.tar.gz",
        "manifest.json",
        "events.ndjson",
    ]
    assert statement["predicate"]["packs"][0]["name"] == "cicd-starter"
    assert statement["predicate"]["bundle"]["tree_size"] == 10


def test_the_statement_holds_the_closure_report_of_lint(place: Path) -> None:
    from affidavit.base.canonical import jcs
    from affidavit.base.digest import sha256_hex

    run("attest", "run.tar.gz", "--key", "alice.pem")
    run("evidence", "lint", "run.tar.gz", "--pack", "cicd-starter", "--report", "lint.json")
    report = json.loads(Path("lint.json").read_bytes())["bundles"][0]["closure_report"]
    assert payload(ATTESTED)["predicate"]["closure_report"]["sha256"] == sha256_hex(jcs(report))


@pytest.mark.parametrize("predicate", ["affidavit", "test-result", "svr", "assay"])
def test_every_predicate_is_verified(place: Path, predicate: str) -> None:
    done = run("attest", "run.tar.gz", "--key", "alice.pem", "--predicate", predicate)
    assert done.exit_code == 0, done.output
    code, found = verified(ATTESTED, "-k", "alice.pub")
    assert (code, found["valid"]) == (0, True), found


def test_other_packs_than_those_of_the_manifest(place: Path) -> None:
    for predicate in ("affidavit", "test-result", "svr"):
        options = ("--key", "alice.pem", "--predicate", predicate, "--pack", "soc2-baseline")
        packs = run("packs", "list", "--json").stdout
        if "soc2-baseline" not in packs:
            options = (*options[:-1], "eu-ai-act-baseline")
        assert run("attest", "run.tar.gz", *options).exit_code == 0
        assert verified(ATTESTED, "-k", "alice.pub")[0] == 0


def test_a_changed_bundle_is_found(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    run("evidence", "seal", str(RUN), "-o", "other.tar.gz")
    shutil.move("other.tar.gz", "run.tar.gz")
    code, found = verified(ATTESTED, "-k", "alice.pub")
    assert code == 4
    assert code_of(found) == "statement.subject_mismatch"


def test_a_missing_subject_is_named(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem", "-o", "elsewhere.json")
    Path("run.tar.gz").rename("moved.tar.gz")
    code, found = verified("elsewhere.json", "-k", "alice.pub")
    assert (code, code_of(found)) == (3, "attest.no_subject")
    assert verified("elsewhere.json", "-k", "alice.pub", "--subject", "moved.tar.gz")[0] == 0


def test_signers_are_added_later_and_thresholds_count_them(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    keys = ("-k", "alice.pub", "-k", "bob.pub", "--threshold", "2")
    code, found = verified(ATTESTED, *keys)
    assert (code, code_of(found)) == (1, "dsse.threshold")
    assert run("attest", "run.tar.gz", "--add", "--key", "bob.pem").exit_code == 0
    assert verified(ATTESTED, *keys)[0] == 0
    assert run("attest", "run.tar.gz", "--add", "--key", "bob.pem").exit_code == 0
    assert len(json.loads(Path(ATTESTED).read_bytes())["signatures"]) == 2


def test_nobody_adds_a_signature_to_what_does_not_hold(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    run("evidence", "seal", str(RUN), "-o", "other.tar.gz")
    shutil.move("other.tar.gz", "run.tar.gz")
    done = run("attest", "run.tar.gz", "--add", "--key", "bob.pem")
    assert (done.exit_code, done.stderr[:5]) == (4, "AF706")


def test_a_key_in_the_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_KEY", plain_pem(BOB.seed).decode())
    assert run("attest", "run.tar.gz", "--key", "env:CI_KEY").exit_code == 0
    assert verified(ATTESTED, "-k", "bob.pub")[0] == 0
    done = run("attest", "run.tar.gz", "--key", "env:NOT_SET")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF331")


def test_an_encrypted_key(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFIDAVIT_KEY_PASSPHRASE", "correct horse")
    assert run("keys", "new").exit_code == 0
    assert run("attest", "run.tar.gz").exit_code == 0
    assert verified(ATTESTED)[0] == 0
    monkeypatch.delenv("AFFIDAVIT_KEY_PASSPHRASE")
    done = run("attest", "run.tar.gz")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF338")


def test_a_key_that_others_can_read_is_refused(place: Path) -> None:
    Path("alice.pem").chmod(0o644)
    done = run("attest", "run.tar.gz", "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF337")


def signing_script(place: Path, body: str) -> None:
    """Write a signing command, and the file that names it."""
    script = place / "sign.py"
    script.write_text(
        "import sys\nfrom base64 import b64encode\n"
        "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as Key\n"
        f"key = Key.from_private_bytes(bytes(range(10, 42)))\n{body}\n"
    )
    command = json.dumps([sys.executable, str(script), *_arguments(body)])
    (place / "signer.toml").write_text(f'public_key = "alice.pub"\ncommand = {command}\n')


def _arguments(body: str) -> list[str]:
    return ["{input}", "{output}"] if "argv" in body else []


COMMANDS = {
    "through pipes": ("sys.stdout.buffer.write(key.sign(sys.stdin.buffer.read()))", ""),
    "as base64": ("print(b64encode(key.sign(sys.stdin.buffer.read())).decode())", ""),
    "through files": (
        "data = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(key.sign(data))",
        "",
    ),
    "a false signature": ("sys.stdout.buffer.write(bytes(64))", "AF717"),
    "no signature": ("print('hello')", "AF717"),
    "a failure": ("sys.exit('no such token')", "AF716"),
}


@pytest.mark.parametrize(("body", "code"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_signing_command(place: Path, body: str, code: str) -> None:
    signing_script(place, body)
    done = run("attest", "run.tar.gz", "--key", "signer.toml")
    assert done.stderr[:5].strip() == code if code else done.exit_code == 0, done.output
    if not code:
        assert verified(ATTESTED, "-k", "alice.pub")[0] == 0
    else:
        assert not Path(ATTESTED).exists()


def test_a_signing_command_that_does_not_exist(place: Path) -> None:
    Path("signer.toml").write_text('public_key = "alice.pub"\ncommand = ["no-such-program"]\n')
    assert run("attest", "run.tar.gz", "--key", "signer.toml").stderr[:5] == "AF716"
    Path("signer.toml").write_text('public_key = "alice.pub"\ncommand = []\n')
    assert run("attest", "run.tar.gz", "--key", "signer.toml").stderr[:5] == "AF718"


MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so")


def test_a_key_in_a_token(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PKCS#11 with a software token: the private key never leaves it."""
    module = next((each for each in MODULES if Path(each).exists()), None)
    if module is None or shutil.which("pkcs11-tool") is None:
        pytest.skip("softhsm2 and opensc are not installed")
    (place / "tokens").mkdir()
    (place / "softhsm2.conf").write_text(f"directories.tokendir = {place}/tokens\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(place / "softhsm2.conf"))

    def tool(*arguments: str) -> None:
        command = ["pkcs11-tool", "--module", module, *arguments]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    tool("--init-token", "--label", "release", "--so-pin", "1234")
    officer = ("--login", "--login-type", "so", "--so-pin", "1234")
    tool("--token-label", "release", *officer, "--init-pin", "--new-pin", "5678")
    login = ("--token-label", "release", "--login", "--pin", "5678", "--id", "01")
    tool(*login, "--keypairgen", "--key-type", "EC:edwards25519")
    tool(*login, "--read-object", "--type", "pubkey", "--output-file", str(place / "hsm.pub"))
    sign = ("--sign", "-m", "EDDSA", "--input-file", "{input}", "--output-file", "{output}")
    command = json.dumps(["pkcs11-tool", "--module", module, *login, *sign])
    (place / "hsm.toml").write_text(f'public_key = "hsm.pub"\ncommand = {command}\n')
    # This tool signs at most 1,024 bytes with EdDSA; statements for Assay are shorter.
    done = run("attest", "run.tar.gz", "--key", "hsm.toml", "--predicate", "assay")
    assert done.exit_code == 0, done.output
    assert verified(ATTESTED, "-k", "hsm.pub")[0] == 0


POLICY = """
version = 1
[[keys]]
file = "alice.pub"
roles = ["build"]
[[keys]]
file = "bob.pub"
roles = ["review"]
[[roles]]
name = "build"
threshold = 1
[[roles]]
name = "review"
threshold = 1
[require]
predicates = ["affidavit"]
kinds = ["bundle"]
results = ["passed", "warned"]
packs = [{ name = "cicd-starter" }]
"""


def test_a_policy_is_the_deploy_step(place: Path) -> None:
    Path("release.toml").write_text(POLICY)
    run("attest", "run.tar.gz", "--key", "alice.pem")
    code, found = verified(ATTESTED, "--policy", "release.toml")
    assert (code, code_of(found)) == (1, "dsse.threshold")
    run("attest", "run.tar.gz", "--add", "--key", "bob.pem")
    assert verified(ATTESTED, "--policy", "release.toml")[0] == 0
    Path("release.toml").write_text(POLICY.replace('["passed", "warned"]', '["passed"]'))
    code, found = verified(ATTESTED, "--policy", "release.toml")
    assert (code, code_of(found)) == (1, "policy.required")


BAD_POLICIES = {
    "an unknown key": (POLICY.replace("threshold", "treshold", 1), "AF698"),
    "a threshold of nothing": (POLICY.replace("threshold = 1", "threshold = 0", 1), "AF696"),
    "more than there are": (POLICY.replace("threshold = 1", "threshold = 2", 1), "AF696"),
    "an unknown role": (POLICY.replace('roles = ["build"]', 'roles = ["bild"]'), "AF697"),
    "another version": (POLICY.replace("version = 1", "version = 2"), "AF697"),
    "no roles": ('version = 1\n[[keys]]\nfile = "alice.pub"\n', "AF697"),
    "no keys": ("version = 1\nkeys = []\n", "AF697"),
    "no TOML": ("version = ", "AF697"),
    "a time without a zone": (
        POLICY.replace('file = "bob.pub"', 'file = "bob.pub"\nuntil = 2026-01-01T00:00:00'),
        "AF697",
    ),
    "a log key that is none": (POLICY + '[log]\nkeys = ["x"]\n', "AF720"),
    "a log without a key": (POLICY + "[log]\nkeys = []\n", "AF696"),
    "more witnesses than there are": (
        POLICY + '[log]\nkeys = ["x"]\nwitness_threshold = 1\n',
        "AF696",
    ),
    "a file that is missing": (POLICY.replace("bob.pub", "carol.pub"), "AF100"),
}


@pytest.mark.parametrize(("text", "code"), BAD_POLICIES.values(), ids=BAD_POLICIES.keys())
def test_a_policy_that_is_none(place: Path, text: str, code: str) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    Path("release.toml").write_text(text)
    done = run("verify", ATTESTED, "--policy", "release.toml")
    assert done.exit_code == 2
    if code != "AF100":
        assert done.stderr[:5] == code, done.stderr


def test_windows_and_options_beside_a_policy(place: Path) -> None:
    window = POLICY.replace('file = "bob.pub"', 'file = "bob.pub"\nuntil = 2020-01-01T00:00:00Z')
    Path("release.toml").write_text(window)
    run("attest", "run.tar.gz", "--key", "alice.pem", "--key", "bob.pem")
    code, found = verified(ATTESTED, "--policy", "release.toml")
    assert (code, code_of(found)) == (1, "key.validity")
    done = run("verify", ATTESTED, "--policy", "release.toml", "--keys", "alice.pub")
    assert done.exit_code == 2
    assert "--keys stands in the policy" in done.stderr


def listed_under(prefix: str, name: str) -> None:
    """Write a keys document that lists Alice's key under another id."""
    raw = ALICE.public.raw
    Path(name).write_text(json.dumps({key_id_of(prefix, raw): to_base64url(raw)}))


def test_one_key_under_two_ids_is_one_key(place: Path) -> None:
    """The signer chooses the id in an envelope, so an id must not choose the window or the role."""
    listed_under("df", "again.json")
    two = POLICY.replace("bob.pub", "again.json")
    Path("release.toml").write_text(two)
    run("attest", "run.tar.gz", "--key", "alice.pem")
    assert verified(ATTESTED, "--policy", "release.toml")[0] == 0  # One key, with both roles.
    role = '[[roles]]\nname = "review"\nthreshold = 1\n'
    alone = two.replace(role, "").replace("review", "build")
    Path("release.toml").write_text(alone.replace("threshold = 1", "threshold = 2"))
    done = run("verify", ATTESTED, "--policy", "release.toml")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF696")
    done = run("verify", ATTESTED, "-k", "alice.pub", "-k", "again.json", "--threshold", "2")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF696")


@pytest.mark.parametrize("first", [True, False])
def test_the_narrower_window_of_a_key_counts(place: Path, first: bool) -> None:
    listed_under("df", "again.json")
    ends = "until = 2020-01-01T00:00:00Z\n"
    begins = "from = 2019-01-01T00:00:00Z\n"
    text = POLICY.replace("bob.pub", "again.json")
    for name, wanted in (("alice.pub", ends if first else begins), ("again.json", "")):
        text = text.replace(f'file = "{name}"\n', f'file = "{name}"\n{wanted}')
    if not first:
        text = text.replace('file = "again.json"\n', f'file = "again.json"\n{ends}')
    Path("release.toml").write_text(text)
    run("attest", "run.tar.gz", "--key", "alice.pem")
    for key_id in (ALICE.public.id, key_id_of("df", ALICE.public.raw)):
        envelope = json.loads(Path(ATTESTED).read_bytes())
        envelope["signatures"][0]["keyid"] = key_id
        Path(ATTESTED).write_text(json.dumps(envelope))
        code, found = verified(ATTESTED, "--policy", "release.toml")
        assert (code, code_of(found)) == (1, "key.validity")


def test_a_retired_key_of_one_file_is_retired_in_all(place: Path) -> None:
    record = KeyRecord(
        key=ALICE.public,
        active_from=datetime(2020, 1, 1, tzinfo=UTC),
        status=KeyStatus.RETIRED,
        retired_at=datetime(2021, 1, 1, tzinfo=UTC),
    )
    registry = KeyRegistry((record,), None, 1, record.active_from)
    Path("registry.json").write_bytes(json_bytes(registry_document(registry)))
    listed_under("df", "again.json")
    run("attest", "run.tar.gz", "--key", "alice.pem")
    envelope = json.loads(Path(ATTESTED).read_bytes())
    envelope["signatures"][0]["keyid"] = key_id_of("df", ALICE.public.raw)
    Path(ATTESTED).write_text(json.dumps(envelope))
    two = POLICY.replace("bob.pub", "again.json").replace("alice.pub", "registry.json")
    Path("release.toml").write_text(two)
    code, found = verified(ATTESTED, "--policy", "release.toml")
    assert (code, code_of(found)) == (1, "key.validity")


def test_time_stamps_and_sigstore_bundles(place: Path) -> None:
    authority = found_authority(place)
    with serving(lambda request: (200, authority.answer_to(request))) as url:
        done = run(
            *("attest", "run.tar.gz", "--key", "alice.pem", "--authority", url),
            *("--sigstore", "run.tar.gz.sigstore.json"),
        )
    assert done.exit_code == 0, done.output
    trust = ("-k", "alice.pub", "--tsa-roots", "root.pem", "--require-timestamp")
    for name in (ATTESTED, "run.tar.gz.sigstore.json"):
        code, found = verified(name, *trust)
        assert code == 0, found
        assert found["signers"][0]["stamped_at"]
    bare = json.loads(Path(ATTESTED).read_bytes())
    token = b64decode(bare.pop("x-affidavit")["time_stamps"][0])
    Path(ATTESTED).write_text(json.dumps(bare))
    Path("token.tst").write_bytes(token)
    assert code_of(verified(ATTESTED, *trust)[1]) == "tst.missing"
    assert verified(ATTESTED, *trust, "--time-stamp", "token.tst")[0] == 0


def test_what_a_file_is_follows_from_its_content(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    assert run("verify", "run.tar.gz").exit_code == 0
    assert json.loads(run("verify", "run.tar.gz", "--json").stdout)["bundles"][0]["valid"]
    shutil.copy("run.tar.gz", "run.json")
    assert run("verify", "run.json").exit_code == 0
    done = run("verify", "run.tar.gz", ATTESTED)
    assert done.exit_code == 2
    assert "one kind" in done.stderr
    made = run(
        "evidence", "prove", "run.tar.gz", "--event", "3", "-o", "p.json", "--event-out", "e.json"
    )
    assert made.exit_code == 0
    root = json.loads(Path("p.json").read_bytes())["merkle_root"]
    done = run("verify", "p.json", "--subject", "e.json", "--root", root)
    assert done.exit_code == 0, done.output
    assert run("verify", "p.json").exit_code == 2
    Path("broken.json").write_text('{"payloadType": "x", ')
    assert run("verify", "broken.json", "-k", "alice.pub").exit_code == 2


def test_the_limits_of_a_bundle_hold_for_its_attestation_too(place: Path) -> None:
    """What `attest --limits` signed, `verify --limits` can read."""
    few, many = ("--limits", '{"max_events": 2}'), ("--limits", '{"max_events": 200000}')
    assert run("attest", "run.tar.gz", "--key", "alice.pem", *many).exit_code == 0
    assert run("verify", "run.tar.gz", *many).exit_code == 0
    assert "AF615" in run("verify", "run.tar.gz", *few).output
    assert verified(ATTESTED, "-k", "alice.pub", *many)[0] == 0
    assert code_of(verified(ATTESTED, "-k", "alice.pub", *few)[1]) == "limit.events"
    Path("receipt.json").write_text("{}")
    assert run("verify", "receipt.json", *many, "-k", "alice.pub").exit_code == 2


def test_processes_share_the_work_on_a_bundle(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MIN_PARALLEL_BYTES", 0)
    run("attest", "run.tar.gz", "--key", "alice.pem")
    for arguments in (
        ("verify", "run.tar.gz"),
        ("evidence", "verify", "run.tar.gz"),
        ("verify", ATTESTED, "-k", "alice.pub"),
    ):
        alone, shared = run(*arguments), run(*arguments, "-j", "2")
        assert alone.exit_code == 0, alone.output
        assert (shared.exit_code, shared.stdout) == (0, alone.stdout)


def test_many_attestations(place: Path) -> None:
    run("attest", "run.tar.gz", "--key", "alice.pem")
    run("attest", "run.tar.gz", "--key", "bob.pem", "-o", "second.json")
    done = run("verify", ATTESTED, "second.json", "-k", "alice.pub")
    assert done.exit_code == 3
    assert "2 attestations: 1 verified, 1 could not tell" in done.stdout
    done = run("verify", ATTESTED, "second.json", "-k", "alice.pub", "--subject", "run.tar.gz")
    assert done.exit_code == 2


def test_options_for_attestations_are_refused_for_receipts(place: Path) -> None:
    Path("receipt.json").write_text("{}")
    done = run("verify", "receipt.json", "--threshold", "2", "-k", "alice.pub")
    assert done.exit_code == 2
    assert "--threshold is for attestations" in done.stderr
    run("attest", "run.tar.gz", "--key", "alice.pem")
    assert run("verify", ATTESTED, "--routes", "x.yaml", "-k", "alice.pub").exit_code == 2


IGNORED = {
    "a policy for a bundle": ("run.tar.gz", "--policy", "release.toml"),
    "keys for a bundle": ("run.tar.gz", "--keys", "alice.pub"),
    "a threshold for a bundle": ("run.tar.gz", "--threshold", "2"),
    "a log for a bundle": ("run.tar.gz", "--log-key", "x"),
    "a time stamp for a bundle": ("run.tar.gz", "--require-timestamp"),
    "a policy for the proof of an event": (
        *("p.json", "--subject", "e.json", "--root", "x", "--policy", "release.toml"),
    ),
    "a root for an attestation": (ATTESTED, "--keys", "alice.pub", "--root", "x"),
}


@pytest.mark.parametrize("arguments", IGNORED.values(), ids=IGNORED.keys())
def test_an_option_that_would_be_ignored_is_refused(
    place: Path, arguments: tuple[str, ...]
) -> None:
    """A deploy step that names the bundle instead of its attestation must not end with 0."""
    Path("release.toml").write_text(POLICY)
    run("attest", "run.tar.gz", "--key", "alice.pem")
    out = ("-o", "p.json", "--event-out", "e.json")
    assert run("evidence", "prove", "run.tar.gz", "--event", "3", *out).exit_code == 0
    done = run("verify", *arguments)
    assert done.exit_code == 2
    assert "is not for a file" in done.stderr or "is for the proof" in done.stderr


def gate_report(place: Path) -> None:
    for name in ("gold.jsonl", "trace.jsonl"):
        shutil.copy(ROOT / "samples" / "gates" / name, place / name)
    run("gate", "rag", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--report", "report.json")


def test_a_gate_report_is_attested(place: Path) -> None:
    gate_report(place)
    for predicate in ("affidavit", "test-result", "svr"):
        done = run("attest", "report.json", "--key", "alice.pem", "--predicate", predicate)
        assert done.exit_code == 0, done.output
        assert verified("report.json.dsse.json", "-k", "alice.pub")[0] == 0
    assert run("attest", "report.json", "--key", "alice.pem", "--predicate", "assay").exit_code == 2


def test_a_report_that_contradicts_itself_is_not_attested(place: Path) -> None:
    gate_report(place)
    report = json.loads(Path("report.json").read_bytes())
    report["decision"] = "no_ship" if report["decision"] == "ship" else "ship"
    Path("report.json").write_text(json.dumps(report))
    done = run("attest", "report.json", "--key", "alice.pem")
    assert done.exit_code in (2, 4)
    assert not Path("report.json.dsse.json").exists()


def test_receipts_are_attested(place: Path) -> None:
    shutil.copytree(ROOT / "samples" / "answers", place / "answers")
    run("keys", "new", "--project", "answers")
    done = run(
        *("answer", "answers/checks.json", "--project", "answers", "--tools"),
        *("answers/affidavit.toml", "-o", "receipt.json"),
    )
    assert Path("receipt.json").exists(), done.output
    assert run("attest", "receipt.json", "--key", "alice.pem").exit_code == 0
    code, found = verified("receipt.json.dsse.json", "-k", "alice.pub")
    assert code == 0, found
    receipt = json.loads(Path("receipt.json").read_bytes())
    assert found["said"]["receipt"]["receipt_id"] == receipt["receipt_id"]
    Path("receipt.json").write_text(json.dumps({**receipt, "receipt_id": "ans_0000000000000000"}))
    done = run("attest", "receipt.json", "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (4, "AF322")


def test_what_no_gate_decides_is_not_attested(place: Path) -> None:
    """Another kind must not spare a report the replay, nor must a report of all gates its parts."""
    gate_report(place)
    made = json.loads(Path("report.json").read_bytes())
    whole = {**made, "kind": "all", "gates": [], "metrics": {}, "reasons": [], "details": {}}
    whole |= {"offenders": [], "decision": "no_ship"}
    changed = {**made, "decision": "no_ship"}
    cases = (
        ({**whole, "parts": {"rag": made}}, 0, ""),
        ({**whole, "parts": {"rag": changed}}, 4, "AF715"),
        ({**whole, "parts": {"x": {**whole, "kind": "x"}}}, 2, "AF714"),
        ({**whole, "decision": "ship"}, 2, "AF714"),
        ({**whole, "kind": "other"}, 2, "AF714"),
    )
    for value, code, fault in cases:
        Path("changed.json").write_text(json.dumps(value))
        done = run("attest", "changed.json", "--key", "alice.pem")
        assert (done.exit_code, done.stderr[: len(fault)]) == (code, fault), done.output


@pytest.fixture
def linked(place: Path) -> list[Any]:
    """The linked receipts of 25 checks in linked.json, and each in a file of its own."""
    shutil.copytree(ROOT / "samples" / "answers", place / "answers")
    run("keys", "new", "--project", "answers")
    (check, *_) = json.loads(Path("answers/checks.json").read_bytes())["checks"]
    Path("many.json").write_text(json.dumps([{**check, "id": f"c{at}"} for at in range(25)]))
    tools = ("--project", "answers", "--tools", "answers/affidavit.toml")
    done = run("answer", "many.json", "--split", *tools, "-o", "linked.json")
    assert done.exit_code == 0, done.output
    made: list[Any] = json.loads(Path("linked.json").read_bytes())["receipts"]
    for number, receipt in enumerate(made, 1):
        Path(f"{number}.json").write_text(json.dumps(receipt))
    return made


def test_one_of_several_linked_receipts_is_not_attested(linked: list[Any]) -> None:
    """Verified alone it is exit 3: another one may contradict what it supports."""
    assert len(linked) == 2
    for name in ("1.json", "linked.json"):
        done = run("attest", name, "--key", "alice.pem")
        assert (done.exit_code, done.stderr[:5]) == (3, "AF730")
        assert not Path(f"{name}.dsse.json").exists()


def test_commands_for_one_receipt_say_what_to_do_with_linked_ones(linked: list[Any]) -> None:
    stamp = ("--authority", "http://127.0.0.1:1")
    for done in (run("replay", "linked.json"), run("receipt", "stamp", "linked.json", *stamp)):
        assert (done.exit_code, done.stderr[:5]) == (2, "AF320")
        assert "it holds linked receipts" in done.stderr


def test_a_receipt_that_cannot_be_replayed_is_not_attested(linked: list[Any]) -> None:
    """Whoever invents a rule could have any verdict signed."""
    body = {key: value for key, value in linked[0].items() if key not in ("signature", "linked")}
    body |= {"confidence_rule": "answer-conf/9", "verdict": "supported", "checks": []}
    del body["receipt_id"]
    Path("invented.json").write_text(json.dumps(seal_receipt(body, BOB)))
    done = run("attest", "invented.json", "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (3, "AF377")
    assert not Path("invented.json.dsse.json").exists()


def test_a_ledger_in_the_words_of_another_version_is_not_called_tampered(place: Path) -> None:
    stored = json.loads((ROOT / "tests/golden/ledger/seed_example.json").read_bytes())
    stored["entries"][0]["notes"] = "In other words."
    content = {
        key: value for key, value in stored.items() if key not in ("ledger_id", "generated_at")
    }
    Path("ledger.json").write_text(
        json.dumps({**stored, "ledger_id": content_id("led", jcs(content))})
    )
    done = run("attest", "ledger.json", "--key", "alice.pem")
    assert done.exit_code == 0, done.output
    assert verified("ledger.json.dsse.json", "-k", "alice.pub")[0] == 0


def test_ledgers_are_attested_if_they_replay(place: Path) -> None:
    stored = json.loads((ROOT / "tests/golden/ledger/seed_example.json").read_bytes())
    Path("ledger.json").write_text(json.dumps(stored))
    done = run("attest", "ledger.json", "--key", "alice.pem")
    assert done.exit_code == 0, done.output
    code, found = verified("ledger.json.dsse.json", "-k", "alice.pub")
    assert code == 0, found
    assert found["said"]["ledger"]["decision"] == stored["gates"]["decision"]
    stored["summary"]["total_claims"] += 1
    Path("ledger.json").write_text(json.dumps(stored))
    assert run("attest", "ledger.json", "--key", "alice.pem").exit_code == 4
    assert verified("ledger.json.dsse.json", "-k", "alice.pub")[0] == 4


def test_a_pack_that_is_not_at_hand(place: Path) -> None:
    assert run("packs", "new", "ours").exit_code == 0
    assert run("attest", "run.tar.gz", "--key", "alice.pem", "--pack", "ours.yaml").exit_code == 0
    code, found = verified(ATTESTED, "-k", "alice.pub")
    assert (code, code_of(found)) == (3, "statement.not_recomputed")
    assert verified(ATTESTED, "-k", "alice.pub", "--pack", "ours.yaml")[0] == 0


def test_what_cannot_be_attested(place: Path) -> None:
    Path("other.json").write_text('{"schema": "other/1"}')
    done = run("attest", "other.json", "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF714")
    Path("broken.tar.gz").write_bytes(Path("run.tar.gz").read_bytes()[:-9])
    assert run("attest", "broken.tar.gz", "--key", "alice.pem").exit_code == 4
    done = run("attest", "run.tar.gz", "--key", "alice.pem", "-o", "run.tar.gz")
    assert done.exit_code == 2


def test_a_missing_file_is_reported_before_a_missing_key(tmp_path: Path) -> None:
    missing = tmp_path / "none.tar.gz"
    refused = run("attest", str(missing), "--project", str(tmp_path))
    assert (refused.exit_code, refused.stderr[:5]) == (2, "AF010")
