"""The page that verifies in a browser: in a real Chromium, the same codes as the command."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.chromium import Page, open_page
from tests.cli.running import run
from tests.cli.test_attest_command import ALICE, BOB, RUN, gate_report, public_pem
from tests.conformance import test_bundle_adversarial as hostile_bundles
from tests.conformance.test_attestation_adversarial import GOOD, WIRE, order, with_signature
from tests.seal.attesting import (
    LOG_KEY,
    STATEMENT,
    THIRD_KEY,
    logged,
    signed,
    verify_bytes,
)
from tests.seal.bundle_making import changed as changed_bundle
from tests.seal.bundle_making import sealed, verified, without_ours
from tests.seal.samples import KEY, MADE, NOW, OTHER_KEY

from affidavit.app.verify import verify_steps
from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.reports.pages import verify_page, verify_page_policy
from affidavit.seal.crypto import spki_from_raw, to_base64, to_base64url
from affidavit.seal.dsse import envelope_bytes, envelope_from_bytes
from affidavit.seal.keys import (
    KeyRegistry,
    key_id_of,
    plain_pem,
    registry_document,
    trusted_keys_from,
)
from affidavit.seal.receipts import (
    ReceiptTrust,
    anchor_member,
    canonical_forms,
    receipt_from,
    seal_receipt,
)
from affidavit.seal.transparency import LOG_SIGNATURE, note_key


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle, an attestation of it that is logged, and the keys."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, key in (("alice", ALICE), ("bob", BOB)):
            Path(f"{name}.pem").write_bytes(plain_pem(key.seed))
            Path(f"{name}.pem").chmod(0o600)
            Path(f"{name}.pub").write_text(public_pem(key))
        run("evidence", "seal", str(RUN), "-o", "run.tar.gz", "--pack", "cicd-starter")
        run("evidence", "seal", str(RUN), "-o", "other.tar.gz")
        alice = ("--key", "alice.pem")
        made = ("--sigstore", "run.sigstore.json", "--page", "verify.html")
        assert run("attest", "run.tar.gz", *alice, *made).exit_code == 0
        run("attest", "run.tar.gz", *alice, "--predicate", "assay", "-o", "assay.json")
        run("attest", "run.tar.gz", *alice, "--key", "bob.pem", "-o", "both.json")
        run("log", "init", "log", "--origin", "example.org/ai", *alice, "-o", "log.key")
        run("log", "append", "log", "run.tar.gz.dsse.json", *alice)
        run("log", "prove", "log", "run.tar.gz.dsse.json", "--log-key", "@log.key", "-o", "p")
    return folder


@pytest.fixture(scope="module")
def page(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_page(place / "verify.html", tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def verify(
    page: Page,
    file: bytes,
    keys: tuple[bytes, ...] = (),
    subject: bytes | None = None,
    log_key: str | None = None,
    threshold: int = 1,
    root: str | None = None,
) -> dict[str, Any]:
    """Verify a file in the page and return what it found."""

    def shown(data: bytes) -> str:
        return f"Uint8Array.from(atob('{b64encode(data).decode()}'),c=>c.charCodeAt(0))"

    listed = ",".join(map(shown, keys))
    log = f"await affidavit.readLogKey({json.dumps(log_key)})" if log_key else "null"
    about = shown(subject) if subject else "null"
    found = page.evaluate(
        "(async () => { const keys = [];"
        f"for (const key of [{listed}]) keys.push(...await affidavit.readKeys(key));"
        f"const options = {{keys, logKey: {log}, threshold: {threshold}, subject: {about},"
        f"root: {json.dumps(root)}}};"
        f"return JSON.stringify(await affidavit.verifyFile({shown(file)}, options)); }})()"
    )
    result: dict[str, Any] = json.loads(found)
    return result


def test_the_page_is_one_file_with_a_strict_policy() -> None:
    made = verify_page()
    assert not re.search(r"\bsrc=|url\(|@import|<link", made)
    assert "connect-src" not in made
    assert verify_page_policy() in made
    assert "unsafe" not in made


def test_what_holds(page: Page, place: Path) -> None:
    files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    alice, bob, bundle = files["alice.pub"], files["bob.pub"], files["run.tar.gz"]
    log_key = files["log.key"].decode()
    for name in ("run.tar.gz.dsse.json", "run.sigstore.json", "assay.json", "both.json"):
        found = verify(page, files[name], (alice,), bundle)
        assert found["valid"], found
        assert [step["number"] for step in found["steps"]] == list(range(1, 10))
    assert verify(page, files["both.json"], (alice, bob), bundle, threshold=2)["valid"]
    assert verify(page, files["run.tar.gz.dsse.json"], (alice,), bundle, log_key)["valid"]
    assert verify(page, bundle)["valid"]
    assert verify(page, files["p"], log_key=log_key)["valid"]


def test_what_does_not_hold(page: Page, place: Path) -> None:
    files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    alice, bundle = files["alice.pub"], files["run.tar.gz"]
    attested, log_key = files["run.tar.gz.dsse.json"], files["log.key"].decode()
    other = note_key("example.org/other", LOG_SIGNATURE, ALICE.public.raw).text
    wrong = note_key("example.org/ai", LOG_SIGNATURE, BOB.public.raw).text
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "another file": (verify(page, attested, (alice,), files["other.tar.gz"]), "AF706"),
        "no file": (verify(page, attested, (alice,)), "AF713"),
        "another key": (verify(page, attested, (files["bob.pub"],), bundle), "AF334"),
        "no key": (verify(page, attested, (), bundle), "AF334"),
        "too few": (verify(page, attested, (alice,), bundle, threshold=2), "AF695"),
        "no proof": (verify(page, files["both.json"], (alice,), bundle, log_key), "AF725"),
        "another log": (verify(page, attested, (alice,), bundle, other), "AF721"),
        "another log key": (verify(page, attested, (alice,), bundle, wrong), "AF721"),
        "a cut bundle": (verify(page, bundle[:-9]), "AF601"),
        "more behind it": (verify(page, bundle + b"\0"), "AF603"),
        "much more": (verify(page, bundle + b"x" * 100_000), "AF603"),
        "a second one": (verify(page, bundle + bundle), "AF602"),
        "a changed one": (verify(page, bundle[:-99] + b"x" + bundle[-98:]), "AF601"),
    }
    assert {name: found["code"] for name, (found, _) in cases.items()} == {
        name: code for name, (_, code) in cases.items()
    }


def hostile() -> Iterator[tuple[str, bytes, str]]:
    """Yield hostile envelopes with the code that the command refuses each with."""

    def wire(**changes: Any) -> bytes:
        return json.dumps({**WIRE, **changes}).encode()

    def about(digest: Any) -> bytes:
        subject: JsonValue = [{"name": "x", "digest": digest}]
        return envelope_bytes(signed({**STATEMENT, "subject": subject}))

    raw = GOOD.signatures[0].raw
    yield "raw payload", envelope_bytes(with_signature(raw[::-1])), "AF694"
    yield "S + L", envelope_bytes(with_signature(order())), "AF694"
    yield "63 bytes", envelope_bytes(with_signature(raw[:63])), "AF694"
    yield "a stranger", envelope_bytes(signed(STATEMENT, THIRD_KEY)), "AF334"
    yield "text/plain", envelope_bytes(signed(payload_type="text/plain")), "AF692"
    yield "case", envelope_bytes(signed(payload_type="Application/vnd.in-toto+json")), "AF692"
    yield "swapped", wire(payloadType="application/vnd.in-toto.svr+json"), "AF694"
    yield "stripped", wire(signatures=[]), "AF693"
    yield "empty", wire(signatures=[{"sig": ""}]), "AF693"
    yield "junk", wire(payload="aGVs*bG8="), "AF691"
    yield "spare bits", wire(payload="aGVsbG9="), "AF691"
    yield "mixed", wire(payload="-+aa"), "AF691"
    yield "no padding", wire(payload="aGVsbG8"), "AF691"
    yield "twice", b'{"payload":"aaaa",' + json.dumps(WIRE).encode()[1:], "AF024"
    yield "a byte order mark", b"\xef\xbb\xbf" + json.dumps(WIRE).encode(), "AF021"
    yield "UTF-16", json.dumps(WIRE).encode("utf-16"), "AF021"
    yield "no UTF-8", json.dumps(WIRE).encode()[:-1] + b',"x":"\xff"}', "AF022"
    yield "no JSON", b"{", "AF020"
    yield "trailing", json.dumps(WIRE).encode() + b"x", "AF023"
    yield "no object", b"[]", "AF690"
    yield "old type", envelope_bytes(signed({**STATEMENT, "_type": "x"})), "AF703"
    yield "unknown", envelope_bytes(signed({**STATEMENT, "predicateType": "x"})), "AF704"
    yield "alias", envelope_bytes(signed({**STATEMENT, "predicate_type": "x"})), "AF710"
    yield "no subject", envelope_bytes(signed({**STATEMENT, "subject": []})), "AF705"
    yield "no digest", about({}), "AF705"
    yield "upper case", about({"sha256": "AB" * 32}), "AF707"
    yield "md5", about({"md5": "ab" * 16}), "AF708"
    yield "no statement", envelope_bytes(signed(b"[]")), "AF702"


def test_hostile_envelopes_have_the_codes_of_the_command(page: Page) -> None:
    keys = tuple(public_pem(key).encode() for key in (KEY, OTHER_KEY))
    wanted = {name: code for name, _, code in hostile()}
    command = {name: verify_bytes(raw).error for name, raw, _ in hostile()}
    assert {name: error and error["code"] for name, error in command.items()} == wanted
    found = {name: verify(page, raw, keys, b"{}")["code"] for name, raw, _ in hostile()}
    assert found == wanted
    assert verify(page, envelope_bytes(signed()), keys, b"{}")["code"] == "AF706"


def test_each_flipped_byte_is_refused_or_only_a_hint(page: Page, place: Path) -> None:
    bundle, alice = (place / "run.tar.gz").read_bytes(), (place / "alice.pub").read_bytes()
    raw = (place / "run.tar.gz.dsse.json").read_bytes()
    log_key = (place / "log.key").read_text()
    for at in range(0, len(raw), 37):
        changed = raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :]
        assert not verify(page, changed, (alice,), bundle, log_key)["valid"], at


def test_false_proofs(page: Page) -> None:
    made = logged(signed())
    moved = replace(made, log_proofs=logged(signed({**STATEMENT, "predicate": {}})).log_proofs)
    displaced = envelope_bytes(made).replace(b"index 4", b"index 3")
    keys = (public_pem(KEY).encode(),)
    assert verify(page, displaced, keys, b"{}", LOG_KEY.text)["code"] == "AF722"
    assert verify(page, envelope_bytes(moved), keys, b"{}", LOG_KEY.text)["code"] == "AF723"


NUMBERS: list[JsonValue] = [0, -7, 1.0, -0.0, 0.0001, 1e-05, -1.5e-07, 123.25, 1e15, 1e16, 5e-324]
BODY: dict[str, JsonValue] = {
    "schema": "answer/v1",
    "generated_at": "2026-01-02T03:04:05Z",
    "numbers": NUMBERS,
    "z\U0001f600": {"b": '\u007f\u2028\n"', "\uffff": None, "\U0001f600": True, "a": "é"},
}
SEALED = seal_receipt(BODY, KEY)
RETIRED = KeyRegistry().with_new(KEY.public, MADE).with_retired(KEY.public.id, NOW, NOW)
STOLEN = RETIRED.with_compromised(KEY.public.id, MADE, "lost", NOW)
FLAT: dict[str, JsonValue] = {KEY.public.id: KEY.public.text}


def receipts() -> Iterator[tuple[str, JsonValue, tuple[JsonValue, ...]]]:
    """Yield receipts with keys documents; most receipts were changed after they were signed."""
    signature: Any = SEALED["signature"]
    digest = canonical_forms(SEALED).anchor_digest
    yield "no anchor", SEALED, (FLAT,)
    yield "a self anchor", {**SEALED, "anchor": anchor_member(digest)}, (FLAT,)
    yield "another anchor", {**SEALED, "anchor": anchor_member("0" * 64)}, (FLAT,)
    yield "an unknown anchor", {**SEALED, "anchor": {"status": "moon"}}, (FLAT,)
    yield "no key", SEALED, ()
    yield "another content", {**SEALED, "numbers": []}, (FLAT,)
    yield "1 for 1.0", {**SEALED, "numbers": [0, -7, 1, *NUMBERS[3:]]}, (FLAT,)
    yield "another id", {**SEALED, "receipt_id": "ans_0"}, (FLAT,)
    yield "another suite", {**SEALED, "signature": {**signature, "alg": "none"}}, (FLAT,)
    yield "no base64", {**SEALED, "signature": {**signature, "sig": "*"}}, (FLAT,)
    yield "the future", seal_receipt({**BODY, "generated_at": "9999-01-01T00:00:00Z"}, KEY), (FLAT,)
    for name, registry in (("retired", RETIRED), ("stolen", STOLEN)):
        document = registry_document(registry)
        yield name, SEALED, (document,)
        yield f"{name}, and a flat list", SEALED, (document, FLAT)
    late = seal_receipt({**BODY, "generated_at": "2020-01-01T00:00:00Z"}, KEY)
    yield "before the key", late, (registry_document(RETIRED),)


def test_receipts_have_the_steps_and_codes_of_the_command(page: Page) -> None:
    for name, value, documents in receipts():
        trust = ReceiptTrust(trusted_keys_from(documents))
        wanted = verify_steps(receipt_from(value), trust, NOW).steps[:4]
        found = verify(page, json.dumps(value).encode(), tuple(map(jcs, documents)))
        seen = [(each["name"], each["status"], each["code"]) for each in found["steps"]]
        assert seen[:4] == [(each.name, each.status.value, each.code) for each in wanted], name
        assert [(each[0], each[1]) for each in seen[4:]] == [
            ("evidence", "skipped"),
            ("replay", "skipped"),
        ]
        assert found["valid"] == all(each.code is None for each in wanted)


MALFORMED: dict[str, Any] = {
    "another version": {**SEALED, "schema": "answer/v9"},
    "no id": {key: value for key, value in SEALED.items() if key != "receipt_id"},
    "no time": {**SEALED, "generated_at": "now"},
    "no signature": {key: value for key, value in SEALED.items() if key != "signature"},
    "more in the signature": {**SEALED, "signature": {**FLAT, "alg": "x"}},
    "an anchor that is none": {**SEALED, "anchor": []},
    "more in the anchor": {**SEALED, "anchor": {**anchor_member("0" * 64), "x": 1}},
    "half a digest": {**SEALED, "anchor": anchor_member("0" * 63)},
    "a token that is none": {**SEALED, "anchor": {**anchor_member("0" * 64, b"x"), "token": "*"}},
}


@pytest.mark.parametrize("value", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_receipts_have_the_codes_of_the_command(page: Page, value: Any) -> None:
    with pytest.raises(AffidavitError) as refused:
        receipt_from(value)
    found = verify(page, json.dumps(value).encode(), (jcs(FLAT),))
    assert (found["valid"], found["code"]) == (False, refused.value.fault.code)


def test_linked_receipts(page: Page) -> None:
    changed = {**SEALED, "receipt_id": "ans_0"}
    for linked, wanted in (([SEALED, SEALED], None), ([SEALED, changed], "AF322"), ([], "AF320")):
        found = verify(page, json.dumps({"receipts": linked}).encode(), (jcs(FLAT),))
        assert found["code"] == wanted
        assert found["valid"] == (wanted is None)
    assert [each["name"] for each in found["steps"]] == ["receipt"]


def test_the_proof_of_an_event(page: Page, place: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        out = ("-o", "event.proof.json", "--event-out", "event.json")
        assert run("evidence", "prove", "run.tar.gz", "--event", "3", *out).exit_code == 0
    raw, event = (place / "event.proof.json").read_bytes(), (place / "event.json").read_bytes()
    proof = json.loads(raw)
    root = proof["merkle_root"]

    def code(changed: dict[str, Any], about: bytes | None, trusted: str | None) -> str | None:
        found = verify(page, json.dumps(changed).encode(), subject=about, root=trusted)
        assert found["valid"] == (found["code"] is None)
        answer: str | None = found["code"]
        return answer

    assert code(proof, event, root) is None
    assert code(proof, event, None) == "AF633"
    assert code(proof, None, root) == "AF633"
    assert code({**proof, "x": 1}, event, root) == "AF633"
    assert code({**proof, "merkle": "other"}, event, root) == "AF633"
    assert code(proof, b"[]", root) == "AF633"
    assert code(proof, event, "sha256:" + "0" * 64) == "AF634"
    assert code(proof, event, "0" * 64) == "AF045"
    assert code({**proof, "event": 2}, event, root) == "AF634"
    assert code({**proof, "path": proof["path"][1:]}, event, root) == "AF634"
    assert code({**proof, "merkle_root": "sha256:" + "0" * 64}, event, root) == "AF634"
    other = json.dumps({**json.loads(event), "type": "assay.other"}).encode()
    assert code(proof, other, root) == "AF634"


def test_a_lifecycle_holds_whatever_id_the_signer_names(page: Page, place: Path) -> None:
    """A list without lifecycles, under another id, does not make a stolen key good again."""
    listed = jcs({key_id_of("df", KEY.public.raw): KEY.public.text})
    stolen = jcs(registry_document(STOLEN))
    for id in (KEY.public.id, key_id_of("df", KEY.public.raw)):
        made = json.loads(envelope_bytes(signed()))
        made["signatures"][0]["keyid"] = id
        raw = json.dumps(made).encode()
        for keys in ((stolen, listed), (listed, stolen)):
            assert verify(page, raw, keys, b"{}")["code"] == "AF335"


def test_proofs_of_logs_that_nobody_named_count_for_nothing(page: Page) -> None:
    made = logged(signed())
    other = logged(signed(), key=note_key("example.org/other", LOG_SIGNATURE, LOG_KEY.raw))
    keys = (public_pem(KEY).encode(),)
    both = replace(made, log_proofs=(*made.log_proofs, *other.log_proofs))
    # The log is the fifth step; what the statement is about is not {}.
    assert verify(page, envelope_bytes(both), keys, b"{}", LOG_KEY.text)["code"] == "AF706"
    assert verify(page, envelope_bytes(other), keys, b"{}", LOG_KEY.text)["code"] == "AF721"


WEAK = {
    "small order": "01" + "00" * 31,
    "not canonical": "ee" + "ff" * 30 + "7f",
    "mixed order": "b502ff3d92e31d8190b4aa4ea0414005167fad089c4de9dac8a2fc850fed4f58",
}


@pytest.mark.parametrize("raw", WEAK.values(), ids=WEAK.keys())
def test_weak_keys_are_refused(page: Page, raw: str) -> None:
    body = to_base64(spki_from_raw(bytes.fromhex(raw)))
    pem = f"-----BEGIN PUBLIC KEY-----\\n{body}\\n-----END PUBLIC KEY-----"
    code = page.evaluate(
        f"affidavit.readKeys(new TextEncoder().encode('{pem}')).then(()=>'accept',e=>e.code)"
    )
    assert code == "AF329"


def test_the_page_on_a_phone(page: Page, place: Path) -> None:
    """Files are chosen in the page itself; nothing is wider than the screen."""
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=740,
        deviceScaleFactor=2,
        mobile=True,
    )
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    for name, file in (
        ("keys", "alice.pub"),
        ("subject", "run.tar.gz"),
        ("file", "run.tar.gz.dsse.json"),
    ):
        node = page.call("DOM.querySelector", nodeId=root, selector=f"#{name}")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[str(place / file)])
    page.evaluate("new Promise(done => setTimeout(done, 1500))")
    shown = page.evaluate("document.getElementById('result').innerText")
    assert f"What was checked holds: {ALICE.public.id} attested run.tar.gz" in shown
    assert "Not checked on this page: time stamp, log, predicate, policy." in shown
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    result = "document.getElementById('result')"
    assert page.evaluate(f"{result}.scrollWidth <= {result}.clientWidth")
    # The details have lines that can be read, not a column of single words.
    width = "Math.min(...[...document.querySelectorAll('td:last-child')].map(e => e.clientWidth))"
    assert page.evaluate(width) >= 280
    page.call("Emulation.clearDeviceMetricsOverride")


# A file that is not gzip is not taken for a bundle at all, and the page has no limit for its size.
OTHER_LAYERS = {"ADV-087", "ADV-089"}


@pytest.mark.parametrize("case", sorted(hostile_bundles.CONSTRUCTIONS.keys() - OTHER_LAYERS))
def test_hostile_bundles_have_the_codes_of_the_command(page: Page, case: str) -> None:
    for bundle in hostile_bundles.CONSTRUCTIONS[case]():
        wanted = verified(bundle).error
        assert wanted is not None
        assert verify(page, bundle)["code"] == wanted.code, wanted


CHANGES: dict[str, Any] = {
    "another run root": lambda manifest, events: manifest.update(run_root="sha256:" + "0" * 64),
    "another bundle id": lambda manifest, events: manifest.update(bundle_id="sha256:" + "0" * 64),
    "another count": lambda manifest, events: manifest.update(event_count=4),
    "another run": lambda manifest, events: manifest.update(run_id="other"),
    "another version": lambda manifest, events: manifest.update(schema_version=2),
    "no producer": lambda manifest, events: manifest.pop("producer"),
    "another algorithm": lambda manifest, events: manifest["algorithms"].update(hash="md5"),
    "another tree": lambda manifest, events: manifest["x-affidavit"].update(merkle="x"),
    "another content hash": lambda manifest, events: events[1].update(assaycontenthash="x"),
    "a content hash of another algorithm": lambda manifest, events: events[1].update(
        assaycontenthash="sha512:0"
    ),
    "a run root of another algorithm": lambda manifest, events: manifest.update(run_root="md5:0"),
    "a bundle id of another algorithm": lambda manifest, events: manifest.update(bundle_id="a:0"),
    "a Merkle root of another algorithm": lambda manifest, events: manifest["x-affidavit"].update(
        merkle_root="sha512:0"
    ),
    "another content": lambda manifest, events: events[1]["data"].update(model="m-2"),
    "another number": lambda manifest, events: events[1].update(assayseq=7),
    "an event of another run": lambda manifest, events: events[2].update(assayrunid="other"),
    "an event of another source": lambda manifest, events: events[2].update(source="urn:b"),
    "a source that is none": lambda manifest, events: [e.update(source="b") for e in events],
    "another id": lambda manifest, events: events[2].update(id="other"),
    "no time": lambda manifest, events: events[2].update(time="now"),
    "no type": lambda manifest, events: events[2].pop("type"),
    "a flag that is none": lambda manifest, events: events[2].update(assaypii=1),
    "events in another order": lambda manifest, events: events.reverse(),
    "an event less": lambda manifest, events: events.pop(),
}


@pytest.mark.parametrize("summed", [True, False], ids=["with its sums made right", "as it is"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changed_bundles_have_the_codes_of_the_command(
    page: Page, change: Any, summed: bool
) -> None:
    bundle = changed_bundle(change, summed=summed)
    wanted, found = verified(bundle), verify(page, bundle)
    assert found["code"] == (None if wanted.error is None else wanted.error.code)
    if wanted.error is not None:
        steps = [(each.number, each.name, each.status.value, each.code) for each in wanted.steps]
        assert [
            (each["number"], each["name"], each["status"], each["code"]) for each in found["steps"]
        ] == steps


def test_a_bundle_of_another_producer(page: Page) -> None:
    def as_assay(manifest: dict[str, Any], events: list[dict[str, Any]]) -> None:
        kept = without_ours(manifest)
        manifest.clear()
        manifest.update(kept)

    found = verify(page, changed_bundle(as_assay))
    assert found["valid"], found
    assert [each["status"] for each in found["steps"]].count("skipped") == 3
    assert verify(page, sealed())["valid"]


def test_what_a_trusted_signer_states_falsely(page: Page, place: Path) -> None:
    """A signature of a trusted key does not make another file out of the file."""
    bundle, alice = (place / "run.tar.gz").read_bytes(), (place / "alice.pub").read_bytes()

    def code(name: str, change: Any) -> str | None:
        statement = json.loads(b64decode(json.loads((place / name).read_bytes())["payload"]))
        change(statement["predicate"])
        made = envelope_bytes(signed(statement, ALICE))
        answer: str | None = verify(page, made, (alice,), bundle)["code"]
        return answer

    attested = "run.tar.gz.dsse.json"
    assert code(attested, lambda predicate: None) is None
    assert code(attested, lambda predicate: predicate.update(kind="report")) == "AF711"
    for name in ("bundle_id", "run_id", "manifest_sha256", "events_sha256", "merkle_root"):
        assert code(attested, lambda said, name=name: said["bundle"].update({name: "x"})) == "AF711"
    assert code("assay.json", lambda predicate: None) is None
    for part in ("run_id", "event_count", "producer", "time_window"):
        assert code("assay.json", lambda said, part=part: said["run"].update({part: 1})) == "AF711"
    assert code("assay.json", lambda said: said["run"].update(more=1)) == "AF711"
    assert code("assay.json", lambda said: said.update(schema_version=2)) == "AF711"
    assert (
        code("assay.json", lambda said: said["run"]["time_window"].update(end="2026-01-31"))
        == "AF711"
    )


def test_an_envelope_with_other_extras(page: Page) -> None:
    key = public_pem(KEY).encode()
    for extras, wanted in (
        ([], "AF690"),
        ({"time_stamps": {}}, "AF690"),
        ({"log_proofs": [1]}, "AF690"),
        ({"time_stamps": ["*"]}, "AF691"),
    ):
        raw = json.dumps({**WIRE, "x-affidavit": extras}).encode()
        with pytest.raises(AffidavitError) as refused:
            envelope_from_bytes(raw)
        assert verify(page, raw, (key,))["code"] == wanted == refused.value.fault.code


JWK: dict[str, JsonValue] = {
    "kty": "OKP",
    "crv": "Ed25519",
    "kid": KEY.public.id,
    "x": KEY.public.text,
}
REGISTRY = registry_document(RETIRED)


def with_life(**members: JsonValue) -> JsonValue:
    """Return a registry whose only key has another lifecycle."""
    lifecycle: Any = REGISTRY["lifecycle"]
    return {**REGISTRY, "lifecycle": {KEY.public.id: {**lifecycle[KEY.public.id], **members}}}


def weak(raw: bytes) -> JsonValue:
    return {key_id_of("af", raw): to_base64url(raw)}


KEY_DOCUMENTS: dict[str, JsonValue] = {
    "a flat list": FLAT,
    "a JWK": JWK,
    "a JWK with its algorithm": {**JWK, "alg": "EdDSA", "use": "sig"},
    "a set of JWKs": {"keys": [JWK]},
    "a registry": REGISTRY,
    "a list": [],
    "a key of small order": weak(b"\1" + bytes(31)),
    "zero": weak(bytes(32)),
    "a second encoding": weak(b"\xee" + b"\xff" * 30 + b"\x7f"),
    "another id": {KEY.public.id: OTHER_KEY.public.text},
    "no id": {"x": KEY.public.text},
    "no text": {KEY.public.id: 1},
    "a JWK for ECDSA": {**JWK, "alg": "ES256"},
    "a JWK with a secret": {"kty": "oct", "kid": KEY.public.id, "k": KEY.public.text},
    "a JWK for RSA": {"kty": "RSA", "kid": KEY.public.id, "n": "AQAB", "e": "AQAB"},
    "a JWK with its private part": {**JWK, "d": KEY.public.text},
    "a JWK that is cut": {**JWK, "x": to_base64url(KEY.public.raw[:31])},
    "a JWK for encryption": {**JWK, "use": "enc"},
    "a JWK without an id": {"kty": "OKP", "crv": "Ed25519", "x": KEY.public.text},
    "another curve": {**JWK, "crv": "X25519"},
    "two JWKs with one id": {"keys": [JWK, {**JWK, "x": OTHER_KEY.public.text}]},
    "JWKs that are no list": {"keys": {}},
    "a JWK that is none": {"keys": [1]},
    "another registry": {**REGISTRY, "schema": "other/v1"},
    "a registry without lifecycles": {**REGISTRY, "lifecycle": {}},
    "a registry without keys": {**REGISTRY, "public_keys": {}},
    "a status that is none": with_life(status="moon"),
    "an algorithm that is none": with_life(alg="none"),
    "another fingerprint": with_life(fingerprint_sha256="0" * 64),
    "retired, but when?": with_life(retired_at=None),
    "retired before it was made": with_life(retired_at="2000-01-01T00:00:00Z"),
    "a time that is none": with_life(active_from="now"),
    "active and retired": with_life(status="active"),
    "compromised, but when?": with_life(status="compromised"),
    "retired and compromised": with_life(compromised_after="2026-01-01T00:00:00Z"),
    "a retired key that signs now": {**REGISTRY, "active_key_id": KEY.public.id},
    "a key that signs now and is not listed": {**REGISTRY, "active_key_id": "other"},
}


@pytest.mark.parametrize("document", KEY_DOCUMENTS.values(), ids=KEY_DOCUMENTS.keys())
def test_keys_documents_have_the_codes_of_the_command(page: Page, document: JsonValue) -> None:
    wanted = None
    try:
        trusted_keys_from([document])
    except AffidavitError as error:
        wanted = error.fault.code
    raw = b64encode(jcs(document)).decode()
    found = page.evaluate(
        f"affidavit.readKeys(Uint8Array.from(atob('{raw}'), (char) => char.charCodeAt(0)))"
        ".then(() => null, (error) => error.code ?? String(error))"
    )
    assert found == wanted


def test_the_attestation_of_a_report(page: Page, place: Path) -> None:
    """The page compares what the file says of itself, and leaves the replay to the command."""
    alice = (place / "alice.pub").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        gate_report(place)
        assert run("attest", "report.json", "--key", "alice.pem").exit_code == 0
    report = (place / "report.json").read_bytes()
    attested = (place / "report.json.dsse.json").read_bytes()
    found = verify(page, attested, (alice,), report)
    assert found["valid"], found
    assert found["steps"][7]["status"] == "skipped"
    statement = json.loads(b64decode(json.loads(attested)["payload"]))
    assert statement["predicate"]["report"]["decision"] != "no_ship"
    statement["predicate"]["report"]["decision"] = "no_ship"
    forged = envelope_bytes(signed(statement, ALICE))
    assert verify(page, forged, (alice,), report)["code"] == "AF711"
