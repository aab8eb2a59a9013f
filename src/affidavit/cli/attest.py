"""`affidavit attest`, and what `affidavit verify` does with everything that is no receipt."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from affidavit.base.exits import Exit, worst_exit
from affidavit.cli.command import (
    STDIN_PATH,
    command,
    existing_project_option,
    require_output_paths,
)
from affidavit.cli.commands import Example
from affidavit.cli.disclosure_commands import check_event_proof
from affidavit.cli.evidence_commands import applied_packs, limits_from_option, limits_option
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.json_text import json_bytes

if TYPE_CHECKING:
    from affidavit.app.attest import KeyHolder
    from affidavit.app.attestation_checks import VerifiableKind
    from affidavit.seal.dsse import Envelope

PREDICATES = ("affidavit", "test-result", "svr", "assay")

key_option = click.option(
    "--key",
    "keys",
    multiple=True,
    help="Who signs: a key id, a PEM file, env:NAME, or a TOML file that names a signing command;"
    " by default this project's key. Repeatable.",
)


def key_holders(references: Sequence[str], project: Path) -> "tuple[KeyHolder, ...]":
    """Return who signs; a passphrase is prompted for if it is needed and somebody is there."""
    from affidavit.app.attest import key_holder
    from affidavit.app.keys import find_passphrase
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults.receipts import KEY_PASSPHRASE

    def holder(reference: str | None) -> "KeyHolder":
        secret = find_passphrase()
        try:
            return key_holder(reference, project, secret)
        except AffidavitError as error:
            is_prompted = sys.stdin is not None and sys.stdin.isatty()
            if error.fault is not KEY_PASSPHRASE or secret is not None or not is_prompted:
                raise
        typed: str = click.prompt("Passphrase", hide_input=True, err=True)
        return key_holder(reference, project, typed)

    return tuple(map(holder, references or (None,)))


@command(
    examples=(
        Example("affidavit attest run.tar.gz", "sign what can be said about a bundle"),
        Example("affidavit attest receipt.json --key alice.pem --key bob.pem", "two signers"),
        Example(
            "affidavit attest run.tar.gz --key hsm.toml", "with a key that never leaves an HSM"
        ),
        Example("affidavit attest run.tar.gz --add --key carol.pem", "one more signer, later"),
        Example(
            "affidavit attest report.json --predicate test-result",
            "a gate decision, in the form that in-toto has for tests",
        ),
    ),
    exits={
        Exit.YES: "attested: it verified or replayed, and was signed",
        Exit.UNKNOWN: "a pack is missing, a command could not sign, or no time stamp could be had",
        Exit.TAMPERED: "what the file says does not follow from what it holds; nothing was signed",
    },
)
@click.argument(
    "subject",
    type=click.Path(path_type=Path),
    help="A bundle, a receipt, a ledger (JSON) or a gate report (JSON).",
)
@key_option
@click.option(
    "--predicate",
    type=click.Choice(PREDICATES),
    default=PREDICATES[0],
    show_default=True,
    help="What the statement says: everything, or the form of another tool.",
)
@click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack to run over a bundle; by default those that its manifest names. Repeatable.",
)
@click.option("--add", is_flag=True, help="Add signatures to the envelope that is there already.")
@click.option("--authority", help="The URL of a time stamp authority (RFC 3161).")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The envelope; by default beside the subject, with .dsse.json added.",
)
@click.option(
    "--sigstore",
    type=click.Path(path_type=Path),
    help="Also write a Sigstore bundle (v0.3), which has exactly one signature.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    help="Also write the page (HTML) that verifies it in a browser, without a network.",
)
@limits_option
@existing_project_option
def attest(
    terminal: Terminal,
    subject: Path,
    keys: tuple[str, ...],
    predicate: str,
    pack_names: tuple[str, ...],
    add: bool,
    authority: str | None,
    output: Path | None,
    sigstore: Path | None,
    page: Path | None,
    limits: str | None,
    project: Path,
) -> Exit:
    """Sign what can be said about a bundle or a report.

    Receipts and ledgers, too. The file is verified or replayed first. The statement (in-toto, in a
    DSSE envelope) names it by its digests, and everything that it says can be computed again from
    the file.
    """
    from affidavit.app.answer import require_authority_url
    from affidavit.app.attest import ENVELOPE_ENDING, with_time_stamps
    from affidavit.base.files import open_to_read, write_atomically
    from affidavit.seal.dsse import envelope_bytes, sigstore_bundle

    path = output or subject.with_name(f"{subject.name}{ENVELOPE_ENDING}")
    require_output_paths([path, sigstore, page], [subject])
    if authority is not None:
        require_authority_url(authority)
    with open_to_read(subject):
        pass  # A missing file is said before a missing key.
    holders = key_holders(keys, project)
    made = (
        _with_more_signers(path, subject, holders, pack_names, limits)
        if add
        else _attested(subject, predicate, holders, pack_names, limits)
    )
    if authority is not None:
        with terminal.watch("Asking the authority"):
            made = with_time_stamps(made, authority)
    exported = None if sigstore is None else json_bytes(sigstore_bundle(made))
    write_atomically(path, envelope_bytes(made))
    if sigstore is not None and exported is not None:
        write_atomically(sigstore, exported)
    if page is not None:
        from affidavit.reports.pages import verify_page

        write_atomically(page, verify_page().encode())
    _print_attested(terminal, subject, path, sigstore, made)
    return Exit.YES


def _attested(
    subject: Path,
    predicate: str,
    holders: "Sequence[KeyHolder]",
    pack_names: tuple[str, ...],
    limits: str | None,
) -> "Envelope":
    from affidavit.app.attest import attest, summary_to_attest
    from affidavit.app.clock import now
    from affidavit.seal.statement import PREDICATE_TYPES

    kind = PREDICATE_TYPES[predicate]
    packs = applied_packs(pack_names)
    summary = summary_to_attest(subject, kind, packs, limits_from_option(limits))
    return attest(summary, kind, holders, now())


def _with_more_signers(
    path: Path,
    subject: Path,
    holders: "Sequence[KeyHolder]",
    pack_names: tuple[str, ...],
    limits: str | None,
) -> "Envelope":
    """Return the envelope with more signatures, after its statement was computed again."""
    from affidavit.app.attest import with_signatures
    from affidavit.app.attestation_checks import read_envelope, require_statement

    envelope = read_envelope(path)
    require_statement(envelope, subject, applied_packs(pack_names), limits_from_option(limits))
    return with_signatures(envelope, holders)


def _print_attested(
    terminal: Terminal, subject: Path, path: Path, sigstore: Path | None, made: "Envelope"
) -> None:
    if terminal.json:
        terminal.print_json(
            {
                "subject": str(subject),
                "envelope": str(path),
                "sigstore": None if sigstore is None else str(sigstore),
                "signers": [each.key_id for each in made.signatures],
                "time_stamps": len(made.time_stamps),
            }
        )
        return
    signers = ", ".join(str(each.key_id) for each in made.signatures)
    terminal.print(f"{path}: {subject.name}, signed by {signers}")
    terminal.note(f"verify it with `affidavit verify {path}`; log it with `affidavit log append`")


class VerifyOptions(Struct, frozen=True, kw_only=True):
    """The options of `affidavit verify` that are for other things than receipts, and some more."""

    policy: Path | None
    subject: Path | None
    threshold: int
    log_keys: tuple[str, ...]
    proofs: tuple[Path, ...]
    since: tuple[Path, ...]
    pack_names: tuple[str, ...]
    root: str | None
    keys: tuple[Path, ...]
    tsa_roots: tuple[Path, ...]
    tsa_policy: str | None
    time_stamp: Path | None
    stamp_required: bool
    at: str | None
    jobs: int
    limits: str | None
    project: Path


# Which of them decide on what is no attestation.
_USED_OPTIONS: Final = {
    "audit_log": ("keys", "project", "since", "jobs"),
    "bundle": ("pack_names", "jobs", "limits"),
    "event_proof": ("subject", "root", "jobs"),
    "log_proof": ("log_keys", "proofs", "since", "at", "jobs"),
}


def other_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `affidavit verify` that are for other things than receipts."""
    path = click.Path(path_type=Path)
    for option in (
        click.option("--policy", type=path, help="A trust policy for attestations (TOML)."),
        click.option(
            "--subject",
            type=path,
            help="What the one attestation is about; by default the file beside it. Or the event"
            " of a proof.",
        ),
        click.option(
            "--threshold",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="How many different keys have to have signed an attestation.",
        ),
        click.option(
            "--log-key",
            "log_keys",
            multiple=True,
            help="The key of a log to trust, or @FILE; a proof is required then. Repeatable.",
        ),
        click.option(
            "--proof",
            "proofs",
            multiple=True,
            type=path,
            help="A proof of a log in a file of its own. Repeatable.",
        ),
        click.option(
            "--since",
            multiple=True,
            type=path,
            help="A checkpoint that you kept, or an export of an audit log, which the log has to"
            " continue. Repeatable.",
        ),
        click.option(
            "--pack",
            "pack_names",
            multiple=True,
            help="A pack of your own that an attestation or a manifest names. Repeatable.",
        ),
        click.option("--root", help="The Merkle root that you trust, for the proof of an event."),
        limits_option,
    ):
        function = option(function)
    return function


