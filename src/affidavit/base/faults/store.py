"""AF850 to AF899: the store of the service, its jobs, its exports and what people decided."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

STORE_URL = Fault(
    "AF850",
    "store.url",
    "this is not the address of a store: {problem}",
    "write sqlite:///FILE or postgresql://USER@HOST/DATABASE",
)
STORE_AWAY = Fault(
    "AF851",
    "store.away",
    "the database cannot be used now: {reason}",
    "see whether it runs and has room on its disk; nothing has to be started again",
    Exit.UNKNOWN,
)
STORE_REVISION = Fault(
    "AF852",
    "store.revision",
    "the database has the revision {found}, and this version needs {wanted}",
    "run `affidavit db upgrade`, or use the version of Affidavit that made the database",
)
STORE_DAMAGED = Fault(
    "AF853",
    "store.damaged",
    "the database is not what it has to be: {problem}",
    "restore it from a backup with `affidavit db restore`",
    Exit.TAMPERED,
)
STORE_BACKUP = Fault(
    "AF854",
    "store.backup",
    "this cannot be backed up or restored: {problem}",
    "give a new file for a backup, and an empty place to restore to; for PostgreSQL use pg_dump",
)
ITEM_UNKNOWN = Fault(
    "AF855",
    "store.unknown",
    "this workspace has no {kind} {id}",
    "list what it has with GET; what was deleted does not come back",
)
ITEM_HELD = Fault(
    "AF856",
    "store.held",
    "the {kind} {id} is under a legal hold",
    "lift the hold first",
)
DOCUMENT_NOT_READY = Fault(
    "AF857",
    "document.not_ready",
    "the document {id} has the status {status}",
    "wait until it is ready; if its status is error, read why, and upload another file",
)
UPLOAD_NAME = Fault(
    "AF858",
    "upload.name",
    "{name!r} cannot be the name of a document: {problem}",
    "give the plain name of the file with its ending, such as ?filename=policy.pdf",
)
UPLOAD_LIMIT = Fault(
    "AF859",
    "upload.limit",
    "the upload is refused: {problem}",
    "upload less, or ask the operator of the service for a higher limit",
)
SESSION_NOT_DONE = Fault(
    "AF860",
    "session.not_done",
    "the session {id} has no ledger yet: its status is {status}",
    "wait for its run, or start another one",
)
DECISION_INVALID = Fault(
    "AF861",
    "decision.invalid",
    "this cannot be decided: {problem}",
    "give a reason, and one of the values that the field has",
)
DECISION_STALE = Fault(
    "AF862",
    "decision.stale",
    "somebody else has decided since: the {field} is {found} now, and not {expected}",
    "read the ledger again, then decide",
)
EXPORT_GONE = Fault(
    "AF863",
    "export.gone",
    "this download has expired",
    "export the ledger again",
)
EXPORT_SIGNATURE = Fault(
    "AF864",
    "export.signature",
    "this is not an address of a download that this service gave",
    "use the address as it was given, or export the ledger again",
)
EXPORT_WAITING = Fault(
    "AF865",
    "export.waiting",
    "the export is not ready yet",
    "wait {seconds} s (see Retry-After) and try again",
    Exit.UNKNOWN,
)
EXPORT_FAILED = Fault(
    "AF866",
    "export.failed",
    "the export could not be made: {problem}",
    "export the ledger in another format, or tell the operator of the service",
    Exit.UNKNOWN,
)
REQUEST_INVALID = Fault(
    "AF867",
    "request.invalid",
    "the request is not valid: {problem}",
    "GET /docs describes the request",
)
WORKSPACE_NAME = Fault(
    "AF868",
    "workspace.name",
    "{name!r} cannot be the name of a workspace",
    "use up to 64 of a-z, 0-9, dots, dashes and underscores, and begin with a letter or digit",
)
JOB_FAILED = Fault(
    "AF869",
    "job.failed",
    "the work was given up after {attempts} attempts: {problem}",
    "start it again, or tell the operator of the service",
    Exit.UNKNOWN,
)
ANSWER_TOO_LONG = Fault(
    "AF870",
    "session.too_long",
    "the {what} has more than {limit} characters",
    "shorten it, or check it in parts",
)
EXPIRY = Fault(
    "AF871",
    "apikeys.expiry",
    "{text!r} is not a time in the future",
    "write a day or a time, such as 2027-01-31 or 2027-01-31T12:00:00Z",
)
UPLOAD_TYPE = Fault(
    "AF872",
    "upload.type",
    "an upload has to be application/octet-stream, and this is {found}",
    "send the bytes of the document with `Content-Type: application/octet-stream`",
)
PAGE_UNKNOWN = Fault(
    "AF880",
    "page.unknown",
    "{filename} has no page {page!r} to show: {problem}",
    "ask for /pages/1.png of a PDF, and for no page after its last",
)
PAGE_FAILED = Fault(
    "AF881",
    "page.failed",
    "page {page} cannot be shown: {problem}",
    "download the document, and open it in the program that created it",
)
QUOTE_RANGE = Fault(
    "AF882",
    "quote.range",
    "there is no text from {start} to {end} in {filename}",
    "give the offsets of a passage, as citations and ledgers have them, with start before end",
)
