"""AF44x and AF45x: runs that a gate records itself, and gates that a project configures."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

PIPELINE_NONE = Fault(
    "AF440",
    "pipeline.none",
    "there is nothing to ask: {problem}",
    "give either --url with an address or --command with a command line",
)
PIPELINE_URL = Fault(
    "AF441",
    "pipeline.url",
    "{url!r} cannot be asked: {problem}",
    "write http:// or https:// with a host",
)
PIPELINE_COMMAND = Fault(
    "AF442",
    "pipeline.command",
    "the command {command!r} cannot be run: {problem}",
    "write a program and its arguments, such as 'python ask.py'",
)
PIPELINE_SLOT = Fault(
    "AF443",
    "pipeline.slot",
    "{problem}",
    "use the slots {{question}}, {{qid}}, {{seed}} and {{jitter}}",
)
PIPELINE_BODY = Fault(
    "AF444",
    "pipeline.body",
    "the body of a request is not JSON: {problem}",
    'write JSON with slots, such as {{"question": "{{question}}", "seed": "{{seed}}"}}',
)
PIPELINE_HEADER = Fault(
    "AF445",
    "pipeline.header",
    "the header {name!r} cannot be sent: {problem}",
    "write 'Name: text', or 'Authorization: Bearer $VARIABLE' for what the environment holds",
)
PIPELINE_GONE = Fault(
    "AF446",
    "pipeline.gone",
    "the last {count} questions could not be asked at all: {problem}",
    "see that the pipeline runs, then repeat the command: what is recorded is kept",
    Exit.UNKNOWN,
)
QUESTION_MISSING = Fault(
    "AF447",
    "gold.question",
    "the gold item {qid!r} has no question to ask",
    "add a question to the item",
)
SEEDS_MALFORMED = Fault(
    "AF448",
    "stability.seeds",
    "{text!r} is not a list of seeds",
    "write whole numbers with commas, such as 0,1,2, or a range, such as 0-4",
)
CONFIG_SYNTAX = Fault(
    "AF450",
    "gates.syntax",
    "the file is not TOML: {problem}",
    "correct the file at that place",
)
CONFIG_KEY = Fault(
    "AF451",
    "gates.key",
    "nothing here is called {key!r}",
    "{nearest}use one of: {known}",
)
CONFIG_VALUE = Fault(
    "AF452",
    "gates.value",
    "this cannot be used: {problem}",
    "correct the value; docs/gates.md lists what each gate takes",
)
CONFIG_EMPTY = Fault(
    "AF453",
    "gates.none",
    "the file configures no gate, so there is nothing to decide",
    "add a table such as [gates.rag] with gold and trace, or start with `affidavit init`",
)
CONFIG_MISSING = Fault(
    "AF454",
    "gates.missing",
    "there is no such file, so no gate is configured",
    "name another with -c, or start with `affidavit init`, which writes one",
)
