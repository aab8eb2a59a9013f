"""The verification of an attestation in nine numbered steps, offline.

The order matters: no payload is decoded before its signatures hold, and the time that decides on a
key comes from a time stamp that was verified, never from the statement. Verification stops at the
first step that fails, because nothing after it could be believed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import attestation as faults
from affidavit.base.faults import receipts as key_faults
from affidavit.base.text import excerpt
from affidavit.base.timestamps import timestamp_text
from affidavit.seal.dsse import Envelope, Signer, log_entry, signers_of, stamp_digest
from affidavit.seal.keys import RECEIPT_SIGNING, KeyStatus, PublicKey, TrustedKeys
from affidavit.seal.rfc3161 import TimeStamp, TimeStampTrust, check_token, require_imprint
from affidavit.seal.statement import (
    PREDICATE_TYPES,
    Statement,
    SubjectSummary,
    require_payload_type,
    require_predicate,
    require_subjects,
    statement_from,
)
from affidavit.seal.transparency import LoggedEntry, LogTrust, check_proof, is_proof_of
from affidavit.seal.verification import StepStatus, VerificationStep

ATTESTATION_SIGNING: Final = "attestation-signing"
_USES: Final = frozenset({RECEIPT_SIGNING, ATTESTATION_SIGNING})


class AttestationStep(StrEnum):
    """The steps, in order."""

    ENVELOPE = "envelope"
    SIGNATURES = "signatures"
    TIME_STAMP = "time_stamp"
    KEYS = "keys"
    LOG = "log"
    STATEMENT = "statement"
    SUBJECT = "subject"
    PREDICATE = "predicate"
    POLICY = "policy"


class Role(Struct, frozen=True):
    """How many different keys of a group have to sign.

    Keys are held raw: a key may have several ids, and the signer chooses the one in an envelope.
    """

    name: str
    threshold: int
    keys: frozenset[bytes]


class KeyWindow(Struct, frozen=True):
    """The time in which a policy believes a key, both ends included."""

    not_before: datetime | None = None
    not_after: datetime | None = None


class RequiredPack(Struct, frozen=True):
    """A pack that has to have been run: by name, and exactly if a version or digest is given."""

    name: str
    version: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        exact = (f"@{self.version}" if self.version else "", f" {self.digest or ''}".rstrip())
        return f"{self.name}{''.join(exact)}"


class Requirements(Struct, frozen=True, kw_only=True):
    """What a statement has to say; nothing is required of what is empty."""

    predicate_types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    packs: tuple[RequiredPack, ...] = ()


class AttestationTrust(Struct, frozen=True, kw_only=True):
    """What a verifier trusts and requires. Nothing of it comes from the attestation."""

    keys: TrustedKeys
    roles: tuple[Role, ...]
    windows: Mapping[bytes, KeyWindow] = {}
    stamps: TimeStampTrust | None = None
    stamp_required: bool = False
    log: LogTrust | None = None
    log_required: bool = False
    required: Requirements = Requirements()


def any_key_trust(keys: TrustedKeys, threshold: int = 1) -> AttestationTrust:
    """Return the trust in keys without a policy: enough of them have signed, whichever."""
    return AttestationTrust(
        keys=keys, roles=(checked_role("signers", threshold, keys.keys.values()),)
    )


def checked_role(name: str, threshold: int, keys: Iterable[PublicKey]) -> Role:
    """Return a role; raise if its threshold checks nothing or cannot be met."""
    raw = frozenset(key.raw for key in keys)
    if not 1 <= threshold <= len(raw):
        raise AffidavitError(faults.POLICY_THRESHOLD, found=threshold, what=excerpt(name))
    return Role(name, threshold, raw)


class SignedKey(Struct, frozen=True):
    """A key that signed, and when, if a time stamp proves it."""

    key_id: str
    stamped_at: str | None = None


class AttestationVerification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verification of one attestation. What it says counts only if it is valid."""

    valid: bool
    exit: Exit
    steps: tuple[VerificationStep, ...]
    signers: tuple[SignedKey, ...] = ()
    log: LoggedEntry | None = None
    predicate_type: str | None = None
    subject: str | None = None
    said: dict[str, object] = {}
    error: dict[str, str | int | None] | None = None


