"""`affidavit gate agreement`."""

from dataclasses import replace
from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.gate_frame import Frame, conclude, gate_command
from affidavit.cli.given import refuse_given
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@gate_command(
    examples=(
        Example("affidavit gate agreement --pairs pairs.jsonl", "do two agents agree?"),
        Example(
            "affidavit gate agreement --scholar s.jsonl --auditor a.jsonl --disagreements d.tsv",
            "from the labels of each, with every disagreement and its arbitration in a file",
        ),
        Example(
            "affidavit gate agreement --pairs pairs.jsonl --gates pa=0.95 kappa=0.8 abstain=0",
            "gates of your own",
        ),
    ),
)
@click.option("--pairs", multiple=True, help="Both labels of each question, as JSON lines.")
@click.option("--scholar", help="The first agent's labels, as JSON lines of qid and label.")
@click.option("--auditor", help="The second agent's labels.")
@click.option(
    "--disagreements",
    type=click.Path(path_type=Path),
    help="Write every disagreement there, with tabs: qid, scholar, auditor, final, why.",
)
@click.option("--pa-gate", "--pa_gate", "pa_gate", help="As --gates percent_agreement=...")
@click.option("--kappa-gate", "--kappa_gate", "kappa_gate", help="As --gates kappa=...")
@click.option(
    "--abstain-gate", "--abstain_gate", "abstain_gate", help="As --gates abstain_rate=..."
)
def agreement(
    terminal: Terminal,
    frame: Frame,
    pairs: tuple[str, ...],
    scholar: str | None,
    auditor: str | None,
    disagreements: Path | None,
    pa_gate: str | None,
    kappa_gate: str | None,
    abstain_gate: str | None,
) -> Exit:
    """Decide whether two agents agree on the same questions.

    Percent agreement, kappa with the base rate it is read with, and how often either abstains.
    Labels are VALID, NOT_IN_CONTEXT, REJECT and ABSTAIN; a refusal that both share is agreement.
    """
    from affidavit.app.gating.agreement import AgreementGate, disagreements_tsv, gate_agreement
    from affidavit.base.files import write_atomically

    labels = (scholar, auditor)
    if bool(pairs) is any(labels) or (any(labels) and not all(labels)):
        raise click.UsageError("give --pairs, or both --scholar and --auditor")
    if pairs:
        refuse_given("is for --scholar and --auditor: a pair lacks no label", "allow_missing")
    named = (("percent_agreement", pa_gate), ("kappa", kappa_gate), ("abstain_rate", abstain_gate))
    gates = (*frame.gates, *(f"{name}={value}" for name, value in named if value is not None))
    replace(frame, gates=gates).require_gates("agreement")
    if (
        scholar is not None
        and auditor is not None
        and Path(scholar).resolve() == Path(auditor).resolve()
    ):
        raise click.UsageError("--scholar and --auditor are one file, which agrees with itself")
    others = () if disagreements is None else (disagreements,)
    frame.refuse_to_replace((*pairs, *filter(None, labels)), *others)
    report, counts = gate_agreement(
        AgreementGate(
            pairs, scholar, auditor, gates, frame.skip_bad, frame.allow_missing, frame.baseline
        )
    )
    if disagreements is not None:
        write_atomically(disagreements, disagreements_tsv(counts))
        terminal.note(f"wrote {disagreements}")
    return conclude(terminal, frame, report)
