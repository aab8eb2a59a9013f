"""The part of the table of commands that decides ship or no-ship."""

from typing import Final

from affidavit.cli.tree import Branch, Example, Leaf, Section

DECIDE: Final = Section(
    "Decide",
    (
        Branch(
            "gate",
            "Decide ship or no-ship from stored artifacts.",
            (
                Example(
                    "affidavit gate rag --gold gold.jsonl --trace trace.jsonl",
                    "are answers right and cited, and refusals in place?",
                ),
                Example("affidavit gate latency runs/latency.csv", "do answers come in time?"),
                Example(
                    "affidavit gate research --golden golden.json --outputs runs",
                    "do research runs rest on evidence?",
                ),
            ),
            (
                Section(
                    "Gates",
                    (
                        Leaf(
                            "rag",
                            "affidavit.cli.gate_rag:rag",
                            "Decide ship or no-ship from a gold set and traces.",
                        ),
                        Leaf(
                            "latency",
                            "affidavit.cli.gate_latency:latency",
                            "Decide whether answers come fast enough.",
                        ),
                        Leaf(
                            "agreement",
                            "affidavit.cli.gate_agreement:agreement",
                            "Decide whether two agents agree on the same questions.",
                        ),
                        Leaf(
                            "stability",
                            "affidavit.cli.gate_stability:stability",
                            "Decide whether answers stay the same run after run.",
                        ),
                        Leaf(
                            "research",
                            "affidavit.cli.gate_research:research",
                            "Decide whether research runs rest on evidence.",
                        ),
                        Leaf(
                            "all",
                            "affidavit.cli.gate_all:every",
                            "Decide over all gates that a project configures.",
                        ),
                    ),
                ),
            ),
        ),
        Leaf(
            "compare",
            "affidavit.cli.compare:compare",
            "Show what changed between two reports of a gate.",
        ),
        Leaf(
            "init",
            "affidavit.cli.init:init",
            "Write the first files of a project with gates.",
        ),
        Leaf(
            "report",
            "affidavit.cli.report:report",
            "Show the stored report of a gate again or in another form.",
        ),
    ),
)
