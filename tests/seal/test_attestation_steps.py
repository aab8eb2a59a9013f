"""Each step of the verification of an attestation: keys and their time, stamps, logs, policies."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.seal.attesting import (
    CREATED,
    KEYS,
    LOG_HOLDER,
    LOG_KEY,
    LOG_TRUST,
    PACK,
    STATEMENT,
    SUMMARY,
    TRUST,
    fault_of,
    logged,
    refusal,
    signed,
    signer,
    verify,
)
from tests.seal.authority import Authority, found_authority
from tests.seal.samples import DAY, KEY, MADE, NOW, OTHER_KEY, keys_of

from affidavit.base.exits import Exit
from affidavit.seal.attestation import (
    AttestationTrust,
    KeyWindow,
    RequiredPack,
    Requirements,
    any_key_trust,
    checked_role,
    predicate_type_named,
)
from affidavit.seal.dsse import (
    SIGSTORE_MEDIA_TYPE,
    Envelope,
    envelope_as_wire,
    envelope_from,
    envelope_from_bytes,
    envelope_from_sigstore,
    hint_of,
    is_sigstore_bundle,
    pae,
    sigstore_bundle,
    stamp_digest,
)
from affidavit.seal.keys import KeyRegistry, registry_document, trusted_keys_from
from affidavit.seal.rfc3161 import TimeStampTrust, token_from_file
from affidavit.seal.statement import (
    ASSAY,
    ATTESTATION,
    SVR,
    TEST_RESULT,
    Artifact,
    Outcome,
    predicate_of,
    statement_bytes,
    verdict_of,
)
from affidavit.seal.transparency import (
    LOG_SIGNATURE,
    Checkpoint,
    LogTrust,
    note_key,
    proof_from,
    sign_checkpoint,
)

ID, OTHER_ID = KEY.public.id, OTHER_KEY.public.id
REGISTRY = KeyRegistry().with_new(KEY.public, MADE - DAY)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


def test_what_a_signature_covers() -> None:
    # The example of the standard, protocol.md.
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("t\u00e9st", b"") == "DSSEv1 5 t\u00e9st 0 ".encode()


def test_a_verification_says_what_was_found() -> None:
    found = verify(signed(STATEMENT, KEY, OTHER_KEY))
    assert found.valid
    assert found.exit is Exit.YES
    assert [each.key_id for each in found.signers] == [ID, OTHER_ID]
    assert found.predicate_type == ATTESTATION
    assert found.subject == "receipt.json"
    assert found.said == STATEMENT["predicate"]
    assert [step.number for step in found.steps] == list(range(1, 10))


LIVES: dict[str, tuple[KeyRegistry, str]] = {
    "active": (REGISTRY, "accept"),
    "made later": (KeyRegistry().with_new(KEY.public, NOW + DAY), "key.validity"),
    "retired": (REGISTRY.with_retired(ID, MADE, NOW), "key.validity"),
    "compromised": (REGISTRY.with_compromised(ID, MADE, "lost", NOW), "key.validity"),
}


@pytest.mark.parametrize(("registry", "wanted"), LIVES.values(), ids=LIVES.keys())
def test_without_a_time_stamp_only_the_clock_counts(registry: KeyRegistry, wanted: str) -> None:
    assert fault_of(verify(signed(), any_key_trust(keys_of(registry)))) == wanted


def test_a_key_for_something_else_is_refused() -> None:
    document: dict[str, Any] = registry_document(REGISTRY)
    for use, wanted in (("timestamping", "key.usage"), ("attestation-signing", "accept")):
        document["lifecycle"][ID]["use"] = use
        assert fault_of(verify(signed(), any_key_trust(trusted_keys_from([document])))) == wanted


WINDOWS = {
    "within": (KeyWindow(NOW - DAY, NOW + DAY), "accept"),
    "both ends included": (KeyWindow(NOW, NOW), "accept"),
    "too early": (KeyWindow(not_before=NOW + DAY), "key.validity"),
    "too late": (KeyWindow(not_after=NOW - DAY), "key.validity"),
}


@pytest.mark.parametrize(("window", "wanted"), WINDOWS.values(), ids=WINDOWS.keys())
def test_the_window_of_a_policy(window: KeyWindow, wanted: str) -> None:
    assert fault_of(verify(signed(), replace(TRUST, windows={KEY.public.raw: window}))) == wanted


def stamped(envelope: Envelope, authority: Authority) -> Envelope:
    tokens = tuple(authority.token(stamp_digest(each)) for each in envelope.signatures)
    return replace(envelope, time_stamps=tokens)


def test_a_time_stamp_proves_the_time_of_a_retired_key(authority: Authority) -> None:
    made, now = stamped(signed(), authority), authority.now + timedelta(hours=2)
    stamps = TimeStampTrust(authority.roots)
    for retired, wanted in ((1, "accept"), (-1, "key.validity")):
        when = authority.now + timedelta(hours=retired)
        records = keys_of(REGISTRY.with_retired(ID, when, now))
        trust = replace(any_key_trust(records), stamps=stamps)
        found = verify(made, trust, now)
        assert fault_of(found) == wanted
        assert found.signers[0].stamped_at is not None


def test_what_is_said_about_time_stamps(authority: Authority) -> None:
    bare, made = signed(), stamped(signed(), authority)
    both = signed(STATEMENT, KEY, OTHER_KEY)
    stamps = TimeStampTrust(authority.roots)
    cases: list[tuple[Envelope, TimeStampTrust | None, bool, str]] = [
        (bare, stamps, False, "accept"),
        (bare, stamps, True, "tst.missing"),
        (made, stamps, True, "accept"),
        (made, None, False, "accept"),
        (made, None, True, "tst.untrusted"),
        (replace(made, time_stamps=(authority.token("ab" * 32),)), stamps, False, "tst.imprint"),
        (replace(made, time_stamps=(b"\x30\x00",)), stamps, False, "tst.encoding"),
        (
            made,
            TimeStampTrust((authority.folder / "other.pem").read_bytes()),
            True,
            "tst.untrusted",
        ),
        (
            replace(made, signatures=both.signatures),
            stamps,
            True,
            "tst.missing",
        ),
    ]
    for envelope, trusted, required, wanted in cases:
        trust = replace(TRUST, stamps=trusted, stamp_required=required)
        found = verify(envelope, trust, authority.now + timedelta(minutes=1))
        assert fault_of(found) == wanted


def test_what_is_said_about_logs() -> None:
    bare, made = signed(), logged(signed())
    believed = replace(TRUST, log=LOG_TRUST)
    required = replace(believed, log_required=True)
    assert fault_of(verify(bare, believed)) == "accept"
    assert fault_of(verify(bare, required)) == "log.missing"
    assert fault_of(verify(made, replace(TRUST, log_required=True))) == "log.missing"
    assert [step.status for step in verify(made, TRUST).steps][4] == "skipped"
    found = verify(made, required)
    assert found.log is not None
    assert (found.log.origin, found.log.index, found.log.size) == (LOG_KEY.name, 4, 5)
    # Proofs of logs that nobody named count for nothing, wherever they stand.
    other = note_key("example.org/other", LOG_SIGNATURE, LOG_KEY.raw)
    of_other = logged(signed(), key=other).log_proofs
    for proofs in ((*of_other, *made.log_proofs), (*made.log_proofs, *of_other)):
        found = verify(replace(made, log_proofs=proofs), required)
        assert found.log is not None
        assert found.log.origin == LOG_KEY.name
    assert fault_of(verify(replace(made, log_proofs=of_other), required)) == "log.checkpoint"
    junk = replace(made, log_proofs=("junk", *made.log_proofs))
    assert fault_of(verify(junk, required)) == "log.format"
    witnessed = replace(required, log=LogTrust((LOG_KEY,), (), 1))
    assert fault_of(verify(made, witnessed)) == "log.witnesses"


def test_a_proof_without_its_entry_is_checked_all_the_same() -> None:
    made = logged(signed())
    trust = replace(TRUST, log=LOG_TRUST, log_required=True)
    bare = replace(proof_from(made.log_proofs[0]), entry=None)
    assert fault_of(verify(replace(made, log_proofs=(bare.text,)), trust)) == "accept"
    lone = sign_checkpoint(Checkpoint(LOG_KEY.name, 1, b"\0" * 32), LOG_KEY, signer(LOG_HOLDER))
    other = replace(bare, index=0, path=(), checkpoint=lone.text)
    assert fault_of(verify(replace(made, log_proofs=(other.text,)), trust)) == "log.inclusion"


def test_roles_count_different_keys() -> None:
    roles = (checked_role("build", 1, [KEY.public]), checked_role("review", 1, [OTHER_KEY.public]))
    trust = AttestationTrust(keys=KEYS, roles=roles)
    assert fault_of(verify(signed(STATEMENT, KEY, OTHER_KEY), trust)) == "accept"
    assert fault_of(verify(signed(STATEMENT, KEY), trust)) == "dsse.threshold"
    alone = AttestationTrust(keys=KEYS, roles=(checked_role("review", 1, [OTHER_KEY.public]),))
    assert fault_of(verify(signed(STATEMENT, KEY), alone)) == "key.usage"


@pytest.mark.parametrize("threshold", [-1, 0, 3])
def test_a_threshold_that_checks_nothing_or_too_much(threshold: int) -> None:
    assert refusal(lambda: any_key_trust(KEYS, threshold)) == "policy.threshold"


REQUIREMENTS = {
    "nothing": (Requirements(), "accept"),
    "what it says": (
        Requirements(
            predicate_types=(ATTESTATION,),
            kinds=("bundle", "receipt"),
            results=("warned",),
            packs=(RequiredPack("starter"), RequiredPack("starter", "1.0.0", PACK.digest)),
        ),
        "accept",
    ),
    "another predicate": (Requirements(predicate_types=(SVR,)), "policy.required"),
    "another kind": (Requirements(kinds=("bundle",)), "policy.required"),
    "another result": (Requirements(results=("passed",)), "policy.required"),
    "another pack": (Requirements(packs=(RequiredPack("other"),)), "policy.required"),
    "another version": (Requirements(packs=(RequiredPack("starter", "2.0.0"),)), "policy.required"),
    "another digest": (
        Requirements(packs=(RequiredPack("starter", None, "sha256:00"),)),
        "policy.required",
    ),
}


@pytest.mark.parametrize(("required", "wanted"), REQUIREMENTS.values(), ids=REQUIREMENTS.keys())
def test_what_a_policy_requires(required: Requirements, wanted: str) -> None:
    assert fault_of(verify(signed(), replace(TRUST, required=required))) == wanted


def test_a_statement_without_packs_meets_no_pack() -> None:
    facts = replace(SUMMARY.facts, packs=())
    summary = replace(SUMMARY, facts=facts)
    statement = {**STATEMENT, "predicate": predicate_of(ATTESTATION, summary, "")}
    trust = replace(TRUST, required=Requirements(packs=(RequiredPack("starter"),)))
    found = verify(signed(statement), trust, subject=lambda _: summary)
    assert fault_of(found) == "policy.required"
    assert "no packs" in str(found.error)


def test_required_packs_in_words() -> None:
    assert str(RequiredPack("a")) == "a"
    assert str(RequiredPack("a", "1", "sha256:00")) == "a@1 sha256:00"


def test_predicates_by_name() -> None:
    assert predicate_type_named("svr") == SVR
    assert predicate_type_named("urn:other") == "urn:other"


def test_a_summary_without_tests_was_not_tested() -> None:
    assert verdict_of(()).result is Outcome.NOT_TESTED
    assert verdict_of((("a", Outcome.FAILED), ("b", Outcome.WARNED))).result is Outcome.FAILED
    facts = replace(SUMMARY.facts, verdict=verdict_of(()))
    summary = replace(SUMMARY, facts=facts, tests=())
    assert refusal(lambda: predicate_of(TEST_RESULT, summary, "")) == "attest.predicate"
    assert refusal(lambda: predicate_of(ASSAY, summary, "")) == "attest.predicate"


def test_the_summary_of_what_passed() -> None:
    passed = replace(SUMMARY.facts, verdict=verdict_of((), Outcome.PASSED))
    made = predicate_of(SVR, replace(SUMMARY, facts=passed), CREATED)
    assert made["timeCreated"] == CREATED
    assert made["properties"] == [
        "AFFIDAVIT_RECEIPT_VERIFIED",
        "AFFIDAVIT_PASSED",
        "AFFIDAVIT_TEST:starter@1.0.0:A",
    ]


def test_assay_names_the_archive_alone() -> None:
    archive = Artifact("run.tar.gz", {"sha256": "ab" * 32})
    summary = replace(
        SUMMARY,
        subjects=(archive, Artifact("manifest.json", {"sha256": "cd" * 32})),
        assay={"schema_version": 1},
        assay_name="sha256:12",
    )
    payload = statement_bytes(ASSAY, summary, CREATED)
    made = json.loads(payload)
    assert made["subject"] == [{"name": "sha256:12", "digest": {"sha256": "ab" * 32}}]
    assert fault_of(verify(signed(payload), subject=lambda _: summary)) == "accept"
    ours = {**made, "subject": [*made["subject"], *made["subject"]]}
    found = verify(signed(ours), subject=lambda _: summary)
    assert fault_of(found) == "statement.subject_mismatch"


def test_a_time_in_a_predicate_has_to_be_one() -> None:
    made = predicate_of(SVR, SUMMARY, "yesterday")
    statement = {**STATEMENT, "predicateType": SVR, "predicate": made}
    assert fault_of(verify(signed(statement))) == "statement.format"


MALFORMED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no object": lambda wire: [],
    "no payload type": lambda wire: {**wire, "payloadType": None},
    "no signatures": lambda wire: {**wire, "signatures": {}},
    "no payload": lambda wire: {**wire, "payload": 1},
    "a signature that is none": lambda wire: {**wire, "signatures": ["x"]},
    "a key id that is none": lambda wire: {**wire, "signatures": [{"sig": "aaaa", "keyid": 1}]},
    "extras that are none": lambda wire: {**wire, "x-affidavit": []},
    "stamps that are none": lambda wire: {**wire, "x-affidavit": {"time_stamps": 1}},
    "a proof that is none": lambda wire: {**wire, "x-affidavit": {"log_proofs": [1]}},
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_envelope(change: Callable[[dict[str, Any]], object]) -> None:
    raw = json.dumps(change(envelope_as_wire(signed()))).encode()
    assert refusal(lambda: envelope_from_bytes(raw)) == "dsse.format"


def test_what_is_no_statement() -> None:
    changes: tuple[dict[str, Any], ...] = ({"predicateType": 1}, {"predicate": []})
    for change in changes:
        assert fault_of(verify(signed({**STATEMENT, **change}))) == "statement.format"
    nameless: dict[str, Any] = json.loads(json.dumps(STATEMENT))
    nameless["subject"][0]["name"] = 1
    assert fault_of(verify(signed(nameless))) == "accept"


def test_the_key_id_of_assay_is_a_hint_too() -> None:
    made = signed()
    hinted = replace(made.signatures[0], key_id=hint_of(KEY.public))
    assert fault_of(verify(replace(made, signatures=(hinted,)))) == "accept"
    broken = replace(hinted, raw=hinted.raw[:-1] + b"\0")
    assert fault_of(verify(replace(made, signatures=(broken,)))) == "dsse.signature"
    nameless = replace(made.signatures[0], key_id=None)
    other = replace(TRUST, keys=trusted_keys_from([{OTHER_ID: OTHER_KEY.public.text}]))
    assert fault_of(verify(replace(made, signatures=(nameless,)), other)) == "key.untrusted"


def test_a_sigstore_bundle_and_back(authority: Authority) -> None:
    for made in (signed(), stamped(signed(), authority)):
        bundle = sigstore_bundle(made)
        assert is_sigstore_bundle(bundle)
        assert bundle["mediaType"] == SIGSTORE_MEDIA_TYPE
        envelope, responses = envelope_from_sigstore(bundle)
        assert envelope == replace(made, time_stamps=())
        assert tuple(map(token_from_file, responses)) == made.time_stamps
    assert not is_sigstore_bundle(envelope_as_wire(signed()))
    assert not is_sigstore_bundle([])


NOT_SIGSTORE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no object": lambda bundle: 1,
    "another version": lambda bundle: {**bundle, "mediaType": f"{SIGSTORE_MEDIA_TYPE}x"},
    "no envelope": lambda bundle: {**bundle, "dsseEnvelope": ...},
    "a certificate": lambda bundle: {**bundle, "verificationMaterial": {"certificate": {}}},
    "another hint": lambda bundle: {
        **bundle,
        "verificationMaterial": {"publicKey": {"hint": "other"}},
    },
}


@pytest.mark.parametrize("change", NOT_SIGSTORE.values(), ids=NOT_SIGSTORE.keys())
def test_what_is_no_sigstore_bundle(change: Callable[[dict[str, Any]], Any]) -> None:
    made = change(sigstore_bundle(signed()))
    if isinstance(made, dict):
        made = {key: value for key, value in made.items() if value is not ...}
    assert refusal(lambda: envelope_from_sigstore(made)) == "sigstore.format"


def test_an_envelope_without_a_key_id_has_an_empty_hint() -> None:
    nameless = replace(signed(), signatures=(replace(signed().signatures[0], key_id=None),))
    bundle = sigstore_bundle(nameless)
    assert bundle["verificationMaterial"] == {"publicKey": {"hint": ""}, "tlogEntries": []}
    assert envelope_from(bundle["dsseEnvelope"]) == nameless