def find_other_kind(paths: Sequence[Path]) -> "VerifiableKind | None":
    """Return the one kind of all named files, or None if they are receipts."""
    from affidavit.app.attestation_checks import VerifiableKind, kind_of_file
    from affidavit.base.files import is_folder

    files = [path for path in paths if path != STDIN_PATH and not is_folder(path)]
    kinds = {kind_of_file(path) for path in files}
    if kinds <= {VerifiableKind.RECEIPT}:
        return None
    if len(kinds) > 1 or len(files) != len(paths):
        named = ", ".join(sorted(each.value.replace("_", " ") for each in kinds))
        raise click.UsageError(f"name files of one kind at a time, not {named}")
    return kinds.pop()


def verify_other(
    terminal: Terminal, kind: "VerifiableKind", paths: Sequence[Path], options: VerifyOptions
) -> Exit:
    """Verify attestations, bundles or proofs.

    Options that a kind has no use for are refused: whoever names a policy or keys would take the
    exit code for an answer about them.
    """
    from affidavit.app.attestation_checks import VerifiableKind

    if kind is VerifiableKind.ATTESTATION:
        reject_options("is for the proof of an event", "root")
    else:
        used = _USED_OPTIONS[kind.value]
        unused = (name for name in VerifyOptions.__struct_fields__ if name not in used)
        shown = kind.value.replace("_", " ")
        reject_options(f"is not for a file that is a {shown}; name its attestation", *unused)
    match kind:
        case VerifiableKind.ATTESTATION:
            return _verify_attestations(terminal, paths, options)
        case VerifiableKind.AUDIT_LOG:
            return _verify_audit_logs(terminal, paths, options)
        case VerifiableKind.BUNDLE:
            return _verify_bundles(terminal, paths, options)
        case VerifiableKind.EVENT_PROOF:
            if options.subject is None or options.root is None or len(paths) != 1:
                raise click.UsageError("the proof of an event needs --subject EVENT and --root")
            return check_event_proof(terminal, paths[0], options.subject, options.root, None)
        case _:
            return _verify_log_proofs(terminal, paths, options)


