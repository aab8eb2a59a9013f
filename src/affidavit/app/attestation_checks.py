"""Verify attestations offline: what a file is, the trust policy, and the files it is about."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from affidavit.app.attest import ENVELOPE_ENDING
from affidavit.app.attested_subjects import GZIP_MAGIC, read_subject, reading_of
from affidavit.app.bundle_disclosure import PROOF_SCHEMAS
from affidavit.app.verify import LINE_ENDINGS, detached_token, stamp_trust, trusted_keys
from affidavit.base.config import ConfigDocument, ConfigFaults, read_config
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.files import is_there, open_to_read, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode
from affidavit.packs.model import Pack
from affidavit.seal.attestation import (
    AttestationTrust,
    AttestationVerification,
    KeyWindow,
    RequiredPack,
    Requirements,
    Role,
    any_key_trust,
    checked_role,
    predicate_type_named,
    verify_attestation,
)
from affidavit.seal.audit import is_audit_log
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.dsse import (
    Envelope,
    envelope_from,
    envelope_from_sigstore,
    is_sigstore_bundle,
)
from affidavit.seal.keys import PublicKey, TrustedKeys
from affidavit.seal.rfc3161 import token_from_file
from affidavit.seal.statement import (
    Outcome,
    Statement,
    SubjectKind,
    SubjectSummary,
    require_payload_type,
    require_predicate,
    require_subjects,
    statement_from,
)
from affidavit.seal.transparency import (
    CONSISTENCY_START,
    COSIGNATURE,
    LOG_SIGNATURE,
    PROOF_HEADER,
    Checkpoint,
    LoggedEntry,
    LogTrust,
    NoteKey,
    check_proof,
    checkpoint_from,
    consistency_from,
    note_from,
    note_key_from,
    proof_from,
    require_continues,
    signed_checkpoint_from,
)
from affidavit.seal.verification import VerifiedInput

_PEEKED_BYTES: Final = 64
_MARKS: Final = (b'"payloadType"', b'"mediaType"', b'"affidavit-proof/')
SIGSTORE_ENDING: Final = ".sigstore.json"
_ENDINGS: Final = (ENVELOPE_ENDING, SIGSTORE_ENDING)
VerifiedAttestation: TypeAlias = VerifiedInput[AttestationVerification]


class VerifiableKind(StrEnum):
    """What a file is that can be verified. A receipt is everything that is nothing else."""

    ATTESTATION = "attestation"
    AUDIT_LOG = "audit_log"
    BUNDLE = "bundle"
    EVENT_PROOF = "event_proof"
    LOG_PROOF = "log_proof"
    RECEIPT = "receipt"


def _kind_of_head(head: bytes) -> VerifiableKind | None:
    if head.startswith(GZIP_MAGIC):
        return VerifiableKind.BUNDLE
    if head.startswith((PROOF_HEADER.encode(), CONSISTENCY_START.encode())):
        return VerifiableKind.LOG_PROOF
    return VerifiableKind.AUDIT_LOG if is_audit_log(head) else None


def kind_of_file(path: Path) -> VerifiableKind:
    """Return what a file is, by its content and not by its name."""
    with open_to_read(path) as stream:
        head = stream.peek(_PEEKED_BYTES)[:_PEEKED_BYTES]
    if kind := _kind_of_head(head):
        return kind
    if path.suffix.lower() in LINE_ENDINGS or path.stat().st_size > DOCUMENT_LIMITS.max_bytes:
        return VerifiableKind.RECEIPT
    raw = read_bounded(path, DOCUMENT_LIMITS.max_bytes)
    # Most receipts have none of these members, so they are not decoded twice.
    if not any(mark in raw for mark in _MARKS):
        return VerifiableKind.RECEIPT
    try:
        value = decode(raw)
    except AffidavitError:
        # The reader of that kind says what is wrong with it.
        return VerifiableKind.ATTESTATION if _MARKS[0] in raw else VerifiableKind.RECEIPT
    if not isinstance(value, dict):
        return VerifiableKind.RECEIPT
    if value.get("schema") in PROOF_SCHEMAS:
        return VerifiableKind.EVENT_PROOF
    is_envelope = "payloadType" in value or is_sigstore_bundle(value)
    return VerifiableKind.ATTESTATION if is_envelope else VerifiableKind.RECEIPT


class AttestationFile(Struct, frozen=True, kw_only=True):
    """An attestation with the files that belong to it.

    `subject` is what it is about, by default the file beside it. `time_stamps` and `proofs` are
    files of their own.
    """

    path: Path
    subject: Path | None = None
    time_stamps: tuple[Path, ...] = ()
    proofs: tuple[Path, ...] = ()

    def envelope(self) -> Envelope:
        """Read the envelope, with everything that stands in other files."""
        found = read_envelope(self.path)
        stamps = tuple(map(detached_token, self.time_stamps))
        continuing, proofs = proofs_in(self.proofs)
        return replace(
            found,
            time_stamps=(*found.time_stamps, *stamps),
            log_proofs=(*found.log_proofs, *proofs),
            log_consistency=(*found.log_consistency, *continuing),
        )

    def subject_path(self, statement: Statement) -> Path:
        """Return the file that a statement is about: the named one, or the one beside it.

        The name in the statement only helps to find the file; its digests decide.
        """
        if self.subject is not None:
            return self.subject
        names = [self.path.name.removesuffix(ending) for ending in _ENDINGS]
        stated = statement.subjects[0].name
        beside = [self.path.with_name(name) for name in names if name != self.path.name]
        if stated == Path(stated).name and stated not in ("", ".", ".."):
            beside.append(self.path.with_name(stated))
        for path in beside:
            if is_there(path):
                return path
        raise AffidavitError(faults.ATTEST_SUBJECT, Where(file=str(self.path)), name=stated[:200])


def read_envelope(path: Path) -> Envelope:
    """Read a DSSE envelope, or the one of a Sigstore bundle."""
    try:
        return envelope_from_document(decode(read_bounded(path, DOCUMENT_LIMITS.max_bytes)))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def envelope_from_document(value: JsonValue) -> Envelope:
    """Return the envelope of a decoded document of either kind."""
    if not is_sigstore_bundle(value):
        return envelope_from(value)
    envelope, responses = envelope_from_sigstore(value)
    return replace(envelope, time_stamps=tuple(map(token_from_file, responses)))


def proofs_in(paths: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the proofs of files: that a log continues, and that an entry is in it."""
    texts = tuple(map(_proof_in, paths))
    continuing = tuple(text for text in texts if text.startswith(CONSISTENCY_START))
    return continuing, tuple(text for text in texts if not text.startswith(CONSISTENCY_START))


