"""AF800 to AF849: telemetry in and out."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

EXPORT_SUBJECT = Fault(
    "AF800",
    "export.subject",
    "this cannot be exported: {problem}",
    "give a bundle, the log of a run, a ledger, a gate report or a report of a soak",
)
EXPORT_ENDPOINT = Fault(
    "AF801",
    "export.endpoint",
    "the address {url!r} cannot be used: {problem}",
    "give http:// or https:// with a host, such as http://127.0.0.1:4318",
)
EXPORT_REFUSED = Fault(
    "AF802",
    "export.refused",
    "{url} did not take the spans: {problem}",
    "see the log of that service; nothing was changed here, so the export can be repeated",
    Exit.UNKNOWN,
)
OTLP_FORMAT = Fault(
    "AF803",
    "otlp.format",
    "this is not OTLP: {problem}",
    "give spans or log records as OTLP/JSON (one message, or one in each line) or protobuf (.pb)",
)
OTLP_EMPTY = Fault(
    "AF804",
    "otlp.empty",
    "there are no spans in {files}",
    "give an export of spans; log records alone make no run",
    Exit.UNKNOWN,
)
OTLP_TRACES = Fault(
    "AF805",
    "otlp.traces",
    "the files hold {count} traces, and a bundle holds one run",
    "give a folder with -o, or choose one trace with --trace, such as --trace {first}",
)
OTLP_TRACE = Fault(
    "AF806",
    "otlp.trace",
    "the files hold no trace {trace!r}",
    "give the id of one of them in hexadecimal digits, such as {first}",
)
OTLP_DIALECT = Fault(
    "AF807",
    "otlp.dialect",
    "no span has an attribute {marker!r}, so this is not {dialect}",
    "leave --from out of it, or give the convention that the spans follow: {found}",
)
RECEIVER_FULL = Fault(
    "AF808",
    "receiver.full",
    "the receiver of spans holds as much as it may",
    "wait {seconds} s (see Retry-After) and send the same spans again; nothing of them was taken",
    Exit.UNKNOWN,
)
RECEIVED_BODY = Fault(
    "AF809",
    "receiver.body",
    "the body is not an export request of OTLP: {problem}",
    "send spans to /v1/traces and log records to /v1/logs with an exporter of OpenTelemetry",
)
RECEIVED_TYPE = Fault(
    "AF810",
    "receiver.type",
    "the body is {found}; it has to be application/x-protobuf or application/json",
    "send OTLP with one of these types, as it is or packed by gzip or deflate",
)
RECEIVER_GRPC = Fault(
    "AF811",
    "receiver.grpc",
    "cannot receive OTLP over gRPC at {host} port {port} ({reason})",
    "choose another port with --otlp-grpc-port, or stop the process that uses it",
)
PROXY_ADDRESS = Fault(
    "AF812",
    "proxy.address",
    "the address {url!r} cannot be used: {problem}",
    "give the base address that the program would call, such as https://api.openai.com/v1",
)
PROXY_PORT = Fault(
    "AF813",
    "proxy.port",
    "cannot listen at port {port} of this machine ({reason})",
    "choose another with --port; 0 means any free port",
)
EXPORT_EMPTY = Fault(
    "AF814",
    "export.empty",
    "there is nothing to export: {problem}",
    "give a run that has recorded something; `affidavit evidence show` lists what a bundle has",
    Exit.UNKNOWN,
)
