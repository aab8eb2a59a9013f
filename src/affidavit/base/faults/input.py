"""Faults AF0xx: the command line, files, JSON and its canonical forms."""

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
    "unexpected error in Affidavit ({kind}: {detail})",
    "this is a bug in Affidavit; run again with -v and report the output",
    Exit.UNKNOWN,
)

FILE_MISSING = Fault("AF010", "file.missing", "the file does not exist", "check the path")
FILE_UNREADABLE = Fault(
    "AF011", "file.unreadable", "the file cannot be read ({reason})", "check its permissions"
)
FILE_IS_FOLDER = Fault(
    "AF012", "file.folder", "this is a folder, not a file", "give the path of a file in it"
)
FILE_TOO_LARGE = Fault(
    "AF013",
    "limit.file_bytes",
    "the file has more than {limit} bytes",
    "split it, or raise the limit",
)
FILE_UNWRITABLE = Fault(
    "AF014", "file.unwritable", "the file cannot be written ({reason})", "choose another path"
)
FILE_NOT_REGULAR = Fault(
    "AF015",
    "file.not_regular",
    "this is a pipe, a socket or a device, not a file",
    "give the path of a regular file",
)
FOLDER_MISSING = Fault(
    "AF016", "folder.missing", "the folder does not exist", "check the path, or create the folder"
)

JSON_SYNTAX = Fault(
    "AF020",
    "json.syntax",
    "this is not JSON: {problem} ({place})",
    "correct the text at that position",
)
JSON_ENCODING = Fault(
    "AF021",
    "json.encoding",
    "the text is stored as {encoding}",
    "save it as UTF-8 without a byte order mark",
)
JSON_UNICODE = Fault(
    "AF022", "json.unicode", "{problem} ({place})", "write the text as valid Unicode in UTF-8"
)
JSON_TRAILING = Fault(
    "AF023",
    "json.trailing",
    "there is more text after the JSON value ({place})",
    "keep one value; to give several, write one per line in a .jsonl file",
)
JSON_DUPLICATE_KEY = Fault(
    "AF024",
    "json.duplicate_key",
    "duplicate key {key!r} in one object ({place})",
    "remove one of the two",
)
JSON_NUMBER_DOMAIN = Fault(
    "AF025",
    "json.number_domain",
    "the number {number} cannot be represented exactly by every JSON reader ({place})",
    "write it as a string, or as an integer from -9007199254740991 to 9007199254740991",
)
JSON_DEPTH = Fault(
    "AF026",
    "json.depth",
    "lists and objects are nested deeper than the limit of {limit} levels ({place})",
    "flatten the document, or raise the limit",
)
JSON_TOO_LARGE = Fault(
    "AF027",
    "limit.json_bytes",
    "the document has {size} bytes; the limit is {limit}",
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
    "a string has {size} characters; the limit is {limit} ({place})",
    "shorten it, or raise the limit",
)
JSON_LONG_LINE = Fault(
    "AF030",
    "limit.line_bytes",
    "the line has more than {limit} bytes",
    "write one value per line, or raise the limit",
)
JSON_BLANK_LINE = Fault(
    "AF031", "json.blank_line", "the line is blank", "remove it; every line must be a record"
)

NOT_CANONICAL = Fault(
    "AF040",
    "canon.noncanonical",
    "the bytes are not in canonical form (RFC 8785); the first difference is at {place}",
    "use the original bytes, or serialize the value with a JCS library",
)
UNICODE_COLLISION = Fault(
    "AF041",
    "canon.unicode_collision",
    "two keys of one object are equal in NFC: {first!a} and {second!a}",
    "rename one of them",
)
NOT_A_JSON_VALUE = Fault(
    "AF042",
    "canon.type",
    "a value of type {kind} cannot be written as JSON",
    "convert it to a string, number, list or object first",
)
DIGEST_MALFORMED = Fault(
    "AF045",
    "digest.malformed",
    "{text!r} is not a digest",
    "write 'sha256:' and 64 lower-case hexadecimal digits",
)
