"""Run by interop/otel.sh: an agent under a real instrumentation, sealed, verified, linted."""

import asyncio
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

CALLS = [
    {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": '{"of": "Ann"}'},
    }
    for number, name in enumerate(("leave_days", "office_hours"))
]


class Provider(BaseHTTPRequestHandler):
    """A stub of the provider: two tool calls first, then an answer."""

    def do_POST(self) -> None:
        """Answer a chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        has_results = any(one["role"] == "tool" for one in asked["messages"])
        message = {"role": "assistant", "content": "12 days; from 9:00 to 17:00."}
        if not has_results:
            message = {"role": "assistant", "content": None, "tool_calls": CALLS}
        body = json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "gpt-4o-mini-2024-07-18",
                "choices": [
                    {
                        "index": 0,
                        "message": message,
                        "finish_reason": "stop" if has_results else "tool_calls",
                    }
                ],
                "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def instrument(name: str, provider, logs) -> None:
    """Switch on one of the instrumentations of the registry."""
    if name == "openai-v2":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

        OpenAIInstrumentor().instrument(tracer_provider=provider, logger_provider=logs)
    elif name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
    else:
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor as Traceloop

        Traceloop().instrument(tracer_provider=provider)


def record(name: str, folder: Path) -> Path:
    """Run the agent and return its bundle."""
    from interop.otel_agent import make_agent
    from openinference.instrumentation import OITracer, TraceConfig
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from affidavit.otel import SealingSpanProcessor

    processor = SealingSpanProcessor(
        folder, absent_signals={"retrieved_evidence": "the agent has no retriever"}
    )
    resource = Resource.create({"service.name": "leave-agent", "service.version": "1.0"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(processor.log_exporter()))
    instrument(name, provider, logs)
    tracer = OITracer(provider.get_tracer("leave-agent"), TraceConfig())
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        ask = make_agent(tracer, f"http://127.0.0.1:{server.server_address[1]}/v1")
        answer = asyncio.run(ask("How many days of leave, and when is the office open?"))
        server.shutdown()
    assert answer == "12 days; from 9:00 to 17:00."
    provider.shutdown()
    assert processor.problems == (), processor.problems
    (bundle,) = processor.sealed
    return bundle


def affidavit(*words: str) -> str:
    """Run a command; it must say yes."""
    done = subprocess.run(
        [sys.executable, "-m", "affidavit", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    """Check one instrumentation."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    bundle = record(name, folder)
    affidavit("evidence", "verify", str(bundle))
    shown = json.loads(affidavit("evidence", "show", str(bundle), "--events", "--json"))
    types = [one["type"].removeprefix("affidavit.") for one in shown["events"]]
    assert types.count("model.call") == 2, types
    assert types.count("tool.call") == 2, types
    call = next(one["data"] for one in shown["events"] if one["type"] == "affidavit.model.call")
    assert call["model"] == "gpt-4o-mini", call
    assert call["usage"]["input_tokens"] == 12, call
    # OpenLLMetry does not send the seed, which is a tenth of the score.
    least = "0.9" if name == "traceloop" else "0.901"
    packs = ("--pack", "cicd-starter,eu-ai-act-baseline")
    lint = json.loads(
        affidavit("evidence", "lint", str(bundle), *packs, "--min-closure", least, "--json")
    )
    closure = lint["bundles"][0]["closure_report"]["closure"]
    print(f"{name}: {len(types)} events, closure {closure['score']}, missing {closure['missing']}")


if __name__ == "__main__":
    main()