def _proof_in(path: Path) -> str:
    """Return the text of a proof. A file that is none is refused: it was named to count."""
    text = _proof_text(path)
    try:
        is_continuing = text.startswith(CONSISTENCY_START)
        proof = consistency_from(text) if is_continuing else proof_from(text)
        checkpoint_from(note_from(proof.checkpoint).body)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return text


def _proof_text(path: Path) -> str:
    return read_bounded(path, DOCUMENT_LIMITS.max_bytes).decode("utf-8", "replace")


class AttestationVerifier(Struct, frozen=True, kw_only=True):
    """Verifies attestations at one time; `packs` are at hand besides the built-in ones.

    `jobs` processes share the work on a large bundle.
    """

    trust: AttestationTrust
    at: datetime
    packs: tuple[Pack, ...] = ()
    limits: BundleLimits = DEFAULT_LIMITS
    jobs: int = 1

    def verify(self, file: AttestationFile) -> VerifiedAttestation:
        """Verify one attestation; a file that is none is an outcome, too."""

        def read(statement: Statement) -> SubjectSummary:
            reading = reading_of(statement, self.packs, self.limits)
            return read_subject(file.subject_path(statement), reading, self.jobs)

        verification = verify_attestation(file.envelope, self.trust, self.at, read)
        return VerifiedInput("attestation", str(file.path), verification)


def require_statement(
    envelope: Envelope, subject: Path, packs: Sequence[Pack], limits: BundleLimits
) -> None:
    """Raise unless what an envelope says holds for a file, whoever signed it so far.

    Whoever adds a signature says the same, so it is computed again first.
    """
    require_payload_type(envelope.payload_type)
    statement = statement_from(envelope.payload, envelope.payload_type)
    summary = read_subject(subject, reading_of(statement, packs, limits))
    require_subjects(statement, summary.subjects)
    require_predicate(statement, summary)


