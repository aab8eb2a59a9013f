"""AF2xx: documents (200-229), the ledger and the judge."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

DOCUMENT_UNKNOWN = Fault(
    "AF200",
    "document.unknown_type",
    "this is not a kind of document that can be read ({kind})",
    "save it as PDF, DOCX, HTML, Markdown or plain text",
)
DOCUMENT_MISNAMED = Fault(
    "AF201",
    "document.misnamed",
    "the name says {named} but the content is {found}; it was read as {found}",
    "give the file the right ending",
)
DOCUMENT_ENCRYPTED = Fault(
    "AF202",
    "document.encrypted",
    "the document is encrypted",
    "remove its password, or leave it out",
)
DOCUMENT_CORRUPT = Fault(
    "AF203",
    "document.corrupt",
    "the document is damaged ({reason})",
    "open and save it again with the program that made it",
)
DOCUMENT_EMPTY = Fault(
    "AF204", "document.empty", "the document holds no text", "leave it out, or fill it"
)
DOCUMENT_SCANNED = Fault(
    "AF205",
    "document.scanned",
    "the document holds pictures of pages and no text ({pages} pages)",
    "run text recognition (OCR) over it first",
)
DOCUMENT_TOO_LARGE = Fault(
    "AF206",
    "document.too_large",
    "the document is over a limit ({what}, more than {limit})",
    "split it, or raise the limit",
)
DOCUMENT_UNSAFE = Fault(
    "AF207",
    "document.unsafe",
    "the document was refused because it is built to harm its reader ({reason})",
    "ask whoever made it for a plain copy",
)
DOCUMENT_TIMEOUT = Fault(
    "AF208",
    "document.timeout",
    "reading the document took longer than {seconds} s and was stopped",
    "split it, or raise the limit",
)
DOCUMENT_CRASHED = Fault(
    "AF209",
    "document.crashed",
    "the reader of this document died ({reason}); the other documents were read",
    "open and save it again with the program that made it",
)
ENCODING_GUESSED = Fault(
    "AF210",
    "document.encoding_guessed",
    "the text is not UTF-8; it was read as Windows-1252",
    "save it as UTF-8 to be sure of every letter",
)
DOCUMENT_PARTLY_SCANNED = Fault(
    "AF211",
    "document.partly_scanned",
    "{count} of {pages} pages are pictures without text: {which}",
    "run text recognition (OCR) over it first",
)
DOCUMENT_DUPLICATE = Fault(
    "AF212",
    "document.duplicate",
    "the file is the same, byte for byte, as {other}, and was read once",
    "nothing needs to be done",
)
LINK_LEADS_OUTSIDE = Fault(
    "AF213",
    "sources.link_outside",
    "the link leads out of the folder and was not followed",
    "name its target as a source of its own",
)
HIDDEN_SKIPPED = Fault(
    "AF214",
    "sources.hidden_skipped",
    "{count} hidden files and folders were left out",
    "name them as sources of their own to have them read",
)
SOURCES_NONE = Fault(
    "AF215",
    "sources.none",
    "no document could be read",
    "look at the findings above, or name other sources",
    Exit.UNKNOWN,
)
SOURCE_MISSING = Fault(
    "AF216", "sources.missing", "there is no such file or folder", "check the path"
)
SOURCE_SPECIAL = Fault(
    "AF217",
    "sources.special",
    "this is neither a file nor a folder and was left out",
    "name a file or a folder",
)
DOCUMENT_CHANGED = Fault(
    "AF218",
    "document.changed",
    "the file changed while it was being read",
    "run the same command again",
    Exit.UNKNOWN,
)
SOURCES_UNSTEADY = Fault(
    "AF219",
    "sources.unsteady",
    "the sources keep changing while they are read",
    "read a copy that nobody writes to",
    Exit.UNKNOWN,
)

INDEX_UNUSABLE = Fault(
    "AF220",
    "index.unusable",
    "the index cannot be opened ({reason})",
    "delete the folder; it is built again from the sources",
    Exit.UNKNOWN,
)
INDEX_BUSY = Fault(
    "AF221",
    "index.busy",
    "another process has been building an index here for more than {seconds} s",
    "wait for it to end, or use another folder",
    Exit.UNKNOWN,
)
CITATION_AMBIGUOUS = Fault(
    "AF222",
    "citation.ambiguous",
    "the citation {hash} fits {count} passages with different text: {digests}",
    "cite one of the longer digests",
)
CITATION_UNRESOLVED = Fault(
    "AF223",
    "citation.unresolved",
    "no passage of the sources has the hash {hash}",
    "cite a hash that `affidavit check` printed for these sources",
)

RULES_SYNTAX = Fault(
    "AF230",
    "rules.syntax",
    "the rules are not TOML in UTF-8 ({problem})",
    "start from the example in docs/ledger.md",
)
RULES_FIELD = Fault(
    "AF231",
    "rules.field",
    "{problem}",
    "docs/ledger.md lists every setting with its range and default",
)
GATE_SYNTAX = Fault(
    "AF232",
    "ledger_gate.syntax",
    "{text!r} is not a gate",
    "write a metric, an operator and a number, such as coverage>=0.9, or coverage=off",
)
GATE_METRIC = Fault(
    "AF233",
    "ledger_gate.metric",
    "no gate measures {metric!r}",
    "use one of: {known}",
)
GATE_DIRECTION = Fault(
    "AF234",
    "ledger_gate.direction",
    "{text!r} would pass what is worse and stop what is better",
    "write {metric}{operator} and a number",
)
GATE_RANGE = Fault(
    "AF235",
    "ledger_gate.range",
    "the number in {text!r} cannot be reached",
    "give {metric} {range}",
)
GATE_TWICE = Fault(
    "AF236",
    "ledger_gate.twice",
    "the gate on {metric} is set twice",
    "keep one of the two",
)
OVERRIDE_SYNTAX = Fault(
    "AF237",
    "override.syntax",
    "{text!r} does not say what to change about a claim",
    "write a claim's id with a type, an importance or both, such as clm_002=numeric,critical",
)
OVERRIDE_CLAIM = Fault(
    "AF238",
    "override.claim",
    "the answer has no such claim ({count} claims in all)",
    "run the check without overrides to see the ids",
)
LEDGER_MALFORMED = Fault(
    "AF240",
    "ledger.malformed",
    "this is not a ledger of Affidavit ({problem})",
    "export it again with `affidavit check --format json`",
)
LEDGER_SCHEMA = Fault(
    "AF241",
    "ledger.schema",
    "the ledger has the schema {found!r}; this version reads {known!r}",
    "use the version of Affidavit that wrote it",
)
READING_UNKNOWN = Fault(
    "AF242",
    "reading.unknown",
    "a reading names {what} {name!r}, which was not given",
    "this is a defect of the judge or of its caller; report it",
    Exit.UNKNOWN,
)
READING_SCORE = Fault(
    "AF243",
    "reading.score",
    "the judge gave {score} as {name}, which must be from 0 to 1",
    "this is a defect of the judge; report it",
    Exit.UNKNOWN,
)
DATE_MALFORMED = Fault(
    "AF244",
    "ledger.date",
    "{text!r} is not a date",
    "write it as YYYY-MM-DD",
)
CLAIM_TOO_LONG = Fault(
    "AF250",
    "judge.claim_too_long",
    "the claim has {length} characters; the judge reads at most {limit}",
    "split the text into claims first",
)
