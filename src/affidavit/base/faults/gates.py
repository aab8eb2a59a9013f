"""Faults AF4xx: gates, the files that they read, stored reports and gate configuration."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF40x and AF41x: gates over gold sets, traces, runs and research outputs.

GATE_SYNTAX = Fault(
    "AF400",
    "gate.syntax",
    "{text!r} is not a gate",
    "write a metric, an operator and a number, such as {metric}{operator}0.8, or {metric}=off",
)
GATE_METRIC = Fault("AF401", "gate.metric", "unknown metric {metric!r}", "use one of: {known}")
GATE_DIRECTION = Fault(
    "AF402",
    "gate.direction",
    "{text!r} would pass worse values and fail better ones",
    "write {metric}{operator} and a number",
)
GATE_RANGE = Fault(
    "AF403", "gate.range", "the threshold in {text!r} cannot be reached", "give {metric} {range}"
)
GATE_TWICE = Fault(
    "AF404", "gate.twice", "the gate on {metric} is set twice", "remove one of the two"
)
GATE_CONFIDENCE = Fault(
    "AF405",
    "gate.confidence",
    "the confidence in {text!r} is not possible: {problem}",
    "write a confidence from 50 to 99.9 on a metric that is a share, such as precision>=0.80@95",
)
GOLD_ROW = Fault(
    "AF406",
    "gold.row",
    "this is not a gold item: {problem}",
    "correct the line; docs/gates.md lists the fields of a gold item",
)
TRACE_ROW = Fault(
    "AF407",
    "trace.row",
    "this is not a trace: {problem}",
    "correct the line; docs/gates.md lists the fields of a trace",
)
GOLD_TWICE = Fault(
    "AF408",
    "gold.twice",
    "the gold set has two items with the qid {qid!r}",
    "remove one of the two",
)
GOLD_CHANGED = Fault(
    "AF409",
    "gold.changed",
    "the gold set has the digest {found}; {wanted} was expected",
    "restore the frozen gold set, or have the change approved and expect the new digest",
    Exit.TAMPERED,
)
SCU_RULE = Fault(
    "AF410",
    "scu.rule",
    "the constraint rules cannot be used: {problem}",
    "give each rule an id, a pattern for the constraint (lock) and one for the claim",
)
LATENCY_ROW = Fault(
    "AF411",
    "latency.row",
    "this is not a latency measurement: {problem}",
    "correct the line; it needs e2e_ms, a number of milliseconds, at least 0",
)
AGREEMENT_ROW = Fault(
    "AF412",
    "agreement.row",
    "this is not a pair of labels: {problem}",
    "correct the line; labels are VALID, NOT_IN_CONTEXT, REJECT and ABSTAIN",
)
STABILITY_ROW = Fault(
    "AF413",
    "stability.row",
    "this is not a run of a question: {problem}",
    "correct the line; it needs qid, seed, jitter and answer_json",
)
GOLDEN_MALFORMED = Fault(
    "AF414",
    "golden.malformed",
    "SYSTEM_ERROR: the golden queries cannot be used: {problem}",
    "write a list of {{objective, required_evidence_ids, evidence_sufficient}}",
)
GOLDEN_MISSING = Fault(
    "AF415",
    "golden.missing",
    "SYSTEM_ERROR: there are no golden queries",
    "give the file of golden queries, such as eval/golden_queries.json",
)
RESEARCH_OUTPUT = Fault(
    "AF416",
    "research.output",
    "this is not the output of a research run: {problem}",
    "correct the file; docs/gates.md lists its fields",
)
BASELINE_MALFORMED = Fault(
    "AF417",
    "baseline.malformed",
    "this report cannot be used for comparison: {problem}",
    "give a report that the same gate wrote with --report",
)
JITTER_UNKNOWN = Fault(
    "AF418", "stability.jitter", "unknown jitter {name!r}", "use one of: {known}"
)
GOLD_UNNAMED = Fault(
    "AF419",
    "gold.unnamed",
    "there are only traces, and no gold set to compare them with",
    "give the gold set with --gold",
)
IMPORT_UNKNOWN = Fault(
    "AF420",
    "import.unknown",
    "unknown import format: it has {found}{nearest}",
    "map its columns: {option}; docs/formats.md lists the fields of every format",
)
IMPORT_ROW = Fault(
    "AF421",
    "import.row",
    "this row cannot be imported: {problem}",
    "correct the row; docs/formats.md lists the fields of every format",
)
IMPORT_ENCODING = Fault(
    "AF422",
    "import.encoding",
    "the table is not encoded in UTF-8 (it has the byte {byte})",
    "save it again as CSV UTF-8, or convert it: iconv -f {encoding} -t UTF-8",
)
IMPORT_BROKEN = Fault(
    "AF423",
    "import.broken",
    "the file is damaged or not safe to unpack: {reason}",
    "export it again from the tool",
)
IMPORT_ROLE = Fault(
    "AF424",
    "import.role",
    "the file is {format}, which contains no {role}",
    "give them in a separate file (--gold, --trace); docs/formats.md lists what each contains",
)
IMPORT_MISMATCH = Fault(
    "AF425",
    "import.mismatch",
    "this is not {format}, which has {wanted}: it has {found}",
    "omit the format to have it detected from the content",
)
SPARK_START = Fault(
    "AF426",
    "spark.start",
    "Spark cannot be started ({reason})",
    "install Java 17 or newer, and check the address given with --master",
)
SPARK_INPUT = Fault(
    "AF427",
    "spark.input",
    "Spark cannot read standard input",
    "give a file or an address that Spark can read",
)
IMPORT_PACKED = Fault(
    "AF428", "import.packed", "the file is {what}, so its rows cannot be read", "{remedy}"
)
IMPORT_SPLITS = Fault(
    "AF295",
    "import.splits",
    "the folder has {count} splits, and their rows would be mixed",
    "name one of them: {names}",
)
IMPORT_FOLDER = Fault(
    "AF296",
    "import.folder",
    "the folder is not a data set as `save_to_disk` of Hugging Face writes it: no state.json",
    "name a file instead, or several: FOLDER/*.jsonl",
)


# AF43x: stored gate reports and the run history.

REPORT_MALFORMED = Fault(
    "AF430",
    "report.malformed",
    "this is not a gate report: {problem}",
    "give a file that a gate wrote with --report",
)
HISTORY_LINE = Fault(
    "AF431",
    "history.line",
    "this is not a line of a run history: {problem}",
    "delete the line, or give a file that a gate wrote with --history",
)


# AF44x and AF45x: recording runs of a pipeline, and the gates in a config file.

PIPELINE_NONE = Fault(
    "AF440",
    "pipeline.none",
    "there is no pipeline to query: {problem}",
    "give either --url with an address or --command with a command line",
)
PIPELINE_URL = Fault(
    "AF441",
    "pipeline.url",
    "{url!r} cannot be queried: {problem}",
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
    "use the placeholders {{question}}, {{qid}}, {{seed}} and {{jitter}}",
)
PIPELINE_BODY = Fault(
    "AF444",
    "pipeline.body",
    "the request body is not JSON: {problem}",
    'write JSON with placeholders, such as {{"question": "{{question}}", "seed": "{{seed}}"}}',
)
PIPELINE_HEADER = Fault(
    "AF445",
    "pipeline.header",
    "the header {name!r} cannot be sent: {problem}",
    "write 'Name: text', or 'Authorization: Bearer $VARIABLE' to use an environment variable",
)
PIPELINE_GONE = Fault(
    "AF446",
    "pipeline.gone",
    "the last {count} questions could not be sent: {problem}",
    "make sure that the pipeline is running, then repeat the command; recorded runs are kept",
    Exit.UNKNOWN,
)
QUESTION_MISSING = Fault(
    "AF447", "gold.question", "the gold item {qid!r} has no question", "add a question to the item"
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
    "the file is not valid TOML: {problem}",
    "correct the file at that position",
)
CONFIG_KEY = Fault("AF451", "gates.key", "unknown key {key!r}", "{advice}")
CONFIG_VALUE = Fault(
    "AF452",
    "gates.value",
    "invalid value: {problem}",
    "correct the value; docs/gates.md lists what each gate takes",
)
CONFIG_EMPTY = Fault(
    "AF453",
    "gates.none",
    "the file configures no gates, so there is nothing to decide",
    "add a table such as [gates.rag] with gold and trace, or start with `affidavit init`",
)
CONFIG_MISSING = Fault(
    "AF454",
    "gates.missing",
    "the file does not exist, so no gates are configured",
    "give another with -c, or create one with `affidavit init`",
)
SPARK_WORK = Fault(
    "AF455",
    "spark.work",
    "Spark could not do the work ({reason})",
    "install what affidavit[spark] needs on every worker, and read the log of the executors",
    Exit.UNKNOWN,
)
