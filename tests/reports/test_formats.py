"""The table of output formats, and that every command takes its formats from it."""

from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import pytest
from tests.ledger.examples import seed_ledger
from tests.reports import gate_samples

from affidavit.cli.program import cli
from affidavit.gates.report import parse_report
from affidavit.reports.formats import (
    FORMATS,
    ResultKind,
    find_format,
    format_names,
    formats_of,
    render,
)


def options_of(*names: str) -> dict[str, click.Parameter]:
    command: click.Command = cli
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return {option: each for each in command.params for option in each.opts}


def test_names_and_endings_are_unique() -> None:
    names = [each.name for each in FORMATS]
    endings = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len({*names}) == len(names)
    assert len({*endings}) == len(endings)


@pytest.mark.parametrize("kind", get_args(ResultKind))
def test_every_renderer_is_there(kind: ResultKind) -> None:
    for each in formats_of(kind):
        module, _, function = (each.renderer(kind) or "").partition(":")
        assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("line", [("check",), ("sessions", "show")])
def test_a_ledger_is_written_in_every_format_of_the_table(line: tuple[str, ...]) -> None:
    choice = options_of(*line)["--format"].type
    assert isinstance(choice, click.Choice)
    assert tuple(choice.choices) == ("table", *format_names("ledger"))


def test_a_lint_is_printed_in_every_format_of_the_table() -> None:
    choice = options_of("evidence", "lint")["--format"].type
    assert isinstance(choice, click.Choice)
    assert tuple(choice.choices) == ("text", *format_names("lint"))


@pytest.mark.parametrize("gate", ["rag", "latency", "agreement", "stability", "research", "all"])
def test_a_gate_has_an_option_for_every_format_of_the_table(gate: str) -> None:
    wanted = {"--report" if name == "json" else f"--{name}" for name in format_names("gate")}
    assert wanted <= options_of("gate", gate).keys()


def test_a_stored_report_has_them_too() -> None:
    wanted = {f"--{name}" for name in format_names("gate") if name != "json"}
    assert wanted <= options_of("report").keys()


ENDINGS = {
    "by its ending": ("ledger", "a.md", "markdown"),
    "in either case": ("ledger", "a.PDF", "pdf"),
    "another ending of the same format": ("ledger", "a.htm", "html"),
    "a format that the result does not have": ("gate", "a.pdf", None),
    "no ending": ("ledger", "a", None),
}


@pytest.mark.parametrize(("kind", "path", "name"), ENDINGS.values(), ids=ENDINGS.keys())
def test_find_format(kind: ResultKind, path: str, name: str | None) -> None:
    found = find_format(kind, Path(path))
    assert (None if found is None else found.name) == name


def test_text_bytes_and_pieces_are_rendered_as_pieces() -> None:
    report = parse_report(gate_samples.rag())
    assert b"".join(render("gate", "json", report)).startswith(b"{")
    assert b"".join(render("gate", "html", report, ())).startswith(b"<!doctype html>")
    assert b"".join(render("ledger", "json", seed_ledger())).startswith(b"{")
