"""The audit log of a workspace: entries chained by digest, and an export that is signed at its end.

An entry is an object in canonical JSON (RFC 8785): its number from 1 on, when, who, what was done,
to what, and the digest of the entry before. An export is JSON Lines: a head that names the schema
and the workspace, the entries, and a last line with the number of entries, the digest of the last
one, and a signature over both. Every line of entries is what was digested, byte for byte.

Not covered: who cut entries off the end before the service signed an export. Compare exports: of
two, the shorter one has to be the beginning of the longer one.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import service as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.timestamps import timestamp_text
from affidavit.seal.crypto import find_base64url, is_valid_signature, sign, to_base64url
from affidavit.seal.keys import KeyStatus, SigningKey, TrustedKeys
from affidavit.seal.verification import StepStatus, VerificationStep

SCHEMA: Final = "affidavit-audit/v1"
BEGINNING: Final = digest_of(b"")
"""What the first entry has as the digest of the entry before."""
FORMAT, CHAIN, SIGNATURE, KEY, EARLIER = "format", "chain", "signature", "key", "earlier"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_DOMAIN: Final = b"affidavit audit log\n"


class AuditEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One change: who did what to what, and when. `detail` has what else there is to know."""

    number: int
    at: str
    by: str
    action: str
    subject: str
    detail: dict[str, Any]
    previous: str

    def text(self) -> bytes:
        """Return the entry as it is digested."""
        return jcs(msgspec.to_builtins(self))