class ContinuedLog(Struct, frozen=True):
    """What a proof shows of a log: it continues the entries that were seen of it."""

    origin: str
    seen: int
    size: int


def check_log_proof(
    path: Path, trust: LogTrust, at: datetime, proofs: Sequence[Path] = ()
) -> LoggedEntry | ContinuedLog:
    """Return what a proof by itself shows: that the log has its entry, or continues."""
    try:
        text = _proof_text(path)
        if text.startswith(CONSISTENCY_START):
            return _check_continued(text, trust)
        entry = proof_from(text).entry
        if entry is None:
            raise AffidavitError(faults.LOG_BINDING, problem="the proof does not carry its entry")
        return check_proof(text, entry, trust, at, proofs_in(proofs)[0])
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _check_continued(text: str, trust: LogTrust) -> ContinuedLog:
    _, new = signed_checkpoint_from(consistency_from(text).checkpoint, trust.keys)
    kept = [seen for seen in trust.seen if seen.origin == new.origin]
    if not kept:
        problem = "you name no checkpoint that you kept"
        raise AffidavitError(faults.LOG_UNPROVED, seen="earlier", problem=problem)
    for seen in kept:
        require_continues(seen, new, (text,), trust.keys)
    return ContinuedLog(new.origin, kept[-1].size, new.size)


def trust_with_seen(trust: LogTrust | None, since: Sequence[Path]) -> LogTrust | None:
    """Return the trust in logs with checkpoints that the verifier kept."""
    if trust is None or not since:
        return trust
    return replace(trust, seen=tuple(kept_checkpoint(path, trust.keys) for path in since))


def kept_checkpoint(path: Path, keys: Sequence[NoteKey]) -> Checkpoint:
    """Return the checkpoint that somebody kept in a file; raise if none of these logs signed it."""
    text = _proof_text(path)
    try:
        # A file that is no checkpoint is a mistake of the user, and no log that is not believed.
        checkpoint_from(note_from(text).body)
        return signed_checkpoint_from(text, keys)[1]
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


# The trust policy: keys and roles, authorities and logs, and what a statement has to say.


AwareTime = Annotated[datetime, Meta(tz=True)]


class PolicyKeysV1(Struct, frozen=True, forbid_unknown_fields=True, rename={"since": "from"}):
    """Keys of a file, the roles that they have, and when they are believed."""

    file: str
    roles: tuple[str, ...] = ()
    since: AwareTime | None = None
    until: AwareTime | None = None


class PolicyRoleV1(Struct, frozen=True, forbid_unknown_fields=True):
    """A group of keys, of which so many different ones have to sign."""

    name: Annotated[str, Meta(min_length=1)]
    threshold: int


class PolicyRequirementsV1(Struct, frozen=True, forbid_unknown_fields=True):
    """What a statement has to say."""

    predicates: tuple[str, ...] = ()
    kinds: tuple[SubjectKind, ...] = ()
    results: tuple[Outcome, ...] = ()
    packs: tuple[RequiredPack, ...] = ()


class PolicyTimeStampV1(Struct, frozen=True, forbid_unknown_fields=True):
    """The time stamp authorities to believe."""

    roots: tuple[str, ...]
    policy: str | None = None
    required: bool = True


class PolicyLogV1(Struct, frozen=True, forbid_unknown_fields=True):
    """The logs and witnesses to believe."""

    keys: tuple[str, ...]
    witnesses: tuple[str, ...] = ()
    witness_threshold: int = 0
    required: bool = True


