"""The closed table of commands: one line here and one function in this package for each.

`affidavit --help` reads only this table: a command's module is imported when the command is called.
The sections follow the flow of data: Check, Decide, Seal, Serve, Other.
"""

from dataclasses import dataclass
from typing import Final

# Set by a shell that completes a command line.
COMPLETION_VARIABLE: Final = "_AFFIDAVIT_COMPLETE"


@dataclass(frozen=True, slots=True)
class Example:
    """A command line that works as written, and a short description."""

    line: str
    description: str


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command. `target` is `module:attribute`, imported only when the command is called."""

    name: str
    target: str
    help: str


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group of commands, such as `evidence` in `evidence lint`."""

    name: str
    help: str
    examples: tuple[Example, ...]
    sections: tuple["Section", ...]

    def members(self) -> tuple["CommandEntry | GroupEntry", ...]:
        """Return the direct members in the order of the help."""
        return tuple(member for section in self.sections for member in section.members)


@dataclass(frozen=True, slots=True)
class Section:
    """Commands that the help lists under one title."""

    title: str
    members: tuple[CommandEntry | GroupEntry, ...]


def _section(title: str, members: tuple[tuple[str, str, str] | GroupEntry, ...]) -> Section:
    """Return a section; a command is (name, module:attribute in this package, description)."""
    return Section(
        title,
        tuple(
            member
            if isinstance(member, GroupEntry)
            else CommandEntry(member[0], f"affidavit.cli.{member[1]}", member[2])
            for member in members
        ),
    )


_GATE: Final = GroupEntry(
    "gate",
    "Decide ship or no-ship from stored artifacts.",
    (
        Example(
            "affidavit gate rag --gold gold.jsonl --trace trace.jsonl",
            "are the answers right, cited, and refused where they should be?",
        ),
        Example("affidavit gate latency runs/latency.csv", "are the answers fast enough?"),
        Example(
            "affidavit gate research --golden golden.json --outputs runs",
            "do research runs rest on evidence?",
        ),
    ),
    (
        _section(
            "Gates",
            (
                (
                    "rag",
                    "gate_commands:rag",
                    "Decide ship or no-ship from traces with or without gold.",
                ),
                ("latency", "gate_commands:latency", "Decide whether answers are fast enough."),
                (
                    "agreement",
                    "gate_commands:agreement",
                    "Decide whether two agents agree on the same questions.",
                ),
                (
                    "stability",
                    "gate_commands:stability",
                    "Decide whether answers stay the same over repeated runs.",
                ),
                (
                    "research",
                    "gate_commands:research",
                    "Decide whether research runs rest on evidence.",
                ),
                (
                    "all",
                    "gate_commands:all_gates",
                    "Run all gates of a project and decide.",
                ),
            ),
        ),
    ),
)

_EVIDENCE: Final = GroupEntry(
    "evidence",
    "Seal runs in bundles that anyone can verify offline.",
    (
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "a recorded run as a bundle"),
        Example("affidavit evidence verify run.tar.gz", "is it what was sealed?"),
    ),
    (
        _section(
            "Bundles",
            (
                ("seal", "evidence_commands:seal", "Seal the log of a run in an evidence bundle."),
                (
                    "import",
                    "evidence_commands:import_evidence",
                    "Seal stored results or events in a bundle.",
                ),
                (
                    "verify",
                    "evidence_commands:verify",
                    "Verify evidence bundles offline step by step.",
                ),
                ("lint", "evidence_commands:lint", "Lint bundles with packs of rules."),
                (
                    "replay",
                    "evidence_commands:replay",
                    "Replay what a bundle records and compare the results.",
                ),
                ("show", "evidence_commands:show", "Show what an evidence bundle holds."),
                (
                    "diff",
                    "evidence_commands:diff",
                    "Show what differs between two evidence bundles.",
                ),
                ("prove", "disclosure_commands:prove", "Prove that an event is in a bundle."),
                (
                    "redact",
                    "disclosure_commands:redact",
                    "Replace values of a bundle by commitments.",
                ),
            ),
        ),
    ),
)

_SIM: Final = GroupEntry(
    "sim",
    "Run a target many times, also under faults, and report how reliably it passes.",
    (
        Example(
            "affidavit sim soak -n 20 --target ./agent --report soak.json",
            "run a command 20 times",
        ),
        Example(
            "affidavit sim soak --target runs --pack cicd-starter --report soak.json",
            "judge a folder of stored bundles",
        ),
    ),
    (
        _section(
            "Simulations",
            (
                ("soak", "sim:soak", "Run a target many times and report how reliably it passes."),
                ("surface", "sim:surface", "Run a target under a grid of faults and draw it."),
                ("merge", "sim:merge", "Merge the shards of a soak."),
            ),
        ),
    ),
)

