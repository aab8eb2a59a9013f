"""AF50x to AF52x: the service, and the API keys that open it."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

KEY_NEEDED = Fault(
    "AF500",
    "service.key_needed",
    "{problem}",
    "send `Authorization: Bearer KEY`; whoever runs the service makes one with"
    " `affidavit apikeys new`",
)
SCOPE_NEEDED = Fault(
    "AF501",
    "service.scope_needed",
    "the API key {key} is not for this: it lacks the scope {scope}",
    "ask whoever runs the service for a key with that scope",
)
TOO_OFTEN = Fault(
    "AF502",
    "service.too_often",
    "too many requests from this {who}: {rate} a second are allowed",
    "wait {seconds} s, as Retry-After says, then go on more slowly",
    Exit.UNKNOWN,
)
BODY_TOO_LARGE = Fault(
    "AF503",
    "service.body_too_large",
    "the body has more than {limit} bytes",
    "send less at a time, or ask whoever runs the service for a higher limit",
)
NOT_JSON = Fault(
    "AF504",
    "service.not_json",
    "the body is {found}, not application/json without a content encoding",
    "send JSON in UTF-8 with `Content-Type: application/json`",
)
NO_SUCH_ADDRESS = Fault(
    "AF505",
    "service.no_such_address",
    "there is nothing at this address",
    "GET /schema lists every address of the service",
)
NO_SUCH_METHOD = Fault(
    "AF506",
    "service.no_such_method",
    "this address does not take this method",
    "use one of: {allowed}",
)
BUSY = Fault(
    "AF507",
    "service.busy",
    "the service works on as many requests as it can",
    "wait {seconds} s, as Retry-After says, and try again",
    Exit.UNKNOWN,
)
BODY_LATE = Fault(
    "AF508",
    "service.body_late",
    "the body did not arrive within {seconds} s",
    "send it again, in one go",
    Exit.UNKNOWN,
)
WRONG_HOST = Fault(
    "AF509",
    "service.wrong_host",
    "a request without an API key must name this machine as its host: 127.0.0.1, ::1, localhost",
    "use the address that `affidavit serve` printed, or send an API key",
)
NOT_READY = Fault(
    "AF510",
    "service.not_ready",
    "the service cannot do this at present, for a reason of its own",
    "tell whoever runs the service; its log names the reason beside this request id",
    Exit.UNKNOWN,
)
BAD_REQUEST = Fault(
    "AF511",
    "service.bad_request",
    "the request itself is malformed",
    "send it with a common HTTP client",
)

SERVE_KEYS_NEEDED = Fault(
    "AF520",
    "serve.keys_needed",
    "{host} can be reached from other machines, and there is no API key to ask them for",
    "make one with `affidavit apikeys new NAME`, or serve this machine alone: --host 127.0.0.1",
)
SERVE_ADDRESS = Fault(
    "AF521",
    "serve.address",
    "cannot listen at {host} port {port} ({reason})",
    "choose another with --host and --port, or stop what listens there",
)
API_KEYS_FORMAT = Fault(
    "AF522",
    "apikeys.format",
    "this is not a file of API keys: {problem}",
    "restore it from a backup, or remove it and make new keys",
)
API_KEYS_READABLE = Fault(
    "AF523",
    "apikeys.permissions",
    "others can read or change the file of API keys: its mode is {mode}",
    "run `chmod 600` on it, and make new keys if somebody may have changed it",
)
API_KEY_UNKNOWN = Fault(
    "AF524",
    "apikey.unknown",
    "{reference!r} means no API key here, or more than one",
    "run `affidavit apikeys list` to see which there are",
)
API_KEY_NAME = Fault(
    "AF525",
    "apikey.name",
    "{name!r} cannot be the name of an API key: {problem}",
    "use up to 64 letters, digits, spaces and marks such as . _ - @",
)