def note_own_keys(terminal: Terminal, registry: Path) -> None:
    """Say that nobody named keys, so that a verification is not taken for more than it is."""
    terminal.note(f"trusting this project's own keys ({registry}); --keys names others")


def _verify_attestations(terminal: Terminal, paths: Sequence[Path], options: VerifyOptions) -> Exit:
    from affidavit.app.attestation_checks import (
        AttestationFile,
        AttestationVerifier,
        trust_from_options,
        trust_from_policy,
        trust_with_seen,
    )
    from affidavit.app.clock import datetime_of
    from affidavit.app.verify import key_files
    from affidavit.reports.verification_text import attestations_as_json, attestations_text

    if options.policy is not None:
        reject_options(
            "stands in the policy",
            *("keys", "threshold", "tsa_roots", "tsa_policy", "stamp_required", "log_keys"),
        )
        trust = trust_from_policy(options.policy)
    else:
        trusted = key_files(options.keys, options.project)
        if not options.keys:
            note_own_keys(terminal, trusted[0])
        trust = trust_from_options(
            trusted,
            options.threshold,
            options.tsa_roots,
            options.tsa_policy,
            stamp_required=options.stamp_required,
            log_keys=options.log_keys,
        )
    if len(paths) > 1 and (options.subject or options.time_stamp or options.proofs):
        raise click.UsageError("--subject, --time-stamp and --proof belong to one attestation")
    if options.since and trust.log is None:
        raise click.UsageError("--since needs the key of the log: --log-key, or a policy with one")
    trust = replace(trust, log=trust_with_seen(trust.log, options.since))
    verifier = AttestationVerifier(
        trust=trust,
        at=datetime_of(options.at),
        packs=applied_packs(options.pack_names),
        limits=limits_from_option(options.limits),
        jobs=options.jobs,
    )
    outcomes = [
        verifier.verify(
            AttestationFile(
                path=path,
                subject=options.subject,
                time_stamps=() if options.time_stamp is None else (options.time_stamp,),
                proofs=options.proofs,
            )
        )
        for path in paths
    ]
    if terminal.json:
        terminal.print_json(attestations_as_json(outcomes))
    else:
        terminal.show(attestations_text(outcomes))
    return worst_exit(outcome.exit for outcome in outcomes)


