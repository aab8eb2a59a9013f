"""Options that contradict each other or are repeated are refused, never ignored."""

from collections.abc import Iterator

import click
import pytest
from tests.cli.running import run, run_sample
from tests.repository import ROOT as ROOT_FOLDER

from affidavit.cli.commands import ROOT, CommandEntry, GroupEntry
from affidavit.cli.program import load_command

RAG = ["gate", "rag", "trace.jsonl"]
STABILITY = ["gate", "stability", "--gold", "gold.jsonl"]
LINT = ["evidence", "lint", "run.tar.gz"]
CHECK = ["check", "answer.md", "--sources", "docs"]
BOTH = "and --json both say what to print"

UNUSED = {
    "an address of Spark, without Spark": (
        [*RAG, "--master", "yarn"],
        "--master is for --engine spark",
    ),
    "processes of ours, on Spark": (
        [*RAG, "--engine", "spark", "-j", "2"],
        "--jobs is for --engine local: Spark has its own",
    ),
    "an address of Spark, when rows are scored here": (
        ["judge", "score", "rows.jsonl", "--master", "yarn"],
        "--master is for --engine spark",
    ),
    "Spark for one answer": (
        [*CHECK, "--engine", "spark"],
        "--engine is for a file of many answers",
    ),
    "items that no report names": (
        [*RAG, "--items"],
        "--items is for --report and --json, which name the items",
    ),
    "a guard without the last release": (
        ["gate", "latency", "runs.csv", "--slower-by", "0.15"],
        "--slower-by is for --fail-on-regression",
    ),
    "a guard of a precision that is not known": (
        [
            *("gate", "latency", "runs.csv", "--fail-on-regression", "last.json"),
            *("--accuracy", "small=rag.json", "--worse-by", "0.1"),
        ],
        "--worse-by needs --accuracy with a report of this release",
    ),
    "labels that may be missing, in pairs": (
        ["gate", "agreement", "--pairs", "pairs.jsonl", "--allow-missing"],
        "--allow-missing is for --scholar and --auditor: a pair lacks no label",
    ),
    "an address, when nothing is asked": (
        [*STABILITY, "--http", "http://localhost/"],
        "--url is for --mode run",
    ),
    "headers, when nothing is asked": (
        [*STABILITY, "--header", "A: b"],
        "--header is for --mode run",
    ),
    "seeds as by default, when nothing is asked": (
        [*STABILITY, "--seeds", "0,1,2,3,4"],
        "--seeds is for --mode run",
    ),
    "a pace, when nothing is asked": ([*STABILITY, "-j", "2"], "--jobs is for --mode run"),
    "a history that nothing draws": (
        ["report", "report.json", "--history", "history.jsonl", "--markdown", "report.md"],
        "--history is for --html, which draws it",
    ),
    "a policy without trusted authorities": (
        ["verify", "receipt.json", "--tsa-policy", "1.2.3"],
        "--tsa-policy needs --tsa-roots, whose authorities have the policy",
    ),
    "a project whose keys are not used": (
        ["verify", "receipt.json", "--keys", "keys.json", "--project", "."],
        "--project is for the project's own keys, and --keys names others",
    ),
    "routes of checks": (
        ["answer", str(ROOT_FOLDER / "samples/answers/checks.json"), "--routes", "routes.yaml"],
        "--routes is for a question: checks name their tools themselves",
    ),
    "limits where no bundle is read": (
        [
            *("evidence", "prove", "--check", "proof.json", "--root", "sha256:00"),
            *("--event-file", "event.json", "--limits", "{}"),
        ],
        "--limits is for a bundle: a proof is checked without one",
    ),
    "a report of an explanation": (
        [*LINT, "--explain", "completeness", "--report", "lint.json"],
        "--report is for a lint, not for --explain",
    ),
    "a threshold of an explanation": (
        [*LINT, "--explain", "completeness", "--fail-on", "none"],
        "--fail-on is for a lint, not for --explain",
    ),
    "two forms of a lint": ([*LINT, "--format", "sarif", "--json"], f"--format {BOTH}"),
    "two forms of a card": (["judge", "card", "--markdown", "--json"], f"--markdown {BOTH}"),
    "two forms of a ledger": (
        ["sessions", "show", "last", "--format", "pdf", "--json"],
        f"--format {BOTH}",
    ),
    "two forms of a ledger, with --json first": (
        ["--json", *CHECK, "--format", "markdown"],
        f"--format {BOTH}",
    ),
    "claims in full, where machines read": (
        [*CHECK, "--json", "--expand", "1"],
        "--expand is for the table, which is not printed",
    ),
    "claims in full, in another form": (
        [*CHECK, "--format", "html", "--expand", "1"],
        "--expand is for the table, which is not printed",
    ),
    "an order of claims in JSON": (
        [*CHECK, "--json", "--order", "answer"],
        "--order does not change JSON, which has the order of the answer",
    ),
    "an order of claims in a JSON file that is printed": (
        [*CHECK, "--format", "json", "--order", "review"],
        "--order does not change JSON, which has the order of the answer",
    ),
    "an order of claims in many answers": (
        ["check", "answers.jsonl", "--sources", "docs", "--order", "answer"],
        "--order is for one answer, not for a file of many",
    ),
    "a question of many answers": (
        ["check", "answers.jsonl", "--sources", "docs", "--query", ""],
        "--query is for one answer, not for a file of many",
    ),
    "claims of many answers": (
        ["check", "answers.jsonl", "--sources", "docs", "--claim", "clm_001=minor"],
        "--claim is for one answer, not for a file of many",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), UNUSED.values(), ids=UNUSED.keys())
