"""The audit log of a workspace, in rows that are only ever added."""

from typing import Any

from sqlalchemy import select

from affidavit.base.digest import digest_of
from affidavit.seal.audit import BEGINNING, AuditEntry
from affidavit.store.database import Scope
from affidavit.store.tables import audit_log


def add_audit_entry(
    scope: Scope, *, at: str, by: str, action: str, subject: str, detail: dict[str, Any]
) -> None:
    """Record a change, in the transaction that makes it."""
    scope.wait_for_others()
    newest = select(audit_log.c.number, audit_log.c.digest).order_by(audit_log.c.number.desc())
    last = scope.first(newest.limit(1))
    entry = AuditEntry(
        number=1 if last is None else last.number + 1,
        at=at,
        by=by,
        action=action,
        subject=subject,
        detail=detail,
        previous=BEGINNING if last is None else last.digest,
    )
    text = entry.text()
    row = {"number": entry.number, "entry": text.decode(), "digest": digest_of(text)}
    scope.insert(audit_log, [row])


def audit_entries(scope: Scope) -> list[bytes]:
    """Return all entries in order, as they are digested."""
    rows = scope.rows(select(audit_log.c.entry).order_by(audit_log.c.number))
    return [row.entry.encode() for row in rows]
