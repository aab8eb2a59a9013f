"""Replays what a bundle records, from the bundle alone, and compares.

Receipts follow from their evidence, ledgers from their readings and rules, gate reports from their
figures, and a lint report from the bundle itself. Model calls, tool calls and everything else that
reaches outside are listed as not run again.

Not covered for gate reports: whether the figures are those of the rows, which a report does not
have; and reasons against shipping besides the gates, which a report has only in words.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app import recording as kinds
from affidavit.app.lint import lint_bundle, linted_bundle
from affidavit.app.pack_files import BUILT_IN
from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.statistics import Rate, wilson
from affidavit.base.strict_json import read_json_file
from affidavit.base.text import excerpt
from affidavit.checks.receipt import replay_body as replay_answer
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import Figure, Measure, decide, rounded_interval
from affidavit.decision.gate import Gate, override_gates
from affidavit.decision.metric import MetricKind
from affidavit.decision.report import REPORT_SCHEMA, Report
from affidavit.gates.metrics import METRICS_BY_KIND
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.record import ledger_from_json
from affidavit.packs.events import EventHead, decode_head
from affidavit.packs.explanations import Explanation, explain
from affidavit.packs.lint import MAX_RESULTS, BundleLint
from affidavit.packs.model import ENGINE_VERSION, Pack
from affidavit.packs.report import LINT_SCHEMA_VERSION, LintedBundle
from affidavit.packs.signals import REGISTRY_VERSION
from affidavit.reports.bundle_text import BundleReplay, ReplayedItem, ReplayOutcome
from affidavit.seal.bundle.container import BundleLimits
from affidavit.seal.receipts import receipt_from, receipt_from_bytes

# Figures are recorded with six decimals. This close to a threshold, either side is right.
_ROUNDED_BY: Final = 5e-7


class NotReplayableError(ValueError):
    """Why something that is recorded cannot be run again."""


def gate_differences(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what does not follow from the figures of a report; raise if it cannot be replayed."""
    missing = sorted({"reasons", "gates", "metrics"} - report.keys())
    if missing:
        raise NotReplayableError(f"it is no gate report with gates: it has no {missing[0]}")
    if report.get("schema_version") != REPORT_SCHEMA or report.get("kind") not in METRICS_BY_KIND:
        found = f"{report.get('kind')} reports of {report.get('schema_version')}"
        raise NotReplayableError(f"{found} are not replayed")
    try:
        stored = msgspec.convert(report, Report)
    except msgspec.ValidationError as error:
        raise NotReplayableError(f"it is no gate report with gates: {error}") from None
    unknown: list[str] = []
    different = (*_gate_differences(stored, unknown), *_decision_differences(stored))
    if unknown and not different:
        raise NotReplayableError(unknown[0])
    return different


def _gate_differences(stored: Report, unknown: list[str]) -> Iterator[str]:
    """Yield the gates whose result does not follow, and list those where that is unknown."""
    for each in stored.gates:
        text = each.gate
        try:
            (gate,) = override_gates([text], (), METRICS_BY_KIND[stored.kind])
        except AffidavitError as error:
            raise NotReplayableError(error.message) from None
        if each.corrected:
            gate = msgspec.structs.replace(gate, confidence=each.corrected / 100)
        figure = stored.metrics.get(each.metric, Figure(value=None))
        if figure.value != each.value:
            yield f"{text} was decided on {each.value}, and the metric is {figure.value}"
            continue
        if gate.confidence is not None and not _has_plain_interval(figure):
            unknown.append(f"{text} was decided by an interval of rows that the report has not")
            continue
        possible = _possible_statuses(
            gate, figure, allow_missing=stored.settings.get("allow_missing") is True
        )
        if each.status not in possible:
            follows = " or ".join(sorted(possible))
            yield f"{text} is recorded as {each.status}, and follows as {follows}"


def _has_plain_interval(figure: Figure) -> bool:
    """Tell whether the interval follows from the counts: repeats of a question make it wider."""
    if figure.numerator is None or figure.denominator is None:
        return False
    plain = wilson(Rate(figure.numerator, figure.denominator))
    return figure.ci95 == rounded_interval(None if plain is None else (plain.low, plain.high))


