"""The table of commands: every command's name, help line and the function that is imported when it
is called.
"""

from dataclasses import dataclass
from typing import Final

# The nouns of the command table: what can be called, and where it is found.


@dataclass(frozen=True, slots=True)
class Example:
    """A command line that works as written, and what it does in a few words."""

    line: str
    says: str


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command. `target` is `module:attribute`, imported only when the command is called."""

    name: str
    target: str
    help: str


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A command with commands below it: `evidence` of `evidence lint`."""

    name: str
    help: str
    examples: tuple[Example, ...]
    sections: tuple["Section", ...]

    def members(self) -> tuple["CommandEntry | GroupEntry", ...]:
        """Return what stands directly below, in the order of the help."""
        return tuple(member for section in self.sections for member in section.members)


@dataclass(frozen=True, slots=True)
class Section:
    """Commands that the help lists under one title."""

    title: str
    members: tuple[CommandEntry | GroupEntry, ...]


# The part of the table of commands that decides ship or no-ship.

DECIDE: Final = Section(
    "Decide",
    (
        GroupEntry(
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
                        CommandEntry(
                            "rag",
                            "affidavit.cli.gate_commands:rag",
                            "Decide ship or no-ship from a gold set and traces.",
                        ),
                        CommandEntry(
                            "latency",
                            "affidavit.cli.gate_commands:latency",
                            "Decide whether answers come fast enough.",
                        ),
                        CommandEntry(
                            "agreement",
                            "affidavit.cli.gate_commands:agreement",
                            "Decide whether two agents agree on the same questions.",
                        ),
                        CommandEntry(
                            "stability",
                            "affidavit.cli.gate_stability:stability",
                            "Decide whether answers stay the same run after run.",
                        ),
                        CommandEntry(
                            "research",
                            "affidavit.cli.gate_commands:research",
                            "Decide whether research runs rest on evidence.",
                        ),
                        CommandEntry(
                            "all",
                            "affidavit.cli.gate_commands:all_gates",
                            "Decide over all gates that a project configures.",
                        ),
                    ),
                ),
            ),
        ),
        CommandEntry(
            "compare",
            "affidavit.cli.gate_reports:compare",
            "Show what changed between two reports of a gate.",
        ),
        CommandEntry(
            "init",
            "affidavit.cli.setup:init",
            "Write the first files of a project with gates.",
        ),
        CommandEntry(
            "report",
            "affidavit.cli.gate_reports:report",
            "Show the stored report of a gate again or in another form.",
        ),
    ),
)


# The commands below `affidavit evidence`, as part of the closed table of commands.

EVIDENCE: Final = GroupEntry(
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
                CommandEntry(
                    "seal",
                    "affidavit.cli.evidence_bundles:seal",
                    "Seal the log of a run in an evidence bundle.",
                ),
                CommandEntry(
                    "import",
                    "affidavit.cli.evidence_bundles:import_evidence",
                    "Seal stored receipts or reports or events in a bundle.",
                ),
                CommandEntry(
                    "verify",
                    "affidavit.cli.evidence_verify:verify",
                    "Verify evidence bundles offline step by step.",
                ),
                CommandEntry(
                    "lint",
                    "affidavit.cli.evidence_lint:lint",
                    "Lint bundles with packs of rules.",
                ),
                CommandEntry(
                    "replay",
                    "affidavit.cli.evidence_verify:replay",
                    "Run again what a bundle records and compare.",
                ),
                CommandEntry(
                    "show",
                    "affidavit.cli.evidence_inspect:show",
                    "Show what an evidence bundle holds.",
                ),
                CommandEntry(
                    "diff",
                    "affidavit.cli.evidence_inspect:diff",
                    "Show what differs between two evidence bundles.",
                ),
                CommandEntry(
                    "prove",
                    "affidavit.cli.evidence_inspect:prove",
                    "Prove that an event stands in a bundle.",
                ),
                CommandEntry(
                    "redact",
                    "affidavit.cli.evidence_bundles:redact",
                    "Replace values of a bundle by commitments.",
                ),
            ),
        ),
    ),
)


# The part of the table of commands that is about packs of lint rules.

PACKS: Final = GroupEntry(
    "packs",
    "List, show, check and begin packs of lint rules.",
    (
        Example("affidavit packs list", "which packs there are"),
        Example("affidavit packs show cicd-starter", "what a pack asks for"),
        Example("affidavit packs new my-team", "begin a pack of your own"),
    ),
    (
        Section(
            "Packs",
            (
                CommandEntry(
                    "list", "affidavit.cli.packs:list_all", "List the packs that can be named."
                ),
                CommandEntry("show", "affidavit.cli.packs:show", "Show what a pack asks for."),
                CommandEntry(
                    "validate",
                    "affidavit.cli.packs:validate",
                    "Check that packs can be run together.",
                ),
                CommandEntry("new", "affidavit.cli.packs:new", "Begin a pack of your own."),
            ),
        ),
    ),
)