_KEYS: Final = GroupEntry(
    "keys",
    "Create and manage the keys that sign receipts.",
    (
        Example("affidavit keys new", "a key for this project"),
        Example("affidavit keys export -o keys.json", "for those who verify"),
    ),
    (
        _section(
            "Keys",
            (
                ("new", "keys:new", "Create a key that signs receipts."),
                ("list", "keys:list_keys", "List the keys of a project."),
                ("export", "keys:export", "Write the public keys for those who verify."),
                ("retire", "keys:retire", "Retire a key."),
                ("compromise", "keys:compromise", "Record that a key was compromised."),
            ),
        ),
    ),
)

_PACKS: Final = GroupEntry(
    "packs",
    "List, show, validate and create packs of lint rules.",
    (
        Example("affidavit packs list", "which packs there are"),
        Example("affidavit packs show cicd-starter", "the rules of a pack"),
        Example("affidavit packs new my-team", "create a pack of your own"),
    ),
    (
        _section(
            "Packs",
            (
                ("list", "packs:list_all", "List the packs that can be named."),
                ("show", "packs:show", "Show the rules of a pack."),
                ("validate", "packs:validate", "Check that packs can be run together."),
                ("new", "packs:new", "Create a pack of your own."),
            ),
        ),
    ),
)

_RECEIPT: Final = GroupEntry(
    "receipt",
    "Work with receipts that were issued before.",
    (
        Example(
            "affidavit receipt stamp receipt.json --authority https://tsa.example.org",
            "a time stamp of an authority, as a file of its own",
        ),
    ),
    (_section("Receipts", (("stamp", "verify:stamp", "Have a receipt time-stamped later."),)),),
)

_LOG: Final = GroupEntry(
    "log",
    "Keep an append-only log of attestations that anyone can check.",
    (
        Example("affidavit log init log --origin example.org/ai", "an empty log"),
        Example("affidavit log append log run.tar.gz.dsse.json", "the file then has the proof"),
    ),
    (
        _section(
            "Log",
            (
                ("init", "log:init", "Create an empty log."),
                ("append", "log:append", "Append attestations to a log."),
                ("prove", "log:prove", "Prove what is in a log or that it continues."),
                ("check", "log:check", "Compute a log again from its entries and compare."),
                ("cosign", "log:cosign", "Cosign the newest checkpoint of a log as a witness."),
            ),
        ),
    ),
)

_EXPORT: Final = GroupEntry(
    "export",
    "Export runs and results in the formats of other tools.",
    (
        Example("affidavit export otel run.tar.gz -o otel", "a bundle as spans of OpenTelemetry"),
        Example(
            "affidavit export otel run.tar.gz --endpoint http://127.0.0.1:4318",
            "sent to a collector",
        ),
    ),
    (
        _section(
            "Exports",
            (
                (
                    "otel",
                    "telemetry_commands:export_otel",
                    "Export a run or a result as OpenTelemetry spans and events.",
                ),
            ),
        ),
    ),
)

_APIKEYS: Final = GroupEntry(
    "apikeys",
    "Manage the API keys of the service.",
    (
        Example("affidavit apikeys new 'billing bot'", "a key, shown once"),
        Example("affidavit apikeys list", "who may use the service"),
    ),
    (
        _section(
            "API keys",
            (
                (
                    "new",
                    "serve:new_service_key",
                    "Create an API key for the service and show it once.",
                ),
                ("list", "serve:list_service_keys", "List the API keys of the service."),
                ("revoke", "serve:revoke_service_key", "Revoke an API key of the service."),
            ),
        ),
    ),
)

_USERS: Final = GroupEntry(
    "users",
    "Manage who may sign in to the service.",
    (
        Example("affidavit users add ada --role admin", "a user who signs in with a password"),
        Example("affidavit users list", "who may sign in"),
    ),
    (
        _section(
            "Users",
            (
                ("add", "users:add", "Add a user who signs in with a password."),
                ("list", "users:list_users", "List the users of a workspace."),
                ("disable", "users:disable", "Disable a user in every workspace."),
                ("role", "users:role", "Give a user another role in a workspace."),
            ),
        ),
    ),
)

_AUDIT: Final = GroupEntry(
    "audit",
    "Export what people changed in the service.",
    (Example("affidavit audit export audit.jsonl", "for `affidavit verify`"),),
    (
        _section(
            "Audit log",
            (("export", "users:export", "Export the signed audit log of a workspace."),),
        ),
    ),
)

