"""A soak as text and as a page: pass rates, violations, drift and the surface."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from affidavit import __version__
from affidavit.decision.decision import Decision
from affidavit.reports.pages import page_templates
from affidavit.reports.text_tables import Cell, Note, TextPart, Tone, escape_controls, text_table
from affidavit.soak.figures import Ci95
from affidavit.soak.policy import SoakCounts
from affidavit.soak.report import SoakDetails
from affidavit.soak.surface import SurfaceCell, SurfaceReport, weakest
from affidavit.soak.trial import TrialStatus

# A soak and a fault surface as one HTML page that works offline, without scripts.


@dataclass(frozen=True, slots=True)
class PageSection:
    """A table of the page."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def soak_html(details: SoakDetails, surface: SurfaceReport | None = None) -> str:
    """Return the page of a soak: runs, surface, figures, violations and divergences."""
    decided = details.decision
    rate = "no run was judged"
    if details.pass_rate is not None:
        rate = f"pass rate {details.pass_rate} {interval_words(details.pass_rate_ci95)}"
    partial = "; partial" if details.partial else ""
    return _page(
        title=f"Soak of {details.plan.target}",
        headline=f"{counts_words(details.counts)}; {rate}{partial}",
        decision=decided.decision.value,
        said=DECISION_WORDS[decided.decision],
        reasons=(*decided.reasons, *details.notes),
        trials=details.trials,
        surface=surface,
        sections=[section for section in _sections(details) if section.rows],
        packs=", ".join(f"{pack.name}@{pack.version}" for pack in details.plan.packs),
        seed=details.plan.seed,
    )


def surface_html(surface: SurfaceReport) -> str:
    """Return the page of a surface alone."""
    return _page(
        title=f"Fault surface of {surface.target}",
        headline=f"{surface.iterations} runs in each cell",
        decision="",
        said="",
        reasons=(),
        trials=(),
        surface=surface,
        sections=(),
        packs=", ".join(surface.packs),
        seed=surface.seed,
    )


def _page(**values: object) -> str:
    templates = page_templates()
    templates.filters["visible"] = escape_controls
    page = templates.get_template("soak.html.j2")
    return page.render(version=__version__, shade=_shade, **values)


def _shade(rate: float) -> float:
    """Return how strongly a cell is coloured: a rate far from its neighbours stands out."""
    return round(0.15 + 0.5 * (rate if rate >= 0.5 else 1 - rate), 2)


def _sections(details: SoakDetails) -> Iterator[PageSection]:
    yield PageSection("pass^k", ("k", "pass^k", "95% interval"), _rows(_pass_hat_k_rows(details)))
    yield PageSection(
        "Cases",
        ("Case", "Result", "Pass rate", "95% interval"),
        _rows(
            (
                each.case,
                counts_words(each.counts),
                "not measured" if each.pass_rate is None else str(each.pass_rate),
                interval_words(each.ci95),
            )
            for each in details.cases
        ),
    )
    yield PageSection(
        "Violations by rule",
        ("Rule", "Runs that violate it"),
        _rows((rule, str(count)) for rule, count in details.violations_by_rule.items()),
    )
    yield PageSection(
        "The last error line of failing runs",
        ("Line", "Runs"),
        _rows((line, str(count)) for line, count in said_by_failing_runs(details)),
    )
    yield PageSection(
        "Where failing runs first differ from a passing run",
        ("Run", "Compared with", "Event", "Type", "In the passing run", "Places"),
        _rows(
            (
                str(each.index),
                f"run {each.compared_with}",
                str(each.event),
                each.type or "none: the run ended",
                each.passing_type or "none: the run ended",
                ", ".join(each.places),
            )
            for each in details.divergences
        ),
    )
    yield PageSection(
        "Faults",
        ("Kind", "Injected", "Runs that it hit"),
        _rows(
            (each.kind, str(each.injected), counts_words(each.counts)) for each in details.faults
        ),
    )
    yield PageSection(
        "Runs that were not judged",
        ("Run", "Kind", "Why"),
        _rows(
            (str(trial.index), trial.infra_error.kind.value, trial.infra_error.message)
            for trial in details.trials
            if trial.infra_error is not None
        ),
    )
    if details.drift is not None:
        yield PageSection(
            f"Drift: {details.drift.verdict.replace('_', ' ')}, {details.drift.why}",
            ("Figure", "Before", "Now", "p, corrected"),
            _rows(
                (each.name, str(each.before), str(each.now), str(each.p_corrected))
                for each in details.drift.shifts
            ),
        )


