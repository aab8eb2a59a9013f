"""Verifications and replays of receipts and bundles as text for people, and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import convert

from affidavit.base.errors import Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import CATALOG
from affidavit.base.text import excerpt
from affidavit.reports.text_tables import (
    Cell,
    Note,
    TextPart,
    TextTable,
    Tone,
    single_line,
    text_table,
)
from affidavit.seal.links import LinkedSet
from affidavit.seal.receipts import ANCHOR, KEY, SIGNATURE, ReceiptVerification
from affidavit.seal.verification import StepStatus, UnreadableInput, VerificationStep, VerifiedInput

if TYPE_CHECKING:
    # Verifying a receipt does not load the reader of bundles.
    from affidavit.seal.attestation import AttestationVerification
    from affidavit.seal.audit import AuditVerification
    from affidavit.seal.bundle.reader import BundleVerification

ReceiptOutcome: TypeAlias = VerifiedInput[ReceiptVerification] | UnreadableInput
BundleOutcome: TypeAlias = "VerifiedInput[BundleVerification] | UnreadableInput"
VerifiedAuditLog: TypeAlias = "VerifiedInput[AuditVerification]"
VerifiedAttestation: TypeAlias = "VerifiedInput[AttestationVerification]"

MAX_LISTED_RECEIPTS: Final = 20  # They fit on a screen; of more, only failures are listed.
MAX_LISTED_MEMBERS: Final = 20

_STEP_TONES: Final = {
    StepStatus.PASSED: Tone.GOOD,
    StepStatus.FAILED: Tone.BAD,
    StepStatus.SKIPPED: Tone.FAINT,
    StepStatus.NOT_CHECKED: Tone.UNSURE,
}
_RESULT_CELLS: Final = {
    Exit.YES: Cell("verified", Tone.GOOD),
    Exit.NO: Cell("not believed", Tone.BAD),
    Exit.INPUT: Cell("not readable", Tone.BAD),
    Exit.UNKNOWN: Cell("could not tell", Tone.UNSURE),
    Exit.TAMPERED: Cell("tampered", Tone.BAD),
}
_CONCLUSIONS: Final = {
    Exit.UNKNOWN: "Could not tell: not all that has to hold could be checked",
    Exit.TAMPERED: "Tampered: believe nothing that this receipt says",
}
_TRUSTED: Final = {ANCHOR: "its time stamp", KEY: "its key"}
_UNFINISHED: Final = "the run is unfinished"


def receipts_as_json(
    outcomes: Sequence[ReceiptOutcome], sets: Sequence[LinkedSet], trusted: Sequence[Path]
) -> dict[str, object]:
    """Return all outcomes; the shape is the same for one receipt and for many."""
    exits = Counter(outcome.exit for outcome in outcomes)
    exit = worst_exit([*exits, *(each.exit for each in sets)])
    return {
        "valid": exit is Exit.YES,
        "exit": int(exit),
        "trusted_keys": [str(path) for path in trusted],
        "counts": {
            cell.text.replace(" ", "_"): exits[code] for code, cell in _RESULT_CELLS.items()
        },
        "receipts": [outcome.as_wire() for outcome in outcomes],
        "linked": sets,
    }


def linked_sets_text(sets: Sequence[LinkedSet]) -> Iterator[TextPart]:
    """Yield a line for each set of linked receipts, and what to do if it is not whole."""
    for each in sets:
        known = ", ".join(found for found in each.receipts if found is not None)
        if each.code is None:
            yield f"Linked receipts: {each.detail} ({known})"
        else:
            yield f"{each.code} {each.detail} ({known})"
            yield f"Next: {CATALOG[each.code].next_step}"


def receipts_text(outcomes: Sequence[ReceiptOutcome], *, verbose: bool) -> Iterator[TextPart]:
    """Yield every step of a single receipt, or a line for each of many."""
    first = outcomes[0]
    if len(outcomes) == 1 and isinstance(first, VerifiedInput):
        yield from _receipt_text(first.name, first.verification)
        return
    all_listed = len(outcomes) <= MAX_LISTED_RECEIPTS or verbose
    listed = [each for each in outcomes if all_listed or each.exit is not Exit.YES]
    if listed:
        yield text_table(("Receipt", "Result", "Code", "Detail"), map(_receipt_row, listed))
    yield _totals(outcomes, "receipts")
    if not all_listed and any(each.exit is Exit.YES for each in outcomes):
        yield Note("those that are verified are not listed; -v lists them too")


def _receipt_text(name: str, verification: ReceiptVerification) -> Iterator[TextPart]:
    yield f"{verification.receipt_id} in {name}"
    yield _step_table(verification.steps)
    passed = {step.name for step in verification.steps if step.status is StepStatus.PASSED}
    if SIGNATURE in passed:
        yield from not_interpreted_text(verification.not_interpreted)
    if verification.valid:
        said = verification.said
        yield (
            f"Verified: {said.issuer} answered at {said.generated_at}: {said.verdict},"
            f" confidence {said.confidence}"
        )
        return
    yield _CONCLUSIONS.get(verification.exit) or _distrust(verification.steps)
    problem = verification.problem
    if problem is not None and problem.fault is not None:
        yield f"Next: {problem.fault.next_step}"


def _distrust(steps: Sequence[VerificationStep]) -> str:
    """Say what cannot be trusted of a receipt that nothing proves to be tampered with."""
    failed = [step.name for step in steps if step.status is StepStatus.FAILED]
    what = " and ".join(_TRUSTED[name] for name in failed if name in _TRUSTED)
    holds = any(step.name == SIGNATURE and step.status is StepStatus.PASSED for step in steps)
    return f"Not believed: {'the signature holds, but ' * holds}{what} cannot be trusted"


def not_interpreted_text(members: Sequence[str]) -> Iterator[str]:
    """Yield a line that names members without a rule, if there are any."""
    if members:
        more = len(members) - MAX_LISTED_MEMBERS
        names = ", ".join(excerpt(single_line(name)) for name in members[:MAX_LISTED_MEMBERS])
        yield f"Signed, not interpreted: {names}{f' and {more} more' if more > 0 else ''}"


def _receipt_row(outcome: ReceiptOutcome) -> tuple[Cell | str, ...]:
    result = _RESULT_CELLS[outcome.exit]
    if isinstance(outcome, UnreadableInput):
        return (outcome.name, result, outcome.error.fault.code, outcome.error.message)
    problem, said = outcome.verification.problem, outcome.verification.said
    if problem is None:
        verdict = str(said.verdict).replace("_", " ")
        return (outcome.name, result, "", f"it says {verdict}, confidence {said.confidence}")
    return (outcome.name, result, problem.code or "", problem.detail)


def _step_table(steps: Sequence[VerificationStep]) -> TextTable:
    return text_table(
        ("Step", "What", "Result", "Code", "Detail"),
        (
            (
                str(step.number),
                step.name,
                Cell(step.status.value.replace("_", " "), _STEP_TONES[step.status]),
                step.code or "",
                step.detail,
            )
            for step in steps
        ),
    )


def _totals(
    outcomes: "Sequence[ReceiptOutcome | BundleOutcome | VerifiedAttestation]", noun: str
) -> str:
    exits = Counter(outcome.exit for outcome in outcomes)
    parts = [f"{exits[code]} {cell.text}" for code, cell in _RESULT_CELLS.items() if exits[code]]
    return f"{len(outcomes)} {noun}: {', '.join(parts)}"


BUNDLES_SCHEMA: Final = "affidavit-evidence-verify/1"


def bundles_as_json(outcomes: Sequence[BundleOutcome]) -> dict[str, object]:
    """Return all outcomes; the shape is the same for one bundle and for many."""
    exits = {outcome.exit for outcome in outcomes}
    return {
        "schema_version": BUNDLES_SCHEMA,
        "valid": exits == {Exit.YES},
        "exit": int(worst_exit(exits)),
        "bundles": [outcome.as_wire() for outcome in outcomes],
    }


def audit_logs_as_json(outcomes: "Sequence[VerifiedAuditLog]") -> dict[str, object]:
    """Return all outcomes; the shape is the same for one audit log and for many."""
    exit = worst_exit(outcome.exit for outcome in outcomes)
    return {
        "valid": exit is Exit.YES,
        "exit": int(exit),
        "audit_logs": [outcome.as_wire() for outcome in outcomes],
    }


def audit_logs_text(outcomes: "Sequence[VerifiedAuditLog]") -> Iterator[TextPart]:
    """Yield the steps of every audit log, and what they amount to."""
    for outcome in outcomes:
        found = outcome.verification
        yield _step_table(found.steps)
        problem = found.problem
        if problem is None or problem.fault is None:
            yield (
                f"Verified: {found.entries} changes of the workspace {found.workspace},"
                f" exported at {found.exported_at} ({outcome.name})"
            )
            continue
        result = "Tampered" if outcome.exit is Exit.TAMPERED else "Could not tell"
        yield f"{result}: {outcome.name}: {single_line(problem.detail)}"
        yield f"Next: {problem.fault.next_step}"


def bundles_text(outcomes: Sequence[BundleOutcome]) -> Iterator[TextPart]:
    """Yield every step of a single bundle, or a line for each of many."""
    first = outcomes[0]
    if len(outcomes) == 1 and isinstance(first, VerifiedInput):
        yield from _bundle_text(first.name, first.verification)
    else:
        yield text_table(("Bundle", "Result", "Code", "Detail"), map(_bundle_row, outcomes))
        yield _totals(outcomes, "bundles")


def _bundle_text(name: str, verification: "BundleVerification") -> Iterator[TextPart]:
    yield _step_table(verification.steps)
    error = verification.error
    if error is not None:
        place = str(error.where)
        result = "Tampered" if verification.exit is Exit.TAMPERED else "Not readable"
        yield f"{result}: {name}{f', {place}' if place else ''}"
        yield f"Next: {error.next}"
        return
    run_id = single_line(excerpt(str(verification.run_id), 120))
    yield f"Verified: {verification.event_count} events of {run_id}, {verification.bundle_id}"
    if verification.merkle_root is not None:
        yield f"Merkle root: {verification.merkle_root}"
    yield f"Manifest digest: {verification.manifest_digest}"
    for statement in verification.not_covered:
        yield f"Not covered, except by that digest: {single_line(excerpt(statement, 200))}"
    if verification.finished is False:
        yield f"But {_UNFINISHED}: its last event is not affidavit.run.finished"


def _bundle_row(outcome: BundleOutcome) -> tuple[Cell | str, ...]:
    result = _RESULT_CELLS[outcome.exit]
    if isinstance(outcome, UnreadableInput):
        return (outcome.name, result, outcome.error.fault.code, outcome.error.message)
    error = outcome.verification.error
    if error is not None:
        return (outcome.name, result, error.code, error.message)
    unfinished = f"; {_UNFINISHED}" if outcome.verification.finished is False else ""
    return (outcome.name, result, "", f"all steps hold{unfinished}")


ATTESTATIONS_SCHEMA: Final = "affidavit-attestation-verify/1"
_ATTESTATION_CONCLUSIONS: Final = {
    Exit.NO: "Not believed",
    Exit.INPUT: "Not readable",
    Exit.UNKNOWN: "Could not tell",
    Exit.TAMPERED: "Tampered",
}


def attestations_as_json(outcomes: "Sequence[VerifiedAttestation]") -> dict[str, object]:
    """Return all outcomes; the shape is the same for one attestation and for many."""
    exits = {outcome.exit for outcome in outcomes}
    return {
        "schema_version": ATTESTATIONS_SCHEMA,
        "valid": exits == {Exit.YES},
        "exit": int(worst_exit(exits)),
        "attestations": [outcome.as_wire() for outcome in outcomes],
    }


def attestations_text(outcomes: "Sequence[VerifiedAttestation]") -> Iterator[TextPart]:
    """Yield every step of a single attestation, or a line for each of many."""
    if len(outcomes) == 1:
        yield from _attestation_text(outcomes[0])
    else:
        rows = map(_attestation_row, outcomes)
        yield text_table(("Attestation", "Result", "Code", "Detail"), rows)
        yield _totals(outcomes, "attestations")


def _attestation_text(outcome: "VerifiedAttestation") -> Iterator[TextPart]:
    verification = outcome.verification
    yield _step_table(verification.steps)
    if verification.error is not None:
        error, conclusion = verification.error, _ATTESTATION_CONCLUSIONS[verification.exit]
        place = str(convert({name: error[name] for name in ("file", "line", "field")}, Where))
        said = f"{place}: {error['message']}" if place else str(error["message"])
        yield f"{conclusion}: {single_line(said)}"
        yield f"Next: {error['next']}"
        return
    yield f"Verified: {_attested(verification)}"
    yield "A signature proves who said it, not that it is true."


def _attested(verification: "AttestationVerification") -> str:
    signers = ", ".join(signer.key_id for signer in verification.signers)
    return f"{signers} attested {single_line(str(verification.subject))}"


def _attestation_row(outcome: "VerifiedAttestation") -> tuple[Cell | str, ...]:
    verification, result = outcome.verification, _RESULT_CELLS[outcome.exit]
    error = verification.error
    if error is None:
        return (outcome.name, result, "", _attested(verification))
    return (outcome.name, result, str(error["code"]), str(error["message"]))
