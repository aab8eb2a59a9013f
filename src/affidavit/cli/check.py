"""`affidavit check`."""

from pathlib import Path
from typing import Final

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.base.files import is_there
from affidavit.cli.command import command
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.gates_option import GatedCommand, gates_option
from affidavit.cli.ledger_output import (
    expand_option,
    export_ledger,
    format_for,
    format_option,
    output_option,
    reject_unused_options,
)
from affidavit.cli.parameters import (
    STDIN_PATH,
    input_name,
    jobs_option,
    project_option,
    read_input,
    require_writable,
    resolved_path,
)
from affidavit.cli.terminal import Terminal

_SINGLE_ANSWER_OPTIONS: Final = ("chosen", "expand", "query", "title", "overrides")


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
            "many answers: one JSON object a line, resumed where it stopped",
        ),
        Example(
            "affidavit check answer.md --sources docs --judge judge.toml",
            "read by a model of yours (docs/judges.md)",
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
    help="The answer as text or Markdown; - for standard input; .jsonl for many.",
)
@click.option(
    "--sources",
    "-s",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A document, or a folder of them: PDF, DOCX, HTML, Markdown, text. Repeatable.",
)
@click.option("--query", help="The question that was answered; claims about it weigh more.")
@click.option("--title", help="How the report names the session; by default the question.")
@format_option
@output_option
@expand_option
@gates_option("coverage>=0.9 unsupported<=0.1 contradictions=off")
@click.option(
    "--rules", type=click.Path(path_type=Path), help="A TOML file with thresholds and gates."
)
@click.option(
    "--claim",
    "overrides",
    multiple=True,
    help="Say more of a claim: clm_002=minor, clm_003=policy:critical. Repeatable.",
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
    help="Who reads the evidence: layered (default), lexical, or a TOML file: [chat] or [hf].",
)
@click.option("--yes", is_flag=True, help="Start although the judge's budget may not suffice.")
@click.option("--at", help="The answer's day or time, for outdated sources; by default now.")
@jobs_option("How many processes read documents and check answers.")
@project_option
def check(
    terminal: Terminal,
    answer: Path,
    sources: tuple[Path, ...],
    query: str | None,
    title: str | None,
    chosen: str | None,
    output: Path | None,
    expand: tuple[int, ...],
    gates: tuple[str, ...],
    rules: Path | None,
    overrides: tuple[str, ...],
    top_k: int,
    judge: str | None,
    yes: bool,
    at: str | None,
    jobs: int,
    project: Path,
) -> Exit:
    """Adjudicate every claim of an answer against its sources.

    The sources are read once and indexed under .affidavit; unchanged files are not read again. The
    ledger of the check is kept there too: see `affidavit sessions`.
    """
    from affidavit.app import check
    from affidavit.app.api import reject_answer_as_source
    from affidavit.app.check import check_answer
    from affidavit.app.clock import time_of
    from affidavit.app.judges import judge_file_of, judge_named
    from affidavit.app.project import Project
    from affidavit.cli.check_batch import check_batch
    from affidavit.cli.judge_options import print_actual_cost, print_estimated_cost
    from affidavit.ledger.adjudication import CheckRequest
    from affidavit.ledger.claims import parse_override
    from affidavit.ledger.record import ledger_to_json

    generated_at = time_of(at)
    plan = check.CheckPlan(
        Project(project),
        sources,
        check.ledger_rules_for(rules, gates),
        top_k,
        jobs,
        judge_named(judge),
    )
    reject_output_over_input(output, answer, *sources, rules, judge_file_of(judge))
    if answer.suffix.lower() == ".jsonl":
        reject_options("is for one answer, not for a file of many", *_SINGLE_ANSWER_OPTIONS)
        return check_batch(terminal, answer, plan, generated_at, output, above_budget=yes)
    said = dict(map(parse_override, overrides))
    format_for(chosen, output)
    require_writable(() if output is None else (output,))
    reject_unused_options(terminal, chosen, output)
    text = read_answer(answer)
    with terminal.watch("Reading sources") as progress:
        bench = check.build_check_context(plan, progress)
    check.require_documents(bench)
    reject_answer_as_source(text, bench.sources.index.documents)
    asked = CheckRequest(
        answer=text,
        query=query,
        title=title or query or session_title(answer),
        answer_date=generated_at[:10],
        generated_at=generated_at,
        overrides=said,
    )
    print_estimated_cost(terminal, plan, [(asked, bench)], above_budget=yes)
    try:
        with terminal.watch("Reading claims") as progress:
            ledger = check_answer(asked, bench, progress)
    finally:
        print_actual_cost(terminal, plan)
    stored = plan.project.sessions.save(ledger.session_id, ledger_to_json(ledger))
    export_ledger(terminal, ledger, chosen, output, expand)
    terminal.note(f"kept as {ledger.session_id} in {stored.path}")
    return ledger.gates.exit


def read_answer(path: Path) -> str:
    """Return the text of an answer, which must not be empty."""
    from affidavit.app.api import MAX_ANSWER_BYTES, answer_text

    return answer_text(read_input(path, MAX_ANSWER_BYTES), Where(file=input_name(path)))


def session_title(answer: Path) -> str:
    """Return how a session is named after its file, also if the name is no text."""
    if answer == STDIN_PATH:
        return "Standard input"
    return answer.name.encode("utf-8", "backslashreplace").decode()


def reject_output_over_input(output: Path | None, *inputs: str | Path | None) -> None:
    """Refuse to write over what is being read, or over anything in a folder that is."""
    if output is None or not is_there(output):
        return
    place = resolved_path(output)
    read = [resolved_path(Path(name)) for name in inputs if name is not None]
    if any(each == place or each in place.parents for each in read):
        raise AffidavitError(faults.OUTPUT_IS_INPUT, Where(file=str(output)))
