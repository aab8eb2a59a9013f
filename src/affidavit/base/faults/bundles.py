"""Faults AF6xx: evidence bundles, recordings, proofs, redactions, packs and lint."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF600 to AF631: evidence bundles and their archive format.
#
# A contradiction within a bundle (a digest, a size, a count, a sequence) ends with `TAMPERED`; a
# file that is not a bundle or exceeds a limit ends with `INPUT`.

_GET_AGAIN = "get the bundle again from its source"
_RAISE = "raise {name} with --limits if you trust the source of the bundle"

ARCHIVE_FORMAT = Fault(
    "AF600",
    "archive.format",
    "this is not a gzip-compressed tar archive: {problem}",
    "give a bundle written by `affidavit evidence seal` or Assay",
)
ARCHIVE_CORRUPT = Fault(
    "AF601",
    "archive.corrupt",
    "the archive is truncated or was changed: {problem}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
ARCHIVE_GZIP_MEMBERS = Fault(
    "AF602",
    "archive.gzip_members",
    "a second gzip member follows the first, so two readers could see different bundles",
    _GET_AGAIN,
)
ARCHIVE_TRAILING = Fault(
    "AF603", "archive.trailing", "there is data after the end of the {what}", _GET_AGAIN
)
ARCHIVE_PATH = Fault(
    "AF604",
    "archive.path",
    "the member name {name!a} points outside the archive or is ambiguous",
    "do not unpack this archive; a bundle contains only manifest.json and events.ndjson",
)
ARCHIVE_TYPE = Fault(
    "AF605",
    "archive.type",
    "the member {name!a} is {kind}, not a plain file",
    "do not unpack this archive; a bundle contains only two plain files",
)
ARCHIVE_DUPLICATE = Fault(
    "AF606",
    "archive.duplicate",
    "the member {name!a} occurs twice, or under a name that some systems treat as the same",
    _GET_AGAIN,
)
ARCHIVE_UNLISTED = Fault(
    "AF607", "archive.unlisted", "the member {name!a} does not belong to a bundle", _GET_AGAIN
)
ARCHIVE_REPACKED = Fault(
    "AF530",
    "archive.repacked",
    "the bundle was compressed again, so the digest of its compressed bytes is gone",
    "get the bundle as it was sealed; programs that compress it again change its bytes",
    Exit.UNKNOWN,
)
ARCHIVE_MISSING = Fault(
    "AF608", "archive.missing", "the bundle has no {name}: {problem}", _GET_AGAIN
)
ARCHIVE_ORDER = Fault(
    "AF609", "archive.order", "the first member is {name!a}; it has to be manifest.json", _GET_AGAIN
)

LIMIT_BUNDLE_BYTES = Fault(
    "AF611", "limit.bundle_bytes", "the file has more than {limit} bytes", _RAISE
)
LIMIT_DECODE_BYTES = Fault(
    "AF612", "limit.decode_bytes", "the archive unpacks to more than {limit} bytes", _RAISE
)
LIMIT_MANIFEST_BYTES = Fault(
    "AF613", "limit.manifest_bytes", "manifest.json has {size} bytes; the limit is {limit}", _RAISE
)
LIMIT_EVENTS_BYTES = Fault(
    "AF614", "limit.events_bytes", "events.ndjson has {size} bytes; the limit is {limit}", _RAISE
)
LIMIT_EVENTS = Fault("AF615", "limit.events", "there are more than {limit} events", _RAISE)
LIMIT_PATH = Fault("AF616", "limit.path", "a member name has more than {limit} bytes", _RAISE)
LIMIT_MEMBERS = Fault(
    "AF617",
    "limit.members",
    "the archive has more than {limit} members; a bundle has two",
    _GET_AGAIN,
)
BUNDLE_LIMITS = Fault(
    "AF618",
    "bundle.limits",
    "invalid limits: {problem}",
    "give a JSON object with some of {known}, each a positive integer",
)

BUNDLE_MANIFEST = Fault(
    "AF620", "bundle.manifest", "manifest.json is not a bundle manifest: {problem}", _GET_AGAIN
)
BUNDLE_VERSION = Fault(
    "AF621",
    "bundle.version",
    "{what} is {found}; only {known} can be verified",
    "use the version of the tool that wrote the bundle",
    Exit.UNKNOWN,
)
BUNDLE_SIZE = Fault(
    "AF622",
    "bundle.size",
    "manifest.json claims {said} bytes for events.ndjson, but it has {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_EVENT = Fault("AF623", "bundle.event", "this is not an event: {problem}", _GET_AGAIN)
BUNDLE_EVENT_HASH = Fault(
    "AF624",
    "bundle.event_hash",
    "the event claims the content hash {said}, but it is {found}",
    "do not trust this bundle; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_SEQUENCE = Fault(
    "AF625",
    "bundle.sequence",
    "the event has the number {found} where {wanted} is expected",
    "an event was removed, added or moved; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_RUN_ID = Fault(
    "AF626",
    "bundle.run_id",
    "the event belongs to the run {found!r}, but the bundle to {wanted!r}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_COUNT = Fault(
    "AF627",
    "bundle.count",
    "manifest.json claims {said} events, but there are {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_RUN_ROOT = Fault(
    "AF628",
    "bundle.run_root",
    "manifest.json claims the run root {said}, but the events have {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_ID = Fault(
    "AF629",
    "bundle.id",
    "the bundle id is {said}, but the run root is {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_MERKLE_ROOT = Fault(
    "AF630",
    "bundle.merkle_root",
    "manifest.json claims the Merkle root {said} over {said_size} lines, but over {found_size}"
    " lines it is {found}",
    _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_EMPTY = Fault(
    "AF631",
    "bundle.empty",
    "the bundle has no events, so there is nothing to verify",
    "record a run, then seal it",
)


# AF632 to AF647: proofs, recordings, imports and redactions.

BUNDLES_NONE = Fault(
    "AF632",
    "bundle.none",
    "no bundle was found, so nothing was verified",
    "give bundles (.tar.gz), or a folder that contains some",
    Exit.UNKNOWN,
)
PROOF_FORMAT = Fault(
    "AF633",
    "proof.format",
    "this is not a proof of an event: {problem}",
    "create one with `affidavit evidence prove BUNDLE --event N -o proof.json`",
)
PROOF_MISMATCH = Fault(
    "AF634",
    "proof.mismatch",
    "the proof is not valid: {problem}",
    "trust neither the event nor the proof; ask for both again",
    Exit.TAMPERED,
)
PROOF_EVENT = Fault(
    "AF635",
    "proof.event",
    "there is no event {event}; the bundle has events 0 to {last}",
    "run `affidavit evidence show BUNDLE --events` to see their numbers",
)
RUN_LOG = Fault(
    "AF636",
    "record.log",
    "this is not a run log: {problem}",
    "give a file written by `affidavit.record`",
)
RECORD_EXISTS = Fault(
    "AF637",
    "record.exists",
    "this file already contains a recorded run",
    "seal it with `affidavit evidence seal`, or record to another file",
)
RECORD_CLOSED = Fault(
    "AF638",
    "record.closed",
    "the run is not being recorded: it has finished or not started",
    "record within `with affidavit.record(...) as run:`",
)
RECORD_TYPE = Fault(
    "AF639",
    "record.type",
    "unknown event type {type!a}",
    "use one from docs/bundles.md, or your own name that does not begin with affidavit",
)
RECORD_TOO_LARGE = Fault(
    "AF640",
    "record.too_large",
    "the event has more than {limit} bytes",
    "record a digest of the value and store the value elsewhere, or split it",
)
IMPORT_UNKNOWN = Fault(
    "AF641",
    "evidence.import",
    "this cannot be converted to events: {problem}",
    "give receipts, ledgers, gate reports, promptfoo results, or JSON lines with type and data",
)
REDACT_PATH = Fault(
    "AF642",
    "redact.path",
    "{path!a} does not point to the subject or to a value in the data of an event",
    "write /subject, or a JSON pointer that begins with /data, such as /data/results/*/text",
)
REDACT_NOTHING = Fault(
    "AF643",
    "redact.nothing",
    "no event has an unredacted value there, so nothing was redacted",
    "run `affidavit evidence show BUNDLE --events` to see the events",
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
    "the value and its salt do not match the commitment in the bundle: {problem}",
    "ask for the value and the salt again; this value is not the one that was redacted",
    Exit.TAMPERED,
)
RECORD_VALUE = Fault(
    "AF646",
    "record.value",
    "this cannot be stored in a bundle: {problem}",
    "correct that value, then record or import it again",
)
REDACT_SALTS_EXIST = Fault(
    "AF647",
    "redact.salts_exist",
    "the file already exists, and overwritten salts cannot be recovered",
    "give another file with --salts",
)


# AF650 to AF679: packs, lint, explanations and replay of bundles.

PACK_FIELD = Fault(
    "AF650", "pack.field", "{problem}", "correct it; docs/packs.md lists every field of a pack"
)
PACK_UNKNOWN_KEY = Fault("AF651", "pack.unknown_key", "unknown key {key!r}", "{advice}")
PACK_SIGNAL = Fault("AF652", "pack.signal", "unknown signal {signal!r}", "{advice}")
PACK_DISCLAIMER = Fault(
    "AF653",
    "pack.disclaimer",
    "a compliance pack needs a disclaimer, and this one has none",
    "add the key disclaimer; every report will show its text",
)
PACK_RULE_TWICE = Fault(
    "AF654",
    "pack.rule_twice",
    "duplicate rule id {rule!r} in the pack {pack!r}",
    "change one of the two ids",
)
PACK_COLLISION = Fault(
    "AF655",
    "pack.collision",
    "the rule {rule} is in two packs: {first} and {second}",
    "use one of the two packs, or change the version of one; nothing was run",
)
PACK_VERSION = Fault(
    "AF656",
    "pack.version",
    "the pack {pack!r} needs {wanted}; this is {found}",
    "use a pack for this version, or a newer version of Affidavit",
)
PACK_NOT_FOUND = Fault("AF657", "pack.not_found", "unknown pack {name!r}", "{advice}")
PACK_FOLDER = Fault(
    "AF658",
    "pack.folder",
    "this folder contains no pack.yaml",
    "give the pack file, or a folder with a pack.yaml",
)
PACK_OUTSIDE = Fault(
    "AF659",
    "pack.outside",
    "the pack {name!r} points outside the folder of packs",
    "put the file itself there, or give its path",
)
PACK_EXISTS = Fault(
    "AF660",
    "pack.exists",
    "the file already exists and is not overwritten",
    "choose another name with --output",
)
EXPLAIN_UNKNOWN = Fault("AF661", "explain.unknown", "unknown rule or signal {name!r}", "{advice}")
EXPLAIN_AMBIGUOUS = Fault(
    "AF662", "explain.ambiguous", "{name!r} is a rule in several packs", "write one of: {choices}"
)
EXPLAIN_MANY = Fault(
    "AF663",
    "explain.many",
    "only one bundle can be explained at a time; {count} were given",
    "give one of them",
)
LINT_BUNDLES_NONE = Fault(
    "AF664",
    "bundles.none",
    "there are no bundles to lint",
    "give a bundle, or a folder with files that end in .tar.gz or .tgz",
    Exit.UNKNOWN,
)
REPLAY_REPORT = Fault(
    "AF665",
    "replay.report",
    "this is not a lint report of schema {known}",
    "give a file written by `affidavit evidence lint --report`",
)
IMPORT_MEMBER = Fault(
    "AF667", "evidence.import_member", "an event has no member {name!r}", "{advice}"
)
PACK_EVENT_TYPE = Fault("AF666", "pack.event_type", "no event has the type {type!r}", "{advice}")


# AF686 to AF689: statements of a manifest that its events do not bear out; secrets for salts.

BUNDLE_STATEMENT = Fault(
    "AF686",
    "bundle.statement",
    "manifest.json says {said}, but the events come to {found}",
    "do not trust this manifest; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_PACK_RESULT = Fault(
    "AF687",
    "bundle.pack_result",
    "manifest.json says {said} of the pack {pack}, but the events come to {found}",
    "do not trust this manifest; " + _GET_AGAIN,
    Exit.TAMPERED,
)
BUNDLE_MANIFEST_DIGEST = Fault(
    "AF688",
    "bundle.manifest_digest",
    "the digest of manifest.json is {found}, not {said}",
    "this is not the manifest that you trust; " + _GET_AGAIN,
    Exit.TAMPERED,
)
SALT_SHORT = Fault(
    "AF689",
    "salt.short",
    "a secret for salts has at least {wanted} bytes",
    "make one with `head -c 32 /dev/urandom > salt.bin`, and keep it secret",
)