def _verify_audit_logs(terminal: Terminal, paths: Sequence[Path], options: VerifyOptions) -> Exit:
    from affidavit.app.audit_logs import verify_audit_file
    from affidavit.app.verify import key_files
    from affidavit.reports.verification_text import audit_logs_as_json, audit_logs_text

    trusted = key_files(options.keys, options.project)
    if not options.keys:
        note_own_keys(terminal, trusted[0])
    outcomes = [verify_audit_file(path, trusted, options.since) for path in paths]
    if terminal.json:
        terminal.print_json(audit_logs_as_json(outcomes))
    else:
        terminal.show(audit_logs_text(outcomes))
    return worst_exit(outcome.exit for outcome in outcomes)


def _verify_bundles(terminal: Terminal, paths: Sequence[Path], options: VerifyOptions) -> Exit:
    from affidavit.app.bundles import require_readable, verify_files
    from affidavit.reports.verification_text import bundles_as_json, bundles_text

    outcomes = tuple(
        verify_files(
            paths,
            limits_from_option(options.limits),
            packs=applied_packs(options.pack_names),
            jobs=options.jobs,
        )
    )
    require_readable(outcomes)
    if terminal.json:
        terminal.print_json(bundles_as_json(outcomes))
    else:
        terminal.show(bundles_text(outcomes))
    return worst_exit(outcome.exit for outcome in outcomes)


def _verify_log_proofs(terminal: Terminal, paths: Sequence[Path], options: VerifyOptions) -> Exit:
    from affidavit.app.attestation_checks import (
        ContinuedLog,
        check_log_proof,
        log_trust,
        trust_with_seen,
    )
    from affidavit.app.clock import datetime_of

    if not options.log_keys:
        raise click.UsageError("the proof of a log needs --log-key, the key of the log")
    named = log_trust(options.log_keys)
    trust, at = trust_with_seen(named, options.since) or named, datetime_of(options.at)
    found = [check_log_proof(path, trust, at, options.proofs) for path in paths]
    if terminal.json:
        terminal.print_json({"valid": True, "exit": 0, "proofs": found})
    else:
        for path, each in zip(paths, found, strict=True):
            shown = (
                f"{each.size} entries of {each.origin} continue the {each.seen} that you saw"
                if isinstance(each, ContinuedLog)
                else f"entry {each.index} of {each.size} in {each.origin}"
            )
            terminal.print(f"{path}: {shown}")
    return Exit.YES
