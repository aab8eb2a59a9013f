"""Faults AF2xx: documents, the ledger, checking answers, and judges."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF2xx: documents (200-229), the ledger and the judge.

DOCUMENT_UNKNOWN = Fault(
    "AF200",
    "document.unknown_type",
    "unsupported document type ({kind})",
    "save it as PDF, DOCX, HTML, Markdown or plain text",
)
DOCUMENT_MISNAMED = Fault(
    "AF201",
    "document.misnamed",
    "the file name indicates {named}, but the content is {found}; it was read as {found}",
    "rename the file with the right suffix",
)
DOCUMENT_ENCRYPTED = Fault(
    "AF202", "document.encrypted", "the document is encrypted", "remove its password, or exclude it"
)
DOCUMENT_CORRUPT = Fault(
    "AF203",
    "document.corrupt",
    "the document is damaged ({reason})",
    "open it in the program that created it and save it again",
)
DOCUMENT_EMPTY = Fault(
    "AF204", "document.empty", "the document contains no text", "exclude it, or add text to it"
)
DOCUMENT_SCANNED = Fault(
    "AF205",
    "document.scanned",
    "the document contains only images of pages, no text ({pages} pages)",
    "run OCR on it first",
)
DOCUMENT_TOO_LARGE = Fault(
    "AF206",
    "document.too_large",
    "the document exceeds a limit ({what}: more than {limit})",
    "split it, or raise the limit",
)
DOCUMENT_UNSAFE = Fault(
    "AF207",
    "document.unsafe",
    "the document was refused because reading it is not safe ({reason})",
    "ask its author for a plain copy",
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
    "the process that read this document crashed ({reason}); the other documents were read",
    "open it in the program that created it and save it again",
)
ENCODING_GUESSED = Fault(
    "AF210",
    "document.encoding_guessed",
    "the text is not UTF-8; it was read as Windows-1252",
    "save it as UTF-8 to make sure that every letter is right",
)
DOCUMENT_PARTLY_SCANNED = Fault(
    "AF211",
    "document.partly_scanned",
    "{count} of {pages} pages are images without text: {which}",
    "run OCR on it first",
)
DOCUMENT_DUPLICATE = Fault(
    "AF212",
    "document.duplicate",
    "the file is identical to {other}; it was read once",
    "no action is needed",
)
LINK_LEADS_OUTSIDE = Fault(
    "AF213",
    "sources.link_outside",
    "the link points outside the folder and was not followed",
    "add its target as a separate source",
)
HIDDEN_SKIPPED = Fault(
    "AF214",
    "sources.hidden_skipped",
    "{count} hidden files and folders were skipped",
    "add them as separate sources to include them",
)
SOURCES_NONE = Fault(
    "AF215",
    "sources.none",
    "no document could be read",
    "read the findings above, or give other sources",
    Exit.UNKNOWN,
)
SOURCE_MISSING = Fault(
    "AF216", "sources.missing", "the file or folder does not exist", "check the path"
)
SOURCE_TEXT = Fault(
    "AF265",
    "sources.text",
    "a source is a path, and this is a text ({text!r})",
    "give texts as contexts, and paths as sources",
)
CONTEXT_TYPE = Fault(
    "AF247",
    "contexts.type",
    "a context is a text or a Path, and this is of the type {type}",
    "give a list of the texts of the passages, such as the page_content of each document",
)
SOURCE_SPECIAL = Fault(
    "AF217",
    "sources.special",
    "this is neither a file nor a folder and was skipped",
    "give the path of a file or folder",
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
    "the sources keep changing while they are being read",
    "use a copy that no other process writes to",
    Exit.UNKNOWN,
)

INDEX_UNUSABLE = Fault(
    "AF220",
    "index.unusable",
    "the index cannot be opened ({reason})",
    "delete the folder; it will be rebuilt from the sources",
    Exit.UNKNOWN,
)
INDEX_BUSY = Fault(
    "AF221",
    "index.busy",
    "another process has been building an index here for more than {seconds} s",
    "wait until it has finished, or use another folder",
    Exit.UNKNOWN,
)
CITATION_AMBIGUOUS = Fault(
    "AF222",
    "citation.ambiguous",
    "the citation {hash} matches {count} passages with different text: {digests}",
    "cite one of the longer digests",
)
CITATION_UNRESOLVED = Fault(
    "AF223",
    "citation.unresolved",
    "no passage in the sources has the hash {hash}",
    "cite a hash that `affidavit check` printed for these sources",
)

RULES_SYNTAX = Fault(
    "AF230",
    "rules.syntax",
    "the rules file is not valid TOML: {problem}",
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
    "{text!r} is not a valid override of a claim",
    "write the claim's id with a type, an importance or both, such as clm_002=numeric,critical",
)
OVERRIDE_CLAIM = Fault(
    "AF238",
    "override.claim",
    "the answer has no such claim (it has {count} claims)",
    "run the check without overrides to see the ids",
)
LEDGER_MALFORMED = Fault(
    "AF240",
    "ledger.malformed",
    "this is not an Affidavit ledger ({problem})",
    "export it again with `affidavit check --format json`",
)
LEDGER_SCHEMA = Fault(
    "AF241",
    "ledger.schema",
    "the ledger has schema {found!r}; this version reads {known}",
    "use the version of Affidavit that wrote it",
)
READING_UNKNOWN = Fault(
    "AF242",
    "reading.unknown",
    "a reading refers to {what} {name!r}, which is not an input",
    "this is a bug in the judge or its caller; report it",
    Exit.UNKNOWN,
)
READING_SCORE = Fault(
    "AF243",
    "reading.score",
    "the judge returned {score} as {name}, which must be from 0 to 1",
    "this is a bug in the judge; report it",
    Exit.UNKNOWN,
)
DATE_MALFORMED = Fault("AF244", "ledger.date", "{text!r} is not a date", "write it as YYYY-MM-DD")
CLAIM_TOO_LONG = Fault(
    "AF250",
    "judge.claim_too_long",
    "the claim has {length} characters; the judge's limit is {limit}",
    "split the text into claims first",
)


# AF248 and AF249: the files of the judge's encoder.

ENCODER_MISSING = Fault(
    "AF248",
    "encoder.missing",
    "a file of the judge's encoder is missing or cannot be read",
    "install the wheels of affidavit and affidavit-encoder again, or use another --judge",
    Exit.UNKNOWN,
)
ENCODER_CHANGED = Fault(
    "AF249",
    "encoder.changed",
    "this file of the judge's encoder differs from the released one",
    "pip install --force-reinstall affidavit",
    Exit.TAMPERED,
)


# AF266 to AF268: a bound on the share of wrong supported verdicts.

RISK_NOT_MEASURED = Fault(
    "AF266",
    "risk.not_measured",
    "nobody has measured how often this judge's supported verdicts are wrong",
    "give --risk with one of these judges: {known}; or measure yours: affidavit judge calibrate",
)
RISK_TOO_STRICT = Fault(
    "AF267",
    "risk.too_strict",
    "no bound of this judge is known to keep the share of wrong supported verdicts at {risk}",
    "give --risk {strictest} or more",
)
RISK_TWICE = Fault(
    "AF268",
    "risk.twice",
    "the rules file has a table [judge], which --risk would replace",
    "leave out --risk, or the table",
)


# AF293 and AF294: the thesaurus of the search.

THESAURUS_MISSING = Fault(
    "AF293",
    "thesaurus.missing",
    "the thesaurus of the search is missing or cannot be read",
    "pip install --force-reinstall affidavit",
    Exit.UNKNOWN,
)
THESAURUS_CHANGED = Fault(
    "AF294",
    "thesaurus.changed",
    "the thesaurus of the search differs from the released one",
    "pip install --force-reinstall affidavit",
    Exit.TAMPERED,
)


# AF251 to AF269: external judges: their settings, server, costs and model.

JUDGE_UNKNOWN = Fault(
    "AF251",
    "judge.unknown",
    "unknown judge {name!r}",
    "use one of: {known}; or give a TOML file with a table [chat] or [hf]",
)
JUDGE_SYNTAX = Fault(
    "AF252",
    "judge.syntax",
    "the judge's settings are not valid TOML: {problem}",
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
    "the environment variable {variable} does not contain a usable key",
    "set it to the server's key, in printable ASCII without spaces",
)
ENDPOINT_REFUSED = Fault(
    "AF255",
    "judge.endpoint_refused",
    "the server at {endpoint} refused the request: {problem}",
    "check base_url, the model name and the key",
)
ENDPOINT_MOVED = Fault(
    "AF256",
    "judge.endpoint_moved",
    "the server at {endpoint} redirects to {target}; the redirect was not followed",
    "set base_url to the new address if you trust it",
)
ENDPOINT_FAILED = Fault(
    "AF257",
    "judge.endpoint_failed",
    "the server at {endpoint} returned no usable answer in {attempts} attempts: {problem}",
    "try again later; the replies received so far are kept",
    Exit.UNKNOWN,
)
BUDGET_SPENT = Fault(
    "AF258",
    "judge.budget_spent",
    "the next request could cost {next}; {spent} of the budget of {budget} is spent",
    "raise the budget and run the same command again; the replies received so far are kept",
    Exit.UNKNOWN,
)
BUDGET_TOO_SMALL = Fault(
    "AF259",
    "judge.budget_too_small",
    "the estimated cost of {estimate} exceeds the budget of {budget}; nothing was sent",
    "raise the budget, check fewer passages (--top-k), or run anyway with --yes",
    Exit.UNKNOWN,
)
REPLIES_UNREADABLE = Fault(
    "AF260",
    "judge.replies_unreadable",
    "none of the {count} replies for a claim could be parsed ({problem})",
    "use a stronger model, or delete {cache} to repeat the requests",
    Exit.UNKNOWN,
)
MODEL_MISSING = Fault(
    "AF261",
    "judge.model_missing",
    "no model can be loaded from {model!r} ({problem})",
    "give a folder with config.json and *.safetensors, or a hub name with allow_download = true",
)
MODEL_LABELS = Fault(
    "AF262",
    "judge.model_labels",
    "the meaning of the model's labels is unknown ({problem}); it has {labels}",
    "map each of them in `labels` to supports, partly, neither or contradicts",
)
MODEL_FAILED = Fault(
    "AF263",
    "judge.model_failed",
    "the model failed on a pair of claim and evidence ({problem})",
    "check that it is a sequence pair classifier, or set its preset",
    Exit.UNKNOWN,
)
MODEL_UNFIT = Fault(
    "AF264",
    "judge.model_unfit",
    "the model does not fit the preset {preset!r}: {problem}",
    "choose the preset of this model; docs/judges.md lists them",
)


# AF27x: checking answers: requests, batches and stored sessions.

SESSION_UNKNOWN = Fault(
    "AF270",
    "session.unknown",
    "unknown session {session!r}",
    "run `affidavit sessions list` to see the stored sessions",
)
SESSION_AMBIGUOUS = Fault(
    "AF271",
    "session.ambiguous",
    "{session!r} matches several sessions: {found}",
    "give more characters of the id",
)
SESSION_ENTRY = Fault(
    "AF272",
    "session.entry",
    "there is no claim number {number}; the ledger has {count}",
    "choose a number from the table",
)
BATCH_ROW = Fault(
    "AF273",
    "batch.row",
    "this row is not {{id, answer, query?, sources? or contexts?, date?}}: {problem}",
    "correct the row; sources are paths, contexts are texts",
)
BATCH_ID_TWICE = Fault(
    "AF274",
    "batch.id_twice",
    "the id {id!r} is already used on line {first}",
    "give every row a unique id",
)
BATCH_EMPTY = Fault(
    "AF275",
    "batch.empty",
    "the file has no rows, so there is nothing to check",
    "write one JSON object per line with id, answer and, if known, query",
    Exit.UNKNOWN,
)
ROW_WITHOUT_SOURCES = Fault(
    "AF246",
    "batch.no_sources",
    "the row has no contexts, and no sources were given",
    "name the column of the contexts with --map contexts=NAME, or give documents with --sources",
    Exit.UNKNOWN,
)
ANSWER_EMPTY = Fault(
    "AF276",
    "answer.empty",
    "the answer is empty, so there is nothing to check",
    "give a file that contains the answer, or - to read standard input",
    Exit.UNKNOWN,
)
ANSWER_NOT_TEXT = Fault(
    "AF277",
    "answer.not_text",
    "the answer is not UTF-8 text",
    "give a text or Markdown file as the answer; documents go after --sources",
)
TIME_SYNTAX = Fault(
    "AF278",
    "time.syntax",
    "{value!r} is neither a date nor a time",
    "write a date such as 2026-01-31 or a time such as 2026-01-31T14:30:00Z",
)
SESSION_TAMPERED = Fault(
    "AF279",
    "session.tampered",
    "the ledger was changed after it was written: {problem}",
    "check the answer again, and find out who changed the file",
    Exit.TAMPERED,
)
ANSWER_IS_SOURCE = Fault(
    "AF280",
    "answer.is_source",
    "the answer is one of the sources ({filename}), so it would support itself",
    "move it out of the sources, or list the sources one by one",
)
OUTPUT_IS_INPUT = Fault(
    "AF281",
    "output.is_input",
    "the report would overwrite an input or another report",
    "choose another path for it",
)
RESULTS_FOREIGN = Fault(
    "AF282",
    "batch.results_foreign",
    "this file does not contain results of a batch",
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
    "this project has no indexed sources, so no citation can be resolved",
    "give the documents with --sources",
    Exit.UNKNOWN,
)


# AF285 to AF299: rows of claims and evidence: scoring, measuring and calibrating a judge.

ROW_MALFORMED = Fault(
    "AF285",
    "judge_row.malformed",
    "this row is not {{id, claim, evidence}}: {problem}",
    "correct the row; evidence is a string or a list of strings",
)
CLAIM_EMPTY = Fault(
    "AF286",
    "judge_row.claim_empty",
    "the claim is empty, so there is nothing to judge",
    "fill it, or remove the row",
)
LABEL_UNKNOWN = Fault("AF287", "judge_row.label", "{problem}", "use one of: {known}")
ROWS_NONE = Fault(
    "AF288",
    "judge_row.none",
    "there are no rows, so there is nothing to judge",
    "write one JSON object per line with id, claim and evidence",
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
    "{found}; too few labels to fit thresholds",
    "label {more}",
    Exit.UNKNOWN,
)
NOT_BETTER = Fault(
    "AF291",
    "calibrate.not_better",
    "the fitted thresholds are no better than the default ones on held-out rows"
    " (balanced accuracy {after} against {before}), so no rules were written",
    "keep the defaults, add labels, or write them anyway with --force",
    Exit.UNKNOWN,
)
ROWS_UNMEASURED = Fault(
    "AF292",
    "judge_eval.nothing",
    "no row could be measured, so nothing is known about the judge",
    "give rows with claim, evidence and label; -v lists the problem of each row",
    Exit.UNKNOWN,
)