ReadSubject = Callable[[Statement], SubjectSummary]
"""Reads what a statement is about and computes everything that it may say; raises if it cannot."""


class _Progress:
    """What has been found so far, and how each step ended."""

    def __init__(self) -> None:
        self.done: dict[AttestationStep, tuple[StepStatus, str]] = {}
        self.signers: tuple[Signer, ...] = ()
        self.stamps: dict[bytes, TimeStamp] = {}
        self.log: LoggedEntry | None = None
        self.statement: Statement | None = None

    def passed(self, step: AttestationStep, detail: str) -> None:
        self.done[step] = StepStatus.PASSED, detail

    def skipped(self, step: AttestationStep, detail: str) -> None:
        self.done[step] = StepStatus.SKIPPED, detail


def verify_attestation(
    read_envelope: Callable[[], Envelope],
    trust: AttestationTrust,
    at: datetime,
    read_subject: ReadSubject,
) -> AttestationVerification:
    """Verify an attestation; `at` is now. Nothing in it makes this raise."""
    progress = _Progress()
    error = None
    try:
        _verify(progress, read_envelope, trust, at, read_subject)
    except AffidavitError as found:
        error = found
    return _verification(progress, error)


def _verify(
    progress: _Progress,
    read_envelope: Callable[[], Envelope],
    trust: AttestationTrust,
    at: datetime,
    read_subject: ReadSubject,
) -> None:
    step = AttestationStep
    # Step 1: one reading of the file, in canonical base64, of a payload type that is known.
    envelope = read_envelope()
    require_payload_type(envelope.payload_type)
    progress.passed(step.ENVELOPE, f"{envelope.payload_type}, {len(envelope.payload)} bytes")
    # Step 2: enough different trusted keys signed these bytes.
    progress.signers = signers_of(envelope, trust.keys.keys)
    progress.passed(step.SIGNATURES, _require_roles(envelope, progress.signers, trust.roles))
    # Step 3: when, as far as an authority proves it. It covers the signature, as in Sigstore.
    _check_stamps(progress, envelope, trust, at)
    # Step 4: the keys could be believed at that time, and are for this use.
    for signer in progress.signers:
        _require_usable(signer.key, trust, progress.stamps.get(signer.signature.raw), at)
    progress.passed(step.KEYS, "every key may be believed for what it signed")
    # Step 5: the envelope is in a log that others can see.
    _check_log(progress, envelope, trust, at)
    # Step 6: the payload, decoded now for the first time, is a statement.
    statement = statement_from(envelope.payload, envelope.payload_type)
    progress.statement = statement
    progress.passed(step.STATEMENT, statement.predicate_type)
    # Step 7: it is about this file. Step 8: what it says is what the file gives.
    summary = read_subject(statement)
    require_subjects(statement, summary.subjects)
    names = ", ".join(one.name for one in summary.subjects)
    progress.passed(step.SUBJECT, f"the digests are those of {excerpt(names, 120)}")
    require_predicate(statement, summary)
    progress.passed(step.PREDICATE, "every member was computed again from the file, and is equal")
    # Step 9: it says what the policy requires.
    _check_requirements(progress, statement, summary, trust.required)


def _verification(progress: _Progress, error: AffidavitError | None) -> AttestationVerification:
    statement = progress.statement
    return AttestationVerification(
        valid=error is None,
        exit=Exit.YES if error is None else error.fault.exit,
        steps=tuple(_steps(progress.done, error)),
        signers=tuple(_signed_key(signer, progress.stamps) for signer in progress.signers),
        log=progress.log,
        predicate_type=None if statement is None else statement.predicate_type,
        subject=None if statement is None else excerpt(statement.subjects[0].name, 200),
        said={} if statement is None else dict(statement.predicate),
        error=None if error is None else error.as_wire(),
    )