def _pass_hat_k_rows(details: SoakDetails) -> Iterator[tuple[str, ...]]:
    for each in details.pass_hat_k.values[:100]:
        yield str(each.k), str(each.value), interval_words(each.ci95)


def _rows(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(rows)


DECISION_WORDS: Final = {
    Decision.SHIP: "passed",
    Decision.NO_SHIP: "failed",
    Decision.INCONCLUSIVE: "could not tell",
}
_TONES: Final = {
    TrialStatus.PASS: Tone.GOOD,
    TrialStatus.FAIL: Tone.BAD,
    TrialStatus.INFRA_ERROR: Tone.UNSURE,
}
_SHOWN_K: Final = (1, 2, 3, 5, 8, 10, 20, 50, 100)
_SHOWN_ROWS: Final = 20


def soak_text(details: SoakDetails) -> Iterator[TextPart]:
    """Yield the decision, the figures and the tables of a soak."""
    counts, decided = details.counts, DECISION_WORDS[details.decision.decision]
    runs = f"{counts.runs} of {details.plan.iterations} runs"
    yield f"Soak {decided}: {runs}, {counts_words(counts)}"
    for reason in details.decision.reasons:
        yield f"  {reason}"
    if details.partial:
        yield f"This report is partial: {_why_partial(details)}."
    for note in details.notes:
        yield f"Note: {note}."
    if details.pass_rate is not None:
        yield f"Pass rate {details.pass_rate} {interval_words(details.pass_rate_ci95)}"
        yield from _pass_hat_k(details)
    if details.sequential is not None:
        found = details.sequential
        yield (
            f"Until {found.bound.rate}@{found.bound.percent:g}: {found.side} after"
            f" {found.judged_runs} judged runs, at any time {interval_words(found.interval)}"
        )
    yield from _cases(details)
    yield from _violations(details)
    yield from _said(details)
    yield from _infra_errors(details)
    yield from _drift(details)
    yield from _divergences(details)
    packs = ", ".join(f"{pack.name}@{pack.version}" for pack in details.plan.packs)
    yield Note(f"packs: {packs}; seed {details.plan.seed}")


def counts_words(counts: SoakCounts) -> str:
    """Return counts in words."""
    return f"{counts.passes} passed, {counts.failures} failed, {counts.infra_errors} not judged"


def interval_words(ci95: Ci95 | None) -> str:
    """Return an interval in brackets."""
    return "(no interval)" if ci95 is None else f"[{ci95[0]}, {ci95[1]}]"


def _why_partial(details: SoakDetails) -> str:
    if details.shard is not None:
        return f"it is shard {details.shard}"
    return "the time budget ended" if details.stopped == "time_budget" else "it was interrupted"


def _pass_hat_k(details: SoakDetails) -> Iterator[TextPart]:
    values = details.pass_hat_k.values
    shown = [each for each in values if each.k in _SHOWN_K or each.k == len(values)]
    yield text_table(
        ("k", "pass^k", "95%"),
        [(str(each.k), str(each.value), interval_words(each.ci95)) for each in shown],
    )
    table = details.pass_hat_k
    yield Note(f"pass^k is {table.estimator} over {table.over}: the chance that k runs all pass")


def _cases(details: SoakDetails) -> Iterator[TextPart]:
    if details.cases:
        yield text_table(
            ("Case", "Runs", "Passed", "Pass rate", "95%"),
            [
                (
                    each.case,
                    str(each.counts.runs),
                    Cell(str(each.counts.passes), Tone.GOOD if each.pass_all else Tone.BAD),
                    "not measured" if each.pass_rate is None else str(each.pass_rate),
                    interval_words(each.ci95),
                )
                for each in details.cases[:_SHOWN_ROWS]
            ],
        )
        if len(details.cases) > _SHOWN_ROWS:
            yield f"{len(details.cases) - _SHOWN_ROWS} more cases are in the second document."


def _violations(details: SoakDetails) -> Iterator[TextPart]:
    if details.violations_by_rule:
        yield text_table(
            ("Rule", "Runs that violate it"),
            [(rule, str(count)) for rule, count in details.violations_by_rule.items()],
        )


def said_by_failing_runs(details: SoakDetails) -> list[tuple[str, int]]:
    """Return the last lines that failing runs printed as errors, the most frequent first.

    A target that cannot start fails every run, and only this says why.
    """
    said = Counter(trial.said for trial in details.trials if trial.said is not None)
    return sorted(said.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN_ROWS]


def _said(details: SoakDetails) -> Iterator[TextPart]:
    if said := said_by_failing_runs(details):
        rows = [(line, str(count)) for line, count in said]
        yield text_table(("The last error line of failing runs", "Runs"), rows)


def _infra_errors(details: SoakDetails) -> Iterator[TextPart]:
    failed = [trial for trial in details.trials if trial.infra_error is not None]
    if failed:
        yield text_table(
            ("Run", "Not judged", "Why"),
            [
                (
                    str(trial.index),
                    Cell(trial.infra_error.kind.value, _TONES[trial.status]),
                    trial.infra_error.message,
                )
                for trial in failed[:_SHOWN_ROWS]
                if trial.infra_error is not None
            ],
        )
        if len(failed) > _SHOWN_ROWS:
            yield f"{len(failed) - _SHOWN_ROWS} more runs were not judged."


def _drift(details: SoakDetails) -> Iterator[TextPart]:
    drift = details.drift
    if drift is not None:
        yield f"Drift from {drift.baseline}: {drift.verdict.replace('_', ' ')}: {drift.why}"
        yield text_table(
            ("Figure", "Before", "Now", "p", "p corrected"),
            [
                (
                    each.name,
                    str(each.before),
                    str(each.now),
                    str(each.p_value),
                    str(each.p_corrected),
                )
                for each in drift.shifts
            ],
        )


def _divergences(details: SoakDetails) -> Iterator[TextPart]:
    for each in details.divergences[:3]:
        where = f" at {', '.join(each.places)}" if each.places else ""
        yield (
            f"Run {each.index} first differs from run {each.compared_with} in event {each.event}:"
            f" {each.type or 'no event'}, not {each.passing_type or 'the end'}{where}"
            if each.type != each.passing_type
            else f"Run {each.index} first differs from run {each.compared_with} in event"
            f" {each.event} ({each.type}){where}"
        )


def surface_text(surface: SurfaceReport) -> Iterator[TextPart]:
    """Yield the heat map of a surface: a row for each kind, a column for each level."""
    yield text_table(
        ("Fault", *(f"{level:g}" for level in surface.levels)),
        [
            (kind.value, *(_cell(surface.cell(kind, level)) for level in surface.levels))
            for kind in surface.kinds
        ],
        boxed=True,
    )
    yield Note(
        "each cell: pass rate [95% interval], injected faults; empty cells have no judged run"
    )
    worst = weakest(surface.cells)
    if worst is not None:
        yield (
            f"Weakest: {worst.kind.value} at {worst.level:g}, pass rate {worst.pass_rate}"
            f" {interval_words(worst.ci95)}"
        )


def _cell(cell: SurfaceCell) -> Cell:
    if cell.pass_rate is None:
        return Cell("empty", Tone.ABSENT)
    tone = (
        Tone.GOOD if cell.pass_rate >= 0.9 else Tone.UNSURE if cell.pass_rate >= 0.5 else Tone.BAD
    )
    return Cell(f"{cell.pass_rate:.2f} {interval_words(cell.ci95)} {cell.injected}", tone)
