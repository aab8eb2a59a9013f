"""The commands `affidavit verify`, `affidavit replay` and `affidavit receipt stamp`."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.cli.attest import (
    VerifyOptions,
    find_other_kind,
    note_own_keys,
    other_options,
    verify_other,
)
from affidavit.cli.command import (
    STDIN_NAME,
    STDIN_PATH,
    command,
    existing_project_option,
    jobs_option,
    read_input,
    require_output_paths,
    tsa_roots_option,
)
from affidavit.cli.commands import Example
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, TextPart, Tone, text_table

if TYPE_CHECKING:
    from affidavit.app.verify import (
        ReceiptInput,
        ReplayedReceipt,
        ReplayedRow,
        VerdictAndConfidence,
    )
    from affidavit.checks.routes import RouteTable

MAX_INPUT_BYTES = 256 * 1024 * 1024


@command(
    examples=(
        Example("affidavit verify receipt.json --keys keys.json", "the five steps, offline"),
        Example("affidavit verify receipts --keys keys.json -j 4", "a folder, by four processes"),
        Example(
            "affidavit verify receipts.jsonl --keys registry.json --tsa-roots roots.pem",
            "a receipt a line, with key lifecycles and time stamps",
        ),
        Example(
            "affidavit verify receipt.json --keys keys.json --routes routes.yaml",
            "and how its question became checks",
        ),
        Example("affidavit answer checks.json --json | affidavit verify -", "from a pipe"),
        Example(
            "affidavit answer checks.json --split --json | affidavit verify -",
            "linked receipts, and whether all of them are there",
        ),
        Example(
            "affidavit verify run.tar.gz.dsse.json --policy release.toml",
            "an attestation, before a release",
        ),
        Example(
            "affidavit verify big.tar.gz -j 2 --limits '{\"max_events\": 1000000}'",
            "a large bundle, by two processes",
        ),
    ),
    exits={
        Exit.YES: "everything is valid: every required check was done and holds",
        Exit.NO: "a signature holds, but its key may not be trusted, or a policy is not met",
        Exit.UNKNOWN: "an unknown key or version, no time stamp, or a linked receipt is missing",
        Exit.TAMPERED: "a digest, id, signature, time stamp, replay or link does not hold",
    },
)
@click.argument(
    "receipts",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Files, folders, .jsonl files with a receipt a line; - for standard input (receipts).",
)
@click.option(
    "--keys",
    "-k",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Keys to trust: a flat document, a registry, a JWK set; by default this project's.",
)
@tsa_roots_option
@click.option("--tsa-policy", help="The policy (an object identifier) that time stamps must have.")
@click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="The issuer's route table, to replay also how a question became checks.",
)
@click.option(
    "--time-stamp",
    type=click.Path(path_type=Path),
    help="A detached time stamp of the one receipt, from `affidavit receipt stamp`.",
)
@click.option(
    "--require-timestamp",
    "--stamp-required",
    "stamp_required",
    is_flag=True,
    help="Require a valid time stamp of an authority whose root you name.",
)
@click.option("--at", help="The day or time of the verification; by default now.")
@jobs_option("How many processes verify.")
@existing_project_option
@other_options
def verify(
    terminal: Terminal,
    receipts: tuple[Path, ...],
    policy: Path | None,
    subject: Path | None,
    threshold: int,
    log_keys: tuple[str, ...],
    proofs: tuple[Path, ...],
    since: tuple[Path, ...],
    pack_names: tuple[str, ...],
    root: str | None,
    limits: str | None,
    keys: tuple[Path, ...],
    tsa_roots: tuple[Path, ...],
    tsa_policy: str | None,
    routes: Path | None,
    time_stamp: Path | None,
    stamp_required: bool,
    at: str | None,
    jobs: int,
    project: Path,
) -> Exit:
    """Verify receipts and attestations offline step by step.

    Bundles and proofs, too: what a file is follows from its content. A receipt has five steps:
    anchor, id, signature, evidence, replay; of linked receipts, all must be there. An attestation
    has nine: envelope, signatures, time stamp, keys, log, statement, subject, predicate, policy.
    Nothing in a file is taken on trust, and nothing is fetched.
    """
    from affidavit.app.clock import datetime_of
    from affidavit.app.verify import (
        ReceiptVerifier,
        detached_token,
        key_files,
        linked_sets_of,
        require_receipts,
        trust_from,
    )
    from affidavit.reports.verification_text import (
        linked_sets_text,
        receipts_as_json,
        receipts_text,
    )

    if not tsa_roots:
        reject_options("needs --tsa-roots, whose authorities have the policy", "tsa_policy")
    if keys:
        reject_options("is for the project's own keys, and --keys names others", "project")
    kind = find_other_kind(receipts)
    if kind is not None:
        reject_options("is for receipts", "routes")
        options = VerifyOptions(
            policy=policy,
            subject=subject,
            threshold=threshold,
            log_keys=log_keys,
            proofs=proofs,
            since=since,
            pack_names=pack_names,
            root=root,
            keys=keys,
            tsa_roots=tsa_roots,
            tsa_policy=tsa_policy,
            time_stamp=time_stamp,
            stamp_required=stamp_required,
            at=at,
            jobs=jobs,
            limits=limits,
            project=project,
        )
        return verify_other(terminal, kind, receipts, options)
    reject_options(
        "is for attestations, bundles and proofs",
        *("policy", "subject", "threshold", "log_keys", "proofs", "since", "pack_names"),
        *("root", "limits"),
    )
    try:
        trusted = key_files(keys, project)
    except AffidavitError:
        require_readable(receipts)  # An unreadable file is the more useful error.
        raise
    trust = trust_from(trusted, tsa_roots, tsa_policy, stamp_required=stamp_required)
    token = None if time_stamp is None else detached_token(time_stamp)
    inputs, total = find_receipts(receipts)
    if token is not None and total != 1:
        raise click.UsageError("--time-stamp belongs to one receipt, so name one file")
    table = _route_table(routes)
    verifier = ReceiptVerifier(trust, datetime_of(at), routes=table, token=token)
    each = verifier.verify_all(inputs, jobs)
    # One receipt is verified before a progress bar could appear.
    outcomes = tuple(each if total == 1 else terminal.progress(each, "Verifying receipts", total))
    require_receipts(outcomes)
    sets = linked_sets_of(outcomes)
    if not keys:
        note_own_keys(terminal, trusted[0])
    if terminal.json:
        terminal.print_json(receipts_as_json(outcomes, sets, trusted))
    else:
        terminal.show(receipts_text(outcomes, verbose=terminal.verbose))
        terminal.show(linked_sets_text(sets))
    return worst_exit(each.exit for each in (*outcomes, *sets))


def _route_table(path: Path | None) -> "RouteTable | None":
    from affidavit.app.answer import load_routes

    return None if path is None else load_routes(path)


def find_receipts(receipts: Sequence[Path]) -> tuple["Iterator[ReceiptInput]", int | None]:
    """Return the receipts that the paths name, and their number if it is known beforehand."""
    from affidavit.app.verify import LINE_ENDINGS, files_in, receipt_inputs_from, receipt_inputs_in

    files = files_in(path for path in receipts if path != STDIN_PATH)
    piped = (
        receipt_inputs_from(read_input(STDIN_PATH, MAX_INPUT_BYTES), STDIN_NAME)
        if STDIN_PATH in receipts
        else []
    )
    has_lines = any(file.suffix.lower() in LINE_ENDINGS for file in files)
    total = None if has_lines else len(files) + len(piped)
    return chain(piped, receipt_inputs_in(files)), total


def require_readable(receipts: Sequence[Path]) -> None:
    """Raise the error of the first named file that cannot be opened."""
    from affidavit.base.files import is_folder, open_to_read

    for path in receipts:
        if path != STDIN_PATH and not is_folder(path):
            open_to_read(path).close()


@command(
    examples=(
        Example("affidavit replay receipt.json", "the signed values beside the recomputed ones"),
        Example("affidavit replay receipt.json --routes routes.yaml", "from the question"),
    ),
    exits={
        Exit.YES: "the recomputed receipt equals the signed one",
        Exit.UNKNOWN: "rules that this version does not have, or another route table",
        Exit.TAMPERED: "the recomputed receipt differs; every difference is named",
    },
)
@click.argument(
    "receipt",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The receipt; - for standard input.",
)
@click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="The route table, to replay also how the question became checks.",
)
def replay(terminal: Terminal, receipt: Path, routes: Path | None) -> Exit:
    """Recompute a receipt from its own evidence.

    It applies the operators to the evidence and composes the verdicts. It needs no key and checks
    no signature; `affidavit verify` does.
    """
    from affidavit.app.verify import ReceiptInput, replay_receipt
    from affidavit.checks.receipt import asked_question

    table = _route_table(routes)
    piped = read_input(STDIN_PATH, MAX_INPUT_BYTES) if receipt == STDIN_PATH else None
    name = STDIN_NAME if receipt == STDIN_PATH else str(receipt)
    signed = ReceiptInput(name, raw=piped).receipt()
    if table is not None and asked_question(signed.value) is None:
        terminal.note("this receipt answers no question, so --routes had nothing to compile again")
    replayed = replay_receipt(signed, table)
    if terminal.json:
        holds = replayed.exit is Exit.YES
        terminal.print_json({"exit": int(replayed.exit), "holds": holds, "replay": replayed})
    else:
        terminal.show(_replay_text(replayed, verbose=terminal.verbose))
        terminal.note("the signature is not checked here; `affidavit verify` does that too")
    return replayed.exit


def _replay_text(replayed: "ReplayedReceipt", *, verbose: bool) -> Iterator[TextPart]:
    from affidavit.reports.verification_text import not_interpreted_text

    yield replayed.receipt_id
    if replayed.rows:
        columns = ("Check", "Signed", "Recomputed", *(("Why",) if verbose else ()))
        yield text_table(columns, (_replay_row(row)[: len(columns)] for row in replayed.rows))
    for difference in replayed.differences:
        yield f"AF328 {difference}"
    yield from not_interpreted_text(replayed.not_interpreted)
    if replayed.unreplayable is not None:
        yield f"AF377 cannot replay {replayed.unreplayable}"
    if replayed.differences:
        yield "Does not replay: what it says does not follow from its own evidence"
    elif replayed.unreplayable is None:
        yield "Replays: what it says follows from its own evidence, to the last letter"


def _replay_row(row: "ReplayedRow") -> tuple[Cell | str, ...]:
    tone = Tone.GOOD if row.is_same else Tone.BAD
    return (
        row.name,
        _verdict_text(row.signed),
        Cell(_verdict_text(row.recomputed), tone),
        row.explain,
    )


def _verdict_text(value: "VerdictAndConfidence") -> str:
    confidence = "" if value.confidence is None else f", {value.confidence}"
    return f"{value.verdict}".replace("_", " ") + confidence


@command(
    examples=(
        Example(
            "affidavit receipt stamp receipt.json --authority https://tsa.example.org",
            "write the token to receipt.json.tst",
        ),
        Example(
            "affidavit verify receipt.json --time-stamp receipt.json.tst --tsa-roots roots.pem",
            "verify the receipt with it",
        ),
    ),
    exits={
        Exit.YES: "stamped",
        Exit.UNKNOWN: "the authority returned no token",
    },
)
@click.argument(
    "receipt", type=click.Path(path_type=Path), help="The receipt, which stays as it is."
)
@click.option("--authority", required=True, help="The URL of the time stamp authority (RFC 3161).")
@click.option(
    "--output",
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Where to write the token; by default beside the receipt, with .tst added.",
)
def stamp(terminal: Terminal, receipt: Path, authority: str, output: Path | None) -> Exit:
    """Have a receipt time-stamped later.

    Only the digest of the signed receipt is sent. The token is a file of its own (DER), which
    `affidavit verify --time-stamp` and `openssl ts -verify` read.
    """
    from affidavit.app.answer import require_authority_url, stamp_receipt
    from affidavit.app.verify import ReceiptInput
    from affidavit.base.faults.receipts import STAMP_EXISTS
    from affidavit.base.files import write_atomically

    require_authority_url(authority)
    path = output or receipt.with_name(f"{receipt.name}.tst")
    require_output_paths([path], [receipt])
    if path.exists():
        raise AffidavitError(STAMP_EXISTS, Where(file=str(path)))
    subject = ReceiptInput(str(receipt)).receipt()
    with terminal.watch("Asking the authority"):
        token = stamp_receipt(subject, authority)
    write_atomically(path, token)
    if terminal.json:
        terminal.print_json({"receipt_id": subject.id, "token": str(path)})
    else:
        terminal.print(f"Time stamp of {subject.id}: {path}")
    return Exit.YES
