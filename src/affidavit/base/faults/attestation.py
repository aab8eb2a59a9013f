"""Faults AF69x to AF73x: DSSE envelopes, in-toto statements, trust policies and logs of them."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

_ASK_SIGNER = "get the attestation again from whoever signed it"
_DOCS = "docs/attestation.md describes it"

# AF690 to AF699: envelopes, their signatures, and the policy that judges them.

DSSE_FORMAT = Fault(
    "AF690",
    "dsse.format",
    "this is not a DSSE envelope: {problem}",
    "give a file of `affidavit attest`",
)
DSSE_BASE64 = Fault(
    "AF691",
    "dsse.base64",
    "{what} is not base64 in its one canonical form",
    _ASK_SIGNER,
)
DSSE_PAYLOAD_TYPE = Fault(
    "AF692",
    "dsse.payload_type",
    "the payload type {found!r} is not supported; {known} is",
    "verify it with the tool that wrote it",
    Exit.UNKNOWN,
)
DSSE_NO_SIGNATURE = Fault(
    "AF693", "dsse.no_signature", "the envelope has no signature", _ASK_SIGNER, Exit.UNKNOWN
)
DSSE_SIGNATURE = Fault(
    "AF694",
    "dsse.signature",
    "the signature by {key_id} is not valid for this payload",
    _ASK_SIGNER,
    Exit.TAMPERED,
)
DSSE_THRESHOLD = Fault(
    "AF695",
    "dsse.threshold",
    "{problem}",
    "ask the missing signers to add theirs with `affidavit attest --add`",
    Exit.NO,
)
POLICY_THRESHOLD = Fault(
    "AF696",
    "policy.threshold",
    "a threshold of {found} for {what} cannot be met or checks nothing",
    "require at least one key, and at most as many as the role has",
)
POLICY_FORMAT = Fault("AF697", "policy.format", "invalid trust policy: {problem}", _DOCS)
POLICY_KEY = Fault("AF698", "policy.unknown_key", "unknown key {key!r}", "{advice}")
POLICY_REQUIRED = Fault(
    "AF699",
    "policy.required",
    "the policy requires {wanted}, and the statement has {found}",
    "ask for an attestation that meets the policy; a policy is not lowered to fit one",
    Exit.NO,
)

# AF700 to AF719: Sigstore bundles, statements, what they are about, and making them.

BUNDLE_SIGNATURE_COUNT = Fault(
    "AF700",
    "bundle.signature_count",
    "a Sigstore bundle has exactly one signature, not {found}",
    "export the envelope with one signature, or keep the DSSE envelope",
)
SIGSTORE_FORMAT = Fault(
    "AF701",
    "sigstore.format",
    "this is not a Sigstore bundle v0.3 with a key and a DSSE envelope: {problem}",
    "verify bundles with certificates or other versions with Sigstore's own tools",
)
STATEMENT_FORMAT = Fault(
    "AF702", "statement.format", "the payload is not an in-toto statement: {problem}", _ASK_SIGNER
)
STATEMENT_TYPE = Fault(
    "AF703",
    "statement.type",
    "the statement has the type {found!r}; only {known} can be verified",
    "ask for a statement of that version",
    Exit.UNKNOWN,
)
STATEMENT_PREDICATE_TYPE = Fault(
    "AF704",
    "statement.predicate_type",
    "the predicate type {found!r} {problem}",
    "verify it with the tool that wrote it, or ask for a predicate of `affidavit attest`",
    Exit.UNKNOWN,
)
STATEMENT_SUBJECT = Fault(
    "AF705", "statement.subject", "the statement is about nothing: {problem}", _ASK_SIGNER
)
STATEMENT_MISMATCH = Fault(
    "AF706",
    "statement.subject_mismatch",
    "the statement is not about this file: it names {said}, and the file has {found}",
    "get the file that the statement is about, or the statement that is about the file",
    Exit.TAMPERED,
)
STATEMENT_DIGEST_FORMAT = Fault(
    "AF707",
    "statement.digest_format",
    "{what} is not a {algorithm} digest in lower-case hexadecimal digits",
    _ASK_SIGNER,
)
STATEMENT_DIGEST_ALGORITHM = Fault(
    "AF708",
    "statement.digest_algorithm",
    "{what} has no sha256, sha384 or sha512 digest, only {found}",
    "ask for a statement with a sha256 digest",
    Exit.UNKNOWN,
)
STATEMENT_DIGEST_CONFLICT = Fault(
    "AF709",
    "statement.digest_conflict",
    "the {algorithm} of {what} does not match, although another digest does",
    _ASK_SIGNER,
    Exit.TAMPERED,
)
JSON_UNKNOWN_MEMBER = Fault(
    "AF710",
    "json.unknown_member",
    "a statement has no member {name!r}, so two readers could see different statements",
    _ASK_SIGNER,
)
STATEMENT_PREDICATE = Fault(
    "AF711",
    "statement.predicate",
    "the statement says {said} for {field}, and the file itself gives {found}",
    "do not rely on the statement; ask its signers to explain it",
    Exit.TAMPERED,
)
STATEMENT_NOT_RECOMPUTED = Fault(
    "AF712",
    "statement.not_recomputed",
    "the predicate cannot be recomputed: {problem}",
    "name the packs with --pack, or use the version of Affidavit that attested",
    Exit.UNKNOWN,
)
ATTEST_SUBJECT = Fault(
    "AF713",
    "attest.no_subject",
    "the file that the statement is about is not here: {name}",
    "name it with --subject",
    Exit.UNKNOWN,
)
ATTEST_KIND = Fault(
    "AF714",
    "attest.kind",
    "this is neither a bundle nor a receipt, a ledger or a gate report: {problem}",
    "attest a file of `affidavit evidence seal`, `answer`, `check` or `gate`",
)
ATTEST_INVALID = Fault(
    "AF715",
    "attest.invalid",
    "what this file says does not follow from what it holds: {problem}",
    "attest only what replays; `affidavit replay` shows every difference",
    Exit.TAMPERED,
)
SIGNER_COMMAND = Fault(
    "AF716",
    "signer.command",
    "the signing command failed: {problem}",
    "run the command by hand; it reads the bytes to sign and writes a 64-byte signature",
    Exit.UNKNOWN,
)
SIGNER_RESULT = Fault(
    "AF717",
    "signer.result",
    "the signing command returned {problem}",
    "check that the command uses the private part of the named public key",
)
SIGNER_FORMAT = Fault("AF718", "signer.format", "invalid signer: {problem}", _DOCS)
ATTEST_PREDICATE = Fault(
    "AF719",
    "attest.predicate",
    "there is no {predicate} predicate of this {kind}: {problem}",
    "leave --predicate out, or choose another one",
)

# AF720 to AF729: the append-only log.

LOG_FORMAT = Fault("AF720", "log.format", "this is not a {what}: {problem}", _DOCS)
LOG_CHECKPOINT = Fault(
    "AF721",
    "log.checkpoint",
    "the checkpoint is not to be believed: {problem}",
    "name the key of the log with --log-key; get it from whoever keeps the log",
    Exit.NO,
)
LOG_INCLUSION = Fault(
    "AF722",
    "log.inclusion",
    "the proof does not show that the entry is in the log: {problem}",
    "ask whoever keeps the log for another proof",
    Exit.TAMPERED,
)
LOG_BINDING = Fault(
    "AF723",
    "log.binding",
    "the log entry is of another envelope: {problem}",
    "get the proof of this envelope with `affidavit log prove`",
    Exit.TAMPERED,
)
LOG_CONSISTENCY = Fault(
    "AF724",
    "log.consistency",
    "the log was rewritten or forked: {problem}",
    "keep both checkpoints: together they prove it",
    Exit.TAMPERED,
)
LOG_MISSING = Fault(
    "AF725",
    "log.missing",
    "a proof of a log is required, and the envelope has none",
    "append it with `affidavit log append`",
    Exit.UNKNOWN,
)
LOG_WITNESSES = Fault(
    "AF726",
    "log.witnesses",
    "{found} of the {wanted} required witnesses cosigned the checkpoint",
    "ask witnesses to cosign it with `affidavit log cosign`",
    Exit.NO,
)
LOG_UNPROVED = Fault(
    "AF731",
    "log.unproved",
    "nothing shows that the log continues the {seen} entries that you saw: {problem}",
    "ask whoever keeps the log for `affidavit log prove LOG --since CHECKPOINT`",
    Exit.UNKNOWN,
)
LOG_STATE = Fault("AF727", "log.state", "{problem}", "run `affidavit log check` on it")
LOG_ENTRY = Fault(
    "AF728",
    "log.entry",
    "{problem}",
    "append it with `affidavit log append`",
)
LOG_NONE = Fault(
    "AF729",
    "log.none",
    "there is no log here",
    "check the path, or create a log with `affidavit log init`",
)

# AF730: linked receipts.

ATTEST_LINKED = Fault(
    "AF730",
    "attest.linked",
    "these are linked receipts, or one of several, which alone says nothing about the others",
    "verify them together with `affidavit verify`; attest receipts that are not linked",
    Exit.UNKNOWN,
)