def _signed_key(signer: Signer, stamps: Mapping[bytes, TimeStamp]) -> SignedKey:
    stamp = stamps.get(signer.signature.raw)
    return SignedKey(signer.key.id, None if stamp is None else timestamp_text(stamp.made_at))


def _steps(
    done: Mapping[AttestationStep, tuple[StepStatus, str]], error: AffidavitError | None
) -> Iterator[VerificationStep]:
    for number, name in enumerate(AttestationStep, 1):
        code = None
        if name in done:
            status, detail = done[name]
        elif error is not None:
            # What could not be checked is no accusation.
            is_unknown = error.fault.exit is Exit.UNKNOWN
            status = StepStatus.NOT_CHECKED if is_unknown else StepStatus.FAILED
            detail, code, error = error.message, error.fault.code, None
        else:
            status, detail = StepStatus.NOT_CHECKED, "not looked at, because an earlier step failed"
        yield VerificationStep(
            number=number, name=name.value, status=status, code=code, detail=detail
        )


def _require_roles(envelope: Envelope, signers: Sequence[Signer], roles: Sequence[Role]) -> str:
    if not signers:
        hint = envelope.signatures[0].key_id or "the key of the signature"
        raise AffidavitError(key_faults.KEY_UNTRUSTED, key_id=excerpt(hint, 80))
    for signer in signers:
        if not any(signer.key.raw in role.keys for role in roles):
            raise AffidavitError(
                key_faults.KEY_USAGE, key_id=signer.key.id, found="no role of the policy"
            )
    counts = []
    for role in roles:
        found = sum(signer.key.raw in role.keys for signer in signers)
        counts.append(f"{found} of {role.threshold} {role.name}")
        if found < role.threshold:
            problem = (
                f"{found} different keys of {excerpt(role.name)!r} signed, not {role.threshold}"
            )
            raise AffidavitError(faults.DSSE_THRESHOLD, problem=problem)
    return f"signed by {', '.join(signer.key.id for signer in signers)} ({'; '.join(counts)})"


def _check_stamps(
    progress: _Progress, envelope: Envelope, trust: AttestationTrust, at: datetime
) -> None:
    step, by_digest = AttestationStep.TIME_STAMP, {}
    for signature in envelope.signatures:
        by_digest[stamp_digest(signature)] = signature.raw
    for token in envelope.time_stamps:
        digest = next((each for each in by_digest if _covers(token, each)), None)
        if digest is None:
            require_imprint(token, next(iter(by_digest)))  # Raises the reason.
        elif trust.stamps is not None:
            progress.stamps[by_digest[digest]] = check_token(token, digest, trust.stamps, at)
    unstamped = [
        signer.key.id for signer in progress.signers if signer.signature.raw not in progress.stamps
    ]
    if trust.stamp_required and unstamped:
        if envelope.time_stamps and trust.stamps is None:
            raise AffidavitError(key_faults.TST_UNTRUSTED, problem="you name no root")
        raise AffidavitError(key_faults.TST_MISSING)
    if progress.stamps:
        made = ", ".join(sorted(timestamp_text(one.made_at) for one in progress.stamps.values()))
        progress.passed(step, f"stamped at {made}")
    else:
        told = "no root is named to check it with" if envelope.time_stamps else "there is none"
        progress.skipped(step, f"{told}, so no time is proved")


def _covers(token: bytes, digest: str) -> bool:
    try:
        require_imprint(token, digest)
    except AffidavitError as error:
        if error.fault is not key_faults.TST_IMPRINT:
            raise
        return False
    return True


