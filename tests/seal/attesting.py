"""An attestation made in memory: its keys, its subject, its log, and the trust that believes it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec
from tests.seal.samples import KEY, NOW, OTHER_KEY

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.seal import crypto
from affidavit.seal.attestation import (
    AttestationTrust,
    AttestationVerification,
    any_key_trust,
    verify_attestation,
)
from affidavit.seal.bundle.merkle import audit_path, leaf_of
from affidavit.seal.dsse import (
    Envelope,
    EnvelopeSignature,
    envelope_bytes,
    envelope_from_bytes,
    log_entry,
)
from affidavit.seal.keys import SigningKey, signing_key_from, trusted_keys_from
from affidavit.seal.statement import (
    ATTESTATION,
    PAYLOAD_TYPE,
    Artifact,
    AttestationPredicateV1,
    AttestedPack,
    Outcome,
    ReceiptFacts,
    Statement,
    SubjectKind,
    SubjectSummary,
    statement_bytes,
    verdict_of,
)
from affidavit.seal.transparency import (
    LOG_SIGNATURE,
    Checkpoint,
    ConsistencyProof,
    LogProof,
    LogTrust,
    NoteKey,
    note_key,
    proof_from,
    sign_checkpoint,
)

THIRD_KEY = signing_key_from(bytes(range(2, 34)))
LOG_HOLDER = signing_key_from(bytes(range(3, 35)))
LOG_KEY = note_key("example.org/log", LOG_SIGNATURE, LOG_HOLDER.public.raw)
LOG_TRUST = LogTrust((LOG_KEY,))
CREATED = "2026-01-02T03:04:05Z"
DIGESTS = {"sha256": "ab" * 32, "sha384": "cd" * 48, "sha512": "ef" * 64}
PACK = AttestedPack(
    name="starter",
    version="1.0.0",
    kind="quality",
    digest=f"sha256:{'12' * 32}",
    registry_digest=f"sha256:{'34' * 32}",
    engine="1.0",
)
TESTS = (
    ("starter@1.0.0:A", Outcome.PASSED),
    ("starter@1.0.0:B", Outcome.WARNED),
    ("starter@1.0.0:C", Outcome.NOT_TESTED),
)
FACTS = AttestationPredicateV1(
    kind=SubjectKind.RECEIPT,
    verdict=verdict_of(TESTS),
    packs=(PACK,),
    receipt=ReceiptFacts(
        receipt_id="ans_1",
        key_id=KEY.public.id,
        issuer="example.org",
        generated_at=CREATED,
        verdict="supported",
        evidence_count=2,
    ),
)
SUMMARY = SubjectSummary(
    subjects=(Artifact("receipt.json", DIGESTS),),
    facts=FACTS,
    tests=TESTS,
    configuration=(Artifact("starter@1.0.0", {"sha256": "34" * 32}),),
)
KEYS = trusted_keys_from([{key.public.id: key.public.text for key in (KEY, OTHER_KEY)}])
TRUST = any_key_trust(KEYS)
STATEMENT: dict[str, JsonValue] = msgspec.json.decode(
    statement_bytes(ATTESTATION, SUMMARY, CREATED)
)


def signer(key: SigningKey) -> Callable[[bytes], bytes]:
    """Return what signs with a key."""
    return lambda message: crypto.sign(key.seed, message)


def signed(
    payload: bytes | Mapping[str, JsonValue] = STATEMENT,
    *keys: SigningKey,
    payload_type: str = PAYLOAD_TYPE,
) -> Envelope:
    """Return an envelope over a statement, signed by keys; by default by one that is trusted."""
    raw = payload if isinstance(payload, bytes) else jcs(dict(payload))
    bare = Envelope(payload_type=payload_type, payload=raw, signatures=())
    made = (
        EnvelopeSignature(crypto.sign(key.seed, bare.signed), key.public.id)
        for key in keys or (KEY,)
    )
    return msgspec.structs.replace(bare, signatures=tuple(made))


def logged(envelope: Envelope, others: int = 4, key: NoteKey = LOG_KEY) -> Envelope:
    """Return an envelope with the proof of a log that has other entries, too."""
    entry = log_entry(envelope)
    leaves = [*(leaf_of(b"entry %d" % at) for at in range(others)), leaf_of(entry)]
    root = root_of(leaves)
    note = sign_checkpoint(Checkpoint(key.name, len(leaves), root), key, signer(LOG_HOLDER))
    proof = LogProof(
        index=others, path=audit_path(leaves, others), checkpoint=note.text, entry=entry
    )
    return msgspec.structs.replace(envelope, log_proofs=(proof.text,))


def continued(envelope: Envelope) -> Envelope:
    """Return a logged envelope with the proof that its log continues the four entries of SEEN."""
    path = (leaf_of(log_entry(envelope)),)
    made = ConsistencyProof(SEEN.size, path, proof_from(envelope.log_proofs[0]).checkpoint)
    return msgspec.structs.replace(envelope, log_consistency=(made.text,))


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root of leaves, by the recursive definition of RFC 6962."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    left, right = root_of(leaves[:half]), root_of(leaves[half:])
    return hashlib.sha256(b"\1" + left + right).digest()


SEEN = Checkpoint(LOG_KEY.name, 4, root_of([leaf_of(b"entry %d" % at) for at in range(4)]))


def about_summary(statement: Statement) -> SubjectSummary:
    """Return what is known about the subject, whatever the statement says."""
    return SUMMARY


def verify_bytes(
    raw: bytes,
    trust: AttestationTrust = TRUST,
    at: datetime = NOW,
    subject: Callable[[Statement], SubjectSummary] = about_summary,
) -> AttestationVerification:
    """Verify an envelope as it is in a file."""
    return verify_attestation(lambda: envelope_from_bytes(raw), trust, at, subject)


def verify(
    envelope: Envelope,
    trust: AttestationTrust = TRUST,
    at: datetime = NOW,
    subject: Callable[[Statement], SubjectSummary] = about_summary,
) -> AttestationVerification:
    """Verify an envelope, through its bytes."""
    return verify_bytes(envelope_bytes(envelope), trust, at, subject)


def fault_of(verification: AttestationVerification) -> str:
    """Return the name of the fault that a verification ended with; "accept" if there is none."""
    return "accept" if verification.error is None else str(verification.error["name"])


def refusal(make: Callable[..., object], *arguments: object) -> str:
    """Return the name of the fault that a call raises; "accept" if it raises none."""
    try:
        make(*arguments)
    except AffidavitError as error:
        return error.fault.name
    return "accept"
