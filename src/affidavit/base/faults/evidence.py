"""Faults AF2xx: documents, the ledger, checking answers, and the judges with their settings and
rows.
"""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF2xx: documents (200-229), the ledger and the judge.

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


# AF248 and AF249: the files of the judge's encoder.

ENCODER_MISSING = Fault(
    "AF248",
    "encoder.missing",
    "a file of the judge's encoder is not installed or cannot be read",
    "pip install --force-reinstall affidavit",
    Exit.UNKNOWN,
)
ENCODER_CHANGED = Fault(
    "AF249",
    "encoder.changed",
    "this file of the judge's encoder is not the one that was released",
    "pip install --force-reinstall affidavit",
    Exit.TAMPERED,
)


# AF251 to AF269: judges that are plugged in: their settings, the server, the money, the model.

JUDGE_UNKNOWN = Fault(
    "AF251",
    "judge.unknown",
    "no judge is named {name!r}",
    "use one of: {known}; or name a TOML file with the table [chat] or [hf]",
)
JUDGE_SYNTAX = Fault(
    "AF252",
    "judge.syntax",
    "the judge's settings are not TOML in UTF-8 ({problem})",
    "start from the examples in docs/judges.md",
)
JUDGE_FIELD = Fault(
    "AF253",
    "judge.field",
    "{problem}",
    "docs/judges.md lists every setting with its range and default",
)
KEY_MISSING = Fault(
    "AF254",
    "judge.key_missing",
    "the environment variable {variable} holds no key that can be sent",
    "set it to the key of this server, in printable ASCII without spaces",
)
ENDPOINT_REFUSED = Fault(
    "AF255",
    "judge.endpoint_refused",
    "the server at {endpoint} refused the request: {problem}",
    "check base_url, the model's name and the key",
)
ENDPOINT_MOVED = Fault(
    "AF256",
    "judge.endpoint_moved",
    "the server at {endpoint} points to {target}, which was not followed",
    "name the new address as base_url if you trust it",
)
ENDPOINT_FAILED = Fault(
    "AF257",
    "judge.endpoint_failed",
    "the server at {endpoint} gave no usable answer in {attempts} attempts: {problem}",
    "try again later: the replies so far are kept and will not be asked for again",
    Exit.UNKNOWN,
)
BUDGET_SPENT = Fault(
    "AF258",
    "judge.budget_spent",
    "the next request could cost {next}, and {spent} of the budget of {budget} is spent",
    "raise the budget and run the same command again: the replies so far are kept",
    Exit.UNKNOWN,
)
BUDGET_TOO_SMALL = Fault(
    "AF259",
    "judge.budget_too_small",
    "the run would cost about {estimate}, more than the budget of {budget}; nothing was sent",
    "raise the budget, check fewer passages (--top-k), or start anyway with --yes",
    Exit.UNKNOWN,
)
REPLIES_UNREADABLE = Fault(
    "AF260",
    "judge.replies_unreadable",
    "not one of the {count} replies on a claim could be read ({problem})",
    "use a stronger model, or delete {cache} to ask again",
    Exit.UNKNOWN,
)
MODEL_MISSING = Fault(
    "AF261",
    "judge.model_missing",
    "there is no model at {model!r} that can be loaded ({problem})",
    "name a folder with config.json and *.safetensors, or a hub name with allow_download = true",
)
MODEL_LABELS = Fault(
    "AF262",
    "judge.model_labels",
    "it is not clear what the labels of the model mean ({problem}); it has {labels}",
    "say it in labels: each is supports, partly, neither or contradicts",
)
MODEL_FAILED = Fault(
    "AF263",
    "judge.model_failed",
    "the model could not read a pair of claim and evidence ({problem})",
    "check that it classifies pairs of sequences",
    Exit.UNKNOWN,
)


# AF27x: checking answers: what is asked, batches, and the sessions that are kept.