def _require_usable(
    key: PublicKey, trust: AttestationTrust, stamp: TimeStamp | None, at: datetime
) -> None:
    """Step 4: raise unless a key could be believed when it signed.

    Without a time stamp only the verifier's clock is known, so a key whose time is over is not
    believed: whoever has it now could have signed now.
    """
    record, window = trust.keys.records.get(key.id), trust.windows.get(key.raw, KeyWindow())
    if record is not None and record.use not in _USES:
        found = excerpt(record.use)
        raise AffidavitError(key_faults.KEY_USAGE, key_id=key.id, found=found)
    first = [window.not_before]
    last: list[tuple[datetime | None, str]] = [(window.not_after, "is believed until")]
    if record is not None:
        first.append(record.active_from)
        if record.status is not KeyStatus.ACTIVE:
            last.append((record.retired_at, "was retired at"))
        last.append((record.compromised_after, "may be in other hands since"))
    when = at if stamp is None else stamp.latest_at
    proved = (
        "no time stamp shows when it signed"
        if stamp is None
        else (f"it signed at {timestamp_text(stamp.made_at)}")
    )
    for limit in first:
        if limit is not None and when < limit:
            problem = f"{key.id} is believed only from {timestamp_text(limit)}, and {proved}"
            raise AffidavitError(key_faults.KEY_VALIDITY, problem=problem)
    for limit, words in last:
        if limit is not None and when > limit:
            problem = f"{key.id} {words} {timestamp_text(limit)}, and {proved}"
            raise AffidavitError(key_faults.KEY_VALIDITY, problem=problem)


def _check_log(
    progress: _Progress, envelope: Envelope, trust: AttestationTrust, at: datetime
) -> None:
    step = AttestationStep.LOG
    if trust.log is None or not envelope.log_proofs:
        if trust.log_required:
            raise AffidavitError(faults.LOG_MISSING)
        has_proof = bool(envelope.log_proofs)
        told = "no log is named to check it with" if has_proof else "there is no proof of a log"
        progress.skipped(step, told)
        return
    # The newest proof is the last. Every one has to hold, except those of logs that nobody named.
    entry, log = log_entry(envelope), trust.log
    known = [text for text in envelope.log_proofs if is_proof_of(text, log.keys)]
    found = [
        check_proof(text, entry, log, at, envelope.log_consistency)
        for text in known or envelope.log_proofs
    ][-1]
    progress.log = found
    seen = f", seen by {', '.join(found.witnesses)}" if found.witnesses else ""
    continued = f", continues the {log.seen[-1].size} that you saw" if log.seen else ""
    progress.passed(step, f"entry {found.index} of {found.size} in {found.origin}{continued}{seen}")


def _check_requirements(
    progress: _Progress, statement: Statement, summary: SubjectSummary, required: Requirements
) -> None:
    if required == Requirements():
        progress.skipped(AttestationStep.POLICY, "nothing is required of what it says")
        return
    facts = summary.facts
    for wanted, found, what in (
        (required.predicate_types, statement.predicate_type, "the predicate"),
        (required.kinds, facts.kind.value, "a"),
        (required.results, facts.verdict.result.value, "the result"),
    ):
        if wanted and found not in wanted:
            named = f"{what} {' or '.join(wanted)}"
            raise AffidavitError(faults.POLICY_REQUIRED, wanted=named, found=found)
    packs = facts.packs if isinstance(facts.packs, tuple) else ()
    for pack in required.packs:
        if not any(
            one.name == pack.name
            and pack.version in (None, one.version)
            and pack.digest in (None, one.digest, one.registry_digest)
            for one in packs
        ):
            named = ", ".join(f"{one.name}@{one.version}" for one in packs) or "no packs"
            raise AffidavitError(faults.POLICY_REQUIRED, wanted=f"the pack {pack}", found=named)
    progress.passed(AttestationStep.POLICY, "it says what the policy requires")


def predicate_type_named(name: str) -> str:
    """Return the predicate type of a short name, or the type itself."""
    return PREDICATE_TYPES.get(name, name)
