"""The commands `affidavit answer` and `affidavit coverage`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults.receipts import KEY_NONE
from affidavit.cli.command import (
    FiniteFloatRange,
    anchor_option,
    anchor_required_option,
    command,
    existing_project_option,
    input_name,
    issuer_option,
    read_input,
    reject_folder,
    reject_overwrites,
    require_authority_option,
    routes_option,
    tools_option,
)
from affidavit.cli.commands import Example
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from affidavit.app.answer import AnswerContext, AnswerRequest, AnswerSetup
    from affidavit.app.tool_queries import ToolWithSources
    from affidavit.checks.routes import CoverageV1
    from affidavit.seal.keys import SigningKey

MAX_REQUEST_BYTES: Final = 4 * 1024 * 1024
_VERDICT_TONES: Final = {
    "supported": Tone.GOOD,
    "evidenced": Tone.GOOD,
    "value": Tone.GOOD,
    "contradicted": Tone.BAD,
}


@command(
    examples=(
        Example(
            "affidavit answer samples/answers/checks.json --tools samples/answers/affidavit.toml",
            "query the declared tools and sign the result",
        ),
        Example(
            "affidavit answer --question 'the latest version of click is 8.1'",
            "by the route table: a statement is checked, a question is looked up",
        ),
        Example(
            "affidavit answer checks.json --anchor https://tsa.example.org -o receipt.json",
            "with a time stamp of this authority",
        ),
        Example("affidavit answer --file data.json 'price <= 10'", "one line, no configuration"),
        Example(
            "affidavit answer many.yaml --split -o receipts.json",
            "more than 20 checks, in receipts that are linked",
        ),
        Example("cat checks.json | affidavit answer - --json", "the receipt itself, for machines"),
    ),
    exits={
        Exit.YES: "supported, or evidenced where nothing was asserted",
        Exit.NO: "contradicted",
        Exit.UNKNOWN: "insufficient evidence, outside coverage, or no required time stamp",
    },
)
@click.argument(
    "checks",
    required=False,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Checks as JSON or YAML: a list, or an object with `checks` and `deadline_ms`; - for"
    " JSON from stdin. With --file it is one assertion, such as 'price <= 10'.",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="A JSON, CSV or YAML file that the assertion is about, instead of tools.",
)
@click.option(
    "--min-confidence",
    default=0.0,
    show_default=True,
    type=FiniteFloatRange(0, 1),
    help="The confidence that an answer needs; with less the exit code is 3.",
)
@click.option(
    "--split",
    is_flag=True,
    help="Answer more than 20 checks, up to 100, in several receipts that are linked.",
)
@click.option("--question", help="A question instead of checks; the route table compiles it.")
@tools_option
@routes_option
@click.option("--deadline-ms", type=int, help="The time limit for the answer; by default 6000.")
@issuer_option
@click.option("--key", help="The id of the signing key; by default the newest.")
@anchor_option
@anchor_required_option
@click.option(
    "--output",
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Where to write the receipt; by default in .affidavit/receipts.",
)
@existing_project_option
def answer(
    terminal: Terminal,
    checks: Path | None,
    file: Path | None,
    min_confidence: float,
    split: bool,
    question: str | None,
    tools: Path | None,
    routes: Path | None,
    deadline_ms: int | None,
    issuer: str | None,
    key: str | None,
    anchor: str | None,
    anchor_required: bool,
    output: Path | None,
    project: Path,
) -> Exit:
    """Check an answer against tools and sign a receipt.

    All sources of all tools are queried at the same time. The receipt is ready by the deadline and
    says what was observed for each check. It can be verified offline: see `affidavit verify`.
    """
    from affidavit.app.answer import exit_for_receipt, file_setup, load_answer_setup
    from affidavit.app.keys import key_folder

    require_authority_option(anchor, anchor_required)
    if output is not None:
        reject_overwrites([output], [checks, file, tools, routes])
        reject_folder(output)
    request = read_request(checks, file, question, deadline_ms, split=split)
    if request.question is None:
        reject_options("is for a question: checks name their tools themselves", "routes")
    setup = load_answer_setup(tools, routes, project) if file is None else file_setup(file)
    if output is not None:
        # Files of the project that are not on the command line are protected, too.
        keys = key_folder(project).registry_path.parent.glob("*")
        reject_overwrites([output], [setup.config, setup.routes_file, *keys])
    if file is not None and not (key or issuer or anchor or output) and not has_key(project):
        return print_unsigned(terminal, request, setup, min_confidence)
    signer = signing_key(project, key)
    context = setup.context(issuer or setup.issuer or signer.public.id)
    with terminal.watch("Asking the tools"):
        signed = sign_answers(request, context, signer)
    receipts, problem = anchor_all(signed, anchor, anchor_required)
    paths = write_receipts(receipts, output, project, linked=request.split)
    shown = print_receipts(terminal, receipts, paths, linked=request.split)
    if problem is not None:
        terminal.print(f"Written without a time stamp. {problem}")
    return exit_for_receipt(shown, min_confidence)


def sign_answers(
    request: "AnswerRequest", context: "AnswerContext", signer: "SigningKey"
) -> tuple[dict[str, Any], ...]:
    """Return the signed receipt, or as many linked ones as the checks need."""
    from affidavit.app.answer import answer_linked, answer_request

    if request.split:
        return answer_linked(request, context, signer)
    return (answer_request(request, context, signer),)


def anchor_all(
    receipts: "Sequence[dict[str, Any]]", anchor: str | None, required: bool
) -> tuple[list[dict[str, Any]], AffidavitError | None]:
    """Return the receipts with their anchors, and the first reason why one has none."""
    pairs = [anchored(receipt, anchor, required) for receipt in receipts]
    problems = (problem for _, problem in pairs if problem is not None)
    return [receipt for receipt, _ in pairs], next(problems, None)


def write_receipts(
    receipts: "Sequence[dict[str, Any]]", output: Path | None, project: Path, *, linked: bool
) -> list[Path]:
    """Write the receipts: linked ones to one file if it is named, otherwise each to its own."""
    from affidavit.app.answer import linked_document, receipt_path, write_receipt

    if output is not None:
        write_receipt(output, linked_document(receipts) if linked else receipts[0])
        return [output]
    paths = [receipt_path(project, receipt["receipt_id"]) for receipt in receipts]
    for path, receipt in zip(paths, receipts, strict=True):
        write_receipt(path, receipt)
    return paths


def print_receipts(
    terminal: Terminal,
    receipts: "Sequence[dict[str, Any]]",
    paths: "Sequence[Path]",
    *,
    linked: bool,
) -> dict[str, Any]:
    """Print the receipts and where they are, and return the answer that they give together."""
    from affidavit.app.answer import composed_answer, linked_document

    together = composed_answer(receipts) if linked else receipts[0]
    places = ", ".join(map(str, paths))
    if terminal.json:
        terminal.print_json(linked_document(receipts) if linked else receipts[0])
        terminal.note(f"receipt in {places}")
        return together
    print_answer(terminal, together)
    if len(receipts) > 1:
        terminal.print(f"Linked receipts: {len(receipts)}")
    terminal.print(f"Receipt: {places}")
    return together


def has_key(project: Path) -> bool:
    """Say whether the project has a signing key, or something that should be one."""
    from affidavit.app.keys import key_folder
    from affidavit.store.files import may_exist

    folder = key_folder(project)
    return may_exist(folder.registry_path) and folder.registry().active_key_id is not None


def print_unsigned(
    terminal: Terminal, request: "AnswerRequest", setup: "AnswerSetup", min_confidence: float
) -> Exit:
    """Print the answer of a project that has no key. It proves nothing to others."""
    from affidavit.app.answer import UNSIGNED_ISSUER, exit_for_receipt, receipt_body

    body = receipt_body(request, replace(setup.context(UNSIGNED_ISSUER), signed=False))
    if terminal.json:
        terminal.print_json(body)
    else:
        print_answer(terminal, body)
    terminal.note("Not signed, so no receipt is written: `affidavit keys new` creates a key")
    return exit_for_receipt(body, min_confidence)


def anchored(
    receipt: dict[str, Any], anchor: str | None, required: bool
) -> tuple[dict[str, Any], AffidavitError | None]:
    """Return the receipt with its anchor, or without one and the reason, unless it is required."""
    from affidavit.app.answer import anchor_receipt

    try:
        return anchor_receipt(receipt, anchor), None
    except AffidavitError as error:
        if required:
            raise
        return receipt, error


def read_request(
    checks: Path | None,
    file: Path | None,
    question: str | None,
    deadline_ms: int | None,
    *,
    split: bool,
) -> "AnswerRequest":
    """Return the request from a file, standard input, the question or the assertion."""
    from affidavit.app.answer import AnswerRequest, assertion_request, request_from_bytes
    from affidavit.app.tool_queries import require_deadline

    if file is not None or question is not None:
        reject_options("is for checks", "split")
    if file is not None:
        if checks is None or question is not None:
            raise click.UsageError("--file needs one assertion, such as 'price <= 10'")
        reject_options("is for tools, and --file names the one source", "tools")
        if deadline_ms is not None:
            require_deadline(deadline_ms)
        return assertion_request(str(checks), deadline_ms)
    if (checks is None) == (question is None):
        raise click.UsageError("name a file of checks, or ask with --question")
    if checks is None:
        request = AnswerRequest((), question)
    else:
        request = request_from_bytes(read_input(checks, MAX_REQUEST_BYTES), input_name(checks))
        request = replace(request, split=request.split or split)
    if deadline_ms is None:
        return request
    require_deadline(deadline_ms)
    return replace(request, deadline_ms=deadline_ms)


def signing_key(project: Path, key_id: str | None) -> "SigningKey":
    """Return the signing key. Its passphrase is prompted for if stdin is a terminal."""
    from affidavit.app.keys import find_passphrase, key_folder

    folder, secret = key_folder(project), find_passphrase()
    chosen = key_id or folder.registry().active_key_id
    if chosen is None:
        raise AffidavitError(KEY_NONE)
    is_locked = folder.private_state(chosen) == "encrypted"
    if secret is None and is_locked and sys.stdin is not None and sys.stdin.isatty():
        secret = click.prompt("Passphrase", hide_input=True, err=True)
    return folder.signing_key(secret, key_id)


def print_answer(terminal: Terminal, receipt: dict[str, Any]) -> None:
    """Print the table of checks, and the verdict with its reasons."""
    from affidavit.app.answer import confidence_advice

    if "checks" in receipt:
        columns = ("Check", "Verdict", "Conf.", "What the tool says")
        terminal.table(columns, map(_check_row, receipt["checks"]))
    else:
        terminal.print(receipt["note"])
        terminal.note("`affidavit coverage` prints what can be asked")
    degraded = "; some evidence could not be had" if receipt.get("degraded") else ""
    terminal.print(
        f"Verdict: {receipt['verdict']}, confidence {receipt['confidence']:.2f}{degraded}"
    )
    # One fresh source, 0.80, is the usual case.
    for why in confidence_advice(receipt, 1.0 if terminal.verbose else 0.8):
        terminal.note(why)


def _check_row(check: dict[str, Any]) -> tuple[Cell | str, ...]:
    name = check["id"] if check["required"] else f"{check['id']} (optional)"
    confidence = check["confidence"]
    return (
        name,
        Cell(check["verdict"].replace("_", " "), _VERDICT_TONES.get(check["verdict"], Tone.UNSURE)),
        "" if confidence is None else f"{confidence:.2f}",
        f"{check['tool']}: {check['explain']}",
    )


@command(
    examples=(
        Example(
            "affidavit coverage --tools samples/answers/affidavit.toml", "what can be asked here"
        ),
        Example("affidavit coverage --json", "the manifest that a refusal contains"),
    ),
    exits={Exit.YES: "printed"},
)
@tools_option
@routes_option
@existing_project_option
def coverage(terminal: Terminal, tools: Path | None, routes: Path | None, project: Path) -> Exit:
    """Print the tools and routes that can be asked.

    No tool is queried. A question that no route covers is refused with a signed receipt.
    """
    from affidavit.app.answer import load_answer_setup

    setup = load_answer_setup(tools, routes, project)
    manifest = setup.coverage
    if terminal.json:
        terminal.print_json(manifest)
        return Exit.YES
    terminal.table(
        ("Tool", "Needs", "What it says", "Fresh for", "Sources"),
        (_tool_row(setup.toolbox.by_name[name]) for name in sorted(setup.toolbox.by_name)),
    )
    print_routes(terminal, manifest, has_table=setup.routes_file is not None)
    if setup.config is None:
        terminal.note("there is no --tools option and no affidavit.toml: docs/tools.md")
    return Exit.YES


def print_routes(terminal: Terminal, manifest: "CoverageV1", *, has_table: bool) -> None:
    """Print the questions that are covered, what is not, and the digest of the route table."""
    if manifest.families:
        terminal.print("")
        terminal.table(
            ("Route", "Tool", "Questions and statements"),
            (
                ("" if number else family.route_id, "" if number else family.tool, text)
                for family in manifest.families
                for number, text in enumerate((*family.ask, *family.say))
            ),
        )
    else:
        why = "no route has a declared tool" if has_table else "there is no route table"
        terminal.print(f"No question is covered: {why}")
    if has_table:
        terminal.print(f"Route table: sha256 {manifest.router_sha256}")
    for each in manifest.not_covered:
        terminal.print(f"Not covered: {each}")


def _tool_row(entry: "ToolWithSources") -> tuple[str, ...]:
    tool = entry.tool
    place = f"value at {tool.value_path}" if tool.value_path else "its whole result"
    says = "; ".join(part for part in (tool.description, tool.unit, place) if part)
    return (
        tool.name,
        ", ".join((*tool.required_args, *(f"[{name}]" for name in tool.optional_args)))
        or "nothing",
        says,
        "never" if tool.max_age_s is None else f"{tool.max_age_s:g} s",
        ", ".join(source.feed.source.name for source in entry.sources),
    )
