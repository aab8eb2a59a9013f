"""AF632 to AF647: what is done with bundles: proofs, recordings, imports and redactions."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

BUNDLES_NONE = Fault(
    "AF632",
    "bundle.none",
    "no bundle was found, so nothing was verified",
    "name bundles (.tar.gz), or a folder that holds some",
    Exit.UNKNOWN,
)
PROOF_FORMAT = Fault(
    "AF633",
    "proof.format",
    "this is not a proof of an event: {problem}",
    "make one with `affidavit evidence prove BUNDLE --event N -o proof.json`",
)
PROOF_MISMATCH = Fault(
    "AF634",
    "proof.mismatch",
    "the proof does not hold: {problem}",
    "believe neither the event nor the proof; ask for both again",
    Exit.TAMPERED,
)
PROOF_EVENT = Fault(
    "AF635",
    "proof.event",
    "there is no event {event}: the bundle has those from 0 to {last}",
    "run `affidavit evidence show BUNDLE --events` for their numbers",
)
RUN_LOG = Fault(
    "AF636",
    "record.log",
    "this is not the log of a run: {problem}",
    "name a file that `affidavit.record` has written",
)
RECORD_EXISTS = Fault(
    "AF637",
    "record.exists",
    "a run was recorded here before",
    "seal it with `affidavit evidence seal`, or record to another file",
)
RECORD_CLOSED = Fault(
    "AF638",
    "record.closed",
    "the run is not being recorded: it has finished, or has not begun",
    "record within `with affidavit.record(...) as run:`",
)
RECORD_TYPE = Fault(
    "AF639",
    "record.type",
    "no event type is called {type!a}",
    "choose one of docs/bundles.md, or a name of your own that does not begin with affidavit",
)
RECORD_TOO_LARGE = Fault(
    "AF640",
    "record.too_large",
    "the event has more than {limit} bytes",
    "record a digest of the value and keep the value elsewhere, or split it",
)
IMPORT_UNKNOWN = Fault(
    "AF641",
    "evidence.import",
    "this cannot become events: {problem}",
    "name receipts, ledgers, gate reports, promptfoo results, or JSON lines with type and data",
)
REDACT_PATH = Fault(
    "AF642",
    "redact.path",
    "{path!a} does not name a value in the data of an event",
    "write a JSON pointer that begins with /data, like /data/output or /data/results/*/text",
)
REDACT_NOTHING = Fault(
    "AF643",
    "redact.nothing",
    "no event has a value there that is not redacted yet, so nothing was redacted",
    "run `affidavit evidence show BUNDLE --events` to see what the events hold",
)
REVEAL_FORMAT = Fault(
    "AF644",
    "redact.reveal_format",
    "this is not a revealed value: {problem}",
    "take an entry of the salts file, add its value, and put it in a JSON file (docs/bundles.md)",
)
REVEAL_MISMATCH = Fault(
    "AF645",
    "redact.reveal",
    "the value and its salt do not make the commitment that stands in the bundle: {problem}",
    "ask for the value and the salt again; this value is not the one that was redacted",
    Exit.TAMPERED,
)
RECORD_VALUE = Fault(
    "AF646",
    "record.value",
    "this cannot stand in a bundle: {problem}",
    "mend the value that is named, then record or import it again",
)
REDACT_SALTS_EXIST = Fault(
    "AF647",
    "redact.salts_exist",
    "there is a file already, and salts that are written over are lost for ever",
    "name another file with --salts",
)
