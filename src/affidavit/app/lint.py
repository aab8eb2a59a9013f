"""Lint bundles with packs: verification and rules in one pass, the report and the exit code."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

import affidavit
from affidavit.app.bundles import bundle_stream, error_in_bundle, shown_name
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.gate import Gate
from affidavit.packs.lint import LintPass, LintResult
from affidavit.packs.lint_gates import decide_lint
from affidavit.packs.model import Pack, Severity
from affidavit.seal.bundle.limits import BundleLimits
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reader import read_bundle

# Lints bundles: each is verified and looked at in one pass, and what does not verify says nothing.
#
# The events are fed to the rules while they are verified. What the manifest says of all of them is
# checked at the end, so the findings of a bundle that fails there are thrown away.


@dataclass(frozen=True, slots=True)
class LintedBundle:
    """A bundle that verified, and what lint says of it."""

    path: str
    digest: str
    manifest: Manifest
    result: LintResult


@dataclass(frozen=True, slots=True)
class UnverifiedBundle:
    """A bundle that did not verify or could not be read: it was not linted."""

    path: str
    error: AffidavitError


LintOutcome = LintedBundle | UnverifiedBundle


class _DigestingStream:
    """A stream that knows the digest of what was read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""
        data = self._stream.read(size)
        self._digest.update(data)
        return data

    def finished(self) -> str:
        """Return the digest of the whole, what was not asked for included."""
        while self.read(1 << 20):
            pass
        return f"sha256:{self._digest.hexdigest()}"


def lint_bundle(
    path: Path,
    packs: Sequence[Pack],
    limits: BundleLimits,
    max_results: int,
    also: Callable[[int, bytes], None] | None = None,
) -> LintedBundle:
    """Verify and lint one bundle, or raise what is wrong with it.

    `also` is called with each line and its number, in the same pass.
    """
    with bundle_stream(path) as opened:
        stream = _DigestingStream(opened)
        try:
            reader = read_bundle(stream, limits)
            done = LintPass(packs, reader.manifest.value, max_results)
            for lines in reader.lines():
                done.feed_lines(lines.first, lines.text)
                if also is not None:
                    for number, line in lines.each():
                        also(number, line)
        except AffidavitError as error:
            raise error_in_bundle(path, error) from None
        return LintedBundle(shown_name(path), stream.finished(), reader.manifest, done.finish())


def lint_bundles(
    paths: Iterable[Path], packs: Sequence[Pack], limits: BundleLimits, max_results: int
) -> Iterator[LintOutcome]:
    """Lint many; one that cannot be linted does not keep the others from it."""
    for path in paths:
        try:
            yield lint_bundle(path, packs, limits, max_results)
        except AffidavitError as error:
            yield UnverifiedBundle(shown_name(path), error)


# The report of a lint for machines, and how a command that made it ends.
#
# `affidavit-lint/1`: a change of its form is a new version. The same bundles and packs give the
# same bytes: no clock, no machine.

LINT_SCHEMA_VERSION: Final = "affidavit-lint/1"
CLOSURE_VERSION: Final = "closure-v1"
NO_THRESHOLD: Final = "none"
_WORST_FIRST: Final = (Exit.TAMPERED, Exit.INPUT, Exit.UNKNOWN)


def exit_for(
    outcomes: Sequence[LintOutcome], fail_on: Severity | None, gates: Sequence[Gate] = ()
) -> Exit:
    """Return the worst exit: a bundle not linted, a finding or failed gate, a gate not measured."""
    linted = [each for each in outcomes if isinstance(each, LintedBundle)]
    refused = {each.error.fault.exit for each in outcomes if isinstance(each, UnverifiedBundle)}
    ends = {decide_lint(gates, each.result).exit for each in linted} if gates else set()
    if refused:
        return next(end for end in (*_WORST_FIRST, Exit.NO) if end in refused)
    if Exit.NO in ends or (fail_on and any(each.result.has_at_least(fail_on) for each in linted)):
        return Exit.NO
    return Exit.UNKNOWN if Exit.UNKNOWN in ends or not linted else Exit.YES


