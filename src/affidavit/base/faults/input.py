"""AF0xx: the command line, files, JSON and its canonical forms."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

USAGE = Fault("AF001", "usage", "{problem}", "{hint}")
INTERRUPTED = Fault(
    "AF002", "interrupted", "stopped by the user", "run the same command again", Exit.UNKNOWN
)
EXTRA_MISSING = Fault(
    "AF003",
    "extra.missing",
    "{feature} needs the package {package!r}, which is not installed",
    "pip install 'affidavit[{extra}]'",
)
DEFECT = Fault(
    "AF004",
    "defect",
    "Affidavit met a state it does not know ({kind}: {detail})",
    "this is a defect of Affidavit; run again with -v and report what it prints",
    Exit.UNKNOWN,
)

FILE_MISSING = Fault("AF010", "file.missing", "there is no such file", "check the path")
FILE_UNREADABLE = Fault(
    "AF011", "file.unreadable", "the file cannot be read ({reason})", "check its permissions"
)
FILE_IS_FOLDER = Fault("AF012", "file.folder", "this is a folder", "name a file in it")
FILE_TOO_LARGE = Fault(
    "AF013",
    "limit.file_bytes",
    "the file has more than {limit} bytes",
    "split it, or raise the limit",
)
FILE_UNWRITABLE = Fault(
    "AF014", "file.unwritable", "the file cannot be written ({reason})", "choose another place"
)
FILE_NOT_REGULAR = Fault(
    "AF015",
    "file.not_regular",
    "this is a pipe, a socket or a device, not a file",
    "name a regular file",
)
FOLDER_MISSING = Fault(
    "AF016", "folder.missing", "there is no such folder", "check the path, or make the folder"
)

JSON_SYNTAX = Fault(
    "AF020",
    "json.syntax",
    "this is not JSON: {problem} ({place})",
    "correct the text at that place",
)
JSON_ENCODING = Fault(
    "AF021",
    "json.encoding",
    "the text is stored as {encoding}",
    "save it as UTF-8 without a byte order mark",
)
JSON_UNICODE = Fault(
    "AF022",
    "json.unicode",
    "{problem} ({place})",
    "write the text as valid Unicode in UTF-8",
)
JSON_TRAILING = Fault(
    "AF023",
    "json.trailing",
    "something follows the JSON value ({place})",
    "leave one value in the text; several values go one per line into a .jsonl file",
)
JSON_DUPLICATE_KEY = Fault(
    "AF024",
    "json.duplicate_key",
    "the key {key!r} stands twice in one object ({place})",
    "keep one of the two",
)
JSON_NUMBER_DOMAIN = Fault(
    "AF025",
    "json.number_domain",
    "the number {number} cannot be kept exactly by every reader of JSON ({place})",
    "write it as a text, or as an integer within 9007199254740991 of zero",
)
JSON_DEPTH = Fault(
    "AF026",
    "json.depth",
    "lists and objects are nested too deeply, {limit} levels are allowed ({place})",
    "flatten the document, or raise the limit",
)
JSON_TOO_LARGE = Fault(
    "AF027",
    "limit.json_bytes",
    "the document has {size} bytes, and {limit} are allowed",
    "split it, or raise the limit",
)
JSON_TOO_MANY_KEYS = Fault(
    "AF028",
    "limit.json_keys",
    "an object has more than {limit} keys ({place})",
    "split it, or raise the limit",
)
JSON_LONG_STRING = Fault(
    "AF029",
    "limit.json_string",
    "a text has {size} characters, and {limit} are allowed ({place})",
    "shorten it, or raise the limit",
)
JSON_LONG_LINE = Fault(
    "AF030",
    "limit.line_bytes",
    "the line has more than {limit} bytes",
    "write one value per line, or raise the limit",
)
JSON_BLANK_LINE = Fault(
    "AF031", "json.blank_line", "the line is blank", "remove it: here every line is a record"
)

NOT_CANONICAL = Fault(
    "AF040",
    "canon.noncanonical",
    "the bytes differ from their canonical form (RFC 8785) from {place} on",
    "take the original bytes, or write them again with a JCS library",
)
UNICODE_COLLISION = Fault(
    "AF041",
    "canon.unicode_collision",
    "the keys {first!a} and {second!a} of one object look the same (they are equal in NFC)",
    "rename one of them",
)
NOT_A_JSON_VALUE = Fault(
    "AF042",
    "canon.type",
    "a value of the type {kind} has no form in JSON",
    "convert it to a text, a number, a list or an object first",
)
DIGEST_MALFORMED = Fault(
    "AF045",
    "digest.malformed",
    "{text!r} is not a digest",
    "write 'sha256:' and 64 lower-case hexadecimal digits",
)
