"""A soak and a surface as text and as a page, compared with golden files."""

from collections.abc import Iterable

from msgspec.structs import replace
from tests.golden_files import Golden
from tests.soak.making import RULE, plan, trial, trials

from affidavit.reports.soak import soak_html, soak_text, surface_html, surface_text
from affidavit.reports.text_tables import Note, TextPart, TextTable, plain_table
from affidavit.soak.drift import Outcomes, compare_with_baseline
from affidavit.soak.fault_plan import FaultKind
from affidavit.soak.policy import SoakCounts, StopPolicy, StopReason
from affidavit.soak.report import Divergence, SoakDetails, soak_details, soak_result
from affidavit.soak.sequential import RateBound
from affidavit.soak.surface import SurfaceReport, surface_cell


def as_text(parts: Iterable[TextPart]) -> str:
    lines = []
    for part in parts:
        if isinstance(part, TextTable):
            lines.append(plain_table(part))
        elif isinstance(part, Note):
            lines.append(f"({part.text})\n")
        else:
            lines.append(f"{part}\n")
    return "".join(lines)


def everything() -> SoakDetails:
    """Return a soak that was interrupted, with all that a soak can have."""
    runs = trials("ppfpipppfp", ["leave", "<b>pay</b>"])
    runs[0] = trial(1, "p", case="leave", faults={"reset": 2})
    asked = plan(40, stop=StopPolicy(until=RateBound(0.9, 95)))
    result = soak_result(asked, runs, StopReason.INTERRUPTED)
    return soak_details(
        result,
        (),
        tool_version="0",
        time_budget_secs=60,
        drift=compare_with_baseline(
            "old.json", Outcomes(SoakCounts(90, 10), {RULE: 10}), Outcomes(result.counts, {RULE: 2})
        ),
        divergences=(
            Divergence(
                index=3,
                compared_with=1,
                event=4,
                type="affidavit.model.call",
                passing_type="affidavit.tool.call",
            ),
            Divergence(
                index=9,
                compared_with=1,
                event=2,
                type="note",
                passing_type="note",
                places=("/data/x",),
            ),
        ),
        notes=("5 bundles were found for 40 iterations; each counts once",),
    )


SURFACE = SurfaceReport(
    tool_version="0",
    target="./agent",
    seed=1,
    iterations=10,
    packs=("exit-status@1.0.0",),
    levels=(0.0, 0.5),
    kinds=(FaultKind.RESET, FaultKind.STALE),
    cells=(
        surface_cell(FaultKind.RESET, 0.0, SoakCounts(10), 0),
        surface_cell(FaultKind.RESET, 0.5, SoakCounts(2, 8), 12),
        surface_cell(FaultKind.STALE, 0.0, SoakCounts(10), 0),
        surface_cell(FaultKind.STALE, 0.5, SoakCounts(0, 0, 10), 0),
    ),
)


def test_text(golden: Golden) -> None:
    golden.check("soak.txt", as_text(soak_text(everything())))
    golden.check("surface.txt", as_text(surface_text(SURFACE)))


def test_a_soak_without_a_judged_run_has_no_figures(golden: Golden) -> None:
    result = soak_result(plan(2), trials("ii"))
    details = soak_details(result, (), tool_version="0", time_budget_secs=60)
    golden.check("soak_not_judged.txt", as_text(soak_text(details)))
    assert "no run was judged" in soak_html(details)


def test_the_page_has_everything_and_escapes_it() -> None:
    page = soak_html(everything(), SURFACE)
    for wanted in (
        "could not tell",
        "&lt;b&gt;pay&lt;/b&gt;",
        "Where failing runs first differ from a passing run",
        "Drift: ",
        "Fault surface",
        'class="num empty"',
        "Runs that were not judged",
        "12 injected",
    ):
        assert wanted in page
    assert "<b>pay" not in page
    assert "<script" not in page
    assert page.count("<title>") == surface_html(SURFACE).count("<title>") == 1


def test_the_page_can_be_read_without_colours() -> None:
    """Only a cell without a judged run is hatched, and each run says how it came out."""
    cells = (replace(SURFACE.cells[0], pass_rate=0.7), *SURFACE.cells[1:])
    page = soak_html(everything(), replace(SURFACE, cells=cells))
    assert page.count('class="num unsure"') == 1
    assert page.count('class="num empty"') == 1
    assert "not_measured" not in page.partition("<tbody>")[2]
    assert 'role="img" aria-label="run 5: infra_error"' in page
