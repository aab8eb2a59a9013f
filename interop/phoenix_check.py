"""Run by interop/phoenix.sh: what Phoenix shows of a run that was exported to it."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import affidavit

START_SECONDS = 900
OPEN = build_opener(ProxyHandler({})).open  # Loopback never goes through a proxy.


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def record(log: Path) -> None:
    """Record a run with a step, a call of a model, a call of a tool and a verdict."""
    with affidavit.record(log, input="How many days?") as run:
        with run.step("agent", input="How many days?") as step:
            run.model_call(
                "gpt-4o-mini",
                provider="openai",
                input=[{"role": "user", "content": "How many days?"}],
                output=[{"role": "assistant", "content": "Twelve."}],
                parameters={"temperature": 0, "seed": 7},
                usage={"input_tokens": 12, "output_tokens": 3},
            )
            run.tool_call("leave_days", input={"of": "Ann"}, output={"days": 12})
            step.output = "Twelve."
        run.verdict("ship", subject="groundedness", score=0.9, reason="every claim holds")
        run.finish(output="Twelve.")


def export(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `affidavit export otel`."""
    command = [sys.executable, "-m", "affidavit", "export", "otel", *words, "--include-content"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shown(address: str, wanted: int) -> dict[str, dict]:
    """Return the spans that Phoenix shows, by name, when there are enough of them."""
    until = time.monotonic() + 60
    while True:
        with OPEN(f"{address}/v1/projects/default/spans?limit=100") as response:
            found = {one["name"]: one for one in json.load(response)["data"]}
        if len(found) >= wanted or time.monotonic() > until:
            return found
        time.sleep(0.5)


def check(http: int, grpc: int, folder: Path) -> None:
    """Export over HTTP and over gRPC, and read what is shown."""
    log = folder / "run.jsonl"
    record(log)
    address = f"http://127.0.0.1:{http}"
    refused = export(str(log), "--endpoint", address)
    assert refused.returncode == 3, refused
    assert "--events-on-spans" in refused.stderr, refused.stderr
    for options in (
        ("--endpoint", address),
        ("--endpoint", f"http://127.0.0.1:{grpc}", "--protocol", "grpc"),
    ):
        done = export(str(log), *options, "--events-on-spans")
        assert done.returncode == 0, done.stderr
    spans = shown(address, 4)
    assert set(spans) == {
        "chat gpt-4o-mini",
        "execute_tool leave_days",
        "invoke_workflow agent",
        "invoke_workflow run",
    }, spans
    assert len({one["context"]["trace_id"] for one in spans.values()}) == 1
    root, agent = spans["invoke_workflow run"], spans["invoke_workflow agent"]
    call, tool = spans["chat gpt-4o-mini"], spans["execute_tool leave_days"]
    ids = [one["context"]["span_id"] for one in (root, agent)]
    assert [root["parent_id"], agent["parent_id"]] == [None, ids[0]]
    assert [call["parent_id"], tool["parent_id"]] == [ids[1], ids[1]]
    assert (call["span_kind"], tool["span_kind"]) == ("LLM", "TOOL")
    assert call["attributes"]["gen_ai.usage.input_tokens"] == 12
    assert "Twelve." in call["attributes"]["gen_ai.output.messages"]
    (evaluation,) = [one for one in root["events"] if one["name"] == "gen_ai.evaluation.result"]
    held = evaluation["attributes"]
    assert held["gen_ai.evaluation.name"] == "groundedness", held
    assert held["gen_ai.evaluation.score.value"] == 0.9, held
    assert held["gen_ai.evaluation.score.label"] == "ship", held
    print(f"Phoenix shows {len(spans)} spans of one trace, and the evaluation")


def main() -> None:
    """Start Phoenix, check, stop it."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    http, grpc = free_port(), free_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(folder / "phoenix"),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "log").open("wb") as output:
        process = subprocess.Popen(
            [program, "serve"], env={**os.environ, **settings}, stdout=output, stderr=output
        )
        try:
            until = time.monotonic() + START_SECONDS
            while time.monotonic() < until and process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", http)) == 0:
                        break
                time.sleep(0.5)
            check(http, grpc, folder)
        except BaseException:
            sys.stderr.write((folder / "log").read_text("utf-8")[-3000:])
            raise
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
