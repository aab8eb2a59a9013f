"""Runs again what a bundle records, from the bundle alone, and compares.

Receipts follow from their evidence, ledgers from their readings and rules, gate reports from their
figures, and a lint report from the bundle itself. Model calls, tool calls and whatever else reaches
outside are listed as not run again: a replay that left them out in silence would promise too much.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app.evidence import event_types as kinds
from affidavit.app.linting.gate_replay import NotReplayableError, gate_differences
from affidavit.app.linting.linting import Linted, lint_bundle
from affidavit.app.linting.loading import BUILT_IN
from affidavit.app.linting.report import SCHEMA_VERSION, bundle_as_wire
from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import packs as faults
from affidavit.base.files import read_bounded
from affidavit.base.strict_json import decode
from affidavit.checks.replay import replay as replay_answer
from affidavit.ledger.build import replay as replay_ledger
from affidavit.ledger.wire_reading import ledger_from_json
from affidavit.packs.events import EventHead, decode_head
from affidavit.packs.lint import MAX_RESULTS
from affidavit.packs.model import Pack
from affidavit.seal.bundle.limits import BundleLimits
from affidavit.seal.receipt import receipt_from, receipt_from_bytes

MAX_ROWS: Final = 1000
MAX_REPORT_BYTES: Final = 256 * 1024 * 1024
EXACT: Final = "exact"
_NOT_EXACT: Final = (
    "it is recorded without its exact text, in which 0.0 and 0 differ; record it with its text"
)


class Outcome(StrEnum):
    """How a part of a bundle came out."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_RUN = "not run again"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One recorded thing, run again or not."""

    line: int | None
    what: str
    outcome: Outcome
    detail: str

    def as_wire(self) -> dict[str, object]:
        """Return the row for machines."""
        return {
            "line": self.line,
            "what": self.what,
            "outcome": self.outcome.value.replace(" ", "_"),
            "detail": self.detail,
        }


class Replay:
    """Fed with the events of a bundle; memory does not grow with them."""

    def __init__(self) -> None:
        self.rows: list[Replayed] = []
        self.counts: Counter[Outcome] = Counter()
        self.not_run: Counter[str] = Counter()

    def feed(self, line: int, head: EventHead) -> None:
        """Run one event again, if it can be."""
        run = _RUNS.get(head.type)
        if run is None:
            self.not_run[head.type] += 1
            return
        try:
            differences = run(msgspec.json.decode(head.data))
        except NotReplayableError as error:
            self.add(Replayed(line, head.type, Outcome.NOT_RUN, str(error)))
            return
        if not differences:
            self.add(Replayed(line, head.type, Outcome.SAME, ""))
        for difference in differences:
            self.add(Replayed(line, head.type, Outcome.DIFFERS, difference))

    def add(self, row: Replayed) -> None:
        """Count a row, and keep it if there is room; what differs always has some."""
        self.counts[row.outcome] += 1
        if len(self.rows) < MAX_ROWS or (
            row.outcome is Outcome.DIFFERS and self.counts[row.outcome] <= MAX_ROWS
        ):
            self.rows.append(row)

    @property
    def exit(self) -> Exit:
        """Yes: something was run again, and all of it is the same."""
        if self.counts[Outcome.DIFFERS]:
            return Exit.TAMPERED
        is_known = self.counts[Outcome.SAME] and not self.counts[Outcome.NOT_RUN]
        return Exit.YES if is_known else Exit.UNKNOWN


def _receipt(data: Any) -> Sequence[str]:
    recorded = _part(data, "receipt")
    text = data.get(EXACT)
    try:
        if isinstance(text, str):
            receipt = receipt_from_bytes(text.encode())
            if jcs(receipt.value) != jcs(recorded):
                return ["the receipt and its exact text say different things"]
        else:
            receipt = receipt_from(recorded)
    except AffidavitError as error:
        raise NotReplayableError(f"it is no receipt: {error.message}") from None
    done = replay_answer(receipt.value, receipt.forms.content)
    if done.differences and not isinstance(text, str):
        raise NotReplayableError(_NOT_EXACT)
    return [str(difference) for difference in done.differences]


def _ledger(data: Any) -> Sequence[str]:
    try:
        ledger = ledger_from_json(jcs(_part(data, "ledger")))
        same = replay_ledger(ledger) == ledger
    except AffidavitError as error:
        raise NotReplayableError(f"it is no ledger: {error.message}") from None
    return [] if same else ["the verdicts do not follow from the readings and rules"]


def _gate(data: Any) -> Sequence[str]:
    return gate_differences(_part(data, "report"))


def _part(data: Any, name: str) -> dict[str, Any]:
    part = data.get(name) if isinstance(data, dict) else None
    if not isinstance(part, dict):
        raise NotReplayableError(f"its data has no {name}")
    if b'"$redacted"' in jcs(part):
        raise NotReplayableError("parts of it are redacted")
    return part


_RUNS: Final[Mapping[str, Callable[[Any], Sequence[str]]]] = {
    kinds.RECEIPT: _receipt,
    kinds.LEDGER: _ledger,
    kinds.GATE_REPORT: _gate,
}


def replay_bundle(
    path: Path, packs: Sequence[Pack], limits: BundleLimits, report: Path | None
) -> tuple[Replay, Linted]:
    """Verify a bundle, run again what it records and lint it, all in one pass."""
    stored = None if report is None else _stored_report(report)
    cap = _cap_of(stored)
    done = Replay()
    linted = lint_bundle(
        path, packs, limits, cap, lambda line, raw: done.feed(line, decode_head(raw))
    )
    if stored is not None:
        done.add(_lint_row(stored, linted, f"lint report {report}"))
    return done, linted


def packs_of_report(report: Path) -> tuple[str, ...]:
    """Return where the packs of a lint report were found: a name, or a path."""
    packs = _stored_report(report).get("packs")
    named = [each for each in packs if isinstance(each, dict)] if isinstance(packs, list) else []
    return tuple(
        str(each.get("name") if each.get("source") == BUILT_IN else each.get("source"))
        for each in named
    )


def _stored_report(report: Path) -> dict[str, Any]:
    try:
        value = decode(read_bounded(report, MAX_REPORT_BYTES))
    except AffidavitError as error:
        raise error.at(file=str(report)) from None
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise AffidavitError(faults.REPLAY_REPORT, Where(file=str(report)), known=SCHEMA_VERSION)
    return value


def _cap_of(stored: Mapping[str, Any] | None) -> int:
    cap = MAX_RESULTS if stored is None else stored.get("max_results")
    return cap if isinstance(cap, int) and cap > 0 else MAX_RESULTS


def _lint_row(stored: Mapping[str, Any], linted: Linted, what: str) -> Replayed:
    """Compare a stored lint report with what lint says now."""
    fresh = bundle_as_wire(linted)
    bundles = stored.get("bundles")
    for bundle in bundles if isinstance(bundles, list) else ():
        if isinstance(bundle, dict) and bundle.get("bundle_digest") == linted.digest:
            changed = sorted(
                key
                for key in {*bundle, *fresh} - {"path"}
                if jcs(bundle.get(key)) != jcs(fresh.get(key))
            )
            if not changed:
                return Replayed(None, what, Outcome.SAME, "")
            return Replayed(None, what, Outcome.DIFFERS, f"it differs in {', '.join(changed)}")
    return Replayed(None, what, Outcome.NOT_RUN, "it is not about this bundle")