_DB: Final = GroupEntry(
    "db",
    "Look after the store of the service.",
    (
        Example("affidavit db upgrade", "create the tables, or bring them up to date"),
        Example("affidavit db backup store.tar", "while the service runs"),
    ),
    (
        _section(
            "Store",
            (
                (
                    "upgrade",
                    "db:upgrade",
                    "Create the tables of the store or bring them up to date.",
                ),
                (
                    "check",
                    "db:check",
                    "Check tables and ledgers and digests again.",
                ),
                (
                    "backup",
                    "db:backup",
                    "Write a store in SQLite and its documents into an archive.",
                ),
                ("restore", "db:restore", "Restore a backup into an empty place and check it."),
                ("forget", "db:forget", "Delete old sessions unless a legal hold keeps them."),
            ),
        ),
    ),
)

_JUDGE: Final = GroupEntry(
    "judge",
    "Use the judge by itself: score pairs, measure it, fit it to your labels.",
    (
        Example("affidavit judge score rows.jsonl", "a verdict for each row"),
        Example("affidavit judge card", "what the judge is and how good"),
    ),
    (
        _section(
            "Judge",
            (
                (
                    "score",
                    "judge_commands:score",
                    "Score rows of claims and evidence with the judge.",
                ),
                ("eval", "judge_commands:evaluate", "Measure the judge on rows with labels."),
                (
                    "calibrate",
                    "judge_commands:calibrate",
                    "Fit the judge's thresholds to your own labels.",
                ),
                ("card", "judge_commands:card", "Print the model card of the judge."),
            ),
        ),
    ),
)

_SESSIONS: Final = GroupEntry(
    "sessions",
    "List, show, open and delete the stored ledgers of a project.",
    (
        Example("affidavit sessions list", "what was checked here"),
        Example("affidavit sessions open last", "the newest report, in a browser"),
    ),
    (
        _section(
            "Sessions",
            (
                ("list", "sessions:list_sessions", "List the stored sessions."),
                ("show", "sessions:show", "Show the ledger of a session."),
                ("open", "sessions:open_session", "Open the report of a session in the browser."),
                ("delete", "sessions:delete", "Delete the ledger of a session."),
            ),
        ),
    ),
)

ROOT: Final = GroupEntry(
    "affidavit",
    "Show what an AI answer rests on: adjudicate its claims against sources, decide ship or"
    " no-ship, and seal the result in a signed bundle.",
    (
        Example("affidavit check answer.md --sources docs", "what does this answer rest on?"),
        Example("affidavit check --help", "what a command does, with examples"),
    ),
    (
        _section(
            "Check",
            (
                (
                    "check",
                    "check:check",
                    "Adjudicate every claim of an answer against its sources.",
                ),
                ("answer", "answer:answer", "Check an answer against tools and sign a receipt."),
                ("coverage", "answer:coverage", "Print the tools and routes that can be asked."),
                ("cite", "cite:cite", "Show the passage that a citation names."),
            ),
        ),
        _section(
            "Decide",
            (
                _GATE,
                _SIM,
                (
                    "compare",
                    "gate_reports:compare",
                    "Show what changed between two reports of a gate.",
                ),
                (
                    "init",
                    "setup:init",
                    "Create the first files of a project with gates or tools.",
                ),
                (
                    "report",
                    "gate_reports:report",
                    "Show a stored gate report in any format.",
                ),
            ),
        ),
        _section(
            "Seal",
            (
                (
                    "verify",
                    "verify:verify",
                    "Verify receipts and attestations offline step by step.",
                ),
                (
                    "attest",
                    "attest:attest",
                    "Sign what can be said about a bundle or a report.",
                ),
                ("replay", "verify:replay", "Recompute a receipt from its own evidence."),
                _LOG,
                _RECEIPT,
                _EVIDENCE,
                _EXPORT,
                _KEYS,
                _PACKS,
            ),
        ),
        _section(
            "Serve",
            (
                ("ui", "ui:ui", "Review ledgers in the browser."),
                ("serve", "serve:serve", "Serve ledgers and signed answers over HTTP."),
                ("mcp", "mcp:mcp", "Serve checks and verification to agents over MCP."),
                (
                    "proxy",
                    "telemetry_commands:proxy",
                    "Record the calls of a program to a service of models.",
                ),
                _APIKEYS,
                _USERS,
                _AUDIT,
                _DB,
            ),
        ),
        _section(
            "Other",
            (
                _JUDGE,
                _SESSIONS,
                ("doctor", "doctor:doctor", "Show what is installed and what works."),
                ("help", "setup:help_page", "Print a page of the documentation."),
                (
                    "completion",
                    "setup:completion",
                    "Print the completion script of your shell.",
                ),
            ),
        ),
    ),
)
