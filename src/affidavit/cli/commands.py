"""The closed table of commands. A command is one line here and one module in this package.

The sections follow the way of the data: Check, Decide, Seal, Serve, Look around. Nothing here may
import the module that a target names: `affidavit --help` reads this table and nothing else.
"""

from typing import Final

from affidavit.cli.decide_commands import DECIDE
from affidavit.cli.evidence_tree import EVIDENCE
from affidavit.cli.packs_tree import PACKS
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
                    "answer",
                    "affidavit.cli.answer:answer",
                    "Check an answer against tools and sign a receipt.",
                ),
                Leaf(
                    "coverage",
                    "affidavit.cli.coverage:coverage",
                    "Print what can be asked: tools and routes.",
                ),
                Leaf(
                    "cite",
                    "affidavit.cli.cite:cite",
                    "Show the passage that a citation names.",
                ),
            ),
        ),
        DECIDE,
        Section(
            "Seal",
            (
                Leaf(
                    "verify",
                    "affidavit.cli.verify:verify",
                    "Verify receipts offline: anchor and signature and replay.",
                ),
                Leaf(
                    "replay",
                    "affidavit.cli.replay:replay",
                    "Recompute a receipt from its own evidence.",
                ),
                EVIDENCE,
                Branch(
                    "keys",
                    "Make and keep the keys that sign receipts.",
                    (
                        Example("affidavit keys new", "a key for this project"),
                        Example("affidavit keys export -o keys.json", "for those who verify"),
                    ),
                    (
                        Section(
                            "Keys",
                            (
                                Leaf(
                                    "new",
                                    "affidavit.cli.keys:new",
                                    "Make a key to sign receipts with.",
                                ),
                                Leaf(
                                    "list",
                                    "affidavit.cli.keys:list_keys",
                                    "List the keys of a project.",
                                ),
                                Leaf(
                                    "export",
                                    "affidavit.cli.keys:export",
                                    "Write the public keys for those who verify.",
                                ),
                                Leaf(
                                    "retire",
                                    "affidavit.cli.keys:retire",
                                    "Retire a key.",
                                ),
                                Leaf(
                                    "compromise",
                                    "affidavit.cli.keys:compromise",
                                    "Record that others may have a key.",
                                ),
                            ),
                        ),
                    ),
                ),
                PACKS,
            ),
        ),
        Section(
            "Serve",
            (
                Leaf(
                    "serve",
                    "affidavit.cli.serve:serve",
                    "Serve answers and verification over HTTP.",
                ),
                Branch(
                    "apikeys",
                    "Say who may use the service and for what.",
                    (
                        Example("affidavit apikeys new 'billing bot'", "a key, shown once"),
                        Example("affidavit apikeys list", "who may use the service"),
                    ),
                    (
                        Section(
                            "API keys",
                            (
                                Leaf(
                                    "new",
                                    "affidavit.cli.apikeys:new",
                                    "Make an API key for the service and show it once.",
                                ),
                                Leaf(
                                    "list",
                                    "affidavit.cli.apikeys:list_keys",
                                    "List the API keys of the service.",
                                ),
                                Leaf(
                                    "revoke",
                                    "affidavit.cli.apikeys:revoke",
                                    "Revoke an API key of the service.",
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Section(
            "Look around",
            (
                Branch(
                    "judge",
                    "Use the judge by itself: score pairs, measure it, fit it to your labels.",
                    (
                        Example("affidavit judge score rows.jsonl", "a verdict for each row"),
                        Example("affidavit judge card", "what the judge is and how good"),
                    ),
                    (
                        Section(
                            "Judge",
                            (
                                Leaf(
                                    "score",
                                    "affidavit.cli.judge_score:score",
                                    "Score rows of claims and evidence with the judge.",
                                ),
                                Leaf(
                                    "eval",
                                    "affidavit.cli.judge_eval:evaluate",
                                    "Measure the judge on rows with labels.",
                                ),
                                Leaf(
                                    "calibrate",
                                    "affidavit.cli.judge_calibrate:calibrate",
                                    "Fit the judge's thresholds to your own labels.",
                                ),
                                Leaf(
                                    "card",
                                    "affidavit.cli.judge_card:card",
                                    "Print the model card of the judge.",
                                ),
                            ),
                        ),
                    ),
                ),
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