class TrustPolicyV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A trust policy file. Paths are relative to its folder."""

    version: int
    keys: tuple[PolicyKeysV1, ...]
    roles: tuple[PolicyRoleV1, ...] = ()
    require: PolicyRequirementsV1 = PolicyRequirementsV1()
    time_stamp: PolicyTimeStampV1 | None = None
    log: PolicyLogV1 | None = None


_FAULTS: Final = ConfigFaults(faults.POLICY_FORMAT, faults.POLICY_FORMAT, faults.POLICY_KEY)
_POLICY_VERSION: Final = 1


def trust_from_policy(path: Path) -> AttestationTrust:
    """Return what a policy file trusts and requires."""
    document = read_config(path, _FAULTS)
    policy = document.decode(TrustPolicyV1, document.value)
    if policy.version != _POLICY_VERSION:
        raise document.error(f"version {policy.version} is not known", "version")
    if not policy.keys:
        raise document.error("it trusts no key", "keys")
    files = [path.parent / each.file for each in policy.keys]
    groups = [trusted_keys([file]) for file in files]
    stamp, log, require = policy.time_stamp, policy.log, policy.require
    return AttestationTrust(
        keys=trusted_keys(files),
        roles=tuple(_roles(document, policy, groups)),
        windows=_windows(policy, groups),
        stamps=(
            None
            if stamp is None
            else stamp_trust([path.parent / each for each in stamp.roots], stamp.policy)
        ),
        stamp_required=stamp is not None and stamp.required,
        log=(
            None
            if log is None
            else log_trust(log.keys, log.witnesses, log.witness_threshold, path.parent)
        ),
        log_required=log is not None and log.required,
        required=Requirements(
            predicate_types=tuple(map(predicate_type_named, require.predicates)),
            kinds=tuple(each.value for each in require.kinds),
            results=tuple(each.value for each in require.results),
            packs=require.packs,
        ),
    )


def _roles(
    document: ConfigDocument, policy: TrustPolicyV1, groups: Sequence[TrustedKeys]
) -> Sequence[Role]:
    declared = {role.name for role in policy.roles}
    if len(declared) != len(policy.roles) or not declared:
        raise document.error("it declares no role, or one twice", "roles")
    members: dict[str, list[PublicKey]] = {name: [] for name in declared}
    for at, (each, group) in enumerate(zip(policy.keys, groups, strict=True)):
        for name in each.roles:
            if name not in declared:
                raise document.error(f"there is no role {name!r}", f"keys[{at}].roles")
            members[name].extend(group.keys.values())
    return [checked_role(role.name, role.threshold, members[role.name]) for role in policy.roles]


def _windows(policy: TrustPolicyV1, groups: Sequence[TrustedKeys]) -> dict[bytes, KeyWindow]:
    """Return the window of each key; of a key that is listed twice, what both windows share."""
    found: dict[bytes, KeyWindow] = {}
    for each, group in zip(policy.keys, groups, strict=True):
        for key in group.keys.values():
            known = found.get(key.raw, KeyWindow())
            begins = [time for time in (known.not_before, each.since) if time is not None]
            ends = [time for time in (known.not_after, each.until) if time is not None]
            found[key.raw] = KeyWindow(max(begins, default=None), min(ends, default=None))
    return found


def log_trust(
    keys: Sequence[str],
    witnesses: Sequence[str] = (),
    threshold: int = 0,
    folder: Path = Path(),
) -> LogTrust:
    """Return the logs and witnesses to trust.

    Each key is a text, or `@FILE` that holds one, relative to the folder.
    """
    if not keys or not 0 <= threshold <= len(witnesses):
        raise AffidavitError(faults.POLICY_THRESHOLD, found=threshold, what="the log")
    return LogTrust(
        tuple(_note_key(text, LOG_SIGNATURE, folder) for text in keys),
        tuple(_note_key(text, COSIGNATURE, folder) for text in witnesses),
        threshold,
    )


def _note_key(text: str, kind: int, folder: Path) -> NoteKey:
    if text.startswith("@"):
        raw = read_bounded(folder / text[1:], DOCUMENT_LIMITS.max_bytes)
        text = raw.decode("utf-8", "replace")
    return note_key_from(text, kind)


def trust_from_options(
    keys: Sequence[Path],
    threshold: int,
    roots: Sequence[Path],
    policy: str | None,
    *,
    stamp_required: bool,
    log_keys: Sequence[str],
) -> AttestationTrust:
    """Return what the options of the command line trust."""
    return replace(
        any_key_trust(trusted_keys(keys), threshold),
        stamps=stamp_trust(roots, policy) if roots else None,
        stamp_required=stamp_required,
        log=log_trust(log_keys) if log_keys else None,
        log_required=bool(log_keys),
    )