def test_an_option_without_effect_is_refused(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"AF001: {said}. Next: run `affidavit ")


MEANT = {
    "no items where none are named anyway": [*RAG, "--no-items"],
    "items of a report": [*RAG, "--items", "--json"],
    "the form of JSON, twice": [*LINT, "--format", "json", "--json"],
}


@pytest.mark.parametrize("arguments", MEANT.values(), ids=MEANT.keys())
def test_compatible_options_are_accepted(arguments: list[str]) -> None:
    assert "AF001" not in run(*arguments).stderr


TWICE = {
    "two values": (["tell", "x", "--times", "1", "--times", "2"], "--times is given twice"),
    "the same value, by two names": (
        ["gate", "rag", "x", "-j", "5", "--jobs", "5"],
        "--jobs is given twice",
    ),
    "both in one word": (["gate", "rag", "x", "-j5", "--jobs=5"], "--jobs is given twice"),
    "a flag and its contrary": (
        ["gate", "rag", "x", "--items", "--no-items"],
        "--items/--no-items is given twice",
    ),
    "among the words of --gates": (
        ["gate", "rag", "x", "--gates", "chr=1", "--k", "1", "--gates", "precision=1", "--k", "1"],
        "--k is given twice",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), TWICE.values(), ids=TWICE.keys())
def test_a_repeated_option_is_refused(arguments: list[str], said: str) -> None:
    result = (run_sample if arguments[0] == "tell" else run)(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"AF001: {said}. Next: run `affidavit ")


ONCE = {
    "a flag, twice": ["completion", "bash", "-q", "--quiet"],
    "a flag before and after the command": ["--json", "completion", "bash", "--json"],
    "after two dashes it is not an option": ["tell", "--times", "1", "--", "--times"],
    "help is shown whatever else is said": ["tell", "--times", "1", "--times", "2", "--help"],
}


@pytest.mark.parametrize("arguments", ONCE.values(), ids=ONCE.keys())
def test_options_that_may_be_repeated(arguments: list[str]) -> None:
    assert (run_sample if arguments[0] == "tell" else run)(*arguments).exit_code == 0


def leaves(
    branch: GroupEntry, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], CommandEntry]]:
    for member in branch.members():
        path = (*above, member.name)
        if isinstance(member, GroupEntry):
            yield from leaves(member, path)
        else:
            yield path, member


def value_of(parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    if isinstance(parameter.type, (click.IntRange, click.FloatRange)):
        return str(parameter.type.min)
    return "." if parameter.name == "project" else "1"


@pytest.mark.parametrize(
    ("path", "leaf"), list(leaves(ROOT)), ids=[" ".join(path) for path, _ in leaves(ROOT)]
)
def test_every_command_refuses_a_second_value(path: tuple[str, ...], leaf: CommandEntry) -> None:
    params = load_command(leaf).params
    needed = [
        word
        for each in params
        if each.required
        for word in ([each.opts[0]] if isinstance(each, click.Option) else []) + [value_of(each)]
    ]
    singles = [
        each
        for each in params
        if isinstance(each, click.Option) and not (each.multiple or each.is_flag)
    ]
    for option in singles:
        again = [option.opts[-1], value_of(option)]
        result = run(*path, *needed, *again, *again)
        assert (result.exit_code, "is given twice" in result.stderr) == (2, True), result.output
