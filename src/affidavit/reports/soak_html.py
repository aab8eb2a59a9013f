"""A soak and a fault surface as one HTML page that works offline, without scripts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from affidavit import __version__
from affidavit.reports.page_templates import page_templates
from affidavit.reports.soak_text import (
    DECISION_WORDS,
    counts_words,
    interval_words,
    said_by_failing_runs,
)
from affidavit.reports.text_tables import escape_controls
from affidavit.soak.report import SoakDetails
from affidavit.soak.surface import SurfaceReport


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
    yield PageSection("pass^k", ("k", "pass^k", "95% interval"), _rows(_pass_hat_k(details)))
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


def _pass_hat_k(details: SoakDetails) -> Iterator[tuple[str, ...]]:
    for each in details.pass_hat_k.values[:100]:
        yield str(each.k), str(each.value), interval_words(each.ci95)


def _rows(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(rows)
