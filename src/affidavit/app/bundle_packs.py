"""The packs that a manifest names: run when a bundle is sealed, and again when it is verified.

A pack is identified by its digests, so anybody who has it can recompute the result. Rules that read
the manifest are given it without the results, which are not known when a bundle is sealed.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from affidavit.app.pack_files import find_pack
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.text import excerpt
from affidavit.packs.lint import LintPass, RuleResult
from affidavit.packs.model import ENGINE_VERSION, Pack, Severity
from affidavit.packs.report import LintFinding
from affidavit.seal.bundle.container import MANIFEST
from affidavit.seal.bundle.manifest import (
    AFFIDAVIT_BLOCK,
    ASSAY_BLOCK,
    PACK_RESULTS,
    AssayBlockV1,
    Manifest,
    MappingV1,
    PackAppliedV1,
    PackResultV1,
)
from affidavit.seal.bundle.reader import VerifiedLines


def packs_block(packs: Sequence[Pack]) -> AssayBlockV1:
    """Return the packs that a run must satisfy, as the manifest names them.

    Origin: ADR-025, data contract 3. A rule without a reference has no mapping.
    """
    return AssayBlockV1(
        tuple(
            PackAppliedV1(pack.name, pack.version, pack.digest, pack.kind.value, pack.source_url)
            for pack in packs
        ),
        tuple(
            MappingV1(pack.canonical_id(rule), rule.framework or pack.name, rule.article_ref)
            for pack in packs
            for rule in pack.rules
            if rule.article_ref is not None
        ),
    )


class PackRun(Struct, frozen=True):
    """What packs found in the events of a bundle."""

    results: tuple[PackResultV1, ...] = ()
    findings: tuple[LintFinding, ...] = ()

    @property
    def is_satisfied(self) -> bool:
        """Whether no rule failed that is an error."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)


class PackRunner:
    """Runs packs over the lines of a bundle."""

    def __init__(self, packs: Sequence[Pack], manifest: Mapping[str, Any]) -> None:
        ours = manifest.get(AFFIDAVIT_BLOCK, {})
        kept = {key: value for key, value in ours.items() if key != PACK_RESULTS}
        self._packs = packs
        self._lint = LintPass(packs, {**manifest, AFFIDAVIT_BLOCK: kept})

    def feed(self, first: int, text: bytes) -> None:
        """Read whole lines, of which the first has this number, counted from 1."""
        self._lint.feed_lines(first, text)

    def finish(self) -> PackRun:
        """Return what every pack found."""
        rules = self._lint.finish().rules
        return PackRun(
            tuple(
                _result(pack, [rule for rule in rules if rule.pack is pack]) for pack in self._packs
            ),
            tuple(each.finding for each in rules if each.finding is not None),
        )


def _result(pack: Pack, rules: Sequence[RuleResult]) -> PackResultV1:
    return PackResultV1(
        pack=pack.label,
        digest=pack.digest,
        registry_digest=pack.registry_digest,
        engine=ENGINE_VERSION,
        rules=len(rules),
        failed=tuple(each.rule.id for each in rules if each.finding is not None),
    )


class ManifestPacks:
    """Compares what a manifest says about its packs with the packs and the events."""

    def __init__(self, manifest: Manifest, named: Iterable[Pack], config: Path | None) -> None:
        known = manifest.known
        self._manifest = manifest
        self._is_redacted = known.affidavit is not None and known.affidavit.origin is not None
        recorded = () if known.affidavit is None else known.affidavit.pack_results
        self._recorded = {result.digest: result for result in recorded}
        by_digest = {pack.digest: pack for pack in named}
        self._packs: list[Pack] = []
        self._not_run: list[str] = []
        for applied in known.packs_applied:
            pack = by_digest.get(applied.digest) or find_pack(applied.name, config)
            reason = self._why_not(applied, pack)
            if reason is None and pack is not None:
                self._packs.append(pack)
            else:
                self._leave(applied.name, applied.version, str(reason))
        self._runner = PackRunner(self._packs, manifest.value)

    def _why_not(self, applied: PackAppliedV1, pack: Pack | None) -> str | None:
        """Return why a pack cannot be run again; None if it can."""
        recorded = self._recorded.get(applied.digest)
        if recorded is None:
            return "what it found was not recorded"
        if recorded.engine != ENGINE_VERSION:
            return f"it was run by pack engine {excerpt(recorded.engine)}"
        found = None if pack is None else (pack.digest, pack.registry_digest)
        if found != (applied.digest, recorded.registry_digest):
            return f"the pack with the digest {excerpt(applied.digest, 80)} is not at hand"
        return None

    def _leave(self, name: str, version: str, reason: str) -> None:
        pack = f"{excerpt(name)}@{excerpt(version)}"
        self._not_run.append(f"/{ASSAY_BLOCK}/packs_applied: {pack}: {reason}")

    def feed(self, lines: VerifiedLines) -> None:
        """Run the packs over verified lines."""
        self._runner.feed(lines.first, lines.text)

    def finish(self) -> tuple[str, ...]:
        """Return what could not be run again; raise if the manifest says something else."""
        known = self._manifest.known
        for pack, found in zip(self._packs, self._runner.finish().results, strict=True):
            block = packs_block([pack])
            mappings = () if known.assay is None else known.assay.mappings
            named = tuple(each for each in mappings if each.rule.startswith(f"{pack.label}:"))
            _require(pack, "its mappings", named, block.mappings)
            applied = (each for each in known.packs_applied if each.digest == pack.digest)
            _require(pack, "its name and kind", tuple(applied), block.packs_applied)
            recorded = self._recorded[pack.digest]
            if self._is_redacted and recorded != found:
                self._leave(pack.name, pack.version, "it reads values that are redacted")
            else:
                _require(pack, "failed rules", recorded, found)
        return tuple(self._not_run)


def _require(pack: Pack, what: str, said: object, found: object) -> None:
    if said != found:
        where = Where(MANIFEST, field=what)
        values = {"said": excerpt(str(said), 200), "found": excerpt(str(found), 200)}
        raise AffidavitError(faults.BUNDLE_PACK_RESULT, where, pack=pack.label, **values)