class AuditHead(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of an export."""

    schema: str
    workspace: str


class AuditEnd(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The last line of an export. The signature covers everything before it."""

    entries: int
    last: str
    exported_at: str
    key_id: str
    signature: str = ""

    def signed_bytes(self, workspace: str) -> bytes:
        """Return what the signature covers: with the last digest, it covers all entries."""
        said = {**msgspec.to_builtins(self), "workspace": workspace}
        del said["signature"]
        return _DOMAIN + jcs(said)


def export_text(workspace: str, entries: Sequence[bytes], key: SigningKey, at: datetime) -> bytes:
    """Return the export of a log, signed."""
    end = AuditEnd(
        entries=len(entries),
        last=digest_of(entries[-1]) if entries else BEGINNING,
        exported_at=timestamp_text(at),
        key_id=key.public.id,
    )
    signature = to_base64url(sign(key.seed, end.signed_bytes(workspace)))
    signed = msgspec.structs.replace(end, signature=signature)
    head = jcs(msgspec.to_builtins(AuditHead(SCHEMA, workspace)))
    lines = (head, *entries, jcs(msgspec.to_builtins(signed)))
    return b"".join(line + b"\n" for line in lines)


def chain_problem(entries: Sequence[bytes]) -> str | None:
    """Return where the chain of some entries is broken; None if it holds."""
    previous = BEGINNING
    for number, text in enumerate(entries, 1):
        entry = _converted(decode(text), AuditEntry)
        if entry.text() != text:
            return f"entry {number} is not in canonical form"
        if entry.number != number:
            return f"entry {number} calls itself {entry.number}"
        if entry.previous != previous:
            return f"entry {number} does not follow entry {number - 1}"
        previous = digest_of(text)
    return None


class AuditVerification(Struct, frozen=True, kw_only=True):
    """The steps of verifying an export."""

    workspace: str
    entries: int
    last: str
    exported_at: str
    steps: tuple[VerificationStep, ...]

    @property
    def problem(self) -> VerificationStep | None:
        """The first step that does not hold."""
        return next((step for step in self.steps if step.code is not None), None)

    @property
    def exit(self) -> Exit:
        """The exit code that the steps amount to."""
        failed = [step.fault.exit for step in self.steps if step.fault is not None]
        return worst_exit(failed) if failed else Exit.YES


def is_audit_log(first_line: bytes) -> bool:
    """Say whether a file begins as an export does."""
    return first_line.startswith(b'{"schema":"affidavit-audit/')


def verify_audit_log(
    raw: bytes, trusted: TrustedKeys, earlier: Sequence[bytes] = ()
) -> AuditVerification:
    """Verify an export in numbered steps: format, chain, signature, key, and earlier exports.

    Raise if it cannot be read at all.
    """
    # Step 1: every line is what it has to be.
    head, entries, end = _parts(raw)
    steps = [_step(1, FORMAT, f"{len(entries)} entries of the workspace {head.workspace}")]

    # Step 2: each entry names the digest of the one before, and the end that of the last one.
    problem = chain_problem(entries)
    last = digest_of(entries[-1]) if entries else BEGINNING
    if problem is None and end.entries != len(entries):
        problem = f"it has {len(entries)} entries, and its end says {end.entries}"
    if problem is None and end.last != last:
        problem = "its end names another last entry"
    steps.append(_step(2, CHAIN, "every entry follows the one before", problem))

    # Steps 3 and 4: a key that is trusted signed the end.
    steps.extend(_signature_steps(head, end, trusted))

    # Step 5: nothing that an earlier export had was changed or left out.
    if earlier:
        steps.append(_continuation_step(head, entries, earlier))
    return AuditVerification(
        workspace=head.workspace,
        entries=len(entries),
        last=last,
        exported_at=end.exported_at,
        steps=tuple(steps),
    )


def _parts(raw: bytes) -> tuple[AuditHead, list[bytes], AuditEnd]:
    lines = raw.split(b"\n")
    if len(lines) < 3 or lines[-1] != b"":
        raise _malformed("it does not end with a whole line")
    head, end = _converted(decode(lines[0]), AuditHead), _converted(decode(lines[-2]), AuditEnd)
    if head.schema != SCHEMA:
        raise _malformed(f"its schema is {head.schema!r}, not {SCHEMA!r}")
    return head, lines[1:-2], end


def _continuation_step(
    head: AuditHead, entries: Sequence[bytes], earlier: Sequence[bytes]
) -> VerificationStep:
    problem, most = None, 0
    for raw in earlier:
        kept, before, _ = _parts(raw)
        most = max(most, len(before))
        if kept.workspace != head.workspace:
            problem = f"the earlier export is of the workspace {kept.workspace}"
        elif list(entries[: len(before)]) != before:
            problem = "it does not begin with the entries of an earlier export"
    return _step(5, EARLIER, f"it continues the {most} entries of an earlier export", problem)


def _signature_steps(
    head: AuditHead, end: AuditEnd, trusted: TrustedKeys
) -> tuple[VerificationStep, VerificationStep]:
    found = trusted.keys.get(end.key_id)
    if found is None:
        unknown = AffidavitError(faults.AUDIT_KEY, key=end.key_id[:40], problem="it is not known")
        return (
            _failed(3, SIGNATURE, unknown, StepStatus.NOT_CHECKED),
            _failed(4, KEY, unknown, StepStatus.NOT_CHECKED),
        )
    signature = find_base64url(end.signature)
    if signature is None or not is_valid_signature(
        found.raw, signature, end.signed_bytes(head.workspace)
    ):
        error = AffidavitError(faults.AUDIT_SIGNATURE)
        skipped = VerificationStep(
            number=4, name=KEY, status=StepStatus.SKIPPED, code=None, detail="nothing to check"
        )
        return _failed(3, SIGNATURE, error), skipped
    holds = _step(3, SIGNATURE, f"signed by {end.key_id}")
    record = trusted.records.get(end.key_id)
    if record is not None and record.status is KeyStatus.COMPROMISED:
        bad = AffidavitError(faults.AUDIT_KEY, key=end.key_id, problem="it is compromised")
        return holds, _failed(4, KEY, bad)
    detail = "no lifecycle is known" if record is None else f"the key is {record.status.value}"
    return holds, _step(4, KEY, detail)


def _step(number: int, name: str, detail: str, problem: str | None = None) -> VerificationStep:
    if problem is not None:
        return _failed(number, name, AffidavitError(faults.AUDIT_CHAIN, problem=problem))
    return VerificationStep(
        number=number, name=name, status=StepStatus.PASSED, code=None, detail=detail
    )


def _failed(
    number: int, name: str, error: AffidavitError, status: StepStatus = StepStatus.FAILED
) -> VerificationStep:
    return VerificationStep(
        number=number, name=name, status=status, code=error.fault.code, detail=error.message
    )


def _converted(value: JsonValue, model: type[Any]) -> Any:
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from None


def _malformed(problem: str) -> AffidavitError:
    return AffidavitError(faults.AUDIT_FORMAT, problem=problem)
