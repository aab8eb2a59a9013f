"""Every change of an attestation is refused by code: sweeps over all bytes and all members."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.seal.attesting import (
    DIGESTS,
    KEYS,
    LOG_TRUST,
    SEEN,
    STATEMENT,
    SUMMARY,
    THIRD_KEY,
    TRUST,
    continued,
    fault_of,
    logged,
    signed,
    verify,
    verify_bytes,
)
from tests.seal.authority import Authority, found_authority
from tests.seal.samples import KEY, OTHER_KEY

from affidavit.base.exits import Exit
from affidavit.seal.attestation import AttestationTrust, any_key_trust
from affidavit.seal.dsse import Envelope, envelope_as_wire, envelope_bytes, stamp_digest
from affidavit.seal.rfc3161 import TimeStampTrust
from affidavit.seal.statement import PREDICATE_TYPES, predicate_of


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def full(authority: Authority) -> Envelope:
    """Two signers, a time stamp for each, the proof of a log, and that it continues."""
    both = signed(STATEMENT, KEY, OTHER_KEY)
    tokens = tuple(authority.token(stamp_digest(each)) for each in both.signatures)
    return continued(logged(replace(both, time_stamps=tokens)))


@pytest.fixture(scope="module")
def strict(authority: Authority) -> AttestationTrust:
    """Both signers, their time stamps and the log are required."""
    return replace(
        any_key_trust(KEYS, 2),
        stamps=TimeStampTrust(authority.roots),
        stamp_required=True,
        log=replace(LOG_TRUST, seen=(SEEN,)),
        log_required=True,
    )


def test_each_flipped_byte_is_refused(
    full: Envelope, strict: AttestationTrust, authority: Authority
) -> None:
    raw = envelope_bytes(full)
    assert fault_of(verify_bytes(raw, strict, authority.now)) == "accept"
    accepted = []
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :]
        found = verify_bytes(changed, strict, authority.now)
        assert (found.exit is Exit.YES) is found.valid
        if found.valid:
            accepted.append((at, chr(raw[at]), chr(changed[at])))
    # The signature covers its meaning, the log every byte of it: nothing is left over.
    assert accepted == []


def test_without_a_log_only_the_hint_may_change() -> None:
    """The key id is no part of what is signed (DSSE), and other tools write other ids."""
    made = signed()
    raw = envelope_bytes(made)
    start = raw.index(b'"keyid":"')
    end = raw.index(b'","sig"') + 1
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1 << at % 7]) + raw[at + 1 :]
        found = verify_bytes(changed)
        if found.valid:
            assert start <= at < end, (at, changed)
            assert [each.key_id for each in found.signers] == [KEY.public.id]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every member and item, at any depth."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in members:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with another value at a path; without it, if the new value is ..."""
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if new is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return copy


def value_at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def others_for(value: Any) -> list[Any]:
    """Return other values that might pass for one."""
    if isinstance(value, str):
        return [value + "x", value.upper() + "_", "", None, 1]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 0.5, str(value), None]
    return [None, [*value, "x"] if isinstance(value, list) else {**value, "x": 1}]


@pytest.mark.parametrize("predicate", ["affidavit", "test-result", "svr"])
def test_each_changed_member_is_refused_whoever_signs(predicate: str) -> None:
    """Signed again by a stranger it is not believed; by a trusted key it contradicts the file."""
    kind = PREDICATE_TYPES[predicate]
    made = predicate_of(kind, SUMMARY, "2026-01-02T03:04:05Z")
    statement = {**STATEMENT, "predicateType": kind, "predicate": json.loads(json.dumps(made))}
    assert fault_of(verify(signed(statement))) == "accept"
    tried = 0
    for path in places(statement):
        # A name is for people, and nothing can compute again when somebody looked.
        if (path[-1] == "name" and path[0] == "subject") or path == ("predicate", "timeCreated"):
            continue
        for new in (..., *others_for(value_at(statement, path))):
            if new is ... and path[:1] == ("subject",) and path[-1] in DIGESTS:
                continue  # Fewer digests are no other file.
            changed = changed_at(statement, path, new)
            stranger, trusted = (fault_of(verify(signed(changed, key))) for key in (THIRD_KEY, KEY))
            assert stranger == "key.untrusted"
            assert trusted != "accept", (path, new)
            tried += 1
    assert tried > 50


def test_each_digest_of_the_subject_is_compared() -> None:
    for algorithm in ("sha256", "sha384", "sha512"):
        digest = hashlib.new(algorithm, b"another file").hexdigest()
        alone = changed_at(STATEMENT, ("subject", 0, "digest"), {algorithm: digest})
        assert fault_of(verify(signed(alone))) == "statement.subject_mismatch"
        beside = changed_at(STATEMENT, ("subject", 0, "digest", algorithm), digest)
        assert fault_of(verify(signed(beside))) == "statement.digest_conflict"


def test_fewer_signers_are_a_downgrade(full: Envelope, strict: AttestationTrust) -> None:
    for kept in full.signatures:
        fewer = replace(full, signatures=(kept,))
        assert fault_of(verify(fewer, strict)) == "dsse.threshold"
        again = replace(full, signatures=(kept, replace(kept, key_id=None)))
        assert fault_of(verify(again, strict)) == "dsse.threshold"


def test_a_false_signature_among_true_ones_is_not_ignored() -> None:
    both = signed(STATEMENT, KEY, OTHER_KEY)
    first, second = both.signatures
    broken = replace(second, raw=second.raw[:-1] + bytes([second.raw[-1] ^ 1]))
    made = replace(both, signatures=(first, broken))
    assert fault_of(verify(made, TRUST)) == "dsse.signature"


def test_a_payload_of_another_kind_is_refused_although_it_is_signed() -> None:
    for payload in (
        b"[]",
        b"{}",
        b"null",
        b"",
        b"\xff",
        json.dumps(envelope_as_wire(signed())).encode(),
    ):
        found = verify(signed(payload))
        assert not found.valid
        assert [step.name for step in found.steps if step.code] == ["statement"]