def _possible_statuses(gate: Gate, figure: Figure, *, allow_missing: bool) -> set[GateStatus]:
    """Return the possible results of the gate.

    There is one, unless missing items were allowed, because then the report does not tell how many
    are still missing, or unless the figure is rounded and next to the threshold. The more items are
    missing, the less is decided, so none, one and all of them give every result.
    """
    value = _value_of(gate, figure)
    values = [value]
    if value is not None and figure.numerator is None:
        is_near = abs(value - gate.threshold) <= _ROUNDED_BY
        values += [value - 2 * _ROUNDED_BY, value + 2 * _ROUNDED_BY] if is_near else []
    missing = figure.not_measured
    still_open = {0, min(1, missing), missing} if allow_missing else {missing}
    rate = None
    if figure.numerator is not None and figure.denominator is not None:
        rate = Rate(figure.numerator, figure.denominator)
    return {
        decide(
            [gate],
            {
                gate.key: Measure(
                    metric=gate.metric,
                    value=each,
                    rate=rate,
                    not_measured=figure.not_measured,
                    still_open=left,
                )
            },
        )
        .results[0]
        .status
        for each in values
        for left in still_open
    }


def _value_of(gate: Gate, figure: Figure) -> float | None:
    """Return the figure, unrounded if it is a share or a count."""
    if figure.value is None or figure.numerator is None or not figure.denominator:
        return figure.value
    if gate.metric.kind is MetricKind.COUNT:
        return float(figure.numerator)
    return figure.numerator / figure.denominator


def _decision_differences(stored: Report) -> Iterator[str]:
    statuses = {each.status for each in stored.gates}
    of_gates = {each.reason for each in stored.gates if each.status is not GateStatus.PASSED}
    others = [reason for reason in stored.reasons if reason not in of_gates]
    if GateStatus.FAILED in statuses:
        follows = {Decision.NO_SHIP}
    elif others:
        # A reason besides the gates, in words only, so both decisions are possible.
        follows = {Decision.NO_SHIP, Decision.INCONCLUSIVE}
    elif statuses == {GateStatus.PASSED}:
        follows = {Decision.SHIP}
    else:
        follows = {Decision.INCONCLUSIVE}
    if stored.decision not in follows:
        wanted = " or ".join(sorted(follows))
        yield f"the decision is recorded as {stored.decision}, and follows as {wanted}"


MAX_REPORT_BYTES: Final = 256 * 1024 * 1024
EXACT: Final = "exact"
_NOT_EXACT: Final = (
    "it is recorded without its exact text, in which 0.0 and 0 differ; record it with its text"
)


def replay_event(done: BundleReplay, line: int, head: EventHead) -> None:
    """Replay one event, if possible, and add what was found."""
    run = _REPLAYERS.get(head.type)
    if run is None:
        done.not_run[head.type] += 1
        return
    try:
        differences = run(msgspec.json.decode(head.data))
    except NotReplayableError as error:
        done.add(ReplayedItem(line, head.type, ReplayOutcome.NOT_RUN, str(error)))
        return
    if not differences:
        done.add(ReplayedItem(line, head.type, ReplayOutcome.SAME))
    for difference in differences:
        done.add(ReplayedItem(line, head.type, ReplayOutcome.DIFFERS, difference))


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
    unknown = (*([done.unreplayable] if done.unreplayable else []), *done.unknown_evidence)
    if unknown and not done.differences:
        raise NotReplayableError(f"it cannot be replayed: {unknown[0]}")
    return [str(difference) for difference in done.differences]


def _ledger(data: Any) -> Sequence[str]:
    try:
        ledger = ledger_from_json(jcs(_part(data, "ledger")))
        problem = find_ledger_problem(ledger)
    except AffidavitError as error:
        raise NotReplayableError(f"it is no ledger: {error.message}") from None
    return [problem] if problem else []


def _gate(data: Any) -> Sequence[str]:
    return gate_differences(_part(data, "report"))


def _part(data: Any, name: str) -> dict[str, Any]:
    part = data.get(name) if isinstance(data, dict) else None
    if not isinstance(part, dict):
        raise NotReplayableError(f"its data has no {name}")
    if b'"$redacted"' in jcs(part):
        raise NotReplayableError("parts of it are redacted")
    return part


_REPLAYERS: Final[Mapping[str, Callable[[Any], Sequence[str]]]] = {
    kinds.RECEIPT: _receipt,
    kinds.LEDGER: _ledger,
    kinds.GATE_REPORT: _gate,
}


def replay_bundle(
    path: Path, packs: Sequence[Pack], limits: BundleLimits, report: Path | None
) -> tuple[BundleReplay, BundleLint]:
    """Verify a bundle, replay what it records and lint it, all in one pass."""
    stored = None if report is None else _stored_report(report)
    cap = _cap_of(stored)
    done = BundleReplay()
    linted = lint_bundle(
        path, packs, limits, cap, lambda line, raw: replay_event(done, line, decode_head(raw))
    )
    if stored is not None:
        done.add(_lint_row(stored, linted, f"lint report {report}"))
    return done, linted


