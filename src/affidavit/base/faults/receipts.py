"""Faults AF3xx: checks over tool evidence, receipts, keys, time stamps, tools and answers."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF30x and AF31x: checks over tool evidence, facts, routes.

CHECK_FIELD = Fault(
    "AF300",
    "check.field",
    "check {check} is not understood: {problem}",
    "docs/checks.md lists every field of a check",
)
CHECK_ID_TWICE = Fault(
    "AF301",
    "check.id_twice",
    "two checks have the id {check!r}",
    "give every check an id of its own",
)
CHECK_OPERATOR = Fault(
    "AF302",
    "check.operator",
    "check {check} names the operator {operator!r}, which does not exist",
    "use one of: {known}",
)
CHECK_OPERAND = Fault(
    "AF303",
    "check.operand",
    "check {check}: {operator} takes {takes}",
    "docs/checks.md shows every operator with an example",
)
CHECK_PATH = Fault(
    "AF304",
    "check.path",
    "check {check}: {problem}",
    "write keys and indices with dots between them, such as results.0.magnitude",
)
CHECKS_NONE = Fault(
    "AF305",
    "checks.none",
    "there is no check, so there is nothing to answer",
    "give a list of one or more checks",
)
CHECKS_NOT_A_LIST = Fault(
    "AF306",
    "checks.not_a_list",
    "the checks are {kind}, not a list",
    "write them as a list of objects, each with an id and a tool",
)
CHECK_EXPECTATIONS = Fault(
    "AF307",
    "check.expectations",
    "check {check} has {count} expectations; from 1 to {limit} are allowed",
    "split the check in two, or omit `expect` to record the value without a verdict",
)
FACT_TIME = Fault(
    "AF308",
    "fact.time",
    "the evidence for check {check} was assessed at {assessed}, not at the answer's time {at}",
    "this is a defect of the caller; assess every fact at the time of the answer, and report it",
    Exit.UNKNOWN,
)
FACT_FOREIGN = Fault(
    "AF309",
    "fact.foreign",
    "the evidence for check {check} answers another tool or other arguments",
    "this is a defect of the caller; report it",
    Exit.UNKNOWN,
)
ROUTES_FIELD = Fault(
    "AF310",
    "routes.field",
    "the route table is not understood: {problem}",
    "docs/checks.md shows a whole route table",
)
ROUTE_ID_TWICE = Fault(
    "AF311",
    "route.id_twice",
    "two routes have the id {route!r}",
    "give every route an id of its own",
)
ROUTE_PATTERN = Fault(
    "AF312",
    "route.pattern",
    "route {route}: the pattern {pattern!r} {problem}",
    "write words and slots, such as: latest version of {{product}}",
)
ROUTE_OPERATOR = Fault(
    "AF313",
    "route.operator",
    "route {route}: {problem}",
    "use an operator that compares with one value, such as eq or semver_eq",
)
QUESTION_SIZE = Fault(
    "AF314",
    "question.size",
    "the question has {problem}",
    "ask it in one sentence",
)


# AF32x to AF34x: receipts, the keys that sign them, and the tokens that date them.

RECEIPT_FORMAT = Fault(
    "AF320",
    "receipt.format",
    "this is not a receipt: {problem}",
    "name a receipt as it was written; nothing in it may be added, left out or renamed",
)
RECEIPT_VERSION = Fault(
    "AF321",
    "receipt.version",
    "the schema {found!r} is not one that is verified here; {known} is",
    "use the version of Affidavit that wrote it, or ask its issuer for a current receipt",
)
RECEIPT_ID = Fault(
    "AF322",
    "receipt.id",
    "the receipt says it is {said}, and its content makes it {found}",
    "ask the issuer for the receipt as it was signed",
    Exit.TAMPERED,
)
RECEIPT_SIGNATURE = Fault(
    "AF323",
    "receipt.signature",
    "the signature of {key_id} does not hold over this content",
    "ask the issuer for the receipt as it was signed",
    Exit.TAMPERED,
)
DIGEST_MISMATCH = Fault(
    "AF324",
    "digest.mismatch",
    "{what} says sha256 {said}, and the content has {found}",
    "get the file again from where it was made",
    Exit.TAMPERED,
)
RECEIPT_TIME = Fault(
    "AF325",
    "receipt.time",
    "the receipt says it was made at {said}, which is after {limit}, {what}",
    "ask the issuer how the receipt came by its time",
    Exit.TAMPERED,
)
RECEIPT_CLOSURE = Fault(
    "AF326",
    "receipt.closure",
    "what is cited does not stand in the evidence of the receipt: {what}",
    "ask the issuer for the receipt as it was signed; an answer may cite its own evidence only",
    Exit.TAMPERED,
)
RECEIPT_EVIDENCE_DIGEST = Fault(
    "AF327",
    "receipt.evidence_digest",
    "evidence does not have the digest under which it stands: {what}",
    "ask the issuer for the receipt as it was signed",
    Exit.TAMPERED,
)
RECEIPT_REPLAY = Fault(
    "AF328",
    "receipt.replay",
    "what is signed does not follow from the evidence: {what}",
    "trust what was recomputed, and ask the issuer how the signed figures came about",
    Exit.TAMPERED,
)

KEY_WEAK = Fault(
    "AF329",
    "key.weak",
    "anybody can make signatures that hold under this public key, or it has a second spelling",
    "make a new key with `affidavit keys new`, and never trust this one",
)
KEY_ALGORITHM = Fault(
    "AF330",
    "key.algorithm",
    "this key is for {found}; receipts are signed with Ed25519 and nothing else",
    "name an Ed25519 key, or make one with `affidavit keys new`",
)
KEY_FORMAT = Fault(
    "AF331",
    "key.format",
    "this cannot be read as a key, a keys document or a certificate: {problem}",
    "name keys as `affidavit keys export` writes them, or certificates in PEM",
)
KEY_DUPLICATE_ID = Fault(
    "AF332",
    "key.duplicate_id",
    "two different keys have the id {key_id}, so a signature could mean either",
    "remove the key that you do not trust",
)
KEY_ID_MISMATCH = Fault(
    "AF333",
    "key.id_mismatch",
    "the key that is called {key_id} has another id: {found}",
    "get the keys document from its issuer again",
)
KEY_UNTRUSTED = Fault(
    "AF334",
    "key.untrusted",
    "{key_id} is not among the keys that you trust",
    "name the issuer's keys document with --keys, got from the issuer and not with the receipt",
    Exit.UNKNOWN,
)
KEY_VALIDITY = Fault(
    "AF335",
    "key.validity",
    "{problem}",
    "ask the issuer for a receipt that is signed with a key in use",
    Exit.NO,
)
KEY_USAGE = Fault(
    "AF336",
    "key.usage",
    "{key_id} is a key for {found}, not for signing receipts",
    "ask the issuer for a receipt that is signed with a key for receipts",
    Exit.NO,
)
KEY_PERMISSIONS = Fault(
    "AF337",
    "key.permissions",
    "others can read this private key: its mode is {mode}, and it is not encrypted",
    "run `chmod 600` on it, or make a new one if somebody may have read it",
)
KEY_PASSPHRASE = Fault(
    "AF338",
    "key.passphrase",
    "{problem}",
    "set AFFIDAVIT_KEY_PASSPHRASE to the passphrase, or type it when you are asked",
)
KEY_STATE = Fault(
    "AF339",
    "key.state",
    "{problem}",
    "run `affidavit keys list` to see which keys there are",
)

TST_IMPRINT = Fault(
    "AF340",
    "tst.imprint",
    "the time stamp is of something else: sha256 {found}, not {wanted}",
    "ask the issuer for the time stamp of this receipt",
    Exit.TAMPERED,
)
TST_UNTRUSTED = Fault(
    "AF341",
    "tst.untrusted",
    "the time stamp does not lead to a root that you trust: {problem}",
    "name the certificates of the time stamp authority's roots with --tsa-roots",
    Exit.TAMPERED,
)
TST_EKU = Fault(
    "AF342",
    "tst.eku",
    "the certificate that signed the time stamp is not one for time stamps alone: {problem}",
    "ask for a time stamp by a certificate with timeStamping as its one, critical, purpose",
    Exit.TAMPERED,
)
TST_SIGNER = Fault(
    "AF343",
    "tst.signer",
    "the time stamp is not signed by whom it should be: {problem}",
    "ask for a time stamp by the authority that you named, with its certificate in it",
    Exit.TAMPERED,
)
TST_TIME = Fault(
    "AF344",
    "tst.time",
    "the time stamp's own time, {found}, cannot be: {problem}",
    "ask for a new time stamp, by an authority whose certificate is valid",
    Exit.TAMPERED,
)
TST_NONCE = Fault(
    "AF345",
    "tst.nonce",
    "the time stamp answers another request: its nonce is not the one that was sent",
    "ask the authority again",
    Exit.TAMPERED,
)
TST_POLICY = Fault(
    "AF346",
    "tst.policy",
    "the time stamp was made under the policy {found}, not {wanted}",
    "ask for a time stamp under the policy that you named",
    Exit.TAMPERED,
)
TST_ENCODING = Fault(
    "AF347",
    "tst.encoding",
    "this is not a granted time stamp in strict DER: {problem}",
    "ask the authority again",
    Exit.TAMPERED,
)
TST_HASH = Fault(
    "AF348",
    "tst.hash",
    "the time stamp rests on {found}, and only {wanted} is accepted",
    "ask for a time stamp over SHA-256",
    Exit.TAMPERED,
)
TST_MISSING = Fault(
    "AF349",
    "tst.missing",
    "you ask for an independent time stamp, and the receipt carries none",
    "ask the issuer for the anchored receipt; an anchor can be taken off without a trace",
    Exit.UNKNOWN,
)


# AF350 to AF369: tools and their sources, as a config file declares them.

TOOLS_SYNTAX = Fault(
    "AF350",
    "tools.syntax",
    "this is not {kind} as it is read here: {problem}",
    "correct the text at that place",
)
TOOLS_FIELD = Fault(
    "AF351",
    "tools.field",
    "{problem}",
    "docs/tools.md lists every field of a tool and of each kind of source",
)
TOOLS_FORM = Fault(
    "AF352",
    "tools.form",
    "a config file ends in .toml, .yaml or .yml, and this one does not",
    "rename it, or name another file",
)
TOOLS_NONE = Fault(
    "AF353",
    "tools.none",
    "the file declares no tool",
    "add a table [tools.NAME]; docs/tools.md shows one",
)
TOOL_SOURCES = Fault(
    "AF354",
    "tool.sources",
    "the tool {tool!r} {problem}",
    "docs/tools.md shows a tool with every kind of source",
)
DEADLINE = Fault(
    "AF355",
    "answer.deadline",
    "a deadline of {given} ms is not possible",
    "give a whole number of milliseconds from 1 to {limit}",
)


# AF37x: asking for an answer, and verifying receipts in numbers.

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
