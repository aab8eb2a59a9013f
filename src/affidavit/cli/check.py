"""`affidavit check`."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.base.files import is_there
from affidavit.cli.command import (
    STDIN_PATH,
    FiniteFloatRange,
    command,
    input_name,
    jobs_option,
    project_option,
    read_input,
    require_writable,
    resolved_path,
)
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import GatedCommand, gates_option
from affidavit.cli.judge_options import (
    engine_options,
    mapped_columns,
    printed_check_costs,
    require_engine,
    yes_option,
)
from affidavit.cli.ledger_output import (
    expand_option,
    export_ledger,
    format_for,
    format_option,
    order_option,
    output_option,
    reject_unused_options,
)
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.check import CheckPlan
    from affidavit.app.check_batch import BatchRows
    from affidavit.engine.local import Runner
    from affidavit.ledger.record import ClaimOrder

_SINGLE_ANSWER_OPTIONS: Final = ("format_name", "expand", "order", "query", "title", "overrides")


@command(
    examples=(
        Example(
            "affidavit check samples/leave/answer.md --sources samples/leave/sources",
            "a table of claims, verdicts and sources, and the decision",
        ),
        Example(
            "affidavit check answer.md --sources docs --expand 3",
            "with the evidence of claim 3 in full",
        ),
        Example(
            "affidavit check answer.md --sources docs -o report.html",
            "a report in one file, for a browser (.pdf, .md and .json too)",
        ),
        Example(
            "affidavit check answers.jsonl --sources docs",
            "many answers: one JSON object per line; a second run resumes",
        ),
        Example(
            "affidavit check results.csv -j 2",
            "answers with their contexts, as other tools write them; a ledger each",
        ),
        Example(
            "affidavit check answer.md --sources docs --judge judge.toml",
            "judged by your own model (docs/judges.md)",
        ),
        Example(
            "affidavit check - --sources docs --gate 'coverage>=0.9'", "the answer from a pipe"
        ),
    ),
    exits={
        Exit.YES: "ship: every gate holds",
        Exit.NO: "do not ship: a gate fails",
        Exit.UNKNOWN: "could not tell: no claim, no source, or a gate without a figure",
    },
    kind=GatedCommand,
)
@click.argument(
    "answer",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The answer as text or Markdown; - for standard input; .jsonl, .csv, .parquet for many.",
)
@click.option(
    "--sources",
    "-s",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A document, or a folder of them: PDF, DOCX, HTML, Markdown, text. Repeatable.",
)
@click.option("--query", help="The question that was answered; claims about it are more important.")
@click.option("--title", help="The title of the session in reports; by default the question.")
@format_option
@output_option
@expand_option
@order_option
@gates_option("coverage>=0.9 unsupported<=0.1 contradictions=off")
@click.option(
    "--rules", type=click.Path(path_type=Path), help="A TOML file with thresholds and gates."
)
@click.option(
    "--claim",
    "overrides",
    multiple=True,
    help="Set type or importance of a claim: clm_002=minor, clm_003=policy,critical. Repeatable.",
)
@click.option(
    "--top-k",
    default=8,
    show_default=True,
    type=click.IntRange(1, 100),
    help="How many passages the judge reads for a claim.",
)
@click.option(
    "--judge",
    help="Judge: standard (default), fast, lexical, or a TOML file: [chat], [hf] or [cascade].",
)
@click.option(
    "--risk",
    type=FiniteFloatRange(0.001, 1),
    help="Say Supported only where at most this share of labelled claims was wrong, such as 0.02.",
)
@yes_option
@click.option("--at", help="The date or time of the answer, for outdated sources; by default now.")
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Many answers: read a column under one of our names: contexts=found. Repeatable.",
)
@click.option("--skip-bad", is_flag=True, help="Many answers: count malformed rows, and continue.")
@jobs_option("How many processes read documents and check answers.")
@engine_options
@project_option
def check(
    terminal: Terminal,
    answer: Path,
    sources: tuple[Path, ...],
    query: str | None,
    title: str | None,
    format_name: str | None,
    output: Path | None,
    expand: tuple[int, ...],
    order: "ClaimOrder",
    gates: tuple[str, ...],
    rules: Path | None,
    overrides: tuple[str, ...],
    top_k: int,
    judge: str | None,
    risk: float | None,
    yes: bool,
    at: str | None,
    columns: tuple[str, ...],
    skip_bad: bool,
    jobs: int,
    engine: str,
    master: str,
    project: Path,
) -> Exit:
    """Adjudicate every claim of an answer against its sources.

    The sources are read once and indexed under .affidavit; unchanged files are not read again. The
    ledger of the check is stored there too: see `affidavit sessions`.
    """
    from affidavit.app import check
    from affidavit.app.check_batch import is_row_file, read_batch_rows
    from affidavit.app.clock import time_of
    from affidavit.app.engines import runner_on
    from affidavit.app.judges import judge_file_of
    from affidavit.ledger.adjudication import CheckRequest

    require_engine(engine)
    generated_at = time_of(at)
    plan = check.check_plan(
        project,
        sources,
        rules=rules,
        gates=gates,
        judge=judge,
        risk=risk,
        top_k=top_k,
        jobs=jobs,
    )
    reject_output_over_input(output, answer, *sources, rules, judge_file_of(judge))
    if is_row_file(answer, has_sources=bool(sources)):
        reject_options("is for one answer, not for a file of many", *_SINGLE_ANSWER_OPTIONS)
        rows = read_batch_rows(answer, mapped_columns(columns), skip_bad=skip_bad)
        with runner_on(engine, master, jobs) as run:
            return _check_batch(
                terminal,
                answer,
                rows,
                plan,
                run,
                generated_at=generated_at,
                output=output,
                above_budget=yes,
            )
    reject_options("is for a file of many answers", "columns", "skip_bad", "engine", "master")
    if not sources:
        raise click.UsageError("an answer needs its sources: give documents with --sources")
    claim_overrides = check.parse_overrides(overrides)
    format_for(format_name, output)
    require_writable(() if output is None else (output,))
    reject_unused_options(terminal, format_name, output)
    text = read_answer(answer)
    with terminal.watch("Reading sources") as progress:
        context = check.build_check_context(plan, progress)
    check.require_sources_for(text, context)
    request = CheckRequest(
        answer=text,
        query=query,
        title=title or query or session_title(answer),
        answer_date=generated_at[:10],
        generated_at=generated_at,
        overrides=claim_overrides,
    )
    with (
        printed_check_costs(terminal, plan, [(request, context)], above_budget=yes),
        terminal.watch("Reading claims") as progress,
    ):
        ledger = check.check_answer(request, context, progress)
    stored = check.save_ledger(ledger, plan.project)
    export_ledger(terminal, ledger, format_name, output, expand=expand, order=order)
    terminal.note(f"kept as {ledger.session_id} in {stored}")
    return ledger.gates.exit


def _check_batch(
    terminal: Terminal,
    file: Path,
    rows: "BatchRows",
    plan: "CheckPlan",
    run: "Runner",
    *,
    generated_at: str,
    output: Path | None,
    above_budget: bool,
) -> Exit:
    import msgspec

    from affidavit.app import check_batch
    from affidavit.reports.ledger_text import batch_text, summarise_batch

    results = output or check_batch.default_results_file(plan, file)
    with suppress(OSError):  # The next step raises the error.
        results.parent.mkdir(parents=True, exist_ok=True)
    if not is_there(results):
        require_writable([results])
    checker = check_batch.BatchChecker(plan, file.parent, generated_at)
    with printed_check_costs(terminal, plan, checker.requests(rows), above_budget=above_budget):
        outcomes = list(
            terminal.progress(checker.outcomes(rows, results, run), "Checking answers", len(rows))
        )
    summary = summarise_batch(outcomes, rows.bad.count)
    if terminal.json:
        answers = [msgspec.to_builtins(each) for each in outcomes]
        terminal.print_json({"summary": msgspec.to_builtins(summary), "answers": answers})
    else:
        terminal.show(batch_text(outcomes, summary))
    for line in rows.bad.described():
        terminal.note(line)
    terminal.note(f"results in {results}")
    return check_batch.batch_exit(outcomes, rows.bad.count)


def read_answer(path: Path) -> str:
    """Return the text of an answer, which must not be empty."""
    from affidavit.app.check import MAX_ANSWER_BYTES, answer_text

    return answer_text(read_input(path, MAX_ANSWER_BYTES), Where(file=input_name(path)))


def session_title(answer: Path) -> str:
    """Return the title of a session from its file name, even if the name is not valid text."""
    if answer == STDIN_PATH:
        return "Standard input"
    return answer.name.encode("utf-8", "backslashreplace").decode()


def reject_output_over_input(output: Path | None, *inputs: str | Path | None) -> None:
    """Refuse to overwrite an input file, or a file inside an input folder."""
    if output is None or not is_there(output):
        return
    place = resolved_path(output)
    read = [resolved_path(Path(name)) for name in inputs if name is not None]
    if any(each == place or each in place.parents for each in read):
        raise AffidavitError(faults.OUTPUT_IS_INPUT, Where(file=str(output)))
