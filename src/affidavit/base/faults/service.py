"""Faults AF5xx: the service and its API keys."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

KEY_NEEDED = Fault(
    "AF500",
    "service.key_needed",
    "{problem}",
    "send `Authorization: Bearer KEY`; the operator creates one with `affidavit apikeys new`",
)
SCOPE_NEEDED = Fault(
    "AF501",
    "service.scope_needed",
    "the API key {key} lacks the scope {scope}",
    "ask the operator of the service for a key with that scope",
)
TOO_OFTEN = Fault(
    "AF502",
    "service.too_often",
    "too many requests from this {who}: the limit is {rate} per second",
    "wait {seconds} s (see Retry-After), then send requests more slowly",
    Exit.UNKNOWN,
)
BODY_TOO_LARGE = Fault(
    "AF503",
    "service.body_too_large",
    "the request body has more than {limit} bytes",
    "send less at a time, or ask the operator of the service for a higher limit",
)
NOT_JSON = Fault(
    "AF504",
    "service.not_json",
    "the request body is {found}; it has to be application/json without a content encoding",
    "send JSON in UTF-8 with `Content-Type: application/json`",
)
NO_SUCH_ADDRESS = Fault(
    "AF505",
    "service.no_such_address",
    "this path does not exist",
    "GET /docs describes every path of the service",
)
NO_SUCH_METHOD = Fault(
    "AF506",
    "service.no_such_method",
    "this path does not support this method",
    "use one of: {allowed}",
)
BUSY = Fault(
    "AF507",
    "service.busy",
    "the service is at its limit of concurrent requests",
    "wait {seconds} s (see Retry-After) and try again",
    Exit.UNKNOWN,
)
BODY_LATE = Fault(
    "AF508",
    "service.body_late",
    "the request body did not arrive within {seconds} s",
    "send it again without pauses",
    Exit.UNKNOWN,
)
WRONG_HOST = Fault(
    "AF509",
    "service.wrong_host",
    "a request without an API key must have this machine as its Host: 127.0.0.1, ::1, localhost",
    "use the address printed by `affidavit serve`, or send an API key",
)
NOT_READY = Fault(
    "AF510",
    "service.not_ready",
    "the service cannot process this at present because of an internal problem",
    "tell the operator of the service; its log has the reason under this request id",
    Exit.UNKNOWN,
)
BAD_REQUEST = Fault(
    "AF511", "service.bad_request", "the request is malformed", "use a standard HTTP client"
)

SERVE_KEYS_NEEDED = Fault(
    "AF520",
    "serve.keys_needed",
    "{host} is reachable from other machines, but nobody there could use the service",
    "add somebody with `affidavit users add NAME --role admin` or `affidavit apikeys new NAME`, or"
    " serve only this machine: --host 127.0.0.1",
)
SERVE_ADDRESS = Fault(
    "AF521",
    "serve.address",
    "cannot listen at {host} port {port} ({reason})",
    "choose another with --host and --port, or stop the process that uses it",
)
API_KEYS_FORMAT = Fault(
    "AF522",
    "apikeys.format",
    "this is not a file of API keys: {problem}",
    "restore it from a backup, or delete it and create new keys",
)
API_KEYS_READABLE = Fault(
    "AF523",
    "apikeys.permissions",
    "other users can read or change the file of API keys: its mode is {mode}",
    "run `chmod 600` on it, and create new keys if someone may have changed it",
)
API_KEY_UNKNOWN = Fault(
    "AF524",
    "apikey.unknown",
    "{reference!r} matches no API key, or more than one",
    "run `affidavit apikeys list` to see the keys",
)
API_KEY_NAME = Fault(
    "AF525",
    "apikey.name",
    "{name!r} cannot be the name of an API key: {problem}",
    "use up to 64 letters, digits, spaces and characters such as . _ - @",
)
FRAMING = Fault(
    "AF526",
    "service.framing",
    "the length of the request is ambiguous: it has {problem}",
    "send one Content-Length, or Transfer-Encoding without it, as standard HTTP clients do",
)
BODY_INCOMPLETE = Fault(
    "AF527",
    "service.body_incomplete",
    "the connection was closed before the whole request body arrived",
    "send it again, and wait for the response before closing the connection",
    Exit.UNKNOWN,
)
SHARE_USED = Fault(
    "AF528",
    "service.share_used",
    "this caller has {count} requests running, and the other slots are kept for other callers",
    "wait {seconds} s (see Retry-After), or for the responses, and try again",
    Exit.UNKNOWN,
)

# AF540 to AF559: people who sign in, and the audit log.

SIGN_IN_REFUSED = Fault(
    "AF540",
    "sign_in.refused",
    "the name or the password is not right",
    "try again, or ask an administrator for a new password",
)
SIGN_IN_WAIT = Fault(
    "AF541",
    "sign_in.wait",
    "there were too many failed attempts for this name",
    "wait {seconds} s (see Retry-After) and try again",
    Exit.UNKNOWN,
)
SIGN_IN_NEEDED = Fault(
    "AF542",
    "sign_in.needed",
    "this needs a person who is signed in",
    "sign in at /sign-in",
)
CSRF_TOKEN = Fault(
    "AF543",
    "sign_in.csrf_token",
    "the request does not carry the token of the sign-in that it uses",
    "load the page again, and send the token as X-CSRF-Token",
)
CROSS_SITE = Fault(
    "AF544",
    "sign_in.cross_site",
    "a page of another site sent this request",
    "use the pages of the service itself, or send an API key",
)
ROLE_NEEDED = Fault(
    "AF545",
    "sign_in.role_needed",
    "the role {role} does not permit this: it lacks the scope {scope}",
    "ask an administrator of the workspace for another role",
)
USER_UNKNOWN = Fault(
    "AF546",
    "user.unknown",
    "the workspace has no user {user!r}",
    "run `affidavit users list` to see the users",
)
USER_NAME = Fault(
    "AF547",
    "user.name",
    "{name!r} cannot be the name of a new user: {problem}",
    "use up to 64 letters, digits and . _ - @ +, and a name that nobody has",
)
USER_PASSWORD = Fault(
    "AF548",
    "user.password",
    "this cannot be a password: {problem}",
    "use 12 to 128 characters, such as four words that do not belong together",
)
USER_CHANGE = Fault(
    "AF549",
    "user.change",
    "this user cannot be changed so: {problem}",
    "ask another administrator, or run `affidavit users` on the machine of the service",
)
OIDC_CONFIG = Fault(
    "AF550",
    "oidc.config",
    "sign-in by OpenID Connect is not configured: {problem}",
    "see docs/sign-in.md for the table [oidc] of affidavit.toml",
)
OIDC_REFUSED = Fault(
    "AF551",
    "oidc.refused",
    "the identity provider did not sign you in: {problem}",
    "try again from /sign-in, or ask the operator of the service",
)
AUDIT_FORMAT = Fault(
    "AF552",
    "audit.format",
    "this is not an audit log: {problem}",
    "export it again with GET /api/v1/audit or `affidavit audit export`",
)
AUDIT_CHAIN = Fault(
    "AF553",
    "audit.chain",
    "the chain of the audit log does not hold: {problem}",
    "believe nothing in it, and compare it with an earlier export",
    Exit.TAMPERED,
)
AUDIT_SIGNATURE = Fault(
    "AF554",
    "audit.signature",
    "the signature over the end of the audit log does not hold",
    "believe nothing in it, and compare it with an earlier export",
    Exit.TAMPERED,
)
AUDIT_KEY = Fault(
    "AF555",
    "audit.key",
    "the key {key} that signed the audit log cannot be trusted: {problem}",
    "name the keys of the service with --keys, from GET /.well-known/signing-key-registry.json",
    Exit.UNKNOWN,
)
MCP_MISSING = Fault(
    "AF556",
    "mcp.missing",
    "the package mcp is not installed",
    "run `pip install 'affidavit[ledger,mcp]'`",
)
