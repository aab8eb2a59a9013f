"""Faults AF6xx: evidence bundles, recordings, proofs, redactions, packs and lint."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF600 to AF631: evidence bundles, and the archive that they are.
#
# What contradicts another part of the same bundle (a digest, a size, a count, a sequence) ends with
# `TAMPERED`; what cannot be read as a bundle at all, or is beyond a limit, with `INPUT`.

_GET_AGAIN = "get the bundle again from where it was made"
_RAISE = "raise {name} with --limits if you trust where the bundle comes from"

ARCHIVE_FORMAT = Fault(
    "AF600",
    "archive.format",
    "this is not a gzip-compressed tar archive: {problem}",
    "name a bundle as `affidavit evidence seal` or Assay writes it",
)
ARCHIVE_CORRUPT = Fault(
    "AF601",
    "archive.corrupt",
    "the archive is cut short or was changed: {problem}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
ARCHIVE_GZIP_MEMBERS = Fault(
    "AF602",
    "archive.gzip_members",
    "a second gzip member follows the first, so that two readers could see two bundles",
    _GET_AGAIN,
)
ARCHIVE_TRAILING = Fault(
    "AF603",
    "archive.trailing",
    "something follows the end of the {what}",
    _GET_AGAIN,
)
ARCHIVE_PATH = Fault(
    "AF604",
    "archive.path",
    "a member is called {name!a}, which leads out of the archive or has two meanings",
    "do not unpack this archive; a bundle holds manifest.json and events.ndjson only",
)
ARCHIVE_TYPE = Fault(
    "AF605",
    "archive.type",
    "the member {name!a} is {kind}, not a plain file",
    "do not unpack this archive; a bundle holds two plain files only",
)
ARCHIVE_DUPLICATE = Fault(
    "AF606",
    "archive.duplicate",
    "the member {name!a} stands twice, or under a name that some systems take for the same",
    _GET_AGAIN,
)
ARCHIVE_UNLISTED = Fault(
    "AF607",
    "archive.unlisted",
    "the member {name!a} does not belong to a bundle",
    _GET_AGAIN,
)
ARCHIVE_MISSING = Fault(
    "AF608", "archive.missing", "the bundle has no {name}: {problem}", _GET_AGAIN
)
ARCHIVE_ORDER = Fault(
    "AF609",
    "archive.order",
    "the first member is {name!a}, and manifest.json has to come first",
    _GET_AGAIN,
)

LIMIT_BUNDLE_BYTES = Fault(
    "AF611", "limit.bundle_bytes", "the file has more than {limit} bytes", _RAISE
)
LIMIT_DECODE_BYTES = Fault(
    "AF612", "limit.decode_bytes", "the archive unpacks to more than {limit} bytes", _RAISE
)
LIMIT_MANIFEST_BYTES = Fault(
    "AF613",
    "limit.manifest_bytes",
    "manifest.json has {size} bytes, and {limit} are allowed",
    _RAISE,
)
LIMIT_EVENTS_BYTES = Fault(
    "AF614",
    "limit.events_bytes",
    "events.ndjson has {size} bytes, and {limit} are allowed",
    _RAISE,
)
LIMIT_EVENTS = Fault("AF615", "limit.events", "there are more than {limit} events", _RAISE)
LIMIT_PATH = Fault("AF616", "limit.path", "a member's name has more than {limit} bytes", _RAISE)
LIMIT_MEMBERS = Fault(
    "AF617",
    "limit.members",
    "the archive has more than {limit} members, and a bundle has two",
    _GET_AGAIN,
)
BUNDLE_LIMITS = Fault(
    "AF618",
    "bundle.limits",
    "these limits cannot be used: {problem}",
    "give a JSON object with some of {known}, each a whole number above zero",
)

BUNDLE_MANIFEST = Fault(
    "AF620",
    "bundle.manifest",
    "manifest.json is not the manifest of a bundle: {problem}",
    _GET_AGAIN,
)
BUNDLE_VERSION = Fault(
    "AF621",
    "bundle.version",
    "{what} is {found}, and only {known} can be verified here",
    "use the version of the tool that wrote the bundle",
)
BUNDLE_SIZE = Fault(
    "AF622",
    "bundle.size",
    "manifest.json says events.ndjson has {said} bytes, and it has {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_EVENT = Fault("AF623", "bundle.event", "this is not an event: {problem}", _GET_AGAIN)
BUNDLE_EVENT_HASH = Fault(
    "AF624",
    "bundle.event_hash",
    "the event says its content is {said}, and it is {found}",
    "believe nothing in this bundle; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_SEQUENCE = Fault(
    "AF625",
    "bundle.sequence",
    "the event is numbered {found} where {wanted} has to follow",
    "an event was removed, added or moved; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_RUN_ID = Fault(
    "AF626",
    "bundle.run_id",
    "the event belongs to {found!r}, and the bundle to {wanted!r}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_COUNT = Fault(
    "AF627",
    "bundle.count",
    "manifest.json says there are {said} events, and there are {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_RUN_ROOT = Fault(
    "AF628",
    "bundle.run_root",
    "manifest.json says the run root is {said}, and the events make it {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_ID = Fault(
    "AF629",
    "bundle.id",
    "the bundle is called {said}, and its run root is {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_MERKLE_ROOT = Fault(
    "AF630",
    "bundle.merkle_root",
    "manifest.json says the Merkle root over {said_size} lines is {said}, and over {found_size}"
    " lines it is {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_EMPTY = Fault(
    "AF631",
    "bundle.empty",
    "the bundle has no events, so there is nothing to verify",
    "record what happened, and seal that",
)


# AF632 to AF647: what is done with bundles: proofs, recordings, imports and redactions.

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


# AF650 to AF679: packs, lint, explanations and replay of bundles.

PACK_FIELD = Fault(
    "AF650",
    "pack.field",
    "{problem}",
    "correct it; docs/packs.md lists every field of a pack",
)
PACK_UNKNOWN_KEY = Fault(
    "AF651",
    "pack.unknown_key",
    "unknown key {key!r}",
    "{advice}",
)
PACK_SIGNAL = Fault(
    "AF652",
    "pack.signal",
    "unknown signal {signal!r}",
    "{advice}",
)
PACK_DISCLAIMER = Fault(
    "AF653",
    "pack.disclaimer",
    "a compliance pack has to say what it does not promise, and this one has no disclaimer",
    "add the key disclaimer with a text that every report will show",
)
PACK_RULE_TWICE = Fault(
    "AF654",
    "pack.rule_twice",
    "the rule {rule!r} stands twice in the pack {pack!r}",
    "give one of the two another id",
)
PACK_COLLISION = Fault(
    "AF655",
    "pack.collision",
    "the rule {rule} is in two packs: {first} and {second}",
    "name one of the two packs, or change the version of one; nothing was run",
)
PACK_VERSION = Fault(
    "AF656",
    "pack.version",
    "the pack {pack!r} needs {wanted}, and this is {found}",
    "use a pack that is written for this version, or a newer affidavit",
)
PACK_NOT_FOUND = Fault(
    "AF657",
    "pack.not_found",
    "there is no pack called {name!r}",
    "{advice}",
)
PACK_FOLDER = Fault(
    "AF658",
    "pack.folder",
    "this folder holds no pack.yaml",
    "name the file of the pack, or a folder with a pack.yaml in it",
)
PACK_OUTSIDE = Fault(
    "AF659",
    "pack.outside",
    "the pack {name!r} leads out of the folder of packs",
    "put the file itself there, or name it by its path",
)
PACK_EXISTS = Fault(
    "AF660",
    "pack.exists",
    "there is a file already, and it is not overwritten",
    "choose another name with --output",
)
EXPLAIN_UNKNOWN = Fault(
    "AF661",
    "explain.unknown",
    "there is nothing called {name!r} to explain",
    "{advice}",
)
EXPLAIN_AMBIGUOUS = Fault(
    "AF662",
    "explain.ambiguous",
    "{name!r} is a rule of several packs",
    "write one of: {choices}",
)
EXPLAIN_MANY = Fault(
    "AF663",
    "explain.many",
    "one bundle can be explained at a time, and {count} were given",
    "name one of them",
)
LINT_BUNDLES_NONE = Fault(
    "AF664",
    "bundles.none",
    "there was no bundle to lint",
    "name a bundle, or a folder with files that end in .tar.gz or .tgz",
    Exit.UNKNOWN,
)
REPLAY_REPORT = Fault(
    "AF665",
    "replay.report",
    "this is no lint report of the form {known}",
    "name a file that `affidavit evidence lint --report` wrote",
)
