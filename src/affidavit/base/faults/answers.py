"""AF37x: asking for an answer, and verifying receipts in numbers."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

ANSWER_REQUEST = Fault(
    "AF370",
    "answer.request",
    "this asks for nothing that can be answered: {problem}",
    'write a list of checks, or {{"checks": [...]}}; docs/answers.md shows whole files',
)
STAMP_UNAVAILABLE = Fault(
    "AF371",
    "stamp.unavailable",
    "the time stamp authority {url} gave no token: {problem}",
    "try again, name another authority with --anchor, or do without a time stamp",
    Exit.UNKNOWN,
)
RECEIPTS_NONE = Fault(
    "AF372",
    "receipts.none",
    "there is no receipt here, so nothing was verified",
    "name files, a folder of .json files, or .jsonl files with a receipt a line",
    Exit.UNKNOWN,
)
KEYS_NONE = Fault(
    "AF373",
    "keys.none",
    "no keys are trusted: none are named, and this project has none of its own",
    "name the issuer's keys document with --keys, got from the issuer and not with the receipt",
)
ROUTES_OTHER = Fault(
    "AF374",
    "routes.other",
    "the question was routed by the table {signed}, and this one is {found}",
    "name the route table that the receipt was made with, or replay without one",
    Exit.UNKNOWN,
)
KEY_NONE = Fault(
    "AF375",
    "key.none",
    "there is no key to sign with, so no receipt can be made",
    "make one with `affidavit keys new`",
)
STAMP_ADDRESS = Fault(
    "AF376",
    "stamp.address",
    "this is no address of a time stamp authority: {problem}",
    "name one such as https://tsa.example.org/tsr, or `self` for the digest alone",
)
