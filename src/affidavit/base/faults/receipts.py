"""Faults AF3xx: checks over tool evidence, receipts, keys, time stamps, tools and answers."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

# AF30x and AF31x: checks over tool evidence, facts, routes.

CHECK_FIELD = Fault(
    "AF300",
    "check.field",
    "check {check} is not valid: {problem}",
    "docs/checks.md lists every field of a check",
)
CHECK_ID_TWICE = Fault(
    "AF301", "check.id_twice", "two checks have the id {check!r}", "give every check a unique id"
)
CHECK_OPERATOR = Fault(
    "AF302", "check.operator", "check {check}: unknown operator {operator!r}", "use one of: {known}"
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
    "write keys and indices separated by dots, such as results.0.magnitude",
)
CHECKS_NONE = Fault(
    "AF305",
    "checks.none",
    "there are no checks, so there is nothing to answer",
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
    "check {check} has {count} expectations; 1 to {limit} are allowed",
    "split the check in two, or omit `expect` to record the value without a verdict",
)
FACT_TIME = Fault(
    "AF308",
    "fact.time",
    "the evidence for check {check} was assessed at {assessed}, not at the answer's time {at}",
    "this is a bug in the caller; assess every fact at the time of the answer, and report it",
    Exit.UNKNOWN,
)
FACT_FOREIGN = Fault(
    "AF309",
    "fact.foreign",
    "the evidence for check {check} is for another tool or other arguments",
    "this is a bug in the caller; report it",
    Exit.UNKNOWN,
)
ROUTES_FIELD = Fault(
    "AF310",
    "routes.field",
    "the route table is not valid: {problem}",
    "docs/checks.md shows a complete route table",
)
ROUTE_ID_TWICE = Fault(
    "AF311", "route.id_twice", "two routes have the id {route!r}", "give every route a unique id"
)
ROUTE_PATTERN = Fault(
    "AF312",
    "route.pattern",
    "route {route}: the pattern {pattern!r} {problem}",
    "write words and placeholders, such as: latest version of {{product}}",
)
ROUTE_OPERATOR = Fault(
    "AF313",
    "route.operator",
    "route {route}: {problem}",
    "use an operator that compares with one value, such as eq or semver_eq",
)
QUESTION_SIZE = Fault(
    "AF314", "question.size", "the question has {problem}", "ask it in one sentence"
)


# AF32x to AF34x: receipts, signing keys and time stamps.

RECEIPT_FORMAT = Fault(
    "AF320",
    "receipt.format",
    "this is not a receipt: {problem}",
    "give the receipt as it was written; no field may be added, removed or renamed",
)
RECEIPT_VERSION = Fault(
    "AF321",
    "receipt.version",
    "the schema {found!r} is not supported; {known} is",
    "use the version of Affidavit that wrote it, or ask its issuer for a current receipt",
    Exit.UNKNOWN,
)
RECEIPT_ID = Fault(
    "AF322",
    "receipt.id",
    "the receipt claims the id {said}, but its content has the id {found}",
    "ask the issuer for the original receipt",
    Exit.TAMPERED,
)
RECEIPT_SIGNATURE = Fault(
    "AF323",
    "receipt.signature",
    "the signature by {key_id} is not valid for this content",
    "ask the issuer for the original receipt",
    Exit.TAMPERED,
)
DIGEST_MISMATCH = Fault(
    "AF324",
    "digest.mismatch",
    "{what} claims sha256 {said}, but the content has {found}",
    "get the file again from its source",
    Exit.TAMPERED,
)
RECEIPT_TIME = Fault(
    "AF325",
    "receipt.time",
    "the receipt claims to be issued at {said}, which is after {limit}, {what}",
    "check the clock of this machine, and ask the issuer to explain the time",
    Exit.TAMPERED,
)
RECEIPT_CLOSURE = Fault(
    "AF326",
    "receipt.closure",
    "the receipt cites evidence that it does not contain: {what}",
    "ask the issuer for the original receipt; an answer may cite only its own evidence",
    Exit.TAMPERED,
)
RECEIPT_EVIDENCE_DIGEST = Fault(
    "AF327",
    "receipt.evidence_digest",
    "evidence does not match its digest: {what}",
    "ask the issuer for the original receipt",
    Exit.TAMPERED,
)
RECEIPT_REPLAY = Fault(
    "AF328",
    "receipt.replay",
    "the signed result does not follow from the evidence: {what}",
    "rely on the recomputed result, and ask the issuer to explain the signed one",
    Exit.TAMPERED,
)

KEY_WEAK = Fault(
    "AF329",
    "key.weak",
    "this public key is weak: anyone can forge signatures for it, or it has a second encoding",
    "create a new key with `affidavit keys new`, and do not trust this one",
)
KEY_ALGORITHM = Fault(
    "AF330",
    "key.algorithm",
    "this key is for {found}; receipts are signed with Ed25519 only",
    "give an Ed25519 key, or create one with `affidavit keys new`",
)
KEY_FORMAT = Fault(
    "AF331",
    "key.format",
    "this is not a key, a keys document or a certificate: {problem}",
    "give keys as written by `affidavit keys export`, or certificates in PEM",
)
KEY_DUPLICATE_ID = Fault(
    "AF332",
    "key.duplicate_id",
    "two different keys have the id {key_id}, so a signature would be ambiguous",
    "remove the key that you do not trust",
)
KEY_ID_MISMATCH = Fault(
    "AF333",
    "key.id_mismatch",
    "the key listed as {key_id} has another id: {found}",
    "get the keys document from its issuer again",
)
KEY_UNTRUSTED = Fault(
    "AF334",
    "key.untrusted",
    "{key_id} is not one of the trusted keys",
    "give the issuer's keys document with --keys; get it from the issuer, not with the receipt",
    Exit.UNKNOWN,
)
KEY_VALIDITY = Fault(
    "AF335",
    "key.validity",
    "{problem}",
    "ask the issuer for a receipt that is signed with an active key",
    Exit.NO,
)
KEY_USAGE = Fault(
    "AF336",
    "key.usage",
    "{key_id} is for {found}, not for signing receipts",
    "ask the issuer for a receipt that is signed with a key for receipts",
    Exit.NO,
)
KEY_PERMISSIONS = Fault(
    "AF337",
    "key.permissions",
    "other users can read this private key: its mode is {mode}, and it is not encrypted",
    "run `chmod 600` on it, or create a new key if someone may have read it",
)
KEY_PASSPHRASE = Fault(
    "AF338",
    "key.passphrase",
    "{problem}",
    "set AFFIDAVIT_KEY_PASSPHRASE to the passphrase, or type it when asked",
)
KEY_STATE = Fault("AF339", "key.state", "{problem}", "run `affidavit keys list` to see the keys")

TST_IMPRINT = Fault(
    "AF340",
    "tst.imprint",
    "the time stamp is for other content: sha256 {found}, not {wanted}",
    "ask the issuer for the time stamp of this receipt",
    Exit.TAMPERED,
)
TST_UNTRUSTED = Fault(
    "AF341",
    "tst.untrusted",
    "the time stamp does not chain to a trusted root: {problem}",
    "give the root certificates of the time stamp authority with --tsa-roots",
    Exit.NO,
)
TST_EKU = Fault(
    "AF342",
    "tst.eku",
    "the certificate that signed the time stamp is not only for time stamping: {problem}",
    "get a time stamp by a certificate whose only purpose is timeStamping, marked critical",
    Exit.NO,
)
TST_SIGNER = Fault(
    "AF343",
    "tst.signer",
    "the time stamp is not signed by the expected authority: {problem}",
    "get a time stamp by the authority that you named, with its certificate included",
    Exit.NO,
)
TST_TIME = Fault(
    "AF344",
    "tst.time",
    "the time of the time stamp, {found}, is not possible: {problem}",
    "get a new time stamp by an authority with a valid certificate",
    Exit.NO,
)
TST_NONCE = Fault(
    "AF345",
    "tst.nonce",
    "the time stamp is for another request: its nonce differs from the one sent",
    "request a new time stamp",
    Exit.TAMPERED,
)
TST_POLICY = Fault(
    "AF346",
    "tst.policy",
    "the time stamp was made under the policy {found}, not {wanted}",
    "get a time stamp under the policy that you named",
    Exit.NO,
)
TST_ENCODING = Fault(
    "AF347",
    "tst.encoding",
    "this is not a granted time stamp in strict DER: {problem}",
    "request a new time stamp",
    Exit.UNKNOWN,
)
TST_HASH = Fault(
    "AF348",
    "tst.hash",
    "the time stamp uses {found}; only {wanted} is accepted",
    "get a time stamp over SHA-256",
    Exit.NO,
)
TST_MISSING = Fault(
    "AF349",
    "tst.missing",
    "an independent time stamp is required, and the receipt has none",
    "ask the issuer for the anchored receipt or its token (--time-stamp FILE): an anchor can be"
    " removed without a trace",
    Exit.UNKNOWN,
)


# AF350 to AF369: tools and their sources in a config file.

TOOLS_SYNTAX = Fault(
    "AF350",
    "tools.syntax",
    "this is not valid {kind}: {problem}",
    "correct the text at that position",
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
    "the name of a config file must end in .toml, .yaml or .yml",
    "rename it, or give another file",
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
    "a deadline of {given} ms is not allowed",
    "give a whole number of milliseconds from 1 to {limit}",
)


# AF37x: answer requests, and verifying many receipts.

ANSWER_REQUEST = Fault(
    "AF370",
    "answer.request",
    "this is not a request that can be answered: {problem}",
    'write a list of checks, or {{"checks": [...]}}; docs/answers.md shows complete files',
)
STAMP_UNAVAILABLE = Fault(
    "AF371",
    "stamp.unavailable",
    "the time stamp authority {url} returned no token: {problem}",
    "try again, ask another authority, or go without a time stamp",
    Exit.UNKNOWN,
)
RECEIPTS_NONE = Fault(
    "AF372",
    "receipts.none",
    "there are no receipts here, so nothing was verified",
    "give files, a folder of .json files, or .jsonl files with one receipt per line",
    Exit.UNKNOWN,
)
KEYS_NONE = Fault(
    "AF373",
    "keys.none",
    "there are no trusted keys: none are given, and this project has none",
    "give the issuer's keys document with --keys; get it from the issuer, not with the receipt",
)
ROUTES_OTHER = Fault(
    "AF374",
    "routes.other",
    "the question was routed by the table {signed}, but this one is {found}",
    "give the route table that the receipt was made with, or replay without one",
    Exit.UNKNOWN,
)
KEY_NONE = Fault(
    "AF375",
    "key.none",
    "there is no signing key, so no receipt can be issued",
    "create one with `affidavit keys new`",
)
STAMP_ADDRESS = Fault(
    "AF376",
    "stamp.address",
    "this is not the address of a time stamp authority: {problem}",
    "give one such as https://tsa.example.org/tsr, or `self` for the digest only",
)
RECEIPT_UNREPLAYABLE = Fault(
    "AF377",
    "receipt.unreplayable",
    "cannot replay {what}",
    "use a version of Affidavit that knows these rules, or ask the issuer for a verifier",
    Exit.UNKNOWN,
)
SIGNATURE_ALGORITHM = Fault(
    "AF378",
    "signature.algorithm",
    "the signature is {found}; only {known} is accepted",
    "ask the issuer for the original receipt",
    Exit.TAMPERED,
)
RECEIPT_ROUTING = Fault(
    "AF379",
    "receipt.routing",
    "the question does not compile to the checks that were signed: {what}",
    "rely on the compiled checks, and ask the issuer to explain the signed ones",
    Exit.TAMPERED,
)
ANCHOR_UNKNOWN = Fault(
    "AF380",
    "anchor.unknown",
    "the anchor is of a kind that is not known: {found!r}",
    "use a version that knows it, or remove the anchor, which the signature does not cover",
    Exit.UNKNOWN,
)
CHECK_ARGUMENT = Fault(
    "AF382",
    "check.argument",
    "check {check}: the tool {tool} does not declare the argument {argument!r}",
    "leave it out, or declare it in required_args or optional_args; the tool takes {known}",
)
REGISTRY_CONTRADICTION = Fault(
    "AF383",
    "registry.contradiction",
    "the key registry contradicts itself: {problem}",
    "get the registry from its issuer again, and trust no key of it before that is settled",
)


# AF388 to AF399: answers from the command line.

HELP_TOPIC = Fault(
    "AF388",
    "help.topic",
    "there is no page about {topic!r}",
    "choose one of: {known}",
)
ASSERTION = Fault(
    "AF389",
    "answer.assertion",
    "{text!r} is not an assertion about a file",
    "write a path, one operator and a value, such as 'price <= 10'; JSON is written in full, and a "
    "text with < > = in double quotes, such as 'name = \"a=b\"'",
)
RECEIPT_SIZE = Fault(
    "AF390",
    "receipt.size",
    "the receipt would have {size} bytes, and `affidavit verify` reads {limit}",
    "ask for less in one request, or let the sources select less of their results",
)
CHECKS_TOO_MANY = Fault(
    "AF391",
    "checks.too_many",
    "there are {count} checks, and linked receipts hold {limit}",
    "ask in several requests",
)
CHECK_SCHEMA = Fault(
    "AF394",
    "check.schema",
    "check {check}: the JSON Schema is refused: {problem}",
    "docs/checks.md lists the keywords of matches_schema",
)
LINKS_INCOMPLETE = Fault(
    "AF392",
    "links.incomplete",
    "of {count} linked receipts, these are missing or not valid: {missing}",
    "name all of them, or the file that has all of them",
    Exit.UNKNOWN,
)
LINKS_BROKEN = Fault(
    "AF393",
    "links.broken",
    "the linked receipts are not those that were issued together: {problem}",
    "get all of them from the issuer again",
    Exit.TAMPERED,
)
STAMP_EXISTS = Fault(
    "AF529",
    "receipt.stamp_exists",
    "there is a time stamp already, and an earlier one cannot be had again",
    "keep it, or write another one beside it with --output",
)
