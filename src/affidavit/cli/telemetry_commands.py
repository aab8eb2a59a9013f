"""The commands `affidavit export otel` and `affidavit proxy`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.evidence_commands import limits_from_option, limits_option
from affidavit.cli.terminal import Terminal

_PROTOCOLS = ("http/protobuf", "http/json", "grpc")


def _headers(texts: tuple[str, ...]) -> dict[str, str]:
    """Return headers of the form NAME=VALUE, as in OTEL_EXPORTER_OTLP_HEADERS."""
    headers = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not (name + value).isprintable():
            raise click.UsageError(f"--header {name!r} is not of the form NAME=VALUE")
        headers[name.strip()] = value.strip()
    return headers


@command(
    examples=(
        Example(
            "affidavit export otel run.tar.gz -o otel", "traces.jsonl, logs.jsonl and the loss"
        ),
        Example(
            "affidavit export otel run.tar.gz -o otel --include-content",
            "with prompts, answers and what tools were given",
        ),
        Example(
            "affidavit export otel gate.json --endpoint http://127.0.0.1:4317 --protocol grpc",
            "the results of a gate, sent to a collector",
        ),
    ),
    exits={
        Exit.YES: "exported; the report says what the conventions have no place for",
        Exit.UNKNOWN: "there is nothing to export, or the endpoint did not take it",
        Exit.TAMPERED: "the bundle contradicts itself; nothing is exported",
    },
)
@click.argument(
    "subject",
    type=click.Path(path_type=Path),
    help="A bundle, the log of a run, a ledger, a gate report, or a report of a soak.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The folder to write OTLP/JSON files to.",
)
@click.option("--endpoint", help="The address of an OTLP receiver to send to, instead of files.")
@click.option(
    "--protocol",
    type=click.Choice(_PROTOCOLS),
    default=_PROTOCOLS[0],
    show_default=True,
    help="How to speak to the endpoint.",
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    help="A header for the endpoint, NAME=VALUE, such as a key. Repeatable.",
)
@click.option(
    "--include-content",
    is_flag=True,
    help="Also export what was asked and answered: prompts, outputs, arguments, passages.",
)
@click.option(
    "--events-on-spans",
    is_flag=True,
    help="Send evaluations as events of the last span, to an endpoint without log records.",
)
@limits_option
def export_otel(
    terminal: Terminal,
    subject: Path,
    output: Path | None,
    endpoint: str | None,
    protocol: str,
    headers: tuple[str, ...],
    include_content: bool,
    events_on_spans: bool,
    limits: str | None,
) -> Exit:
    """Export a run or a result as OpenTelemetry spans and events.

    Spans follow the GenAI and MCP conventions, and verdicts become evaluation events. The report
    `mapping_loss` lists every field that was dropped or changed. The content of prompts and answers
    is left out unless --include-content asks for it. Only --endpoint sends anything.
    """
    from affidavit.app.telemetry_export import export_to_endpoint, export_to_folder
    from affidavit.telemetry.sending import OtlpProtocol

    if (output is None) == (endpoint is None):
        raise click.UsageError("give either --output for files or --endpoint for a receiver")
    if endpoint is None and headers:
        raise click.UsageError("--header needs --endpoint")
    if endpoint is None and events_on_spans:
        raise click.UsageError("--events-on-spans needs --endpoint")
    bounds = limits_from_option(limits)
    if output is not None:
        report = export_to_folder(subject, output, include_content=include_content, limits=bounds)
    else:
        report = export_to_endpoint(
            subject,
            str(endpoint),
            OtlpProtocol(protocol),
            headers=_headers(headers),
            include_content=include_content,
            events_on_spans=events_on_spans,
            limits=bounds,
        )
    target = str(output if output is not None else endpoint)
    if terminal.json:
        terminal.print_json({"exported_to": target, "mapping_loss": report})
        return Exit.YES
    terminal.print(f"{target}: {report.spans} spans, {report.events} evaluation events")
    terminal.print(f"Mapping loss: {report.dropped} values dropped, {report.changed} changed")
    for line in report.lines():
        terminal.print(line)
    return Exit.YES


@command(
    examples=(
        Example(
            "affidavit proxy --to https://api.openai.com/v1 -o run.jsonl",
            "records the calls of a program that has OPENAI_BASE_URL=http://127.0.0.1:8321/v1",
        ),
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "a bundle of what was recorded"),
    ),
    exits={Exit.YES: "stopped by a signal; the log is complete"},
)
@click.option(
    "--to", required=True, help="The base address of the service, as the program would call it."
)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="The log of the run to write; its name ends in .jsonl.",
)
@click.option(
    "--port",
    default=8321,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port on this machine; 0 means any free port.",
)
@click.option("--run-id", help="The id of the run; by default the name of the log.")
def proxy(terminal: Terminal, to: str, output: Path, port: int, run_id: str | None) -> Exit:
    """Record the calls of a program to a service of models.

    The service is OpenAI-compatible, and the program needs nothing but another base address.
    Requests and answers pass as they are, streams piece by piece. Models, parameters, messages,
    tool calls and usage become events of a run; headers, which hold the keys, are never stored.
    The run ends with the proxy: Ctrl-C, or SIGTERM.
    """
    import signal
    import threading

    from affidavit.app.call_recording import recorded_calls

    if output.suffix != ".jsonl":
        raise click.UsageError("--output is the log of a run, whose name ends in .jsonl")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())

    def report(url: str) -> None:
        if terminal.json:
            terminal.print_json({"url": url, "log": str(output)})
        else:
            terminal.print(f"Recording {url} to {output}")

    with recorded_calls(to, output, port=port, run_id=run_id, report=report) as calls:
        while not stopped.wait(0.2):
            continue
    terminal.note(f"{calls.calls} calls of models are in {output}")
    return Exit.YES
