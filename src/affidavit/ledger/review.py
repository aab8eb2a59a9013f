"""What people decided about a ledger, replayed on top of it.

The judge's ledger stays as it is, and equals its replay. A decision says who changed what, when and
why; the effective verdict, type and importance of a claim are those of its last decision.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct, structs

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import store as faults
from affidavit.decision.evaluation import decide, summarise_decision
from affidavit.ledger.adjudication import gate_measures, summarise
from affidavit.ledger.model import ClaimType, Importance, Verdict
from affidavit.ledger.record import Ledger, LedgerEntry
from affidavit.ledger.risk import follow_up_questions, recommended_actions, risk_flags

MAX_REASON_CHARACTERS: Final = 2_000


class DecidedField(StrEnum):
    """What a person can decide: three fields of a claim, and whether the answer may be used."""

    VERDICT = "verdict"
    CLAIM_TYPE = "claim_type"
    IMPORTANCE = "importance"
    APPROVAL = "approval"


class Approval(StrEnum):
    """What people decided about the whole answer."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


_VALUES: Final[Mapping[DecidedField, type[StrEnum]]] = MappingProxyType(
    {
        DecidedField.VERDICT: Verdict,
        DecidedField.CLAIM_TYPE: ClaimType,
        DecidedField.IMPORTANCE: Importance,
        DecidedField.APPROVAL: Approval,
    }
)


class HumanDecision(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One decision of a person. `claim_id` is None if it is about the whole answer."""

    number: int
    claim_id: str | None
    field: DecidedField
    from_value: str
    to_value: str
    reason: str
    decided_by: str
    decided_at: str

    @property
    def what(self) -> str:
        """What was decided, in words."""
        if self.claim_id is None:
            return "the answer"
        return f"{self.claim_id}: {self.field} {self.from_value} -> {self.to_value}"

    def __str__(self) -> str:
        return f"{self.decided_at} {self.decided_by} decided {self.what}: {self.reason}"


def require_decision(field: DecidedField, value: str, reason: str) -> None:
    """Raise unless a field can have this value, and the reason is given and not too long."""
    values = [str(each) for each in _VALUES[field] if each is not Approval.OPEN]
    if value not in values:
        problem = f"{value!r} is no {field}; one of: {', '.join(values)}"
        raise AffidavitError(faults.DECISION_INVALID, Where(field=str(field)), problem=problem)
    if not reason.strip() or len(reason) > MAX_REASON_CHARACTERS or "\0" in reason:
        problem = f"the reason has to have 1 to {MAX_REASON_CHARACTERS} characters"
        raise AffidavitError(faults.DECISION_INVALID, Where(field="reason"), problem=problem)


def approval_of(decisions: Iterable[HumanDecision]) -> Approval:
    """Return what the last decision about the whole answer says."""
    last = Approval.OPEN
    for decision in decisions:
        if decision.field is DecidedField.APPROVAL:
            last = Approval(decision.to_value)
    return last


def reviewed_ledger(ledger: Ledger, decisions: Sequence[HumanDecision]) -> Ledger:
    """Return the ledger as people see it after their decisions. It no longer equals its replay.

    The notes of a claim begin with its decisions, so that every report shows them. Flags, questions
    and actions are about the evidence, so a claim whose verdict a person decided has none.
    """
    if all(decision.claim_id is None for decision in decisions):
        return ledger
    entries = tuple(_reviewed_entry(entry, decisions) for entry in ledger.entries)
    edition, rules = ledger.edition, ledger.rules
    settled = {each.claim_id for each in decisions if each.field is DecidedField.VERDICT}
    asked = [_settled(entry) if entry.claim_id in settled else entry for entry in entries]
    flags = risk_flags(asked, ledger.documents, ledger.answer_date, rules, edition=edition)
    decided = decide(rules.active_gates, gate_measures(entries, ledger.findings))
    return structs.replace(
        ledger,
        entries=entries,
        summary=summarise(entries, edition),
        risk_flags=flags,
        follow_up_questions=follow_up_questions(asked, rules),
        recommended_actions=recommended_actions(asked, flags),
        gates=summarise_decision(decided),
    )


def _settled(entry: LedgerEntry) -> LedgerEntry:
    return structs.replace(entry, verdict=Verdict.SUPPORTED, readings=(), rests_on=())


def _reviewed_entry(entry: LedgerEntry, decisions: Iterable[HumanDecision]) -> LedgerEntry:
    own = [each for each in decisions if each.claim_id == entry.claim_id]
    if not own:
        return entry
    last = {decision.field: decision.to_value for decision in own}
    verdict = Verdict(last.get(DecidedField.VERDICT, entry.verdict))
    said = [
        f"{each.decided_by} on {each.decided_at[:10]} changed {each.field} from {each.from_value}"
        f" to {each.to_value}: {each.reason}"
        for each in own
    ]
    return structs.replace(
        entry,
        verdict=verdict,
        claim_type=ClaimType(last.get(DecidedField.CLAIM_TYPE, entry.claim_type)),
        importance=Importance(last.get(DecidedField.IMPORTANCE, entry.importance)),
        # A person has read what the judge could not.
        unread_language="" if DecidedField.VERDICT in last else entry.unread_language,
        notes="; ".join((*said, f"the judge: {entry.notes}" if entry.notes else "the judge")),
    )
