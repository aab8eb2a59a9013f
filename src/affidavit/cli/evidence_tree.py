"""The commands below `affidavit evidence`, as part of the closed table of commands."""

from typing import Final

from affidavit.cli.tree import Branch, Example, Leaf, Section

EVIDENCE: Final = Branch(
    "evidence",
    "Seal what a run did in bundles that anyone verifies offline.",
    (
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "a recorded run as a bundle"),
        Example("affidavit evidence verify run.tar.gz", "is it what was sealed?"),
    ),
    (
        Section(
            "Bundles",
            (
                Leaf(
                    "seal",
                    "affidavit.cli.evidence_seal:seal",
                    "Seal the log of a run in an evidence bundle.",
                ),
                Leaf(
                    "import",
                    "affidavit.cli.evidence_import:import_evidence",
                    "Seal stored receipts or reports or events in a bundle.",
                ),
                Leaf(
                    "verify",
                    "affidavit.cli.evidence_verify:verify",
                    "Verify evidence bundles offline step by step.",
                ),
                Leaf(
                    "lint",
                    "affidavit.cli.evidence_lint:lint",
                    "Lint bundles with packs of rules.",
                ),
                Leaf(
                    "replay",
                    "affidavit.cli.evidence_replay:replay",
                    "Run again what a bundle records and compare.",
                ),
                Leaf(
                    "show",
                    "affidavit.cli.evidence_show:show",
                    "Show what an evidence bundle holds.",
                ),
                Leaf(
                    "diff",
                    "affidavit.cli.evidence_diff:diff",
                    "Show what differs between two evidence bundles.",
                ),
                Leaf(
                    "prove",
                    "affidavit.cli.evidence_prove:prove",
                    "Prove that an event stands in a bundle.",
                ),
                Leaf(
                    "redact",
                    "affidavit.cli.evidence_redact:redact",
                    "Replace values of a bundle by commitments.",
                ),
            ),
        ),
    ),
)
