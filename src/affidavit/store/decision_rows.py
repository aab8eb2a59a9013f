"""What people decided, in rows that are only ever added."""

from typing import Final

from sqlalchemy import select

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import store as faults
from affidavit.ledger.review import (
    DecidedField,
    HumanDecision,
    approval_of,
    require_decision,
    reviewed_ledger,
)
from affidavit.store.database import Scope
from affidavit.store.identity import known_id
from affidavit.store.session_rows import StoredRun, header_text, stored_ledger
from affidavit.store.tables import claims, evidence_ledger, human_decisions, runs

_COLUMNS: Final = tuple(
    human_decisions.c[name]
    for name in ("number", "field", "from_value", "to_value", "reason", "decided_by", "decided_at")
)


def decisions_of(scope: Scope, run_id: str) -> tuple[HumanDecision, ...]:
    """Return what was decided about a run, in order."""
    about_claims = select(claims.c.id, claims.c.key).where(claims.c.run_id == run_id)
    query = (
        select(human_decisions.c.claim_id, *_COLUMNS)
        .where(human_decisions.c.run_id == run_id)
        .order_by(human_decisions.c.number)
    )
    rows = scope.rows(query)
    keys = {row.id: row.key for row in scope.rows(about_claims)} if rows else {}
    return tuple(
        HumanDecision(
            claim_id=keys.get(row.claim_id),
            field=DecidedField(row.field),
            **{
                column.name: getattr(row, column.name)
                for column in _COLUMNS
                if column.name != "field"
            },
        )
        for row in rows
    )


def claim_key(scope: Scope, run_id: str, claim_id: str) -> str:
    """Return what the ledger calls a claim that has an entry."""
    query = select(claims.c.key).where(
        claims.c.id == known_id("claim", claim_id),
        claims.c.run_id == run_id,
        claims.c.requires_citation.is_(True),
    )
    row = scope.first(query)
    if row is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="claim", id=claim_id)
    return str(row.key)


def decide(
    scope: Scope,
    run: StoredRun,
    field: DecidedField,
    value: str,
    *,
    claim_id: str | None,
    expected: str | None,
    reason: str,
    by: str,
    at: str,
) -> HumanDecision:
    """Record a decision. `expected` is what the person saw; it must not have changed since."""
    require_decision(field, value, reason)
    scope.update(runs, runs.c.id == run.id, status=run.status)  # One decision at a time for a run.
    found = current_value(scope, run, field, claim_id)
    if expected is not None and expected != found:
        where = Where(field="expected")
        raise AffidavitError(
            faults.DECISION_STALE, where, field=field, found=found, expected=expected
        )
    row = {
        "session_id": run.session_id,
        "run_id": run.id,
        "claim_id": claim_id,
        "field": field.value,
        "from_value": found,
        "to_value": value,
        "reason": reason,
        "decided_by": by,
        "decided_at": at,
    }
    scope.insert(human_decisions, [row])
    decisions = decisions_of(scope, run.id)
    if claim_id is not None:
        # What follows from all decisions is kept, so that reading the ledger stays cheap.
        ledger = reviewed_ledger(stored_ledger(scope, run.id), decisions)
        scope.update(runs, runs.c.id == run.id, reviewed=header_text(ledger))
    return decisions[-1]


def current_value(scope: Scope, run: StoredRun, field: DecidedField, claim_id: str | None) -> str:
    """Return the effective value of a field."""
    decisions = decisions_of(scope, run.id)
    if claim_id is None:
        return approval_of(decisions).value
    key = claim_key(scope, run.id, claim_id)
    for decision in reversed(decisions):
        if decision.claim_id == key and decision.field is field:
            return decision.to_value
    column = evidence_ledger.c.verdict if field is DecidedField.VERDICT else claims.c[field.value]
    query = (
        select(column)
        .join_from(claims, evidence_ledger, evidence_ledger.c.claim_id == claims.c.id)
        .where(claims.c.id == claim_id)
    )
    row = scope.first(query)
    return "" if row is None else str(row[0])