# The closed table of commands. A command is one line here and one module in this package.
#
# The sections follow the way of the data: Check, Decide, Seal, Serve, Look around. Nothing here may
# import the module that a target names: `affidavit --help` reads this table and nothing else.

# A shell that completes a command line calls `affidavit` with this variable set.
COMPLETION_VARIABLE: Final = "_AFFIDAVIT_COMPLETE"

ROOT: Final = GroupEntry(
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
                CommandEntry(
                    "check",
                    "affidavit.cli.check:check",
                    "Adjudicate every claim of an answer against its sources.",
                ),
                CommandEntry(
                    "answer",
                    "affidavit.cli.answer:answer",
                    "Check an answer against tools and sign a receipt.",
                ),
                CommandEntry(
                    "coverage",
                    "affidavit.cli.answer:coverage",
                    "Print what can be asked: tools and routes.",
                ),
                CommandEntry(
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
                CommandEntry(
                    "verify",
                    "affidavit.cli.verify:verify",
                    "Verify receipts offline: anchor and signature and replay.",
                ),
                CommandEntry(
                    "replay",
                    "affidavit.cli.verify:replay",
                    "Recompute a receipt from its own evidence.",
                ),
                EVIDENCE,
                GroupEntry(
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
                                CommandEntry(
                                    "new",
                                    "affidavit.cli.keys:new",
                                    "Make a key to sign receipts with.",
                                ),
                                CommandEntry(
                                    "list",
                                    "affidavit.cli.keys:list_keys",
                                    "List the keys of a project.",
                                ),
                                CommandEntry(
                                    "export",
                                    "affidavit.cli.keys:export",
                                    "Write the public keys for those who verify.",
                                ),
                                CommandEntry(
                                    "retire",
                                    "affidavit.cli.keys:retire",
                                    "Retire a key.",
                                ),
                                CommandEntry(
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
                CommandEntry(
                    "serve",
                    "affidavit.cli.serve:serve",
                    "Serve answers and verification over HTTP.",
                ),
                GroupEntry(
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
                                CommandEntry(
                                    "new",
                                    "affidavit.cli.serve:new_service_key",
                                    "Create an API key for the service and show it once.",
                                ),
                                CommandEntry(
                                    "list",
                                    "affidavit.cli.serve:list_service_keys",
                                    "List the API keys of the service.",
                                ),
                                CommandEntry(
                                    "revoke",
                                    "affidavit.cli.serve:revoke_service_key",
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
                GroupEntry(
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
                                CommandEntry(
                                    "score",
                                    "affidavit.cli.judge_commands:score",
                                    "Score rows of claims and evidence with the judge.",
                                ),
                                CommandEntry(
                                    "eval",
                                    "affidavit.cli.judge_commands:evaluate",
                                    "Measure the judge on rows with labels.",
                                ),
                                CommandEntry(
                                    "calibrate",
                                    "affidavit.cli.judge_commands:calibrate",
                                    "Fit the judge's thresholds to your own labels.",
                                ),
                                CommandEntry(
                                    "card",
                                    "affidavit.cli.judge_commands:card",
                                    "Print the model card of the judge.",
                                ),
                            ),
                        ),
                    ),
                ),
                GroupEntry(
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
                                CommandEntry(
                                    "list",
                                    "affidavit.cli.sessions:list_sessions",
                                    "List the stored sessions.",
                                ),
                                CommandEntry(
                                    "show",
                                    "affidavit.cli.sessions:show",
                                    "Show the ledger of a session.",
                                ),
                                CommandEntry(
                                    "open",
                                    "affidavit.cli.sessions:open_session",
                                    "Open the report of a session in the browser.",
                                ),
                                CommandEntry(
                                    "delete",
                                    "affidavit.cli.sessions:delete",
                                    "Delete the ledger of a session.",
                                ),
                            ),
                        ),
                    ),
                ),
                CommandEntry(
                    "doctor",
                    "affidavit.cli.doctor:doctor",
                    "Show what is installed and what works.",
                ),
                CommandEntry(
                    "completion",
                    "affidavit.cli.setup:completion",
                    "Print the script that completes commands in your shell.",
                ),
            ),
        ),
    ),
)