def disclaimer_of(packs: Sequence[Pack]) -> str | None:
    """Return what the packs do not promise; every report shows it."""
    said = [pack.disclaimer.strip() for pack in packs if pack.disclaimer]
    return "\n\n---\n\n".join(dict.fromkeys(said)) or None


def lint_report_as_wire(
    outcomes: Sequence[LintOutcome],
    packs: Sequence[Pack],
    fail_on: Severity | None,
    max_results: int,
    gates: Sequence[Gate] = (),
) -> dict[str, object]:
    """Return the whole report; it has the member `gates` only if there are gates."""
    linted = [each for each in outcomes if isinstance(each, LintedBundle)]
    return {
        "schema_version": LINT_SCHEMA_VERSION,
        "tool_version": affidavit.__version__,
        "exit": int(exit_for(outcomes, fail_on, gates)),
        "fail_on": NO_THRESHOLD if fail_on is None else fail_on.value,
        "packs": [pack_as_wire(pack) for pack in packs],
        "disclaimer": disclaimer_of(packs),
        "summary": _summary(linted),
        "max_results": max_results,
        "bundles": [bundle_as_wire(each) for each in outcomes],
        **({"gates": [_gates_as_wire(gates, each) for each in linted]} if gates else {}),
    }


def _gates_as_wire(gates: Sequence[Gate], linted: LintedBundle) -> dict[str, object]:
    # Beside the bundles, not in them: a replay compares bundles, and gates are not part of one.
    summary: dict[str, object] = msgspec.to_builtins(decide_lint(gates, linted.result))
    return {"path": linted.path, "bundle_digest": linted.digest, **summary}


def pack_as_wire(pack: Pack) -> dict[str, object]:
    """Return which pack was run, exactly."""
    return {
        "name": pack.name,
        "version": pack.version,
        "kind": pack.kind.value,
        "digest": pack.digest,
        "registry_digest": pack.registry_digest,
        "source": pack.source,
        "source_url": pack.source_url,
    }


def _summary(linted: Sequence[LintedBundle]) -> dict[str, int]:
    counts = {
        severity: sum(each.result.counts[severity] for each in linted) for severity in Severity
    }
    return {
        "total": sum(counts.values()),
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "infos": counts[Severity.INFO],
    }


def bundle_as_wire(outcome: LintOutcome) -> dict[str, object]:
    """Return what is said of one bundle."""
    if isinstance(outcome, UnverifiedBundle):
        return {"path": outcome.path, "verified": False, "error": outcome.error.as_wire()}
    known, result = outcome.manifest.known, outcome.result
    return {
        "path": outcome.path,
        "verified": True,
        "bundle_id": known.bundle_id,
        "bundle_digest": outcome.digest,
        "run_id": known.run_id,
        "event_count": result.events,
        "summary": _summary([outcome]),
        "truncated": result.truncated,
        "findings": [finding.as_wire() for finding in result.findings],
        "rules": [
            {
                "rule_id": each.pack.canonical_id(each.rule),
                "outcome": "pass" if each.finding is None else "fail",
                "requires_signals": list(each.rule.requires_signals),
            }
            for each in result.outcomes
        ],
        "closure_report": closure_report(outcome),
    }


def closure_report(linted: LintedBundle) -> dict[str, object]:
    """Return completeness and closure in the form of the ADR's closure-v1 schema."""
    result = linted.result
    return {
        "schema_version": CLOSURE_VERSION,
        "bundle_digest": linted.digest,
        "pack_context": [
            {
                "name": pack.name,
                "version": pack.version,
                "kind": pack.kind.value,
                "digest": pack.digest,
            }
            for pack in result.packs
        ],
        "completeness": result.completeness.as_wire(),
        "closure": result.closure.as_wire(),
    }
