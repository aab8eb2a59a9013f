"""The commands `affidavit sim soak|surface|merge`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import soak as faults
from affidavit.cli.command import FiniteFloatRange, command, jobs_option, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.evidence_commands import limits_from_option, limits_option
from affidavit.cli.gate_options import GatedCommand, gates_option
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.soak import SoakFiles, SoakOptions, SoakOutcome
    from affidavit.soak.trial import Trial

_EXITS = {
    Exit.YES: "every run was judged and passed, or the bound and the gates hold",
    Exit.NO: "runs failed, the pass rate is below the bound, or a gate fails",
    Exit.UNKNOWN: "too few runs were judged, or it was interrupted",
}


def _with_options(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


target_options = _with_options(
    (
        click.option(
            "--target",
            required=True,
            help="A command, an http(s) URL, module:function, a bundle, or a folder of bundles.",
        ),
        click.option(
            "--iterations",
            "-n",
            default=20,
            show_default=True,
            type=click.IntRange(1, 1_000_000),
            help="How many runs.",
        ),
        click.option(
            "--seed",
            default=1,
            show_default=True,
            type=click.IntRange(0, 2**63 - 1),
            help="From which the seed of every run is made.",
        ),
        click.option(
            "--time-budget",
            default=3600,
            show_default=True,
            type=click.IntRange(1, 10**7),
            help="Seconds for all runs.",
        ),
        click.option(
            "--pack",
            "pack_names",
            multiple=True,
            help="A pack that judges each run, found as by `evidence lint`; a,b for several."
            " Repeatable. Commands are also judged by exit-status, stored bundles by"
            " cicd-starter if no pack is given.",
        ),
        click.option(
            "--case",
            "cases",
            multiple=True,
            help="A case; the runs take turns and get it as AFFIDAVIT_CASE, {case}. Repeatable.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(("error", "warning", "info")),
            default="error",
            show_default=True,
            help="The lowest severity of a finding that fails a run.",
        ),
        click.option(
            "--trial-timeout",
            default=60.0,
            show_default=True,
            type=FiniteFloatRange(0.001, 10**6),
            help="Seconds for one run.",
        ),
        click.option(
            "--max-memory",
            default=4096,
            show_default=True,
            type=click.IntRange(16, 10**7),
            help="Megabytes of memory for one run.",
        ),
        click.option(
            "--max-output",
            default=256,
            show_default=True,
            type=click.IntRange(1, 10**6),
            help="Megabytes that one run may write, wherever it writes.",
        ),
        click.option(
            "--max-processes",
            default=256,
            show_default=True,
            type=click.IntRange(1, 10**5),
            help="Processes that one run may have at a time.",
        ),
        click.option(
            "--service",
            "services",
            multiple=True,
            help="NAME=URL: an HTTP service; the variable NAME holds a proxy. Repeatable.",
        ),
        click.option(
            "--mcp-server",
            "mcp_servers",
            multiple=True,
            help="NAME=COMMAND: an MCP server over stdio; NAME holds a command with a proxy."
            " Repeatable.",
        ),
        click.option(
            "--data-file",
            "data_files",
            multiple=True,
            help="NAME=PATH: a file; NAME holds the path of a copy. Repeatable.",
        ),
        click.option(
            "--fault-delay-ms",
            default=1000,
            show_default=True,
            type=click.IntRange(1, 600_000),
            help="How late the fault `latency` makes an answer.",
        ),
        jobs_option("How many runs at the same time."),
        limits_option,
    )
)


page_options = _with_options(
    (
        click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file."),
        click.option(
            "--surface",
            "surface_report",
            type=click.Path(path_type=Path),
            help="A report of `sim surface` to show on the page, too.",
        ),
        click.option("--seal", type=click.Path(path_type=Path), help="Write the soak as a bundle."),
    )
)


@dataclass(frozen=True, slots=True)
class _Pages:
    """What is written besides the two documents."""

    html: Path | None
    surface: Path | None
    seal: Path | None


@command(
    examples=(
        Example(
            "affidavit sim soak -n 20 --target 'python agent.py --seed {seed}' --report soak.json",
            "run an agent 20 times; 0 is success, 1 is failure",
        ),
        Example(
            "affidavit sim soak --target runs --pack owasp-agentic --report soak.json",
            "judge stored bundles, each once",
        ),
        Example(
            "affidavit sim soak -n 500 --until 0.95@95 --target agent:run --report soak.json",
            "stop as soon as the pass rate is known to be above or below 0.95",
        ),
        Example(
            "affidavit sim soak --target ./agent --report new.json --baseline old.json",
            "did it drift?",
        ),
    ),
    exits=_EXITS,
    kind=GatedCommand,
)
@target_options
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write soak-report-v1 to this file."
)
@click.option(
    "--details",
    type=click.Path(path_type=Path),
    help="Write everything else to this file; by default beside the report.",
)
@click.option("--suite", help="A name for the kind of soak, such as nightly.")
@click.option("--stop-on-first-failure", is_flag=True, help="Stop when a run fails.")
@click.option(
    "--stop-on-violation", is_flag=True, help="Stop when a run violates a rule of any severity."
)
@click.option(
    "--max-failures",
    type=click.IntRange(1),
    help="Stop and fail when so many runs have failed; fewer are tolerated.",
)
@click.option("--min-runs", type=click.IntRange(1), default=1, help="Judged runs to decide by.")
@click.option(
    "--until",
    help="Stop when the pass rate is known to be above or below a bound: 0.95@95.",
)
@gates_option("'pass_rate>=0.9@95' infra_errors=0")
@click.option(
    "--trial-gates", multiple=True, help="Gates for each run, as of `evidence lint`. Repeatable."
)
@click.option(
    "--trial-checks",
    type=click.Path(path_type=Path),
    help="Checks for each run, as of `affidavit answer`; `tool` names a type of event.",
)
@click.option(
    "--baseline", type=click.Path(path_type=Path), help="An earlier soak-report-v1 to compare with."
)
@click.option(
    "--fault",
    "faults_given",
    multiple=True,
    help="KIND=LEVEL,...: faults in the services, each in a share of the calls. Repeatable.",
)
@click.option(
    "--shard", help="i/n: run only this part of the runs; `sim merge` puts the parts together."
)
@click.option(
    "--engine",
    type=click.Choice(("local", "spark")),
    default="local",
    show_default=True,
    help="Run here, or on the machines of a Spark cluster.",
)
@click.option("--master", default="local[*]", show_default=True, help="The address of Spark.")
@page_options
@click.option("--resume", is_flag=True, help="Go on with the trials recorded beside the report.")
def soak(
    terminal: Terminal,
    report: Path | None,
    details: Path | None,
    html: Path | None,
    surface_report: Path | None,
    seal: Path | None,
    **options: Any,
) -> Exit:
    """Run a target many times and report how reliably it passes.

    Each run has its own folder, process group and limits. What it writes becomes a bundle, which
    packs judge as `evidence lint` does. A run that cannot be judged is neither a pass nor a
    failure. The same seed gives the same runs.
    """
    from affidavit.app.soak import SoakEngine, SoakFiles, run_soak

    files = SoakFiles(report=report, details=details)
    if options["engine"] == "spark":
        reject_options("is for --engine local: Spark has its own", "jobs")
    else:
        reject_options("is for --engine spark", "master")
    if options["resume"] and report is None:
        raise click.UsageError("--resume needs --report: the trials are recorded beside it")
    require_output_paths(
        [report, files.details_path, html, seal], [options["baseline"], options["trial_checks"]]
    )
    asked = _soak_options(options)
    with terminal.watch("Soaking") as update:
        outcome = run_soak(
            asked,
            files,
            resume=options["resume"],
            baseline=options["baseline"],
            on_trial=_progress(update, asked.iterations),
            engine=SoakEngine(options["engine"], options["master"]),
        )
    return _show(terminal, outcome, files, _Pages(html, surface_report, seal))


def _show(terminal: Terminal, outcome: "SoakOutcome", files: "SoakFiles", pages: _Pages) -> Exit:
    """Print a soak, write what was asked for, and return the exit code."""
    from affidavit.app.soak import read_surface, seal_soak
    from affidavit.base.files import write_atomically
    from affidavit.reports.soak import soak_html, soak_text

    if pages.html is not None:
        drawn = None if pages.surface is None else read_surface(pages.surface)
        page = soak_html(outcome.details, drawn)
        write_atomically(pages.html, page.encode("utf-8", "backslashreplace"))
    if pages.seal is not None:
        seal_soak(outcome.details, pages.seal)
    if terminal.json:
        terminal.print_json(outcome.details)
    else:
        terminal.show(soak_text(outcome.details))
    report = files.report if outcome.report else None
    for path in (report, files.details_path, pages.html, pages.seal):
        if path is not None:
            terminal.note(f"wrote {path}")
    return _exit_of(outcome, files.details_path)


def _exit_of(outcome: "SoakOutcome", details: Path | None) -> Exit:
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.report is None:
        found = outcome.details
        first = next(trial.infra_error for trial in found.trials if trial.infra_error is not None)
        raise AffidavitError(
            faults.SOAK_NOT_JUDGED,
            runs=found.counts.runs,
            problem=first.message,
            details=details or "the table above",
        )
    return outcome.details.decision.decision.exit


def _progress(
    update: "Callable[[int, int, str], None] | None", iterations: int
) -> "Callable[[Trial], None]":
    """Return what shows the running pass rate with its interval."""
    if update is None:
        return lambda trial: None
    from affidavit.base.statistics import Rate, wilson

    counts = {"done": 0, "judged": 0, "passed": 0}

    def show(trial: "Trial") -> None:
        counts["done"] += 1
        counts["judged"] += trial.is_judged
        counts["passed"] += trial.status == "pass"
        interval = wilson(Rate(counts["passed"], counts["judged"]))
        shown = "nothing judged yet"
        if interval is not None:
            rate = counts["passed"] / counts["judged"]
            shown = f"pass rate {rate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
        update(counts["done"], iterations, shown)

    return show


def _soak_options(given: dict[str, Any]) -> "SoakOptions":
    """Return what the user asks for; the options of `surface` are some of those of `soak`."""
    from msgspec import UNSET

    from affidavit.app.soak import SoakOptions, shard_from
    from affidavit.app.soak_checks import load_trial_checks
    from affidavit.app.soak_services import services_from
    from affidavit.soak.fault_plan import fault_levels_from
    from affidavit.soak.policy import DecisionPolicy, StopPolicy
    from affidavit.soak.sequential import rate_bound_from
    from affidavit.tools.trial_targets import TrialLimits

    most = given.get("max_failures")
    until, shard = given.get("until"), given.get("shard")
    checks = given.get("trial_checks")
    return SoakOptions(
        target=given["target"],
        iterations=given["iterations"],
        seed=given["seed"],
        time_budget_secs=given["time_budget"],
        packs=given["pack_names"],
        policy=DecisionPolicy(
            pass_on_severity_at_or_above=given["fail_on"],
            stop_on_first_failure=given.get("stop_on_first_failure", False),
            max_failures=UNSET if most is None else most,
        ),
        stop=StopPolicy(
            stop_on_violation=given.get("stop_on_violation", False),
            min_runs=given.get("min_runs", 1),
            until=None if until is None else rate_bound_from(until),
        ),
        cases=given["cases"],
        faults=fault_levels_from(given.get("faults_given", ())),
        fault_delay_ms=given["fault_delay_ms"],
        services=services_from(given["services"], given["mcp_servers"], given["data_files"]),
        gates=given.get("gates", ()),
        trial_gates=given.get("trial_gates", ()),
        trial_checks=() if checks is None else load_trial_checks(checks),
        bundle_limits=limits_from_option(given["limits"]),
        trial_limits=TrialLimits(
            seconds=given["trial_timeout"],
            memory_bytes=given["max_memory"] << 20,
            output_bytes=given["max_output"] << 20,
            processes=given["max_processes"],
        ),
        suite=given.get("suite"),
        jobs=given["jobs"],
        shard=None if shard is None else shard_from(shard),
    )


@command(
    examples=(
        Example(
            "affidavit sim surface --target ./agent --service API=http://127.0.0.1:8080"
            " --kinds reset,rate-limit --levels 0.1,0.5 --html surface.html",
            "how does the agent do when its service fails?",
        ),
    ),
    exits={
        Exit.YES: "the surface was measured",
        Exit.UNKNOWN: "no cell has a judged run, or it was interrupted",
    },
)
@target_options
@click.option(
    "--kinds",
    default="latency,timeout,reset,rate-limit,server-error,truncated,garbled,dropped-result",
    show_default=True,
    help="The kinds of faults: the rows.",
)
@click.option(
    "--levels",
    default="0,0.1,0.3,1",
    show_default=True,
    help="The shares of calls that they hit: the columns.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Write the surface as JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
def surface(
    terminal: Terminal,
    kinds: str,
    levels: str,
    report: Path | None,
    html: Path | None,
    **options: Any,
) -> Exit:
    """Run a target under a grid of faults and draw it.

    A proxy stands between the target and each service. Every cell of the grid is a soak with one
    kind of fault at one level; all cells have the same seeds, so only the faults differ.
    """
    from affidavit.app.surface import grid_from, run_surface
    from affidavit.base.files import write_atomically
    from affidavit.reports.json_text import json_bytes
    from affidavit.reports.soak import surface_html, surface_text

    require_output_paths([report, html], [])
    grid = grid_from(kinds, levels)
    asked = _soak_options(options)
    with terminal.watch("Measuring the surface") as update:
        found = run_surface(asked, grid, update or (lambda done, total, name: None))
    if report is not None:
        write_atomically(report, json_bytes(found))
    if html is not None:
        write_atomically(html, surface_html(found).encode("utf-8", "backslashreplace"))
    if terminal.json:
        terminal.print_json(found)
    else:
        terminal.show(surface_text(found))
    for path in (report, html):
        if path is not None:
            terminal.note(f"wrote {path}")
    if not found.has_judged:
        raise AffidavitError(faults.SURFACE_NOT_JUDGED)
    return Exit.YES


@command(
    examples=(
        Example(
            "affidavit sim merge a.details.json b.details.json --report soak.json",
            "the result of both shards",
        ),
    ),
    exits=_EXITS,
)
@click.argument(
    "parts",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="The second documents of the shards of one soak.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write soak-report-v1 to this file."
)
@click.option(
    "--details",
    type=click.Path(path_type=Path),
    help="Write everything else to this file; by default beside the report.",
)
@page_options
def merge(
    terminal: Terminal,
    parts: tuple[Path, ...],
    report: Path | None,
    details: Path | None,
    html: Path | None,
    surface_report: Path | None,
    seal: Path | None,
) -> Exit:
    """Merge the shards of a soak.

    The result is that of one machine. The policy of the soak is applied to the runs in their order,
    so runs beyond an early stop do not count.
    """
    from affidavit.app.soak import SoakFiles, merge_soaks

    files = SoakFiles(report=report, details=details)
    require_output_paths([report, files.details_path, html, seal], parts)
    merged = merge_soaks(parts, files)
    return _show(terminal, merged, files, _Pages(html, surface_report, seal))
