"""Keys, their ids, their documents and their files."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from hypothesis import given
from hypothesis import strategies as st
from tests.seal.authority import require_openssl
from tests.seal.samples import DAY, FLAT, KEY, MADE, NOW, OTHER_KEY, REGISTRY

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.seal.crypto import find_base64, find_base64url, to_base64, to_base64url
from affidavit.seal.keys import (
    KeyRegistry,
    KeyStatus,
    PublicKey,
    encrypted_pem,
    is_encrypted,
    is_key_id,
    keys_by_id,
    keys_document,
    plain_pem,
    registry_document,
    registry_from,
    seed_from,
    signing_key_from,
    trusted_keys_from,
)

ID, TEXT = KEY.public.id, KEY.public.text
JWK: dict[str, JsonValue] = {"kty": "OKP", "crv": "Ed25519", "kid": ID, "x": TEXT.rstrip("=")}


def name_of(error: pytest.ExceptionInfo[AffidavitError]) -> str:
    return error.value.fault.name


def test_an_id_is_made_of_the_key() -> None:
    # Two keys that Dynamic Feed published, with their ids.
    raw = find_base64url("acMWky59eQfoVqCUgmUM3tcl35YioRngL4wVDIQsstg=")
    assert raw is not None
    assert trusted_keys_from([{"df-ed25519-6ca0de29113b": to_base64url(raw)}]).keys
    assert is_key_id(ID)
    assert not is_key_id(f"{ID}0")


@pytest.mark.parametrize("prefix", ["", "A", "a_b", "a--b", "-a", "é", "a" * 17, "a-b-c-d"])
def test_a_prefix_that_is_no_name(prefix: str) -> None:
    with pytest.raises(AffidavitError, match="AF331"):
        signing_key_from(KEY.seed, prefix)


def life_of(registry: KeyRegistry) -> dict[str, JsonValue]:
    lives = registry_document(registry)["lifecycle"]
    assert isinstance(lives, dict)
    life = lives[ID]
    assert isinstance(life, dict)
    return life


def registry_with(**changes: JsonValue) -> JsonValue:
    return {**registry_document(REGISTRY), "lifecycle": {ID: {**life_of(REGISTRY), **changes}}}


LATER, LONG_AGO = "2026-01-05T00:00:00Z", "2001-01-01T00:00:00Z"
RENAMED = ID.replace("af-", "xy-", 1)
WEAK = to_base64url(b"\x01" + bytes(31))
ACCEPTED: dict[str, JsonValue] = {
    "a flat map": FLAT,
    "without padding": {ID: TEXT.rstrip("=")},
    "a registry": registry_document(REGISTRY),
    "a JWK": JWK,
    "a JWK set": {"keys": [JWK, {**JWK, "kid": OTHER_KEY.public.id, "x": OTHER_KEY.public.text}]},
    "a JWK with its algorithm and use": {**JWK, "alg": "EdDSA", "use": "sig"},
}
REFUSED: dict[str, tuple[JsonValue, str]] = {
    "a list": ([], "key.format"),
    "a number for a key": ({ID: 1}, "key.format"),
    "no base64url": ({ID: "a+b/"}, "key.format"),
    "31 bytes": ({ID: to_base64url(bytes(31))}, "key.format"),
    "no id": ({"key": TEXT}, "key.format"),
    "an id of another algorithm": ({"af-rsa-0123456789ab": TEXT}, "key.format"),
    "the id of another key": ({OTHER_KEY.public.id: TEXT}, "key.id_mismatch"),
    "a weak key": ({"af-ed25519-0123456789ab": WEAK}, "key.weak"),
    "a set that is no list": ({"keys": {}}, "key.format"),
    "a key of a set that is no object": ({"keys": [1]}, "key.format"),
    "a key without an id": ({"keys": [{**JWK, "kid": None}]}, "key.format"),
    "a key that stands twice": ({"keys": [JWK, JWK]}, "key.duplicate_id"),
    "a private key": ({**JWK, "d": TEXT}, "key.format"),
    "a key for encryption": ({**JWK, "use": "enc"}, "key.usage"),
    "another curve": ({**JWK, "crv": "Ed448"}, "key.algorithm"),
    "another kind": ({**JWK, "kty": "EC"}, "key.algorithm"),
    "another algorithm": ({**JWK, "alg": "ES256"}, "key.algorithm"),
    "an algorithm that is a list": ({**JWK, "alg": ["EdDSA"]}, "key.algorithm"),
    "a registry of another kind": ({**registry_document(REGISTRY), "schema": "x"}, "key.format"),
    "a registry without lives": ({"schema": "affidavit-key-registry/v1"}, "key.format"),
    "a registry with one more key": (
        {**registry_document(REGISTRY), "public_keys": {**FLAT, "x": "y"}},
        "key.format",
    ),
    "an active key that is not there": (
        {**registry_document(REGISTRY), "active_key_id": OTHER_KEY.public.id},
        "key.format",
    ),
    "a life under another algorithm": (registry_with(alg="ES256"), "key.algorithm"),
    "a life with another fingerprint": (
        registry_with(fingerprint_sha256="0" * 64),
        "key.id_mismatch",
    ),
    "a life that is unheard of": (registry_with(status="asleep"), "key.format"),
    **{
        why: (registry_with(**life), "registry.contradiction")
        for why, life in {
            "retired, and since when is not said": {"status": "retired"},
            "compromised, and since when is not said": {"status": "compromised"},
            "active, and compromised since some time": {"compromised_after": LATER},
            "active, and retired since some time": {"retired_at": LATER},
            "retired, and compromised since some time": {
                "status": "retired",
                "retired_at": LATER,
                "compromised_after": LATER,
            },
            "retired before it was made": {"status": "retired", "retired_at": LONG_AGO},
            "retired, and the one that signs now": {"status": "retired", "retired_at": LATER},
        }.items()
    },
    "one key under two ids": (
        {
            **registry_document(REGISTRY),
            "public_keys": {**FLAT, RENAMED: TEXT},
            "lifecycle": {ID: life_of(REGISTRY), RENAMED: life_of(REGISTRY)},
        },
        "registry.contradiction",
    ),
    "a day for a time": (registry_with(active_from="2026-01-01"), "key.format"),
}


@pytest.mark.parametrize("document", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_document_of_keys(document: JsonValue) -> None:
    assert trusted_keys_from([document]).keys[ID] == KEY.public


@pytest.mark.parametrize(("document", "name"), REFUSED.values(), ids=REFUSED.keys())
def test_a_document_that_is_refused(document: JsonValue, name: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        trusted_keys_from([document])
    assert name_of(caught) == name


def test_two_keys_with_one_id() -> None:
    # 48 bits can be made to collide; here two are said to.
    with pytest.raises(AffidavitError) as caught:
        keys_by_id([KEY.public, PublicKey(ID, OTHER_KEY.public.raw)])
    assert name_of(caught) == "key.duplicate_id"
    assert keys_by_id([KEY.public, KEY.public]) == {ID: KEY.public}


def test_the_worse_of_two_lives_counts() -> None:
    worse = REGISTRY.with_compromised(ID, MADE, "leaked", NOW)
    worst = worse.with_compromised(ID, MADE - DAY, "leaked earlier", NOW)
    documents = [registry_document(each) for each in (worse, worst, REGISTRY)]
    for order in (documents, documents[::-1], [FLAT, *documents]):
        record = trusted_keys_from(order).records[ID]
        assert record.compromised_after == MADE - DAY


def test_another_prefix_of_the_id_does_not_change_the_lifecycle() -> None:
    leaked = registry_document(REGISTRY.with_compromised(ID, MADE, "leaked", NOW))
    keys = trusted_keys_from([{RENAMED: TEXT}, leaked])
    assert {keys.records[each].status for each in (ID, RENAMED)} == {KeyStatus.COMPROMISED}


def test_a_registry_comes_back() -> None:
    registry = REGISTRY.with_new(OTHER_KEY.public, MADE).with_retired(ID, MADE, NOW)
    registry = registry.with_compromised(OTHER_KEY.public.id, MADE, " leaked ", NOW)
    assert registry_from(registry_document(registry)) == registry
    assert registry_from(registry_document(KeyRegistry())) == KeyRegistry()
    assert registry.revision == 4
    assert registry.active_key_id is None
    assert registry.records[1].reason == "leaked"


def test_the_flat_map_leaves_out_what_may_not_be_believed() -> None:
    registry = REGISTRY.with_new(OTHER_KEY.public, MADE).with_retired(ID, MADE, NOW)
    assert set(keys_document(registry)) == {ID, OTHER_KEY.public.id}
    compromised = registry.with_compromised(ID, MADE, "leaked", NOW)
    assert set(keys_document(compromised)) == {OTHER_KEY.public.id}


def test_the_newest_active_key_signs() -> None:
    registry = REGISTRY.with_new(OTHER_KEY.public, MADE)
    assert registry.active_key_id == OTHER_KEY.public.id
    assert registry.with_retired(ID, MADE, NOW).active_key_id == OTHER_KEY.public.id
    assert registry.with_retired(OTHER_KEY.public.id, MADE, NOW).active_key_id == ID


def test_a_retired_key_can_turn_out_to_be_compromised() -> None:
    record = REGISTRY.with_retired(ID, MADE, NOW).with_compromised(ID, MADE, "x", NOW).record(ID)
    assert record.status is KeyStatus.COMPROMISED
    assert record.retired_at == MADE


COMPROMISED = REGISTRY.with_compromised(ID, MADE, "leaked", NOW)
NO_WAY = {
    "a key that is not there": lambda: KeyRegistry().with_retired(ID, MADE, NOW),
    "a key that is there already": lambda: REGISTRY.with_new(KEY.public, NOW),
    "retired twice": lambda: REGISTRY.with_retired(ID, MADE, NOW).with_retired(ID, MADE, NOW),
    "retired after a compromise": lambda: COMPROMISED.with_retired(ID, MADE, NOW),
    "retired in the future": lambda: REGISTRY.with_retired(ID, NOW + DAY, NOW),
    "retired before it was made": lambda: REGISTRY.with_retired(ID, MADE - 2 * DAY, NOW),
    "compromised in the future": lambda: REGISTRY.with_compromised(ID, NOW + DAY, "x", NOW),
    "compromised for no reason": lambda: REGISTRY.with_compromised(ID, MADE, "  ", NOW),
    "compromised later than is known": lambda: COMPROMISED.with_compromised(ID, NOW, "x", NOW),
}


@pytest.mark.parametrize("change", NO_WAY.values(), ids=NO_WAY.keys())
def test_a_change_that_is_refused(change: object) -> None:
    assert callable(change)
    with pytest.raises(AffidavitError) as caught:
        change()
    assert name_of(caught) == "key.state"


SALT, START = bytes(range(16)), bytes(range(16, 32))
LOCKED = encrypted_pem(KEY.seed, "pass wörd", salt=SALT, iv=START)


def test_a_key_file_comes_back() -> None:
    assert seed_from(plain_pem(KEY.seed), None) == KEY.seed
    assert seed_from(plain_pem(KEY.seed), "needless") == KEY.seed
    assert seed_from(LOCKED, "pass wörd") == KEY.seed
    assert is_encrypted(LOCKED)
    assert not is_encrypted(plain_pem(KEY.seed))


@pytest.mark.parametrize("pem", [plain_pem(KEY.seed), LOCKED], ids=["plain", "encrypted"])
def test_openssl_reads_our_key_files(pem: bytes, tmp_path: Path) -> None:
    require_openssl()
    path = tmp_path / "key.pem"
    path.write_bytes(pem)
    done = subprocess.run(
        ["openssl", "pkey", "-in", str(path), "-passin", "pass:pass wörd", "-pubout"],
        capture_output=True,
        text=True,
        check=True,
    )
    raw = find_base64(done.stdout.splitlines()[1])
    assert raw is not None
    assert raw.endswith(KEY.public.raw)


def pem_of(key: ec.EllipticCurvePrivateKey | ed448.Ed448PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


UNREADABLE = {
    "encrypted, no passphrase": (LOCKED, None, "key.passphrase"),
    "encrypted, another passphrase": (LOCKED, "hunter2", "key.passphrase"),
    "no PEM": (b"secret", None, "key.format"),
    "no PEM, with a passphrase": (b"secret", "hunter2", "key.format"),
    "a public key": (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", None, None),
    "an elliptic curve": (pem_of(ec.generate_private_key(ec.SECP256R1())), None, "key.algorithm"),
    "another Edwards curve": (pem_of(ed448.Ed448PrivateKey.generate()), None, "key.algorithm"),
    "an unknown algorithm": (
        plain_pem(KEY.seed).replace(b"BQYDK2Vw", b"BQYDK2V6"),
        None,
        "key.algorithm",
    ),
}


@pytest.mark.parametrize(("pem", "passphrase", "name"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_key_file_that_is_refused(pem: bytes, passphrase: str | None, name: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        seed_from(pem, passphrase)
    assert name_of(caught) == (name or "key.format")
    said = str(caught.value)
    assert "hunter2" not in said
    assert "secret" not in said


@given(st.binary(max_size=70))
def test_base64_comes_back(data: bytes) -> None:
    assert find_base64(to_base64(data)) == data
    text = to_base64url(data)
    assert find_base64url(text) == find_base64url(text.rstrip("=")) == data


@pytest.mark.parametrize(
    "text", ["A", "AB", "AA=", "AA==\n", " AA==", "A*==", "AA===", "é", "AR=="]
)
def test_base64_has_one_spelling(text: str) -> None:
    assert find_base64(text) is None
    assert find_base64url(text) is None or text == "AA"


def test_the_two_alphabets_are_kept_apart() -> None:
    data = bytes.fromhex("fbff")
    assert (to_base64(data), to_base64url(data)) == ("+/8=", "-_8=")
    assert find_base64("-_8=") is None
    assert find_base64url("+/8=") is None
