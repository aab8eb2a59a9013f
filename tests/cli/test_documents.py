"""The generated pages match the code and are complete."""

import json
import re
from pathlib import Path

import click
import pytest
from tests.cli.running import run
from tests.cli.test_help import COMMANDS
from tests.repository import ROOT

from affidavit.base.exits import Exit
from affidavit.base.faults import CATALOG
from affidavit.cli.program import DocumentedCommand, common_options
from tools import generate_docs

CLI = (ROOT / "docs" / "cli.md").read_text("utf-8")
ERRORS = (ROOT / "docs" / "errors.md").read_text("utf-8")


@pytest.mark.parametrize("path", generate_docs.pages(), ids=str)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    on_disk = (ROOT / path).read_text("utf-8")
    assert on_disk == generate_docs.pages()[path], f"{path} is old: run `make docs`"


def test_generating_writes_what_differs_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_docs, "ROOT", tmp_path)
    generate_docs.main()
    pages = generate_docs.pages()
    assert capsys.readouterr().out == "".join(f"wrote {page}\n" for page in pages)
    generate_docs.main()
    assert capsys.readouterr().out == ""


def sections(page: str) -> dict[str, str]:
    """Return the text below each heading of the second level."""
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_every_command_is_documented_and_no_other() -> None:
    documented = [title for title in sections(CLI) if title.startswith("affidavit")]
    assert documented == list(COMMANDS)


def own_options(command: DocumentedCommand) -> set[str]:
    common = {name for option in common_options() for name in option.opts}
    options = [option for option in command.params if isinstance(option, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts)} - common


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_argument_exit_code_and_example_is_documented(words: str) -> None:
    command, text = COMMANDS[words], sections(CLI)[words]
    cells = set(re.split(r"[`|, ]+", text))
    assert own_options(command) <= cells
    arguments = [item for item in command.params if isinstance(item, click.Argument)]
    assert all(argument.help and argument.help in text for argument in arguments)
    assert {f"{int(code)}" for code in command.exits} <= cells
    assert command.examples
    assert all(f"\n{example.line}\n" in text for example in command.examples)


def test_every_option_has_help() -> None:
    mute = [
        f"{words} {parameter.name}"
        for words, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert mute == []


def test_every_common_option_is_documented() -> None:
    text = sections(CLI)["Common options"]
    assert all(name in text for option in common_options() for name in option.opts)
    assert "--help" in text


def test_every_exit_code_is_documented() -> None:
    rows = re.findall(r"^\| `(\d)` \|", sections(CLI)["Exit codes"], flags=re.MULTILINE)
    assert rows == [str(int(code)) for code in Exit]


def test_every_error_code_has_a_heading_in_order() -> None:
    assert list(sections(ERRORS)) == [f"{code}: {fault.name}" for code, fault in CATALOG.items()]


@pytest.mark.parametrize("code", CATALOG)
def test_an_error_states_its_exit_code(code: str) -> None:
    fault = CATALOG[code]
    text = sections(ERRORS)[f"{code}: {fault.name}"]
    assert f"- Exit code: `{int(fault.exit)}`\n" in text
    assert "- Message: " in text
    assert "- Next: " in text


def test_text_is_not_interpreted_as_markup() -> None:
    assert generate_docs._prose("a <b> {c!r} `<d>` *e*") == r"a \<b> {c} `<d>` \*e\*"


def test_the_pages_are_printed_by_the_program() -> None:
    listed = run("help")
    assert "<!--" not in listed.stdout
    assert listed.exit_code == 0
    assert all(page.stem in listed.stdout for page in (ROOT / "docs").glob("[a-z]*.md"))
    page = run("help", "checks")
    assert page.stdout.rstrip() == (ROOT / "docs" / "checks.md").read_text("utf-8").rstrip()
    assert json.loads(run("help", "checks", "--json").stdout)["topic"] == "checks"
    assert "checks" in json.loads(run("help", "--json").stdout)["topics"]
    unknown = run("help", "nothing")
    assert (unknown.exit_code, unknown.stderr[:5]) == (2, "AF388")
