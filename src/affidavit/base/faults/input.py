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
