"""`affidavit gate stability`."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from affidavit.base.exits import Exit
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import GateOptions, finish_gate, gate_command
from affidavit.cli.parameters import FiniteFloatRange, jobs_option
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.gate_stability import RunOptions
    from affidavit.tools.pipelines import Pipeline

_RUN_MODE_OPTIONS: Final = (
    *("url", "command", "body", "headers", "seeds", "jitters"),
    *("reply", "timeout", "retries", "rps", "jobs"),
)


@gate_command(
    examples=(
        Example(
            "affidavit gate stability --gold gold.jsonl --runs runs/stability.jsonl",
            "are the answers the same in every recorded run?",
        ),
        Example(
            "affidavit gate stability --mode run --gold gold.jsonl --url http://localhost:8000/ask",
            "ask an endpoint every question under every seed and jitter, then decide",
        ),
        Example(
            "affidavit gate stability --mode run --gold gold.jsonl --command 'python ask.py'"
            " --seeds 0,1,2 --jitters none,ws,syn",
            "ask a command, which reads the question from standard input",
        ),
    ),
)
@click.option(
    "--mode",
    type=click.Choice(("score", "run")),
    default="score",
    show_default=True,
    help="Decide over recorded runs, or record them first.",
)
@click.option("--gold", required=True, help="The gold set, as JSON lines; - for standard input.")
@click.option(
    "--runs",
    "--stability",
    "runs",
    multiple=True,
    help="The recorded runs, as JSON lines. Repeatable.  [default: runs/stability.jsonl]",
)
@click.option("--refusal", default="not in context", show_default=True, help="The refusal token.")
@click.option("--expect-gold-digest", help="Refuse a gold set with another digest.")
@click.option("--url", "--http", "url", help="Run: the address to POST questions to.")
@click.option("--command", help="Run: the command to start for each question, without a shell.")
@click.option("--body", help="Run: the JSON to post, with {question}, {qid}, {seed}, {jitter}.")
@click.option(
    "--header", "headers", multiple=True, help="Run: 'Name: text'; $NAME is a variable's value."
)
@click.option("--seeds", default="0,1,2,3,4", show_default=True, help="Run: the seeds, or 0-4.")
@click.option(
    "--jitters",
    default="none,ws,punct,syn",
    show_default=True,
    help="Run: how questions are changed; also order.",
)
@click.option(
    "--reply",
    type=click.Choice(("json", "text")),
    default="json",
    show_default=True,
    help="Run: answers are JSON as in traces, or text.",
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=FiniteFloatRange(0.1, 3600),
    help="Run: seconds for one answer.",
)
@click.option(
    "--retries",
    default=2,
    show_default=True,
    type=click.IntRange(0, 10),
    help="Run: how often a question is sent again if it did not reach the pipeline.",
)
@click.option("--rps", type=FiniteFloatRange(0.001), help="Run: the most questions per second.")
@jobs_option("Run: how many questions at once.")
def stability(
    terminal: Terminal,
    options: GateOptions,
    mode: Literal["score", "run"],
    gold: str,
    runs: tuple[str, ...],
    refusal: str,
    expect_gold_digest: str | None,
    url: str | None,
    command: str | None,
    body: str | None,
    headers: tuple[str, ...],
    seeds: str,
    jitters: str,
    reply: Literal["json", "text"],
    timeout: float,
    retries: int,
    rps: float | None,
    jobs: int,
) -> Exit:
    """Decide whether answers stay the same over repeated runs.

    Each question is scored over its runs: ACR, CGHC, CSS, NED50, RCR and SCU-Cons. With --mode run
    the runs are recorded first; recorded answers are not asked for again. A missing answer is
    recorded as a fault: it is neither a refusal nor an agreement.
    """
    from affidavit.app.gate_stability import StabilityGate, gate_stability

    if not refusal.strip():
        raise click.UsageError("--refusal is empty, so an answer without words would be one")
    files = runs or ("runs/stability.jsonl",)
    options.require_gates("stability")
    options.refuse_to_replace((gold, *files))
    if [gold, *files].count("-") > 1:
        raise click.UsageError("standard input can be one file only")
    if mode == "run":
        from affidavit.app.gate_stability import RunOptions
        from affidavit.tools.pipeline_options import pipeline_named

        if len(files) > 1 or files[0] == "-" or gold == "-":
            raise click.UsageError(
                "--mode run needs one file of --runs to write, and --gold as one"
            )
        pipeline = pipeline_named(
            url=url,
            command=command,
            body=body,
            headers=headers,
            timeout_seconds=timeout,
            environment=os.environ,
        )
        _record_runs(
            terminal=terminal,
            pipeline=pipeline,
            pace=RunOptions(jobs, rps, retries, reply),
            gold=gold,
            file=files[0],
            seeds=seeds,
            jitters=jitters,
        )
    else:
        reject_options("is for --mode run", *_RUN_MODE_OPTIONS)
    report = gate_stability(
        StabilityGate(
            gold=gold,
            runs=files,
            gates=options.gates,
            refusal=refusal,
            skip_bad=options.skip_bad,
            allow_missing=options.allow_missing,
            baseline=options.baseline,
            expect_gold_digest=expect_gold_digest,
        )
    )
    return finish_gate(terminal, options, report)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, for example when a job is cancelled."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _record_runs(
    terminal: Terminal,
    pipeline: "Pipeline",
    pace: "RunOptions",
    gold: str,
    file: str,
    seeds: str,
    jitters: str,
) -> None:
    """Ask the questions that have no answer yet, and record the runs."""
    from affidavit.app.gate_inputs import InputLines
    from affidavit.app.gate_stability import (
        RunFile,
        questions_of,
        run_pipeline,
        unfinished_questions,
    )
    from affidavit.gates.jitter import parse_jitters, parse_seeds
    from affidavit.gates.rag_rows import gold_by_qid, gold_from_chunk

    # Options are checked first, so that a typo does not cost reading a large gold set.
    asked = parse_seeds(seeds), parse_jitters(jitters)
    items = gold_by_qid(InputLines("gold", [gold]).rows(gold_from_chunk), gold)
    questions = questions_of(items.values(), *asked, gold)
    recording = RunFile(Path(file))
    left = unfinished_questions(questions, pipeline, pace.form, recording.answered())
    if recording.was_torn:
        terminal.note(f"the last line of {file} was cut off; its run is made again")
    terminal.note(f"{len(questions)} runs, {len(questions) - len(left)} of them recorded before")
    if left:
        recording.make_folder()
    # Closed also when interrupted, so that no command keeps running.
    with (
        _interrupted_by_sigterm(),
        closing(run_pipeline(left, pipeline, pace, recording.keep, time)) as made,
    ):
        faults = sum(
            record.fault is not None for record in terminal.progress(made, "Asking", len(left))
        )
    if faults:
        terminal.note(f"{faults} of {len(left)} runs brought no answer; {file} says why")
