"""How verifications are shown: all lines of one receipt, or a summary of many."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from affidavit.app.verify import ReceiptOutcome, VerifiedReceipt
from affidavit.app.verify_inputs import UnreadableInput
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import receipts as faults
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone
from affidavit.seal.steps import StepStatus

MAX_LISTED_RECEIPTS = (
    20  # So many fit on a screen; of more, only those that are not verified are listed.
)

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
    Exit.NO: "Not believed: the signature holds, and its key may not be believed",
    Exit.UNKNOWN: "Could not tell: not all that has to hold could be checked",
    Exit.TAMPERED: "Tampered: believe nothing that this receipt says",
}


def require_receipts(outcomes: Sequence[ReceiptOutcome]) -> None:
    """Raise if there was nothing to verify, or if the one file there was is no receipt."""
    if not outcomes:
        raise AffidavitError(faults.RECEIPTS_NONE)
    if len(outcomes) == 1 and isinstance(outcomes[0], UnreadableInput):
        raise outcomes[0].error


def verifications_as_json(
    outcomes: Sequence[ReceiptOutcome], trusted: Sequence[Path]
) -> dict[str, object]:
    """Return all outcomes for machines; the same shape for one receipt and for many."""
    ends = Counter(outcome.exit for outcome in outcomes)
    return {
        "valid": set(ends) == {Exit.YES},
        "exit": int(worst_exit(ends)),
        "trusted_keys": [str(path) for path in trusted],
        "counts": {_RESULT_CELLS[end].text.replace(" ", "_"): ends[end] for end in _RESULT_CELLS},
        "receipts": [outcome.as_wire() for outcome in outcomes],
    }


def print_verifications(terminal: Terminal, outcomes: Sequence[ReceiptOutcome]) -> None:
    """Print the outcomes for people."""
    first = outcomes[0]
    if len(outcomes) == 1 and isinstance(first, VerifiedReceipt):
        print_verification(terminal, first)
    else:
        print_verification_summary(terminal, outcomes)


def print_verification(terminal: Terminal, outcome: VerifiedReceipt) -> None:
    """Print every line of a verification and what they come to."""
    terminal.print(f"{outcome.verification.receipt_id} in {outcome.name}")
    terminal.table(
        ("Step", "What", "Result", "Code", "Detail"),
        (
            (
                str(step.number),
                step.name,
                Cell(step.status.value.replace("_", " "), _STEP_TONES[step.status]),
                step.code or "",
                step.detail,
            )
            for step in outcome.verification.steps
        ),
    )
    said = outcome.said
    if outcome.exit is Exit.YES:
        terminal.print(
            f"Verified: {said.issuer} answered at {said.generated_at}: {said.verdict},"
            f" confidence {said.confidence}"
        )
        return
    terminal.print(_CONCLUSIONS[outcome.exit])
    if outcome.problem is not None and outcome.problem.fault is not None:
        terminal.print(f"Next: {outcome.problem.fault.next_step}")


def print_verification_summary(terminal: Terminal, outcomes: Sequence[ReceiptOutcome]) -> None:
    """Print a line for each receipt, or for each that is not verified, and how many are what."""
    all_listed = len(outcomes) <= MAX_LISTED_RECEIPTS or terminal.verbose
    listed = [each for each in outcomes if all_listed or each.exit is not Exit.YES]
    if listed:
        terminal.table(("Receipt", "Result", "Code", "Detail"), map(_receipt_row, listed))
    ends = Counter(outcome.exit for outcome in outcomes)
    parts = [f"{ends[end]} {word.text}" for end, word in _RESULT_CELLS.items() if ends[end]]
    terminal.print(f"{len(outcomes)} receipts: {', '.join(parts)}")
    if not all_listed and ends[Exit.YES]:
        terminal.note("those that are verified are not listed; -v lists them too")


def _receipt_row(outcome: ReceiptOutcome) -> tuple[Cell | str, ...]:
    result = _RESULT_CELLS[outcome.exit]
    if isinstance(outcome, UnreadableInput):
        return (outcome.name, result, outcome.error.fault.code, outcome.error.message)
    problem = outcome.problem
    if problem is None:
        verdict = str(outcome.said.verdict).replace("_", " ")
        said = f"it says {verdict}, confidence {outcome.said.confidence}"
        return (outcome.name, result, "", said)
    return (outcome.name, result, problem.code or "", problem.detail)
