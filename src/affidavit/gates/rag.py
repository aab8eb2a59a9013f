"""The RAG gates as a whole: from counts to a decision and its report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from affidavit.gates.comparison import Comparison, doubts_of, regressions
from affidavit.gates.decision import Ruling, rule_on
from affidavit.gates.metrics import RAG
from affidavit.gates.offenders import Offender
from affidavit.gates.rag_brought import Brought
from affidavit.gates.rag_counts import RagCounts, outcome_of
from affidavit.gates.rag_profiles import Profile, Seen
from affidavit.gates.rag_scoring import DEFAULT_SETTINGS, RagSettings
from affidavit.gates.report import Checks, Input, ItemGroup, Place, Report, grouped
from affidavit.gates.tally import NOTHING_LISTED
from affidavit.gates.thresholds import RAG_GATES, SCU_GATE, Gate, gates_with

KIND: Final = "rag"
TRACES: Final = "trace"
"""The role of the input whose rows the offenders are."""


@dataclass(frozen=True, slots=True)
class RagPolicy:
    """What the user asks of a run."""

    overrides: tuple[str, ...] = ()
    scu_enforced: bool = False
    allow_missing: bool = False
    settings: RagSettings = DEFAULT_SETTINGS

    def gates(self, counts: RagCounts) -> tuple[Gate, ...]:
        """Return the gates: SCU is used if it is enforced, or if a gold item has constraints."""
        used = self.scu_enforced or counts.uses_scu()
        return gates_with(self.overrides, (*RAG_GATES, *(SCU_GATE if used else ())), RAG)


def rag_report(
    counts: RagCounts,
    policy: RagPolicy,
    inputs: Iterable[Input],
    *,
    offenders: Iterable[Offender] = (),
    items: Iterable[tuple[str, Profile]] | None = None,
    comparison: Comparison | None = None,
    fail_on_regression: bool = False,
    brought: Brought | None = None,
) -> Report:
    """Return the report of a run. `items` are kept for later comparisons, if they are given."""
    worst = tuple(offenders)
    given = tuple(_with_places(each, worst) for each in inputs)
    along = brought or Brought()
    measures = counts.measures(allow_missing=policy.allow_missing)
    watched = comparison if fail_on_regression else None
    ruling: Ruling = rule_on(
        policy.gates(counts),
        measures,
        doubts=(*_doubts(counts, policy, given), *doubts_of(watched)),
        refusals=regressions(watched),
    )
    return Report(
        KIND,
        ruling,
        given,
        measures,
        tuple(offender.as_wire() for offender in worst),
        (*_warnings(counts, policy, given), *along.warnings),
        {
            **counts.listings,
            "traces_without_gold": counts.strays,
            **along.listings,
        },
        _counts(counts),
        {
            "k": policy.settings.k,
            "refusal": policy.settings.refusal,
            "scu_enforced": policy.scu_enforced,
            "allow_missing": policy.allow_missing,
            "scu_rules": [rule.id for rule in policy.settings.scu_rules],
        },
        along.details,
        items=None if items is None else groups_of(items),
        comparison=comparison,
    )


def _with_places(given: Input, offenders: tuple[Offender, ...]) -> Input:
    if given.role != TRACES:
        return given
    placed = {
        each.qid: Place(each.file or given.path, each.line)
        for each in offenders
        if each.line is not None
    }
    return replace(given, places=placed)


def groups_of(items: Iterable[tuple[str, Profile]]) -> tuple[ItemGroup, ...]:
    """Return how every item came out, with C, H and K where they apply; few groups for many."""
    by_profile: dict[Profile, list[str]] = {}
    for qid, profile in items:
        by_profile.setdefault(profile, []).append(qid)
    return grouped(
        ItemGroup(outcome_of(profile), _checks_of(profile), qids)
        for profile, qids in by_profile.items()
    )


def _checks_of(profile: Profile) -> Checks:
    if profile.seen is not Seen.SHIPPED or not profile.answerable:
        return ()
    checks: Checks = (("C", profile.contains), ("H", profile.cites))
    return (*checks, ("K", profile.keeps)) if profile.constrained else checks


def _counts(counts: RagCounts) -> Mapping[str, int]:
    return {
        "gold": counts.items(),
        "traces": counts.traces,
        "duplicates": counts.duplicates,
        **{f"{seen.value}": counts.items(seen) for seen in Seen},
        "answerable": sum(n for profile, n in counts.profiles.items() if profile.answerable),
        "unanswerable": sum(n for profile, n in counts.profiles.items() if not profile.answerable),
    }


def _doubts(counts: RagCounts, policy: RagPolicy, inputs: tuple[Input, ...]) -> tuple[str, ...]:
    """Return why a run cannot ship although its gates pass."""
    total, missing = counts.items(), counts.items(Seen.MISSING)
    nothing = {
        "the gold set is empty": not total,
        "there are no traces": total and not counts.traces,
        "no trace has a qid of the gold set": counts.traces and missing == total > 0,
    }
    doubts = [text for text, holds in nothing.items() if holds]
    if not policy.allow_missing:
        doubts += _gaps(counts, inputs)
    return tuple(doubts)


def _gaps(counts: RagCounts, inputs: tuple[Input, ...]) -> list[str]:
    total, missing, silent = counts.items(), counts.items(Seen.MISSING), counts.items(Seen.SILENT)
    skipped = sum(given.skipped for given in inputs)
    said = {
        f"{missing} of {total} gold items have no trace (allow it with --allow-missing)": missing,
        f"{silent} of {total} gold items have no answer (allow it with --allow-missing)": silent,
        f"lines that were not rows and were skipped: {skipped}": skipped,
    }
    return [text for text, count in said.items() if count]


def _warnings(counts: RagCounts, policy: RagPolicy, inputs: tuple[Input, ...]) -> tuple[str, ...]:
    near = counts.listings.get("near_refusals", NOTHING_LISTED).total
    said = {
        f"traces that gave way to a later one of the same qid: {counts.duplicates}": (
            counts.duplicates
        ),
        f"traces whose qid is not in the gold set: {counts.strays.total}": counts.strays.total,
        f"answers that hold {policy.settings.refusal!r} but are not exactly it, so they are no"
        f" refusals: {near}": near,
    }
    gaps = _gaps(counts, inputs) if policy.allow_missing else []
    return (*(text for text, count in said.items() if count), *gaps)
