"""AF600 to AF631: evidence bundles, and the archive that they are.

What contradicts another part of the same bundle (a digest, a size, a count, a sequence) ends with
`TAMPERED`; what cannot be read as a bundle at all, or is beyond a limit, with `INPUT`.
"""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

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