SESSION_UNKNOWN = Fault(
    "AF270",
    "session.unknown",
    "no session is named {session!r}",
    "run `affidavit sessions list` for those that are kept",
)
SESSION_AMBIGUOUS = Fault(
    "AF271",
    "session.ambiguous",
    "{session!r} may mean several sessions: {found}",
    "write more of the id",
)
SESSION_ENTRY = Fault(
    "AF272",
    "session.entry",
    "there is no claim number {number}; the ledger has {count}",
    "choose a number of the table",
)
BATCH_ROW = Fault(
    "AF273",
    "batch.row",
    "this row is not {{id, answer, query?, sources?, date?}}: {problem}",
    "mend the row",
)
BATCH_ID_TWICE = Fault(
    "AF274",
    "batch.id_twice",
    "the id {id!r} stands in line {first} already",
    "give every row an id of its own",
)
BATCH_EMPTY = Fault(
    "AF275",
    "batch.empty",
    "the file has no rows, so there is nothing to check",
    "write one JSON object per line: id, answer and, if known, query",
    Exit.UNKNOWN,
)
ANSWER_EMPTY = Fault(
    "AF276",
    "answer.empty",
    "the answer is empty, so there is nothing to check",
    "name a file with the answer in it, or - to read standard input",
    Exit.UNKNOWN,
)
ANSWER_NOT_TEXT = Fault(
    "AF277",
    "answer.not_text",
    "the answer is not UTF-8 text",
    "name the answer, a text or Markdown file; documents go after --sources",
)
TIME_SYNTAX = Fault(
    "AF278",
    "time.syntax",
    "{value!r} is neither a day nor a time",
    "write a day like 2026-01-31 or a time like 2026-01-31T14:30:00Z",
)
SESSION_TAMPERED = Fault(
    "AF279",
    "session.tampered",
    "the ledger was changed after it was made: its verdicts do not follow from what it stores",
    "check the answer again, and find out who changed the file",
    Exit.TAMPERED,
)
ANSWER_IS_SOURCE = Fault(
    "AF280",
    "answer.is_source",
    "the answer is itself one of the sources, as {filename}, so it would prove itself",
    "move it out of the sources, or name the sources one by one",
)
OUTPUT_IS_INPUT = Fault(
    "AF281",
    "output.is_input",
    "the report would replace what is being read, or another report",
    "choose another place for it",
)
RESULTS_FOREIGN = Fault(
    "AF282",
    "batch.results_foreign",
    "this file holds something else than results of a batch",
    "choose another file for the results",
)
CITATION_SYNTAX = Fault(
    "AF283",
    "citation.syntax",
    "{text!r} is not a citation",
    "write 8 to 64 hexadecimal digits, as in [cite:00f66349]",
)
NOTHING_INDEXED = Fault(
    "AF284",
    "index.none",
    "this project has indexed no sources, so no citation can be resolved",
    "name the documents with --sources",
    Exit.UNKNOWN,
)


# AF285 to AF299: rows of claims and evidence: scoring, measuring and calibrating a judge.

ROW_MALFORMED = Fault(
    "AF285",
    "judge_row.malformed",
    "this row is not {{id, claim, evidence}}: {problem}",
    "mend the row; evidence is a text or a list of texts",
)
CLAIM_EMPTY = Fault(
    "AF286",
    "judge_row.claim_empty",
    "the claim is empty, so there is nothing to judge",
    "fill it, or remove the row",
)
LABEL_UNKNOWN = Fault(
    "AF287",
    "judge_row.label",
    "{problem}",
    "use one of: {known}",
)
ROWS_NONE = Fault(
    "AF288",
    "judge_row.none",
    "there are no rows, so there is nothing to judge",
    "write one JSON object per line: id, claim and evidence",
    Exit.UNKNOWN,
)
GZIP_DAMAGED = Fault(
    "AF289",
    "judge_row.gzip",
    "the compressed data is damaged ({reason})",
    "compress the file again",
)
LABELS_TOO_FEW = Fault(
    "AF290",
    "calibrate.too_few",
    "{found}; thresholds fitted to so few labels would be chance",
    "label {more}",
    Exit.UNKNOWN,
)
NOT_BETTER = Fault(
    "AF291",
    "calibrate.not_better",
    "the fitted thresholds are no better than the judge's own on rows they were not fitted to"
    " (balanced accuracy {after} against {before}), so no rules were written",
    "keep the judge's own, add labels, or write them anyway with --force",
    Exit.UNKNOWN,
)
ROWS_UNMEASURED = Fault(
    "AF292",
    "judge_eval.nothing",
    "no row could be measured, so nothing is known about the judge",
    "give rows of claim, evidence and label; what is wrong with a row is listed with -v",
    Exit.UNKNOWN,
)
