"""The closed table of commands. A command is one line here and one module in this package.

The sections follow the way of the data: Check, Decide, Seal, Look around. Nothing here may import
the module that a target names: `affidavit --help` reads this table and nothing else.
"""

from typing import Final

from affidavit.cli.tree import Branch, Example, Leaf, Section

# A shell that completes a command line calls `affidavit` with this variable set.
COMPLETION_VARIABLE: Final = "_AFFIDAVIT_COMPLETE"

ROOT: Final = Branch(
    "affidavit",
    "Show what an AI answer rests on: adjudicate its claims against sources, decide ship or"
    " no-ship, and seal the result in a signed bundle.",
    examples=(
        Example("affidavit doctor", "what is installed and what works"),
        Example("affidavit doctor --help", "what a command does, with examples"),
    ),
    sections=(
        Section(
            "Look around",
            (
                Leaf(
                    "doctor",
                    "affidavit.cli.doctor:doctor",
                    "Show what is installed and what works.",
                ),
                Leaf(
                    "completion",
                    "affidavit.cli.completion:completion",
                    "Print the script that completes commands in your shell.",
                ),
            ),
        ),
    ),
)
