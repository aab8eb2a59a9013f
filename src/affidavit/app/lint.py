"""Lint bundles with packs: verification and rules in one pass, the report and the exit code.

Events are fed to the rules while they are verified. The totals in the manifest are checked last, so
the findings of a bundle that does not verify are discarded.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from msgspec import UNSET

import affidavit
from affidavit.app.bundles import bundle_stream, error_in_bundle, shown_name
from affidavit.app.pack_files import load_packs, pack_folder, split_names
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.gate import Gate, override_gates
from affidavit.packs.lint import (
    LINT_METRICS,
    BundleLint,
    LintPass,
    PreparedPacks,
    decide_lint,
)
from affidavit.packs.model import ENGINE_VERSION, Pack, Severity, disclaimer_of
from affidavit.packs.report import (
    CLOSURE_VERSION,
    LINT_SCHEMA_VERSION,
    AppliedPack,
    ClosureReport,
    LintedBundle,
    LintGates,
    LintReport,
    LintSummary,
    PackReference,
    RuleOutcome,
    pack_as,
)
from affidavit.packs.signals import REGISTRY_VERSION
from affidavit.reports.lint_text import LintOutcome
from affidavit.seal.bundle.container import BundleLimits
from affidavit.seal.bundle.reader import VerifiedLines, read_bundle
from affidavit.seal.verification import UnreadableInput

_WORST_FIRST = (Exit.TAMPERED, Exit.INPUT, Exit.UNKNOWN, Exit.NO)


# A portion has a cost of its own, and the first event of a bundle comes alone.
_PORTION_BYTES: Final = 1 << 16


class _DigestingStream:
    """A stream that computes the digest of what is read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes."""
        data = self._stream.read(size)
        self._digest.update(data)
        return data

    def digest_of_all(self) -> str:
        """Read the rest and return the digest of the whole stream."""
        while self.read(_PORTION_BYTES):
            pass
        return f"sha256:{self._digest.hexdigest()}"


def _joined(portions: Iterable[VerifiedLines]) -> Iterator[VerifiedLines]:
    """Yield the same lines in portions that are large enough to be worth it."""
    held: VerifiedLines | None = None
    for lines in portions:
        held = lines if held is None else VerifiedLines(held.text + lines.text, held.first)
        if len(held.text) >= _PORTION_BYTES:
            yield held
            held = None
    if held is not None:
        yield held


def lint_bundle(
    path: Path,
    packs: Sequence[Pack] | PreparedPacks,
    limits: BundleLimits,
    max_results: int,
    on_line: Callable[[int, bytes], None] | None = None,
) -> BundleLint:
    """Verify and lint one bundle, or raise the reason why it cannot be linted.

    `on_line` is called with the number and the bytes of each line, in the same pass.
    """
    with bundle_stream(path) as opened:
        stream = _DigestingStream(opened)
        try:
            reader = read_bundle(stream, limits)
            lint = LintPass(packs, reader.manifest.value, max_results)
            for lines in _joined(reader.lines()):
                lint.feed_lines(lines.first, lines.text)
                if on_line is not None:
                    for number, line in lines.each():
                        on_line(number, line)
        except AffidavitError as error:
            raise error_in_bundle(path, error) from None
        known = reader.manifest.known
        return BundleLint(
            name=shown_name(path),
            digest=stream.digest_of_all(),
            bundle_id=known.bundle_id,
            run_id=known.run_id,
            result=lint.finish(),
        )


def lint_bundles(
    paths: Iterable[Path], packs: Sequence[Pack], limits: BundleLimits, max_results: int
) -> Iterator[LintOutcome]:
    """Lint bundles; one that cannot be linted does not stop the others."""
    prepared = PreparedPacks(packs)
    for path in paths:
        try:
            yield lint_bundle(path, prepared, limits, max_results)
        except AffidavitError as error:
            yield UnreadableInput("bundle", shown_name(path), error)


def packs_from_texts(texts: Sequence[str]) -> tuple[Pack, ...]:
    """Return the packs that the user names, by default `cicd-starter`."""
    return load_packs(split_names(texts), pack_folder())


def lint_gates_from_texts(
    texts: Sequence[str], *, min_closure: float | None = None, require_complete: bool = False
) -> tuple[Gate, ...]:
    """Return the gates that the user asks for; there are none by default."""
    closure = () if min_closure is None else (f"closure>={min_closure}",)
    complete = ("completeness>=1",) if require_complete else ()
    return override_gates([*texts, *closure, *complete], (), LINT_METRICS)


def severity_from_text(text: str) -> Severity | None:
    """Return the threshold that `--fail-on` names; None for `none`."""
    return None if text == "none" else Severity("warning" if text == "warn" else text)


def exit_for(
    outcomes: Sequence[LintOutcome], fail_on: Severity | None, gates: Sequence[Gate] = ()
) -> Exit:
    """Return the worst exit: a bundle not linted, a finding or failed gate, a gate not measured."""
    linted = [each for each in outcomes if isinstance(each, BundleLint)]
    unreadable = {each.exit for each in outcomes if isinstance(each, UnreadableInput)}
    decided = {decide_lint(gates, each.result).exit for each in linted} if gates else set()
    if unreadable:
        return next(code for code in _WORST_FIRST if code in unreadable)
    if Exit.NO in decided or (
        fail_on and any(each.result.has_at_least(fail_on) for each in linted)
    ):
        return Exit.NO
    return Exit.UNKNOWN if Exit.UNKNOWN in decided or not linted else Exit.YES


def lint_report(
    outcomes: Sequence[LintOutcome],
    packs: Sequence[Pack],
    fail_on: Severity | None,
    max_results: int,
    gates: Sequence[Gate] = (),
) -> LintReport:
    """Return the report: no clock and no machine names, so equal input gives equal bytes."""
    linted = [each for each in outcomes if isinstance(each, BundleLint)]
    summaries = [each.result.summary for each in linted]
    return LintReport(
        schema_version=LINT_SCHEMA_VERSION,
        tool_version=affidavit.__version__,
        exit=int(exit_for(outcomes, fail_on, gates)),
        fail_on="none" if fail_on is None else fail_on.value,
        packs=tuple(pack_as(AppliedPack, pack) for pack in packs),
        disclaimer=disclaimer_of(packs),
        summary=LintSummary(
            total=sum(each.total for each in summaries),
            errors=sum(each.errors for each in summaries),
            warnings=sum(each.warnings for each in summaries),
            infos=sum(each.infos for each in summaries),
        ),
        max_results=max_results,
        bundles=tuple(map(linted_bundle, outcomes)),
        gates=tuple(_lint_gates(gates, each) for each in linted) if gates else UNSET,
        engine=ENGINE_VERSION,
        signals=REGISTRY_VERSION,
    )


def _lint_gates(gates: Sequence[Gate], linted: BundleLint) -> LintGates:
    # Beside the bundles, not in them: a replay compares bundles, and gates are not part of one.
    made = decide_lint(gates, linted.result)
    return LintGates(
        path=linted.name, bundle_digest=linted.digest, decision=made.decision, results=made.results
    )


def linted_bundle(outcome: LintOutcome) -> LintedBundle:
    """Return the entry of one bundle in the report."""
    if isinstance(outcome, UnreadableInput):
        return LintedBundle(path=outcome.name, verified=False, error=outcome.error.as_wire())
    result = outcome.result
    return LintedBundle(
        path=outcome.name,
        verified=True,
        bundle_id=outcome.bundle_id,
        bundle_digest=outcome.digest,
        run_id=outcome.run_id,
        event_count=result.events,
        summary=result.summary,
        truncated=result.truncated,
        findings=result.findings,
        rules=tuple(
            RuleOutcome(
                each.pack.canonical_id(each.rule),
                each.outcome,
                each.rule.requires_signals,
            )
            for each in result.rules
        ),
        closure_report=closure_report(outcome),
    )


def closure_report(linted: BundleLint) -> ClosureReport:
    """Return completeness and closure of a bundle."""
    result = linted.result
    return ClosureReport(
        schema_version=CLOSURE_VERSION,
        bundle_digest=linted.digest,
        pack_context=tuple(pack_as(PackReference, pack) for pack in result.packs),
        completeness=result.completeness,
        closure=result.closure,
    )