def explain_lint(
    name: str, files: Sequence[Path], packs: Sequence[Pack], limits: BundleLimits
) -> Explanation:
    """Explain a figure or a rule, for one bundle or in general."""
    if len(files) > 1:
        raise AffidavitError(faults.EXPLAIN_MANY, count=len(files))
    if not files:
        return explain(name, packs, None)
    done, linted = replay_bundle(files[0], packs, limits, None)
    return explain(name, packs, linted.result, tuple(_replayed_lines(done)))


def _replayed_lines(done: BundleReplay) -> Iterator[str]:
    """Yield what a replay really runs again: a score tells what is recorded, not what runs."""
    run = sum(done.counts[each] for each in (ReplayOutcome.SAME, ReplayOutcome.DIFFERS))
    yield f"Replay runs again: {run} of the recorded results (receipts, ledgers, gate reports)."
    if cannot := done.counts[ReplayOutcome.NOT_RUN]:
        yield f"Replay cannot run again: {cannot} of them; `affidavit evidence replay` says why."
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(done.not_run.items()))
    if listed:
        yield f"Replay never runs, and only lists: {listed}."


def packs_of_report(report: Path) -> tuple[str, ...]:
    """Return the names or paths of the packs of a lint report."""
    packs = _stored_report(report).get("packs")
    named = [each for each in packs if isinstance(each, dict)] if isinstance(packs, list) else []
    return tuple(
        str(each.get("name") if each.get("source") == BUILT_IN else each.get("source"))
        for each in named
    )


def _stored_report(report: Path) -> dict[str, Any]:
    value = read_json_file(report, MAX_REPORT_BYTES)
    if not isinstance(value, dict) or value.get("schema_version") != LINT_SCHEMA_VERSION:
        raise AffidavitError(
            faults.REPLAY_REPORT, Where(file=str(report)), known=LINT_SCHEMA_VERSION
        )
    return value


def _cap_of(stored: Mapping[str, Any] | None) -> int:
    cap = MAX_RESULTS if stored is None else stored.get("max_results")
    return cap if isinstance(cap, int) and cap > 0 else MAX_RESULTS


def _lint_row(stored: Mapping[str, Any], linted: BundleLint, what: str) -> ReplayedItem:
    """Compare a stored lint report with the current result, if the same rules made both."""
    bundles = stored.get("bundles")
    found = [
        each
        for each in (bundles if isinstance(bundles, list) else ())
        if isinstance(each, dict) and each.get("bundle_digest") == linted.digest
    ]
    if not found:
        return ReplayedItem(None, what, ReplayOutcome.NOT_RUN, "it is not about this bundle")
    if others := "; ".join(_other_makers(stored, linted.result.packs)):
        detail = f"it was made with something else: {others}"
        return ReplayedItem(None, what, ReplayOutcome.NOT_RUN, detail)
    fresh = msgspec.to_builtins(linted_bundle(linted))
    changed = {
        key
        for bundle in found
        for key in {*bundle, *fresh} - {"path"}
        if jcs(bundle.get(key)) != jcs(fresh.get(key))
    }
    if unknown := changed.difference(LintedBundle.__struct_fields__):
        detail = f"this version does not know {excerpt(', '.join(sorted(unknown)))}"
        return ReplayedItem(None, what, ReplayOutcome.NOT_RUN, detail)
    if not changed:
        return ReplayedItem(None, what, ReplayOutcome.SAME)
    detail = f"it differs in {', '.join(sorted(changed))}"
    return ReplayedItem(None, what, ReplayOutcome.DIFFERS, detail)


def _other_makers(stored: Mapping[str, Any], packs: Sequence[Pack]) -> Iterator[str]:
    """Yield each engine, registry and pack that made a lint report and is not the current one."""
    versions = {"engine": ENGINE_VERSION, "signals": REGISTRY_VERSION}
    for name, now in versions.items():
        if (made_by := stored.get(name, "not named")) != now:
            yield f"{name} {excerpt(str(made_by))}, and this is {now}"
    listed = stored.get("packs")
    then = [
        _pack_identity(*map(each.get, ("name", "version", "registry_digest")))
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict)
    ]
    now_run = [_pack_identity(each.name, each.version, each.registry_digest) for each in packs]
    yield from (f"pack {each}, which is not run now" for each in then if each not in now_run)
    yield from (f"without pack {each}" for each in now_run if each not in then)
    if then != now_run and sorted(then) == sorted(now_run):
        yield "the packs in another order"


def _pack_identity(*parts: object) -> str:
    name, version, digest = (excerpt(str(each), 80) for each in parts)
    return f"{name}@{version} ({digest})"
