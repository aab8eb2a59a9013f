"""Verifies exports of audit logs, offline."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from affidavit.app.verify import trusted_keys
from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.seal.audit import AuditVerification, verify_audit_log
from affidavit.seal.verification import VerifiedInput

MAX_AUDIT_BYTES: Final = 1024 * 1024 * 1024

VerifiedAuditLog: TypeAlias = VerifiedInput[AuditVerification]


def verify_audit_file(
    path: Path, keys: Sequence[Path], earlier: Sequence[Path] = ()
) -> VerifiedAuditLog:
    """Verify an export with the keys of some documents, and against exports that were kept."""
    kept = [read_bounded(each, MAX_AUDIT_BYTES) for each in earlier]
    try:
        found = verify_audit_log(read_bounded(path, MAX_AUDIT_BYTES), trusted_keys(keys), kept)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return VerifiedInput("audit_log", str(path), found)
