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
        Example("affidavit check answer.md --sources docs", "what does this answer rest on?"),
        Example("affidavit check --help", "what a command does, with examples"),
    ),
    sections=(
        Section(
            "Check",
            (
                Leaf(
                    "check",
                    "affidavit.cli.check:check",
                    "Adjudicate every claim of an answer against its sources.",
                ),
                Leaf(
                    "cite",
                    "affidavit.cli.cite:cite",
                    "Show the passage that a citation names.",
                ),
            ),
        ),
        Section(
            "Look around",
            (
                Branch(
                    "sessions",
                    "Look at the ledgers that a project has kept.",
                    (
                        Example("affidavit sessions list", "what was checked here"),
                        Example("affidavit sessions open last", "the newest report, in a browser"),
                    ),
                    (
                        Section(
                            "Sessions",
                            (
                                Leaf(
                                    "list",
                                    "affidavit.cli.sessions:list_sessions",
                                    "List the sessions that are kept.",
                                ),
                                Leaf(
                                    "show",
                                    "affidavit.cli.sessions:show",
                                    "Show the ledger of a session.",
                                ),
                                Leaf(
                                    "open",
                                    "affidavit.cli.sessions:open_session",
                                    "Open the report of a session in the browser.",
                                ),
                                Leaf(
                                    "delete",
                                    "affidavit.cli.sessions:delete",
                                    "Delete the ledger of a session.",
                                ),
                            ),
                        ),
                    ),
                ),
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
